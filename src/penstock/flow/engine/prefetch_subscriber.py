"""Where elements of a foreign publisher enter a flow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from itertools import repeat, starmap
from operator import length_hint
from typing import Any, Final

from penstock.api import UNBOUNDED, Publisher, Subscription
from penstock.core import COMPLETED, BaseSubscriber, require_element, require_error
from penstock.flow.engine.chunks import NOTHING_YET, Chunks, chunked
from penstock.flow.engine.run_context import (
    Elements,
    QueueReceiver,
    RunContext,
    RunPart,
    WaitState,
    discard,
    started,
    taken_out,
)
from penstock.rules import RuleViolation
from penstock.runtime import shorten

__all__ = [
    "LARGEST_PREFETCH",
    "PREFETCH",
    "EagerSubscriber",
    "PrefetchSubscriber",
    "UpstreamSubscriber",
    "crossing_to",
    "subscribe",
]

PREFETCH: Final = 256
"""The most elements that wait at a boundary, unless the user says otherwise."""
LARGEST_PREFETCH: Final = 4096
"""What that may become between two threads, as long as the one that takes them keeps up."""


class UpstreamSubscriber(BaseSubscriber, ABC):
    """A subscriber through which elements enter a run; they stay here until they are pulled."""

    __slots__ = ("_run",)

    def __init__(self, run: RunContext, capacity: int) -> None:
        super().__init__(capacity)
        self._run = run

    @property
    def run(self) -> RunContext:
        """The run of which it is a part."""
        return self._run

    def wait_state(self, operator: str | None) -> WaitState:
        """What has come, and how much of it waits to be pulled."""
        delivered, buffered, capacity = self._counts()
        return WaitState(
            operator,
            "waits for its publisher",
            requested=self.asked,
            delivered=delivered,
            buffered=buffered,
            capacity=capacity,
            brought_by=self.subscription,
            ended=self.ending is not None,
        )

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription, and ask for what is wanted before anybody pulls."""
        if isinstance(subscription, RunPart):
            subscription.take_part_in(self._run)
        if self.accept(subscription):
            self._ask_ahead()
            self.notify()

    @abstractmethod
    def on_next(self, element: object) -> None:
        """Keep the element until it is pulled."""

    def on_error(self, error: Exception) -> None:
        """Pass the error on, after what has come before it."""
        require_error(error)
        self.end(error)
        self._end_is_near()

    def on_complete(self) -> None:
        """The last element has come."""
        self.end(COMPLETED)
        self._end_is_near()

    def _end_is_near(self) -> None:
        """Only what is still here can come: let the run pull, also without demand."""
        ending = self.ending
        if ending is not None:  # else it was cancelled before
            self._run.end_is_near(self, ending)
        self.notify()

    @abstractmethod
    def notify(self) -> None:
        """Something has come: let the run pull again."""

    @abstractmethod
    def _ask_ahead(self) -> None:
        """Ask for elements, if any are wanted whatever is pulled."""

    @abstractmethod
    def _counts(self) -> tuple[int, int, int]:
        """How many elements have come, how many of them wait here, and how many may."""


