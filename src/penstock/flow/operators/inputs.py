"""The inputs of stages that have several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import length_hint
from typing import Any

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.engine.run_context import (
    PENDING,
    Elements,
    RunContext,
    close,
    discard,
    is_used_up,
)

__all__ = ["InputElements", "close_all", "may_wait", "open_input"]


class InputElements:
    """The elements of one input, which can be peeked at before they are taken.

    ``ended``  whether it has no more elements than the one that was peeked at
    ``waits``  whether its elements may be pending
    """

    __slots__ = ("_elements", "_head", "_run", "_sized", "ended", "waits")

    def __init__(
        self, elements: Elements, run: RunContext, *, sized: object = None, waits: bool = True
    ) -> None:
        self._elements = elements
        self._run = run
        self._sized = sized
        self.waits = waits
        self._head: Any = PENDING
        self.ended = False

    def peek(self) -> bool:
        """Whether an element is there. If not, the input waits for one or has ended."""
        if self._head is PENDING and not self.ended:
            try:
                self._head = next(self._elements)
            except StopIteration:
                self.ended = True
        return self._head is not PENDING

    def ready(self) -> bool:
        """Whether an element is there and wanted. If none is wanted, only check for the end."""
        if self._run.wanted:
            return self.peek()
        if (self.waits and self._run.ended) or is_used_up(self):
            self.peek()
        return False

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
        ahead = 0 if self._head is PENDING else 1
        return ahead if self.ended else ahead + length_hint(self._sized, 1)

    def close(self) -> None:
        """Cancel the input, and discard the element that was peeked at."""
        self.ended = True
        try:
            close(self._elements)
        finally:
            if self._head is not PENDING:
                discard(self._run, (self.take(),))


def open_input(
    publisher: Publisher[Any],
    run: RunContext,
    operator: str,
    per_output: int = 1,
    prefetch: int = PREFETCH,
) -> InputElements:
    """Subscribe to an input of ``operator``; what it knows of its size stays its own."""
    size_of_all, run.sized = run.sized, None
    try:
        elements = opened(publisher, run, per_output, prefetch, operator=operator)
        return InputElements(elements, run, sized=run.sized, waits=may_wait(publisher))
    finally:
        run.sized = size_of_all


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
