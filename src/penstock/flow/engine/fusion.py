"""Stages fused into one generator each.

Calling one stage after the other for each element would cost more than what the stages do. So
their lines are written into the body of one loop, which is compiled once for each sequence of
shapes. ``Flow.range(0, 9).map(f).filter(g).map(h)`` becomes

    for x in source:
        x = f(x)
        if not g(x):
            continue
        x = h(x)
        yield x
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias

from penstock.flow.engine.run_context import (
    PENDING,
    SATISFIED,
    Elements,
    RunContext,
    close,
    discard,
    started,
)
from penstock.flow.engine.stage import FlowNode, FusedStage
from penstock.rules import cite

__all__ = ["FusedOutput", "FusedSegment", "LoopCode"]

NESTED_LOOPS: Final = 8
"""Python allows 20 nested blocks; beyond this a new segment begins."""


UPSTREAM: Final = -1
"""The number of the part upstream, to which lines belong that no stage wrote."""


class FusedOutput(Enum):
    """Where the elements of a segment go."""

    DELIVER = "to the subscriber, within demand; yields only where it cannot go on"
    DELIVER_ALL = "to a subscriber whose demand has no bound"
    HAND_OVER = "to the queue of another flow or a sink, within demand; wakes it if it waits"
    ITERATE = "to the caller who pulls"
    UNINTERRUPTED = "to the caller who pulls, and never cancels from another thread"


def emission(sink: FusedOutput, *, checked: bool) -> list[str]:
    """The lines that give ``x`` to what is downstream. A call per element would be felt here."""
    if sink in (FusedOutput.ITERATE, FusedOutput.UNINTERRUPTED):
        return ["yield x"]
    check = [] if checked else [CHECK]
    signal = HANDING_OVER if sink is FusedOutput.HAND_OVER else SIGNALLING
    if sink is FusedOutput.DELIVER_ALL:
        return [*check, *signal]
    return [
        *check,
        # Found while looking for the end: it waits for demand here, however often it is pulled.
        "while starved:",
        "    starved = delivered >= run.requested",
        "    if starved:",
        "        try: yield SATISFIED",
        "        except GeneratorExit: discard(run, (x,)); raise",
        # In both, since a variable is faster to compare, and others read what the run has.
        "run.delivered = delivered = delivered + 1",
        *signal,
        "if delivered >= run.requested: starved = True; yield SATISFIED",
    ]


CHECK: Final = "if x is None: raise no_element()"
COUNT: Final = "    delivered, starved = 0, True"
PREPARATION: Final = {
    FusedOutput.DELIVER: ["    on_next = receiver.on_next", COUNT],
    FusedOutput.DELIVER_ALL: ["    on_next = receiver.on_next"],
    FusedOutput.HAND_OVER: ["    append = receiver.arrived.append", COUNT],
}
SIGNALLING: Final = (
    "try: on_next(x)",
    "except Exception as error: run.blame(error); return",
    "if run.over: return",  # 1.8, 3.12: cancelled, perhaps from within on_next
)
HANDING_OVER: Final = (
    "append(x)",
    "if receiver.waiting: receiver.notify()",
    "if run.over: receiver.sweep(); return",
)


class LoopCode:
    """The body of a segment's loop while it is being written. The element is called ``x``."""

    def __init__(self, *, waits: bool, checked: bool, sink: FusedOutput) -> None:
        self._waits = waits
        self._checked = checked
        self._sink = sink
        self._depth = 2
        self._before: list[str] = list(PREPARATION.get(sink, ()))
        self._body: list[tuple[int, str]] = []
        self._after: list[tuple[int, str]] = []
        self._closing: list[tuple[int, str]] = []
        self._lasts: list[str] = []
        self._ends_failing = False
        self._stage = UPSTREAM

    # What stages write.

    def line(self, text: str, *, deeper: int = 0) -> None:
        """A line of the body."""
        self._body.append((self._stage, "    " * (self._depth + deeper + 1) + text))

    def become(self, text: str, *, check: bool = True) -> None:
        """The element becomes ``text``; ``None`` is refused at once, or before it is delivered."""
        self.line(f"x = {text}")
        self._checked = False
        if check:
            self.check()

    def check(self) -> None:
        """Refuse ``None``, which is not an element."""
        if not self._checked:
            self.line(CHECK)
            self.known()

    def known(self) -> None:
        """From here on the element is known not to be ``None``."""
        self._checked = True

    def local(self, name: str, initial: str) -> str:
        """A variable that lives as long as the stream; returns its full name."""
        unique = f"{name}_{self._stage}"
        self._has(unique, initial)
        return unique

    def drop(self, *, deeper: int = 0) -> None:
        """The element goes no further."""
        if self._sink is not FusedOutput.UNINTERRUPTED:
            # Without a yield nobody else would notice that the stream was cancelled.
            self._has("whole", "run.whole")  # an input has to ask for what a run knows
            self.line("if whole.over: return", deeper=deeper)
        for last in self._lasts:
            self.line(f"if {last}: break", deeper=deeper)
        self.line("continue", deeper=deeper)

    def drop_if(self, condition: str) -> None:
        """The element goes no further if ``condition`` holds."""
        self.line(f"if {condition}:")
        self.drop(deeper=1)

    def stop_if(self, condition: str) -> None:
        """The stream ends before this element if ``condition`` holds."""
        self.line(f"if {condition}: break")

    def last_if(self, condition: str) -> None:
        """The stream ends after this element if ``condition`` holds."""
        last = self.local("last", "False")
        self.line(f"if {condition}:")
        self.line(f"{last} = True", deeper=1)
        self.line("run.ended.add(end)", deeper=1)
        self._lasts.append(last)

    def expand(self, iterable: str) -> None:
        """Each element of ``iterable`` takes the place of the element."""
        self._begin_loop(iterable)
        self.check()

    def expand_waiting(self, elements: str) -> None:
        """The same with elements that may be pending, from a part that checks them."""
        self._begin_loop(elements)
        self.line("if x is PENDING:")
        self.line("yield x; continue", deeper=1)

    def begin_attempt(self, number: int) -> None:
        """From here on stages may fail at an element, up to ``end_attempt`` of stage ``number``."""
        self._stage = number
        self.check()
        self.line(f"{self._attempted} = x")
        self.line("try:")
        self._depth += 1

    def end_attempt(self, kinds: str) -> str:
        """Lines of the body follow, one deeper, for an ``error`` of ``kinds`` that was raised.

        Returns the name of the element as it was when the attempt began.
        """
        self.check()
        self._depth -= 1
        self.line(f"except {kinds} as error:")
        return self._attempted

    @property
    def _attempted(self) -> str:
        return f"attempted_{self._stage}"

    def at_end(self, *lines: str, failing: bool = False) -> None:
        """Lines that run when upstream has ended; ``emit x`` gives ``x``.

        With ``failing`` they also run when it has failed, ahead of the error.
        """
        self._ends_failing = failing
        emitted = [CHECK, *emission(self._sink, checked=True)]
        for text in lines:
            indent, statement = text[: len(text) - len(text.lstrip())], text.lstrip()
            for line in emitted if statement == "emit x" else [statement]:
                self._after.append((self._stage, f"        {indent}{line}"))

    def at_close(self, line: str) -> None:
        """A line that runs when the stream is over, however it ended."""
        self._closing.append((self._stage, f"        {line}"))

    def emit(self) -> None:
        """The element goes to what is downstream of this segment."""
        for text in emission(self._sink, checked=self._checked):
            self.line(text)

    # How it becomes a function.

    def write(self, stage: FusedStage, number: int) -> None:
        """Let ``stage`` write its lines."""
        self._stage = number
        stage.generate(self, *value_names(number, len(stage.values)))

    def text(self, values: Sequence[str]) -> tuple[str, tuple[int, ...]]:
        """The text of the function, and for each of its lines the stage that wrote it."""
        self.emit()
        for last in self._lasts:
            self.line(f"if {last}: break")
        if self._ends_failing:
            self._closing.insert(0, (UPSTREAM, "        run.failed.discard(end)"))
        if self._lasts or self._after:
            # After the last element the run looks for the end without demand (1.5).
            self._before.append("    end = object()")
            if self._after:
                # Perhaps the loop was left: nothing more is wanted of the source.
                ending = "        run.ended.add(end); close(source); source = None"
                self._after.insert(0, (UPSTREAM, ending))
            self._closing.insert(0, (UPSTREAM, "        run.ended.discard(end)"))
        head = [
            "def segment(source, run, values, parts_from, receiver):",
            *([f"    {', '.join(values)}, = values"] if values else []),
            *self._before,
            "    try:",
            "        yield",  # here it waits to be pulled; from here on, close() closes the source
            "        for x in source:",
        ]
        if self._waits:
            head += ["            if x is PENDING:", "                yield x; continue"]
        lines = [(UPSTREAM, text) for text in head] + self._body + self._after
        if self._ends_failing:
            lines += [
                (UPSTREAM, "    except Exception:"),
                (UPSTREAM, "        run.failed.add(end)"),
                *self._after,
                (UPSTREAM, "        raise"),
            ]
        lines += [(UPSTREAM, "    finally:"), *self._closing, (UPSTREAM, "        close(source)")]
        return "\n".join(text for _, text in lines), tuple(number for number, _ in lines)

    def _has(self, variable: str, initial: str) -> None:
        line = f"    {variable} = {initial}"
        if line not in self._before:
            self._before.append(line)

    def _begin_loop(self, iterable: str) -> None:
        self.line(f"for x in {iterable}:")
        self._depth += 1
        self._checked = False


