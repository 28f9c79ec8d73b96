"""From operators as data to something that runs: fused stages become one segment each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias
from weakref import ref

from penstock.api import UNBOUNDED
from penstock.flow.engine.fusion import NESTED_LOOPS, FusedOutput, FusedSegment
from penstock.flow.engine.input_context import UnboundedContext
from penstock.flow.engine.run_context import Elements, RunContext, failing, listen
from penstock.flow.engine.stage import FlowNode, FusedStage, Origin, Stage
from penstock.flow.engine.trampoline import SECTION, Trampoline

__all__ = ["AnyStage", "Plan"]

AnyStage: TypeAlias = Stage | FusedStage
PlannedPart: TypeAlias = tuple[Stage | FusedSegment, bool]
"""A part, and whether what is upstream of it may be pending."""


class Plan:
    """An origin and the parts downstream of it, ready to be opened by any number of runs."""

    __slots__ = (
        "_delivery", "_each", "_most", "_parts", "_stages_wait", "_taking_all", "announced_to",
        "listeners", "origin", "runs", "title", "waits",
    )  # fmt: skip

    def __init__(self, origin: Origin, stages: Sequence[AnyStage]) -> None:
        self.origin = origin
        self._parts: list[PlannedPart] = []
        self.waits = origin.waits
        for number, part in enumerate(parts_of(origin, stages)):
            # Downstream of the end of a section everything waits for what the trampoline brings.
            self.waits = self.waits or number == SECTION
            self._parts.append((part, self.waits))
            if isinstance(part, Stage):
                self.waits = self.waits or part.waits
            else:
                self.waits = self.waits or any(stage.waits for stage in part.stages)
        self._taking_all = last_that_takes_all(self._parts)
        self._stages_wait = any(stage.waits for stage in stages)
        self._each = elements_for_one(stages)
        self._most = most_elements(stages)
        self.title = title_of(origin, stages)
        self.listeners = [each.on_discard for each in stages if each.on_discard is not None]
        self.announced_to: list[Origin] | None = None
        self.runs: set[ref[Any]] = set()  # the runs that open it now, or have
        self._delivery = delivery_of(self._parts, stages[-1] if stages else origin, self.waits)

    def open(
        self, run: RunContext, per_output: int = 1, *, sink: FusedOutput = FusedOutput.ITERATE
    ) -> Elements:
        """The elements at the end of the plan, for one run."""
        listen(run, self.listeners)
        trampoline = Trampoline(run)
        return trampoline.run_through(self._opened(self._parts, run, per_output, sink, trampoline))

    def deliver(self, run: RunContext, receiver: object, sink: FusedOutput) -> Elements:
        """Give the elements at the end of the plan to ``receiver``; yields where it must pause."""
        before, (last, waits) = self._delivery
        trampoline = Trampoline(run)
        elements = self._opened(before, run, 1, FusedOutput.ITERATE, trampoline)
        delivery = last.apply(elements, run, waits=waits, sink=sink, receiver=receiver)
        return trampoline.run_through(delivery)

    def _opened(
        self,
        parts: Sequence[PlannedPart],
        run: RunContext,
        per_output: int,
        sink: FusedOutput,
        trampoline: Trampoline,
    ) -> Elements:
        context = run if self._taking_all is None else UnboundedContext(run)
        try:
            per_output = min(per_output * self._each, UNBOUNDED)
            elements = self.origin.open_at_most(context, per_output, self._most)
        except Exception as error:
            elements = failing(run, error)  # for the stages downstream: one may handle it
        for number, (part, waits) in enumerate(parts):
            if number and number % SECTION == 0:
                elements = trampoline.end_section(elements)
            if part is self._taking_all:
                context = run
            if isinstance(part, FusedSegment):
                elements = part.apply(elements, context, waits=waits, sink=sink)
            else:
                elements = part.apply(elements, context)
        return elements

    def waits_only_for(self, origin: Origin) -> bool:
        """Whether ``origin`` is the one of this plan, and nothing downstream of it waits."""
        return origin is self.origin and not self._stages_wait

    @property
    def segments(self) -> list[Stage | FusedSegment]:
        """The parts, in the order in which an element passes them."""
        return [part for part, _ in self._parts]

    @property
    def operators(self) -> list[tuple[str, ...]]:
        """The names of those that run together, without labels, which do nothing."""
        names: list[tuple[str, ...]] = []
        known: FlowNode = self.origin
        for part in self.segments:
            group: list[str] = []
            for stage in part.stages if isinstance(part, FusedSegment) else (part,):
                # Some operators are made of two stages, which have one name and one site.
                if not stage.mark and (stage.name, stage.site) != (known.name, known.site):
                    group.append(stage.name)
                known = stage
            if group:
                names.append(tuple(group))
        return names

    @property
    def last_operator(self) -> str:
        """The last one of them, or the origin if there are none."""
        names = self.operators
        return names[-1][-1] if names else self.origin.name


def parts_of(origin: Origin, stages: Sequence[AnyStage]) -> list[Stage | FusedSegment]:
    """Fused stages as segments, the others as they are."""
    parts: list[Stage | FusedSegment] = []
    group: list[FusedStage] = []
    upstream: FlowNode = origin
    if not origin.checked and not (stages and isinstance(stages[0], FusedStage)):
        parts.append(FusedSegment((), origin))
    for stage in stages:
        if group and not (isinstance(stage, FusedStage) and fits_after(group, stage)):
            parts.append(FusedSegment(group, upstream))
            upstream, group = group[-1], []
        if isinstance(stage, FusedStage):
            group.append(stage)
        else:
            parts.append(stage)
            upstream = stage
    if group:
        parts.append(FusedSegment(group, upstream))
    return parts


def delivery_of(
    parts: list[PlannedPart], last: FlowNode, waits: bool
) -> tuple[list[PlannedPart], tuple[FusedSegment, bool]]:
    """The parts that are pulled, and the segment that gives their elements to a subscriber."""
    if parts:
        part, upstream_waits = parts[-1]
        if isinstance(part, FusedSegment):
            return parts[:-1], (part, upstream_waits)
    return parts, (FusedSegment((), last), waits)


def last_that_takes_all(parts: Sequence[PlannedPart]) -> Stage | None:
    """The last stage that takes what comes also while nothing is wanted, if there is any."""
    taking = (part for part, _ in reversed(parts) if isinstance(part, Stage) and part.takes_all)
    return next(taking, None)


def fits_after(group: Sequence[FusedStage], stage: FusedStage) -> bool:
    """Whether ``stage`` can write its lines after those of ``group``."""
    loops = sum(each.expands for each in group)
    if group[-1].closes or loops == NESTED_LOOPS:
        return False
    if stage.stops:
        return loops == 0
    return not (stage.expands and any(each.stops for each in group))


def most_elements(stages: Sequence[AnyStage]) -> int:
    """How many elements of the origin are taken, at most, until a stage ends the stream."""
    most = UNBOUNDED
    for stage in stages:
        most = min(most, stage.max_inputs)
        if not stage.one_to_one:
            break
    return most


def elements_for_one(stages: Sequence[AnyStage]) -> int:
    """About how many elements of the origin it takes to make one at the end."""
    each = 1
    for stage in stages:
        each = min(each * stage.inputs_per_output, UNBOUNDED)
    return each


def title_of(origin: Origin, stages: Sequence[AnyStage]) -> str:
    """What the user calls the flow: the last name counts, also upstream of a boundary."""
    for stage in reversed(stages):
        if stage.title:
            return stage.title
    plan: Plan | None = getattr(origin.upstream, "plan", None)  # another publisher has none
    return "" if plan is None else plan.title
