"""A subscriber's way through a flow: pulls the last stage as far as demand goes."""

from __future__ import annotations

from asyncio import Future
from contextvars import Context, copy_context
from threading import get_ident
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from penstock.api import UNBOUNDED, Subscriber
from penstock.core import BaseSubscription, illegal_request
from penstock.flow.engine.call_site import named, with_note
from penstock.flow.engine.event_loop import remember_running_loop
from penstock.flow.engine.fusion import FusedOutput
from penstock.flow.engine.run_context import (
    RUN_FIELDS,
    SATISFIED,
    Elements,
    QueueReceiver,
    RunContext,
    RunPart,
    close,
    is_used_up,
    listen,
)
from penstock.runtime import NewLock
from penstock.runtime.executor import ReentrantLock
from penstock.runtime.undelivered import stream_title

if TYPE_CHECKING:
    from penstock.flow.engine.plan import Plan

__all__ = ["FlowSubscription"]

T = TypeVar("T")


class FlowSubscription(BaseSubscription[T], RunContext, RunPart):
    """The subscription of one subscriber to a flow, and the run of its stages.

    All stages run within its drain, one pull at a time. Demand is a plain number that only the
    thread of the drain touches: a request from within a signal adds to it, one from elsewhere goes
    into a mailbox.
    """

    __slots__ = (
        "_mailbox", "_own_context", "_resting_at", "_source", "delivered", "part_of",
        "plan", "requested", "rests_since", "thread", *RUN_FIELDS,
    )  # fmt: skip

    def __init__(
        self, plan: Plan, subscriber: Subscriber[T], new_lock: NewLock = ReentrantLock
    ) -> None:
        super().__init__(subscriber, plan.origin.executor, new_lock)
        self.plan = plan
        # Not by `or`: a context without variables is false.
        self._own_context: Context = copy_context() if self._context is None else self._context
        remember_running_loop(self._own_context)
        if plan.title:
            self._own_context.run(stream_title.set, plan.title)
        plan.runs.add(ref(self, plan.runs.discard))
        self._source: Elements | None = None
        self._mailbox = 0
        self.thread = 0
        self._resting_at = -1
        self.rests_since = 0.0
        self.requested = 0
        self.delivered = 0
        self.part_of: RunContext | None = None
        self._begin_run()
        listen(self, plan.listeners)  # at once: it may be cancelled before a stage is opened
        self.prepared = plan.origin.prepare(self)

    def request(self, n: int) -> None:
        """Ask for ``n`` more elements."""
        if self.thread == get_ident() and type(n) is int and n > 0:
            self.requested += n  # 3.3: the loop that called us sees it
            return
        if self.over:
            return  # 3.6
        error = illegal_request(n)
        if error is not None:
            self.fail_soon(error)  # 3.9
            return
        with self._progress_lock:
            self._mailbox += n
        self.wake()

    def take_part_in(self, run: RunContext) -> None:
        """The subscriber is a part of ``run``, whose discards are those of this one, too."""
        if self.part_of is not run.whole:
            listen(run, self.discards)
            self.discards = run.discards
            self.part_of = run.whole

    def leave_after(self, task: Future[Any]) -> None:
        """A subscriber does not wait; the run of which it is a part may."""
        if self.part_of is not None:
            self.part_of.leave_after(task)

    def _leave(self, mark: Exception) -> bool:
        left = super()._leave(mark)
        self.over = True  # after the mark, which says how it ended
        return left

    def _work(self) -> None:
        self.thread = get_ident()
        try:
            if self._executor is None:
                self._own_context.run(super()._work)
            else:
                super()._work()
        finally:
            self.thread = 0

    def _rejected(self, error: Exception) -> None:
        super()._rejected(named(error, self.plan.origin))

    def _serve(self) -> None:
        try:
            if self._source is None:
                self._read_mailbox()
                self._source = self.plan.deliver(self, self._subscriber, self._sink())
            self._go_on(self._source)
        except Exception as error:
            self._fail(with_note(error))

    def _sink(self) -> FusedOutput:
        if isinstance(self._subscriber, QueueReceiver):
            return FusedOutput.HAND_OVER
        return FusedOutput.DELIVER_ALL if self.requested >= UNBOUNDED else FusedOutput.DELIVER

    def _go_on(self, delivery: Elements) -> None:
        while True:
            self._read_mailbox()
            wanted = self.wanted
            # 1.5: the end needs no demand. Nothing is asked of anybody while looking for it.
            if not wanted and not self.ended and not is_used_up(self.sized):
                self._rest()
                return
            requested = self.requested
            pause = next(delivery, None)
            if pause is None:
                self._complete()
                return
            satisfied = pause is SATISFIED and wanted
            if not satisfied and self.requested == requested:
                self._rest()
                return  # the one that has something wakes us

    def _rest(self) -> None:
        """Remember since when, for ``explain``; a wake-up that led to nothing does not count."""
        place = 2 * self.delivered + (self.requested > self.delivered)
        if place != self._resting_at or self.requested >= UNBOUNDED:  # which is not counted
            self._resting_at = place
            self.rests_since = monotonic()

    def _read_mailbox(self) -> None:
        """Take over what was requested from outside the drain."""
        if self._mailbox:
            with self._progress_lock:
                n, self._mailbox = self._mailbox, 0
            self.requested += n

    @property
    def wanted(self) -> int:
        """Elements that were requested and not yet delivered."""
        return min(self.requested - self.delivered, UNBOUNDED)  # 3.17

    @property
    def asked(self) -> int:
        """All that was ever requested, also what the drain has not seen yet."""
        return self.requested + self._mailbox

    def blame(self, error: Exception) -> None:
        """The subscriber raised ``error`` in ``on_next``."""
        self._blame("on_next", error)

    def _release(self) -> None:
        delivery, self._source = self._source, None
        self.over = True
        self.sized = None
        self.ended.clear()
        close(delivery)
        close(self.prepared)
        self.part_of = None  # last: what is closed may have to be waited for
