"""How ``concat_map`` goes on after a restart: with the flow of the element that was under way.

A position is ``["concat_map", before, own, text, inner]``. Upstream goes on at ``before``, so that
it gives the element again whose flow was running; the function makes that flow again, and it goes
on at its own position, ``inner``. The position of the element itself, ``own``, and its ``text`` are
kept to see that it is the same one: otherwise what follows in one flow would be taken from another,
as when a file is gone from a folder whose files are counted.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.api import Publisher
from penstock.flow.base_flow import extended
from penstock.flow.checks import require_inner_publisher
from penstock.flow.engine.plan import AnyStage
from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.engine.stage import EACH_ALONE, FlowNode, Stage
from penstock.flow.operators.flattening import FlatMap
from penstock.flow.resume.resumption import (
    LIVE,
    AttachPosition,
    CannotResume,
    PositionedElement,
    Resumption,
    is_same_position,
    named,
    other_flow,
)
from penstock.runtime import shorten

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["ConcatMapResumption"]

WITHIN: Final = "x = {pair}(([{0}, {1}, {2}, {3}, x[0]], x[1]))"
LONGEST_TEXT: Final = 200


class InnerPosition(NamedTuple):
    """A position in the flow of an element.

    ``before``  where upstream was before that element
    ``own``     where it is after it
    ``text``    the element itself, if it is one that can be compared
    """

    before: Any = None
    own: Any = None
    text: str | None = None
    inner: Any = None


class ConcatMapResumption(Resumption):
    """A flow for each element of upstream, one after the other.

    The function of the user is called on the thread of the run, as it is without positions.
    """

    def __init__(
        self,
        upstream: Resumption,
        stage: FlatMap,
        portions: AnyStage,
        resumption_of: Callable[[Publisher[Any]], Resumption],
        *,
        is_repeating: bool = False,
    ) -> None:
        try:
            self._upstream = upstream.repeating()
        except CannotResume as error:
            raise CannotResume(
                f"{named(stage)} cannot find the flow again that was running: {error}; put it "
                f"upstream of that; {LIVE}"
            ) from None
        self._stage = stage
        self._portions = portions
        self._resumption_of = resumption_of
        self._is_repeating = is_repeating
        relies_on = (
            f"the function of {named(stage)} has to give the same flow again, and whether that "
            "flow can go on is seen when it runs"
        )
        self.unseen = (*self._upstream.unseen, relies_on)

    def repeating(self) -> Resumption:
        """Each of the flows has to."""
        return ConcatMapResumption(
            self._upstream, self._stage, self._portions, self._resumption_of, is_repeating=True
        )

    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """The first flow goes on at its position, all others begin."""
        start = self._split(position)
        upstream = self._upstream.positioned(start.before)
        if position is not None:
            upstream = upstream._then(RequireSameElement(self._stage, start))
        flows = self._stage.calling(InnerCalls(self._inner, self._stage.name, start).flow_of)
        return extended(upstream, [flows, self._portions])

    def _inner(self, element: Any) -> Resumption:
        """How the flow of ``element`` goes on; raises before it has given anything."""
        stage = self._stage
        flow = require_inner_publisher(stage.name, stage.function(element))
        try:
            inner = self._resumption_of(flow)
            if self._is_repeating:
                inner = inner.repeating()
        except CannotResume as error:
            raise self._unable(element, str(error)) from None
        if not inner.in_order:
            raise self._unable(
                element, f"its elements may come in another order; take concat in it; {LIVE}"
            )
        return inner

    def _unable(self, element: Any, why: str) -> CannotResume:
        return CannotResume(
            f"{named(self._stage)}: the flow of {shorten(element)} could not go on after a "
            f"restart: {why}"
        )

    def _split(self, position: Any) -> InnerPosition:
        if position is None:
            return InnerPosition()
        name, *rest = position if isinstance(position, list) and position else [None]
        if name != self._stage.name or len(rest) != len(InnerPosition._fields):
            raise other_flow(self._stage, position)
        return InnerPosition(*rest)


class InnerCalls:
    """The calls of the function in one run, on its thread.

    Only the first flow has a position to go on at.
    """

    def __init__(self, inner: Callable[[Any], Resumption], name: str, start: InnerPosition) -> None:
        self._inner = inner
        self._name = name
        self._before = start.before
        self._first = start.inner

    def flow_of(self, positioned: PositionedElement) -> Flow[PositionedElement]:
        """The flow of an element, whose elements know where that one is."""
        flow = self._inner(positioned.element).positioned(self._first)
        text = text_of(positioned.element)
        within = AttachPosition(WITHIN, self._name, self._before, positioned.position, text)
        self._before, self._first = positioned.position, None
        return flow._then(within)


class RequireSameElement(Stage):
    """Lets elements pass if the first one is the one that was under way before a restart."""

    rerun = EACH_ALONE
    one_to_one = True
    checked = True

    def __init__(self, operator: FlowNode, expected: InnerPosition) -> None:
        super().__init__("resume")
        self._operator = operator
        self._expected = expected

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Look at the first one only."""
        for x in elements:
            if x is not PENDING:
                self._require_same(x)
                yield x
                break
            yield x
        else:
            raise self._missing("upstream has ended before it")
        yield from elements

    def _require_same(self, given: PositionedElement) -> None:
        text = text_of(given.element)
        is_same = is_same_position(given.position, self._expected.own)
        if not is_same or text != self._expected.text:
            raise self._missing(
                f"upstream gave {shorten(given.element)} at {shorten(given.position)} instead"
            )

    def _missing(self, what: str) -> CannotResume:
        text = self._expected.text
        which = "the element" if text is None else shorten(text)
        return CannotResume(
            f"{named(self._operator)} needs {which} at {shorten(self._expected.own)} again, whose "
            f"flow was running, and {what}; name another checkpoint to begin again"
        )


def text_of(element: Any) -> str | None:
    """What a path, a string or a number says; of others nobody knows whether they say the same."""
    if not isinstance(element, str | int | os.PathLike):
        return None
    text = str(element)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... {zlib.crc32(text.encode(errors='replace')):08x}"