def value_names(stage: int, count: int) -> tuple[str, ...]:
    """What the values of a stage are called in the code."""
    return tuple(f"value_{stage}_{number}" for number in range(count))


class FusedSegment:
    """Fused stages downstream of a part of another kind, ``upstream``."""

    __slots__ = ("_functions", "_upstream", "stages", "values")

    def __init__(self, stages: Sequence[FusedStage], upstream: FlowNode) -> None:
        self._upstream = upstream
        self.stages = tuple(stages)
        self.values = tuple(value for stage in stages for value in stage.values)
        self._functions: dict[tuple[bool, FusedOutput], Function] = {}

    def apply(
        self,
        elements: Elements,
        run: RunContext,
        *,
        waits: bool,
        sink: FusedOutput,
        receiver: object = None,
    ) -> Elements:
        """What the last stage gives; with the output ``DELIVER``, the delivery of that."""
        kind = (waits, sink)
        function = self._functions.get(kind)
        if function is None:
            function = self._functions[kind] = self._fused(waits, sink)
        return started(function(elements, run, self.values, receiver))

    def _fused(self, waits: bool, sink: FusedOutput) -> Function:
        generator, numbers = fused(self.stages, self._upstream, waits, sink)
        stages = self.stages  # without `self`, which holds the function: flat_map makes many flows
        parts = (*stages, self._upstream)

        def parts_from(line: int) -> tuple[FlowNode, ...]:
            number = numbers[line - 1]
            return (parts[number], *stages[number + 1 :])

        return lambda elements, run, values, receiver: generator(
            elements, run, values, parts_from, receiver
        )


