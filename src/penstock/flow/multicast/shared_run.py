"""One run of a flow for several subscribers."""

from __future__ import annotations

import threading
from asyncio import Future
from collections.abc import Sequence
from contextvars import Context, copy_context
from types import GeneratorType
from typing import Any, Final, TypeVar

from penstock.api import UNBOUNDED, Publisher, Subscriber
from penstock.core import COMPLETED, require_element
from penstock.flow.base_flow import opened
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.engine.run_context import (
    PENDING,
    ClosingTasks,
    Elements,
    RunContext,
    close_quietly,
    discard,
    is_used_up,
)
from penstock.flow.multicast.broadcast import ACTIVE, Broadcast, BroadcastState
from penstock.flow.multicast.broadcast_subscription import BroadcastSubscription, for_each
from penstock.flow.multicast.fan_out import FanOut
from penstock.flow.multicast.sharing_options import GracePeriod, ReplayHistory
from penstock.flow.operators.error_handling import caught
from penstock.runtime import Clock

__all__ = ["SharedRun"]

T = TypeVar("T")

NO_ROWS: Final[FanOut[Any]] = FanOut()


class SharedRun(Broadcast[T], RunContext):
    """A broadcast that pulls a flow, as its run, and may begin with what was before.

    While all subscribers are level, elements go to all of them in one loop, row by row. As a drain
    it pulls the flow on the thread that wakes it: one that connects or requests, or the one that
    brings what was pending. Subscribers that are level are signalled on that thread, too. While it
    reads on without subscribers, it leaves what takes long to the thread of a clock.

    ``history``     says which elements a newcomer gets besides those to come
    ``limit``       the error with which a run ends that must not forget any element
    ``grace``       stops a run that has lost its last subscriber
    ``idle_clock``  lets a run read on without subscribers
    """

    def __init__(
        self,
        name: str,
        source: Publisher[T],
        history: ReplayHistory,
        *,
        limit: Exception | None = None,
        grace: GracePeriod | None = None,
        idle_clock: Clock | None = None,
    ) -> None:
        super().__init__(PREFETCH + history.capacity, newcomers="next", errors_overtake=False)
        self.name = name
        self._upstream: Publisher[T] | None = source
        self._elements: Elements | None = None
        self._ahead: T | None = None
        self._run_context: Context | None = None
        self._drained_by = 0  # the thread that runs the drain now
        self._history = history
        self._limit = limit
        self._grace = grace
        self._idle_clock = idle_clock
        self._tasks = ClosingTasks()
        self.kept.join(history.start)
        # While rows are sent nothing is kept or read, and a newcomer waits for the last one.
        self._rows: FanOut[T] = NO_ROWS
        self._newcomers: list[BroadcastSubscription[T]] = []
        self._begin_run()

    # What decides about the run.

    def connect(self) -> None:
        """Start the run, unless it was started."""
        with self._lock:
            upstream, self._upstream = self._upstream, None
        if upstream is not None:
            self._run_context = copy_context()
            self._elements = opened(upstream, self)
            self.wake()

    def shut_down(self, reason: str) -> None:
        """End the run; present and future subscribers get a ``RuntimeError``."""
        self._shut_down(reason, if_busy=True)

    @property
    def is_waited_for(self) -> bool:
        """Whether it has subscribers, and was not started yet."""
        return self._upstream is not None and bool(self._subscriptions)

    @property
    def subscriptions(self) -> list[BroadcastSubscription[T]]:
        """The current subscriptions."""
        return list(self._subscriptions)

    def backlog_of(self, subscription: BroadcastSubscription[T]) -> int:
        """How many elements ``subscription`` has not taken yet, of those that have come."""
        return max(self.kept.end - subscription.position, 0)

    @property
    def capacity(self) -> int:
        """The most elements that are kept for the slowest subscriber, and for newcomers."""
        return self._input.capacity

    @property
    def source(self) -> Elements | None:
        """The elements that it pulls."""
        return self._elements

    @property
    def wanted(self) -> int:
        """How many elements the run may give now."""
        if self._idle_clock is not None and not self._subscriptions:
            return PREFETCH
        sent = self._rows.sent
        room = self.kept.oldest + sent + self._input.capacity
        return max(min(self._wanted_until, room) - self.kept.end - sent, 0)

    # How it differs from a broadcast.

    def leave(self, subscriptions: Sequence[BroadcastSubscription[T]]) -> None:
        """``subscriptions`` take no more elements."""
        parts_of = [each.part_of for each in subscriptions if each.part_of is not None]
        super().leave(subscriptions)
        if not self._is_active:
            for run in parts_of:
                self._tasks.hand_over(run)
        elif not self._subscriptions:
            self._go_on_alone()

    def leave_after(self, task: Future[Any]) -> None:
        """Those who leave when the run is over wait for ``task``."""
        self._tasks.add(task)

    def _go_on_alone(self) -> None:
        if self._grace is not None:
            self._grace.begin(self._stop)
        if self._idle_clock is not None:
            self.wake()

    def disturb(self) -> None:
        """A subscriber comes, or is about to leave, or to be told something else than elements."""
        self._rows.disturbed = True

    def is_being_left(self) -> None:
        """The last one has left when it has cancelled: one who comes then gets another run."""
        if self._grace is not None and self._is_active and not self._is_used:
            self._grace.begin(self._stop)

    @property
    def _is_used(self) -> bool:
        return not all(each.is_leaving for each in list(self._subscriptions))

    def _stop(self) -> None:
        self._shut_down("the run stopped with its last subscriber", if_busy=False)

    def _shut_down(self, reason: str, *, if_busy: bool) -> None:
        ending = RuntimeError(f"{self.name}: {reason}")
        with self._lock:
            busy = self._is_used or self._kept_alive > 0
            if not self._is_active or (busy and not if_busy):
                return
            self.state = BroadcastState.SHUT_DOWN
            self._ending = ending
            self._upstream = None
            subscriptions = list(self._subscriptions)
        self.over = True
        for_each(subscriptions, lambda each: each.fail_soon(ending))
        if self._drained_by == threading.get_ident():
            self._close_within_signal()
        self.wake()

    def _close_within_signal(self) -> None:
        """Cancel upstream before the signal is over in which it is left.

        One who comes in that signal starts another run: first the source is cancelled in this one.
        """
        elements = self._elements
        if isinstance(elements, GeneratorType) and not elements.gi_running:
            assert self._run_context is not None
            self._run_context.copy().run(close_quietly, elements)

    def _work(self) -> None:
        self._drained_by = threading.get_ident()
        try:
            if self._run_context is None:
                self._go_round()
            else:
                self._run_context.run(self._go_round)
        finally:
            self._drained_by = 0

    def _go_round(self) -> None:
        self.thirsty = False
        elements = self._elements
        unread = 0
        try:
            while elements is not None and self._is_active and self._go_on(elements):
                unread = 0 if self._subscriptions else unread + 1
                if unread >= PREFETCH and self._idle_clock is not None:
                    # 3.5: the one who cancelled need not stay for all that a source has.
                    self._idle_clock.call_later(0, self.wake)
                    break
        except Exception as error:
            self._conclude(caught(error))
        if not self._is_active:
            self._elements = None
            if self._ahead is not None:
                discard(self, (self._ahead,))
                self._ahead = None
            close_quietly(elements)
            if self._grace is not None:
                self._grace.end()
        self._pass_on()

    def _go_on(self, elements: Elements) -> bool:
        """Take elements and pass them on; ``False`` if that has to wait."""
        if not self.wanted:
            self._look_for_the_end(elements)
            return False
        if self._ahead is not None:
            element, self._ahead = self._ahead, None
            return self._keep_and_pass_on(element)
        level = self._hold_subscriptions() if self._room_for_all else []
        if level:
            return self._send_rows(elements, level)
        for element in elements:
            return element is not PENDING and self._keep_and_pass_on(element)
        self._conclude(COMPLETED)
        return False

    def _look_for_the_end(self, elements: Elements) -> None:
        """1.5: it needs no demand. An element that comes in its place waits until it is wanted."""
        if self._ahead is None and (self.ended or is_used_up(self.sized)):
            for element in elements:
                if element is not PENDING:
                    self._ahead = element
                return
            self._conclude(COMPLETED)

    def _keep_and_pass_on(self, element: T) -> bool:
        self._keep(element)
        self._pass_on()
        return True

    def _hold_subscriptions(self) -> list[BroadcastSubscription[T]]:
        """All subscriptions, with their drains held, if each of them can take the next element."""
        with self._lock:
            subscriptions = list(self._subscriptions)
            if not subscriptions:
                return []
            self._rows = FanOut()
        end = self.kept.end
        for held, subscription in enumerate(subscriptions):
            if not subscription.hold_at(end):
                self._settle([], [])
                for_each(subscriptions[:held], BroadcastSubscription.release)
                return []
        return subscriptions

    def _send_rows(self, elements: Elements, subscriptions: list[BroadcastSubscription[T]]) -> bool:
        """Send elements to all subscribers at a time; ``False`` if the run has to wait."""
        rows = self._rows
        passed: list[T] = []
        most = min([each.demand.outstanding for each in subscriptions])
        if self._history.capacity:
            most = min(most, PREFETCH, self._room_for_all)
        keep = passed.append if self._history.capacity else None
        stop: object = None
        try:
            stop = rows.send(elements, subscriptions, most, keep)
        finally:
            self._settle(subscriptions, passed)
            completed = stop is COMPLETED and self._note(COMPLETED)
            if completed:
                self._complete(subscriptions)
            else:
                for_each(subscriptions, BroadcastSubscription.release)
        for element in rows.late:
            self._keep(element)
        return stop is not PENDING

    def _complete(self, subscriptions: list[BroadcastSubscription[T]]) -> None:
        """All elements were sent: let those who are held go, and those who came with the last."""
        try:
            for_each(subscriptions, BroadcastSubscription.complete)
        finally:
            self.leave(subscriptions)
        for_each(list(self._subscriptions), BroadcastSubscription.wake)

    def _settle(self, subscriptions: list[BroadcastSubscription[T]], passed: list[T]) -> None:
        """No more rows are sent: note the positions of all subscriptions."""
        with self._lock:
            sent = self._rows.sent
            self._rows = NO_ROWS
            end = self.kept.end + sent
            for element in passed:
                self.kept.append(element)
            if sent:
                self.kept.move(end - sent, end, len(subscriptions))
                for subscription in subscriptions:
                    subscription.demand.consume(sent)
                    subscription.position = end
                self._furthest, self.thirsty = end, True
                self._move_history(end)
            self._let_newcomers_begin()

    def _let_newcomers_begin(self) -> None:
        newcomers, self._newcomers = self._newcomers, []
        for newcomer in newcomers:
            if newcomer in self._subscriptions:
                self.kept.move(newcomer.position, self._history.start)
                newcomer.position = self._history.start
                self.has_taken(newcomer, 0)
                self._fresh = True

    @property
    def _room_for_all(self) -> int:
        """How many more elements may come, where none of them must be forgotten."""
        return UNBOUNDED if self._limit is None else self._history.capacity - self.kept.end

    def _keep(self, element: T) -> None:
        require_element(element)
        if self._limit is not None and not self._room_for_all:
            discard(self, (element,))
            raise self._limit
        with self._lock:
            if self._is_active:
                self.kept.append(element)
                self._fresh = True
                self._move_history(self.kept.end)

    def _move_history(self, end: int) -> None:
        """The history is one more reader of what is kept; it moves on with the end."""
        before = self._history.start
        self._history.grow(end)
        self.kept.move(before, self._history.start)

    def _join(self, subscriber: Subscriber[T]) -> BroadcastSubscription[T] | None:
        if self.state is not ACTIVE:
            shut_down = self.state is BroadcastState.SHUT_DOWN
            if shut_down or self.kept.end == self._history.start:
                return None
        if self._grace is not None:
            self._grace.end()
        if self._rows is not NO_ROWS:
            self.disturb()
            newcomer = self._join_at(subscriber, self.kept.end)
            self._newcomers.append(newcomer)
            return newcomer
        if self._history.capacity:
            before = self._history.start
            self._history.forget_the_old()
            self.kept.move(before, self._history.start)
        return self._join_at(subscriber, self._history.start)

    def _forget_if_over(self) -> None:
        if self.state is BroadcastState.SHUT_DOWN:
            super()._forget_if_over()
        unseen = self._subscriptions or self._kept_alive  # by those here, or about to come
        if self._grace is not None and not self._is_active and not unseen:
            # Newcomers get another run. An error would keep its frames, and subscribers that left.
            self._ending = COMPLETED
