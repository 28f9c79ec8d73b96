"""Checks that an operator drops its elements when a stream is over: rules 1.6 and 3.13."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from weakref import ref

from penstock.tck.checks.suites import OPERATOR
from penstock.tck.claims import NotClaimed
from penstock.tck.operator_fixture import OperatorFixture, OperatorPipe
from penstock.tck.publisher_fixture import MANY
from penstock.tck.upstream import Upstream

FEW: Final = 4


@OPERATOR.check("1.6")
def drops_elements_at_the_end(fixture: OperatorFixture) -> None:
    """Takes a stream to its end, and drops what came out; the operator does not hold it.

    Clear what the stream was worked off with when it ends: buffers, fields, sets of what was seen.
    One that keeps elements for the next subscriber has to claim ``holds_elements``.
    """
    _need_to_let_go(fixture)
    for ending in ("on_complete", "on_error"):
        elements = Elements(fixture)
        source = fixture.source(elements=fixture.enough(FEW), ending=ending, element=elements.make)
        _expect_dropped(fixture, _ended(fixture, source), elements, f"the stream ended by {ending}")


@OPERATOR.check("3.13")
def drops_elements_after_cancel(fixture: OperatorFixture) -> None:
    """Cancels a stream from outside or in on_next, and drops what came out; nobody else holds it.

    Clear what the stream was worked off with when you are cancelled, since upstream may refer
    to you for long. One that keeps elements for the next subscriber has to claim
    ``holds_elements``.
    """
    _need_to_let_go(fixture)
    for cancel_at in (0, 2):
        elements = Elements(fixture)
        pipe = fixture.joined(fixture.source(element=elements.make), cancel_at=cancel_at)
        pipe.downstream.request(2)
        fixture.fill(fixture.upstream_of(pipe), fixture.enough(FEW))
        fixture.environment.settle()
        if pipe.downstream.cancelled_after is None:
            pipe.downstream.cancel()
        fixture.environment.settle()
        _expect_dropped(fixture, pipe, elements, "the stream was cancelled")


def _ended(fixture: OperatorFixture, source: Upstream) -> OperatorPipe:
    pipe = fixture.joined(source)
    pipe.downstream.request(MANY)
    fixture.environment.reaches(lambda: pipe.downstream.ended)
    fixture.environment.settle()
    return pipe


class Elements:
    """The elements of a stream, counted as long as they are there."""

    def __init__(self, fixture: OperatorFixture) -> None:
        self._fixture = fixture
        self._left: set[int] = set()
        self._references: list[ref[Any]] = []
        self._need_weak_references()

    def left(self, first: int) -> int:
        """How many of the first ones are still there."""
        return sum(number < first for number in tuple(self._left))

    def make(self, number: int) -> Any:
        """Make the element of this number."""
        self._left.add(number)
        leave: Callable[..., None] = partial(_leave, self._left, number)
        if self._fixture.claims.element is int:
            return Number(number, leave)
        element = self._fixture.claims.element(number)
        self._references.append(ref(element, leave))
        return element

    def _need_weak_references(self) -> None:
        if self._fixture.claims.element is not int:
            (sample,) = self._fixture.elements(1)
            try:
                ref(sample)
            except TypeError as error:
                kind = type(sample).__name__
                raise NotClaimed(f"elements of type {kind} cannot be watched") from error


class Number(int):
    """An integer that tells when nobody refers to it any more: no weak reference can tell.

    It does so on the thread that drops the last reference.
    """

    _leave: Callable[[], None]

    def __new__(cls, number: int, leave: Callable[[], None]) -> Number:
        made = super().__new__(cls, number)
        made._leave = leave
        return made

    def __del__(self) -> None:
        self._leave()


def _leave(left: set[int], number: int, *_: object) -> None:
    left.discard(number)


def _need_to_let_go(fixture: OperatorFixture) -> None:
    if fixture.claims.holds_elements:
        raise NotClaimed("the subject keeps elements for the next subscriber")


def _expect_dropped(
    fixture: OperatorFixture, pipe: OperatorPipe, elements: Elements, because: str
) -> None:
    """Drop all that the kit holds; the operator and its streams stay."""
    delivered = _delivered(fixture, pipe)
    pipe.downstream.elements.clear()
    for stream in pipe.source.streams:
        stream.sent.clear()
    gc.collect()
    if not fixture.environment.reaches(lambda: not elements.left(delivered)):
        gc.collect()
    left = elements.left(delivered)
    fixture.require(not left, f"{because}, and {left} of the elements that came out are still held")


def _delivered(fixture: OperatorFixture, pipe: OperatorPipe) -> int:
    """How many elements have had their effect; the others are left to the operator."""
    if pipe.downstream.completed and not fixture.claims.cancels_early:
        return max(len(stream.sent) for stream in pipe.source.streams)
    came = len(pipe.downstream.elements)
    return fixture.as_publisher.inputs_for(came) if came else 0
