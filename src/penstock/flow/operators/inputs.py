"""The inputs of stages that have several, and how such a stage takes turns with them.

``RoundRobin`` gives no elements but *portions*, which are iterators over what one input has. The
loop downstream, ``FlattenPortions``, iterates over them, so an input that never waits costs as
little as if it were alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from operator import length_hint
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.input_context import InputContext
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.engine.run_context import (
    PENDING,
    Elements,
    RunContext,
    close,
    discard,
    is_used_up,
    taken_out,
)
from penstock.flow.engine.stage import EACH_ALONE, FusedStage
from penstock.flow.operators.error_handling import caught

__all__ = [
    "CONCURRENCY",
    "TURN",
    "FlattenPortions",
    "InputElements",
    "RoundRobin",
    "close_all",
    "look_for_outer_error",
    "may_wait",
    "open_input",
]

CONCURRENCY: Final = 256
"""How many inputs are open at a time, unless the user says otherwise."""
TURN: Final = 256
"""The most elements that one input gives before it is another one's turn."""
END: Final = object()


class InputElements:
    """The elements of one input, which can be peeked at before they are taken.

    ``ended``    whether it has no more elements than the one that was peeked at
    ``waits``    whether its elements may be pending
    ``context``  what it was opened in: its own, or that of the stage if it never waits
    """

    __slots__ = (
        "_ahead", "_elements", "_head", "_in_vain_for", "_own", "_run", "_sized", "_source",
        "context", "ended", "waits",
    )  # fmt: skip

    def __init__(
        self,
        elements: Elements,
        run: RunContext,
        *,
        sized: object = None,
        waits: bool = True,
        context: RunContext | None = None,
    ) -> None:
        self._source = self._elements = elements
        self._run = run
        self._sized = sized
        self.waits = waits
        self.context = run if context is None else context
        self._own = context if isinstance(context, InputContext) else None
        self._in_vain_for = -1
        self._head: Any = PENDING
        self._ahead: deque[Any] | None = None
        self.ended = False

    def peek(self) -> bool:
        """Whether an element is there. If not, the input waits for one or has ended."""
        if self._head is PENDING and not self.ended:
            own = self._own
            if own is not None:  # before looking: what comes from here on is noticed
                own.woken, wanted = False, own.wanted
            try:
                self._head = next(self._elements)
            except StopIteration:
                self.ended = True
            if own is not None:
                self._in_vain_for = wanted if self._head is PENDING else -1
        return self._head is not PENDING

    def sleeps(self, wanted: int) -> bool:
        """Whether peeking again would be in vain: it had nothing, and was not woken since.

        An input asks for what is wanted when it is pulled, so it has to know if more is.
        """
        own = self._own
        return own is not None and not own.woken and wanted <= self._in_vain_for and not self.ended

    def ready(self) -> bool:
        """Whether an element is there and wanted. If none is wanted, only check for the end."""
        if self._run.wanted:
            return self.peek()
        if (self.waits and self._run.ended) or is_used_up(self):
            self.peek()
        return False

    def read_ahead(self) -> bool:
        """Take one more element, be it that none is wanted; whether one was there.

        For a stage that knows of an error that has come, and cannot take what stands before it. It
        raises the error once it gets there, unless that is handled upstream.
        """
        if self._ahead is None:
            self._ahead = deque()
            self._elements = in_order(self._ahead, self._source)
        if self.ended or len(self._ahead) >= PREFETCH:
            return False
        element = next(self._source, PENDING)
        if element is not PENDING:
            self._ahead.append(element)
        return element is not PENDING

    def take(self) -> Any:
        """The element that was peeked at."""
        head, self._head = self._head, PENDING
        return head

    def portion(self, size: int) -> Iterator[Any]:
        """The element that was peeked at and those that follow without waiting."""
        if self.waits:
            return self._available(size)
        return chain((self.take(),), islice(self._elements, size - 1))

    def _available(self, size: int) -> Iterator[Any]:
        yield self.take()
        for x in islice(self._elements, size - 1):
            if x is PENDING:
                return
            yield x

    def rest(self) -> Elements:
        """All that is left."""
        return self._elements if self._head is PENDING else chain((self.take(),), self._elements)

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to take."""
        return self.ended and self._head is PENDING

    def __length_hint__(self) -> int:
        """About how many elements are left; 0 only if none is."""
        ahead = (self._head is not PENDING) + len(self._ahead or ())
        return ahead if self.ended else ahead + length_hint(self._sized, 1)

    def close(self) -> None:
        """Cancel the input, and discard the element that was peeked at."""
        self.ended = True
        try:
            close(self._source)
        finally:
            if self._head is not PENDING:
                discard(self._run, (self.take(),))
            if self._ahead:
                discard(self._run, taken_out(self._ahead))


def in_order(ahead: deque[Any], source: Elements) -> Elements:
    """What was read ahead of a source, and what follows it there."""
    while True:
        yield from taken_out(ahead)
        element = next(source, END)
        if element is END:
            return
        yield element


def open_input(
    publisher: Publisher[Any],
    run: RunContext,
    operator: str,
    per_output: int = 1,
    prefetch: int = PREFETCH,
) -> InputElements:
    """Subscribe to an input of ``operator``; what it knows of its size stays its own."""
    waits = may_wait(publisher)
    context = InputContext(run) if waits else run
    size_of_all, context.sized = context.sized, None
    try:
        elements = opened(publisher, context, per_output, prefetch, operator=operator)
        return InputElements(elements, run, sized=context.sized, waits=waits, context=context)
    finally:
        context.sized = size_of_all


def may_wait(publisher: Publisher[Any]) -> bool:
    """Whether elements of ``publisher`` may be pending, when it is opened within a run."""
    if not isinstance(publisher, BaseFlow):
        return True
    plan = publisher.plan
    return plan.waits or plan.origin.executor is not None


def close_all(inputs: Iterable[InputElements]) -> None:
    """Cancel them, each one even if closing another raises."""
    failure: Exception | None = None
    for each in inputs:
        try:
            each.close()
        except Exception as error:
            failure = failure or error
    if failure is not None:
        try:
            raise failure
        finally:
            del failure  # whose traceback has this frame


class RoundRobin:
    """Takes turns with inputs, which are made of the elements of ``outer`` as there is room.

    A new input has its turn at once. The others follow in a ring, so that neither an endless input
    nor endlessly many of them starve the others. An input is made, by a function of the user where
    the operator takes one, on the thread that pulls the run.
    """

    def __init__(
        self,
        outer: InputElements,
        open_next: Callable[[Any], InputElements],
        run: RunContext,
        *,
        concurrency: int,
        waits: bool = True,
        errors: list[Exception] | None = None,
    ) -> None:
        self._outer = outer
        self._open_next = open_next
        self._run = run
        self._concurrency = concurrency
        self._waits = waits
        self._errors = errors
        self._ring: deque[InputElements] = deque()
        self._moved = False

    def open_first(self) -> None:
        """Open as many inputs as there is room for, before anything is wanted."""
        while self._has_room and self._outer.peek():
            self._ring.append(self._open_next(self._outer.take()))

    def portions(self) -> Elements:
        """Portions of elements, and ``PENDING`` when none of the inputs could give any."""
        idle = 0
        while not self._run.over:
            self._moved = False
            yield from self._rest()
            # Once in a round: the outer stream may be as large as this one, and so on upstream.
            if not idle and self._admit():
                yield from self._turn()
            if not self._ring:
                if self._outer.exhausted:
                    return
            elif not self._ring[0].waits or self._find_awake():
                yield from self._turn()
            else:
                idle = len(self._ring)
            idle = 0 if self._moved else idle + 1
            if idle >= max(len(self._ring), 1):
                yield PENDING
                idle = 0

    def close(self) -> None:
        """Cancel all inputs."""
        close_all([self._outer, *self._ring])

    def __length_hint__(self) -> int:
        """About how many elements are left; 0 only if none is."""
        return sum(map(length_hint, (self._outer, *self._ring)))

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to take from the inputs that are open."""
        return all(each.exhausted for each in self._ring)

    @property
    def _has_room(self) -> bool:
        return len(self._ring) < self._concurrency

    def _rest(self) -> Elements:
        """While nothing is wanted, check for ends and errors only."""
        while self._waits and not self._run.wanted:
            inputs = (*self._ring, self._outer)  # which may end when all others have
            for each in inputs:
                self._peek(each)
            look_for_outer_error(self._outer, self._ring, self._run)
            if all(each.exhausted for each in inputs):
                return
            yield PENDING

    def _admit(self) -> bool:
        """Open one more input, if there is room and one is there."""
        if not self._has_room:
            if self._run.ended:
                self._peek(self._outer)
                look_for_outer_error(self._outer, self._ring, self._run)
            return False
        if not self._peek(self._outer):
            return False
        self._ring.appendleft(self._open_next(self._outer.take()))
        self._moved = True
        return True

    def _find_awake(self) -> bool:
        """Turn the ring to an input that may have something; no if there is none.

        Of many inputs most wait at any moment, and pulling them would cost more than the elements.
        """
        wanted, ring = self._run.wanted, self._ring
        for _ in range(len(ring)):
            if not ring[0].sleeps(wanted):
                return True
            ring.rotate(-1)
        return False

    def _turn(self) -> Elements:
        """What the first input of the ring has; it goes to the end of the ring."""
        current = self._ring[0]
        left = TURN
        while left and self._peek(current):
            self._moved = True
            size = min(left, max(self._run.wanted, 1)) if self._waits else left
            left -= size
            yield self._portion(current, size)
            yield from self._rest()
        if current.exhausted:
            self._moved = True
            self._ring.popleft()
        else:
            self._ring.rotate(-1)

    def _peek(self, each: InputElements) -> bool:
        try:
            return each.ready() if self._waits else each.peek()
        except Exception as error:
            self._fail(each, error)
            return False

    def _portion(self, each: InputElements, size: int) -> Iterator[Any]:
        portion = each.portion(size)
        return portion if self._errors is None else self._guarded(each, portion)

    def _guarded(self, each: InputElements, portion: Iterator[Any]) -> Iterator[Any]:
        try:
            yield from portion
        except Exception as error:
            self._fail(each, error)

    def _fail(self, each: InputElements, error: Exception) -> None:
        """An input failed: keep its error for the end, or let it be the end."""
        if self._errors is None:
            raise error
        self._errors.append(caught(error))
        each.close()


def look_for_outer_error(
    outer: InputElements, inner: Iterable[InputElements], run: RunContext
) -> None:
    """An error of the outer stream waits neither for room nor for demand; raises it."""
    while has_outer_failed(outer, inner, run) and outer.read_ahead():
        pass


def has_outer_failed(outer: InputElements, inner: Iterable[InputElements], run: RunContext) -> bool:
    """Whether something has failed that is not in one of the inputs; downstream has its own."""
    if not run.failed or not outer.waits:
        return False
    return bool(run.failed.difference(*(each.context.failed for each in inner if each.waits)))


class FlattenPortions(FusedStage):
    """The elements of the portions that ``RoundRobin`` gives."""

    rerun = EACH_ALONE
    expands = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A loop in the loop."""
        loop.expand("x")
