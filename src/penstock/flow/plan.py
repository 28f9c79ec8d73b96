"""From operators as data to something that runs: runs of woven stages become one segment each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias
from weakref import ref

from penstock.api import UNBOUNDED
from penstock.flow.elements import Elements, Host, failing, listen
from penstock.flow.landing import SECTION, Staircase
from penstock.flow.stage import Origin, Part, Stage, Woven
from penstock.flow.weaving import NESTED_LOOPS, Segment, Sink

__all__ = ["AnyStage", "Plan"]

AnyStage: TypeAlias = Stage | Woven
PlannedPart: TypeAlias = tuple[Stage | Segment, bool]
"""A part, and whether what stands in front of it may be pending."""


class Plan:
    """An origin and the parts behind it, ready to be opened by any number of hosts."""

    __slots__ = (
        "_delivery", "_each", "_most", "_parts", "listeners", "origin", "runs", "title", "waits",
    )  # fmt: skip

    def __init__(self, origin: Origin, stages: Sequence[AnyStage]) -> None:
        self.origin = origin
        self._parts: list[PlannedPart] = []
        self.waits = origin.waits
        for number, part in enumerate(parts_of(origin, stages)):
            # Behind a landing everything waits for what is brought up to it.
            self.waits = self.waits or number == SECTION
            self._parts.append((part, self.waits))
            if isinstance(part, Stage):
                self.waits = self.waits or part.waits
            else:
                self.waits = self.waits or any(stage.waits for stage in part.stages)
        self._each = elements_for_one(stages)
        self._most = most_elements(stages)
        self.title = title_of(origin, stages)
        self.listeners = [each.on_discard for each in stages if each.on_discard is not None]
        self.runs: set[ref[Any]] = set()  # the hosts that run it now, or have
        self._delivery = delivery_of(self._parts, stages[-1] if stages else origin, self.waits)

    def open(self, host: Host, each: int = 1, *, sink: Sink = Sink.ITERATE) -> Elements:
        """The elements at the end of the plan, for one host."""
        listen(host, self.listeners)
        staircase = Staircase(host)
        return staircase.up_to(self._opened(self._parts, host, each, sink, staircase))

    def deliver(self, host: Host, receiver: object, sink: Sink) -> Elements:
        """Give the elements at the end of the plan to ``receiver``; yields where it must pause."""
        before, (last, waits) = self._delivery
        staircase = Staircase(host)
        elements = self._opened(before, host, 1, Sink.ITERATE, staircase)
        delivery = last.apply(elements, host, waits=waits, sink=sink, receiver=receiver)
        return staircase.up_to(delivery)

    def _opened(
        self,
        parts: Sequence[PlannedPart],
        host: Host,
        each: int,
        sink: Sink,
        staircase: Staircase,
    ) -> Elements:
        try:
            each = min(each * self._each, UNBOUNDED)
            elements = self.origin.open_at_most(host, each, self._most)
        except Exception as error:
            elements = failing(host, error)  # for the stages behind it: one may handle it
        for number, (part, waits) in enumerate(parts):
            if number and number % SECTION == 0:
                elements = staircase.land(elements)
            if isinstance(part, Segment):
                elements = part.apply(elements, host, waits=waits, sink=sink)
            else:
                elements = part.apply(elements, host)
        return elements

    @property
    def segments(self) -> list[Stage | Segment]:
        """The parts, in the order in which an element passes them."""
        return [part for part, _ in self._parts]

    @property
    def operators(self) -> list[tuple[str, ...]]:
        """The names of those that run together, without labels, which do nothing."""
        names: list[tuple[str, ...]] = []
        known: Part = self.origin
        for part in self.segments:
            run: list[str] = []
            for stage in part.stages if isinstance(part, Segment) else (part,):
                # Some operators are made of two stages, which have one name and one site.
                if not stage.mark and (stage.name, stage.site) != (known.name, known.site):
                    run.append(stage.name)
                known = stage
            if run:
                names.append(tuple(run))
        return names


def parts_of(origin: Origin, stages: Sequence[AnyStage]) -> list[Stage | Segment]:
    """Runs of woven stages as segments, the others as they are."""
    parts: list[Stage | Segment] = []
    run: list[Woven] = []
    front: Part = origin
    if not origin.checked and not (stages and isinstance(stages[0], Woven)):
        parts.append(Segment((), origin))
    for stage in stages:
        if run and not (isinstance(stage, Woven) and fits_behind(run, stage)):
            parts.append(Segment(run, front))
            front, run = run[-1], []
        if isinstance(stage, Woven):
            run.append(stage)
        else:
            parts.append(stage)
            front = stage
    if run:
        parts.append(Segment(run, front))
    return parts


def delivery_of(
    parts: list[PlannedPart], last: Part, waits: bool
) -> tuple[list[PlannedPart], tuple[Segment, bool]]:
    """The parts that are pulled, and the segment that gives their elements to a subscriber."""
    if parts:
        part, waits_in_front = parts[-1]
        if isinstance(part, Segment):
            return parts[:-1], (part, waits_in_front)
    return parts, (Segment((), last), waits)


def fits_behind(run: Sequence[Woven], stage: Woven) -> bool:
    """Whether ``stage`` can write its lines behind those of ``run``."""
    loops = sum(each.expands for each in run)
    if run[-1].closes or loops == NESTED_LOOPS:
        return False
    if stage.stops:
        return loops == 0
    return not (stage.expands and any(each.stops for each in run))


def most_elements(stages: Sequence[AnyStage]) -> int:
    """How many elements of the origin are taken, at most, until a stage ends the stream."""
    most = UNBOUNDED
    for stage in stages:
        most = min(most, stage.most)
        if not stage.level:
            break
    return most


def elements_for_one(stages: Sequence[AnyStage]) -> int:
    """About how many elements of the origin it takes to make one at the end."""
    each = 1
    for stage in stages:
        each = min(each * stage.each, UNBOUNDED)
    return each


def title_of(origin: Origin, stages: Sequence[AnyStage]) -> str:
    """What the user calls the flow: the last name counts, also in front of a boundary."""
    for stage in reversed(stages):
        if stage.title:
            return stage.title
    upstream = getattr(origin, "upstream", None)
    title: str = "" if upstream is None else upstream.plan.title
    return title