Function: TypeAlias = Callable[[Elements, RunContext, tuple[object, ...], object], Elements]
Compiled: TypeAlias = tuple[Callable[..., Elements], tuple[int, ...]]


def no_element() -> TypeError:
    """What a stage that makes an element of ``None`` gets."""
    return TypeError(cite("2.13", "None is not an element; to leave one out, use map_not_none"))


NAMES: Final[dict[str, Any]] = {
    "PENDING": PENDING,
    "SATISFIED": SATISFIED,
    "no_element": no_element,
    "close": close,
    "discard": discard,
    "__name__": __name__,
}
"""What the code of a segment refers to."""

# By the shapes of the stages, and not by the stages: those hold functions of the user.
COMPILED: Final[dict[Hashable, Compiled]] = {}
MOST_COMPILED: Final = 1024


def fused(
    stages: Sequence[FusedStage], upstream: FlowNode, waits: bool, sink: FusedOutput
) -> Compiled:
    """The generator function for stages of these shapes, and the stage of each of its lines."""
    key = (tuple(stage.shape for stage in stages), upstream.checked, waits, sink)
    found = COMPILED.get(key)
    if found is None:
        if len(COMPILED) >= MOST_COMPILED:
            COMPILED.pop(next(iter(COMPILED)), None)
        found = COMPILED[key] = compiled(stages, upstream, waits, sink)
    return found


def compiled(
    stages: Sequence[FusedStage], upstream: FlowNode, waits: bool, sink: FusedOutput
) -> Compiled:
    """Let the stages write a loop, and compile it."""
    loop = LoopCode(waits=waits, checked=upstream.checked, sink=sink)
    loop.check()
    names: list[str] = []
    attempts = {at - stage.covers: at for at, stage in enumerate(stages) if stage.covers}
    for number, stage in enumerate(stages):
        if number in attempts:
            loop.begin_attempt(attempts[number])
        loop.write(stage, number)
        names += value_names(number, len(stage.values))
    text, numbers = loop.text(names)
    scope = dict(NAMES)
    exec(compile(text, "<a segment of a flow>", "exec"), scope)
    return scope["segment"], numbers
