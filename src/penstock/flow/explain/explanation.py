"""What ``explain`` answers: data first, words made of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from penstock.api import UNBOUNDED
from penstock.runtime.drawing import box, chain, figure, line, stack, table

__all__ = ["ExplainedEdge", "ExplainedRun", "ExplainedSegment", "Explanation"]

EDGE_HEADS: Final = ("edge", "requested", "delivered", "buffered", "waiting for")


@dataclass(frozen=True, slots=True)
class ExplainedSegment:
    """Operators that run together: an origin, a stage, or several that are fused into one loop.

    ``executor``  where it runs, if it begins a part of the flow that has a place of its own
    """

    operators: tuple[str, ...]
    executor: str = ""

    def __str__(self) -> str:
        where = f" on {self.executor}" if self.executor else ""
        return f"{' '.join(self.operators)}{where}"


@dataclass(frozen=True, slots=True)
class ExplainedEdge:
    """Where elements go from one run to another, or to the subscriber at the end.

    ``delivered``    ``None`` where nothing counts it: demand has no bound, and the operators leave
                     out elements, or add some, or begin with what has no length
    ``buffered``     elements that have come and were not taken yet, at most ``capacity``
    ``waiting``      for how many seconds nothing has moved; ``None`` while something does
    ``handed_over``  whether these were only the first elements, made in advance: those that follow
                     are made on the taker's thread, in its loop
    """

    giver: str
    taker: str
    requested: int
    delivered: int | None
    buffered: int = 0
    capacity: int | None = None
    waiting: float | None = None
    handed_over: bool = False

    def cells(self) -> tuple[str, ...]:
        """What stands under ``EDGE_HEADS``."""
        rest = ", the rest is made where it is taken" if self.handed_over else ""
        held = "" if self.capacity is None else f"{self.buffered} of {count(self.capacity)}"
        return (
            f"{self.giver} \N{RIGHTWARDS ARROW} {self.taker}{rest}",
            count(self.requested),
            "not counted" if self.delivered is None else str(self.delivered),
            held,
            "" if self.waiting is None else f"{self.waiting:.1f} s",
        )

    def __str__(self) -> str:
        parts = [f"{self.giver} -> {self.taker}: requested {count(self.requested)}"]
        parts.append(
            "delivered not counted" if self.delivered is None else f"delivered {self.delivered}"
        )
        if self.capacity is not None:
            parts.append(f"buffered {self.buffered} of {count(self.capacity)}")
        if self.waiting is not None:
            parts.append(f"waiting for {self.waiting:.1f} s")
        if self.handed_over:
            parts.append("the rest is made where it is taken")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class ExplainedRun:
    """One run of a flow.

    ``edges``     the one at its end first, then those upstream in the order of their opening
    ``chain``     operators of which each waits for the next one
    ``because``   what the last one of them does, or waits for
    ``seconds``   for how long, where that is known
    ``wants``     whether elements are wanted at its end
    """

    title: str
    edges: tuple[ExplainedEdge, ...]
    chain: tuple[str, ...]
    because: str
    seconds: float | None
    wants: bool

    @property
    def sentence(self) -> str:
        """Who waits for whom."""
        first, *others = map(quoted, self.chain)
        steps = [f"waits for {name}" for name in others] + [self.because]
        since = "" if self.seconds is None else f", for {self.seconds:.1f} s"
        return f"{first} {', which '.join(steps)}{since}"

    def __str__(self) -> str:
        return "\n".join([self.sentence, *(f"  {edge}" for edge in self.edges)])

    def drawn(self, number: int) -> tuple[str, str]:
        """The sentence, and the edges as a table, for a notebook."""
        sentence = self.sentence.replace("`", "")
        return line(f"run {number}: {sentence}"), table(
            EDGE_HEADS, map(ExplainedEdge.cells, self.edges), numbers=(1, 2, 3, 4)
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a flow, and its runs at the moment when somebody asked."""

    title: str
    segments: tuple[ExplainedSegment, ...]
    runs: tuple[ExplainedRun, ...]
    inputs: tuple[Explanation, ...] = ()
    """The plans of those that the first segment combines; their runs are part of this one's."""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def drawn_plan(self) -> str:
        """The plan as boxes; operators in one box run in one loop."""
        inputs = [stack(each.drawn_plan() for each in self.inputs)] if self.inputs else []
        boxes = [
            box(*each.operators, caption=f"on {each.executor}" if each.executor else "")
            for each in self.segments
        ]
        return chain([*inputs, *boxes])

    def _repr_html_(self) -> str:
        """What a notebook shows: the plan, and for each run who waits for whom, and its edges."""
        runs = [part for number, run in enumerate(self.runs, 1) for part in run.drawn(number)]
        return figure(
            f"the flow {self.title}" if self.title else "",
            self.drawn_plan(),
            *(runs or [line("nobody runs it now", faint=True)]),
        )

    def _lines(self) -> Iterator[str]:
        plan = " | ".join(map(str, self.segments))
        yield f"the flow {self.title}: {plan}" if self.title else plan
        if not self.runs:
            yield "nobody runs it now"
        for number, run in enumerate(self.runs, 1):
            yield f"run {number}: {run}"


def count(elements: int) -> str:
    """A number of elements in words."""
    return "all" if elements >= UNBOUNDED else str(elements)


def quoted(name: str) -> str:
    """The name of an operator in quotes; other words as they are."""
    return name if " " in name else f"`{name}`"