class PrefetchSubscriber(UpstreamSubscriber, QueueReceiver):
    """A subscriber that keeps what it receives until the stage downstream pulls.

    Asks for as much as is wanted at the end of the flow, ``each`` for one, for no more than
    ``prefetch`` at a time, and for ``most`` in all. An ``eager`` one asks for that much ahead of
    demand. Elements that have come go first, an error follows them.

    Each time that the stage downstream has to wait for elements, although they were asked for as
    early as there was room for them, the room doubles, up to ``largest``.
    """

    __slots__ = (
        "_each", "_eager", "_largest", "_most", "_room_was_used", "_taken", "_turns", "arrived",
        "waiting",
    )  # fmt: skip

    def __init__(
        self,
        run: RunContext,
        per_output: int = 1,
        prefetch: int = PREFETCH,
        most: int = UNBOUNDED,
        *,
        eager: bool = False,
        largest: int = 0,
    ) -> None:
        super().__init__(run, prefetch)
        self._largest = largest
        self._room_was_used = False
        self._each = per_output
        self._most = most
        self._eager = eager
        self._taken = 0
        self._turns: Iterator[tuple[()]] = iter(())
        self.arrived: deque[Any] = deque()
        self.waiting = False

    def on_next(self, element: object) -> None:
        """Keep the element until it is pulled."""
        if element is not None and self._admitted < self._asked and not self._closed:
            # No lock: signals come one after the other (1.3), so nobody else counts here.
            self._admitted += 1
            self.arrived.append(element)
        else:
            require_element(element)
            if self.admit():
                self.arrived.append(element)
            else:
                discard(self._run, (element,))
        if self.waiting:
            self.notify()
        if self._closed and self._ending is None:
            self.sweep()  # 2.8: cancelled meanwhile, by another thread

    def elements(self) -> Elements:
        """What has come, in order, for the stage downstream."""
        return chunked(started(self._chunks()))

    def close(self) -> None:
        """Nobody will pull: let go of all."""
        self._run.waiting_at.pop(self, None)
        self.cancel()
        self.sweep()

    def sweep(self) -> None:
        """Let go of what came although the stream was over."""
        discard(self._run, taken_out(self.arrived))

    def _chunks(self) -> Chunks:
        arrived = self.arrived
        self._run.waiting_at.setdefault(self, self._run.opening)
        try:
            yield ()
            while True:
                if not arrived:
                    self.waiting = True  # before looking again, so that nothing comes unseen
                ready = min(len(arrived), max(self.capacity // 4, 1))
                if ready:
                    self.waiting = False
                    self._taken += ready
                    self._turns = repeat((), ready)  # it counts what is still to be taken
                    yield starmap(arrived.popleft, self._turns)
                    self._ask()
                elif self.ending is not None and not arrived:
                    break
                elif not self._ask():
                    self._make_room()
                    yield NOTHING_YET
        finally:
            self._run.end_is_seen(self)
            self.close()
        if self.ending is not COMPLETED:
            raise self.hand_over_error()

    def _ask_ahead(self) -> None:
        if self._eager:
            self._ask()

    def _counts(self) -> tuple[int, int, int]:
        buffered = len(self.arrived)  # they come whichever way: not all of them by on_next
        return self._taken - length_hint(self._turns) + buffered, buffered, self.capacity

    def _ask(self) -> bool:
        """Ask for what is wanted; whether something came at once."""
        wanted, taken = UNBOUNDED if self._eager else self._run.wanted, self._taken
        if wanted and (self._each == 1 or self._asked == taken):
            wanted = min(wanted * self._each, UNBOUNDED)
            asked, came = self._asked, taken + len(self.arrived)
            self.refill(wanted=min(taken + wanted, self._most), taken=taken)
            if self._asked != asked:
                self._room_was_used = 0 < asked == came
        return bool(self.arrived) or self.ending is not None

    def _make_room(self) -> None:
        """Make more room, if with more of it the run would not have to wait now.

        The publisher had sent all that fitted in when it was asked for more, and what was left of
        that did not last until the next element comes.
        """
        if self._room_was_used and self.capacity < self._largest:
            self._room_was_used = False
            self.capacity = min(2 * self.capacity, self._largest)

    def notify(self) -> None:
        """Something has come: let the run pull again."""
        self.waiting = False
        self._run.wake()


def crossing_to(run: RunContext, prefetch: int | None) -> PrefetchSubscriber:
    """Where elements of another thread enter ``run``, which are made ahead of demand.

    Without a ``prefetch`` given by the user, as many as keep both threads at work.
    """
    if prefetch is None:
        return PrefetchSubscriber(run, prefetch=PREFETCH, eager=True, largest=LARGEST_PREFETCH)
    return PrefetchSubscriber(run, prefetch=prefetch, eager=True)


def subscribe(intake: UpstreamSubscriber, publisher: Publisher[Any]) -> None:
    """Subscribe ``intake`` to ``publisher``; a ``subscribe`` that raises is the end of it."""
    try:
        publisher.subscribe(intake)
    except Exception as error:
        violation = RuleViolation(
            "1.9", f"subscribe of {shorten(publisher)} raised {shorten(error)}"
        )
        violation.__cause__ = error
        intake.fail(violation)
        intake.notify()


class EagerSubscriber(PrefetchSubscriber):
    """Takes elements ahead of demand, and lets the run look at them without demand.

    To take them, first discard the mark in ``run.ended``: what comes later sets it again.
    """

    __slots__ = ()

    def __init__(self, run: RunContext, operator: str, prefetch: int = PREFETCH) -> None:
        super().__init__(run, prefetch=prefetch, eager=True)
        run.waiting_at[self] = operator

    def has_come(self) -> bool:
        """Whether an element is there, or the end."""
        return bool(self.arrived) or self.ending is not None

    @property
    def waiting(self) -> bool:
        """Whatever the run does, unless it was woken and has not looked since.

        It holds from the first element on, also if the run has never pulled, and whether elements
        come by ``on_next`` or are handed over by another flow.
        """
        return self not in self._run.ended

    @waiting.setter
    def waiting(self, waits: bool) -> None:
        """A stage that pulls something else, or holds an element, is to be woken as well."""

    def notify(self) -> None:
        """Let the run pull again, also without demand."""
        if self.has_come():
            self._run.ended.add(self)
        super().notify()
