"""One stream that is split into several, each of them with its own reader.

A ``SubstreamRouter`` pulls the flow upstream, ahead of demand and as its run, and puts each element
into a ``Substream``. Readers take elements out of their substreams wherever they run. So all that
decides where an element goes is plain, single-threaded code within the drain of the router.
"""

from __future__ import annotations

from abc import abstractmethod
from asyncio import Future
from collections import deque
from collections.abc import Collection
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from penstock.core import COMPLETED, Drain
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.run_context import (
    PENDING,
    ClosingTasks,
    Elements,
    RunContext,
    WaitState,
    close_quietly,
    discard,
    is_used_up,
    started,
)
from penstock.flow.operators.error_handling import caught
from penstock.flow.operators.inputs import InputElements
from penstock.runtime import shorten

if TYPE_CHECKING:
    from penstock.flow.operators.group_by import SplitIntoSubstreams

__all__ = ["Substream", "SubstreamRouter"]

HAS_A_READER: Final = "takes one subscriber, and has had one; publish() or cache() would share it"
IS_ABANDONED: Final = (
    "was not subscribed to when the flow that gave it was cancelled; subscribe to it when it comes"
)


class Substream:
    """Elements for one reader, which the router puts here and the reader takes out.

    ``refusal``  why it takes no reader: it has one, or was abandoned
    """

    __slots__ = ("_ending", "_left", "_router", "_run", "_waiting", "arrived", "key", "refusal")
    is_outer = False

    def __init__(self, router: SubstreamRouter, key: Any = None) -> None:
        self.key = key
        self.refusal = ""
        self.arrived: deque[Any] = deque()
        self._router = router
        self._ending: Exception | None = None
        self._run: RunContext | None = None
        self._waiting = False
        self._left = False

    def wait_state(self, operator: str | None) -> WaitState:
        """What was put here and not taken yet."""
        return WaitState(
            operator, "waits for its group", buffered=len(self.arrived), brought_by=self._router
        )

    # What the router calls, within its drain.

    def put(self, element: Any) -> None:
        """One more element for the reader."""
        self.arrived.append(element)
        if self._left:
            self.sweep()
        elif self._waiting:
            self._waiting = False
            assert self._run is not None
            self._run.wake()

    def end(self, ending: Exception) -> None:
        """Nothing will follow what has been put here."""
        self._ending = COMPLETED if self._left else ending
        run = self._run
        if run is not None:
            run.end_is_near(self, self._ending)
            if self._left:
                run.end_is_seen(self)  # the reader does not see it any more
            else:
                run.wake()

    def sweep(self) -> None:
        """Discard what nobody will take."""
        swept = 0
        while self.arrived:
            try:
                element = self.arrived.popleft()
            except IndexError:  # another thread sweeps, too
                break
            discard(self._run or self._router.reader, (element,))
            swept += 1
        if swept:
            self._router.make_room(swept)

    def abandon(self) -> None:
        """Discard what it holds, and what follows: nobody will ever read it."""
        self._left = True
        self._drop_error()
        self.sweep()

    def forget(self) -> None:
        """Nothing will be put here any more, and the reader has left."""
        self._run = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing will follow what is here."""
        return self._ending is not None

    @property
    def is_read(self) -> bool:
        """Whether it has, or has had, a reader."""
        return self._run is not None

    @property
    def starves(self) -> bool:
        """Whether its reader has taken all that was put here, and waits for more."""
        # In this order: one that is about to take the last element was waiting a moment ago.
        return not self.arrived and self._waiting and not self._left

    # What the reader calls, within its run.

    def elements(self, run: RunContext) -> Elements:
        """What is put here, for the only reader; ``RuntimeError`` if this is not the only one."""
        self._router.admit(self)
        self._run = run
        if self._ending is not None:
            run.end_is_near(self, self._ending)
        return started(self._elements(run))

    def _elements(self, run: RunContext) -> Elements:
        seen = False
        run.waiting_at[self] = run.opening
        try:
            yield None
            while True:
                self._waiting = True  # before the check, so that nothing comes unseen
                ended = self.has_ended
                if self.arrived and (run.wanted or not self.is_outer):
                    self._waiting = False
                    yield self._take()
                elif ended and not self.arrived:
                    seen = True
                    break
                else:
                    if self._router.held_up:
                        self._router.wake()
                    yield PENDING
        finally:
            self._left = True
            if not seen:
                self._drop_error()
            run.end_is_seen(self)
            run.waiting_at.pop(self, None)
            self.sweep()
            self._router.leave(self)
            self._router.hand_tasks_over(run)
        if self._ending is not COMPLETED:
            self._fail()

    def _take(self) -> Any:
        element = self.arrived.popleft()
        self._router.make_room(1)
        return element

    def _drop_error(self) -> None:
        """Nobody will see how it ended: an error would keep its frames, and what they refer to."""
        if self._ending is not None:
            self._ending = COMPLETED

    def _fail(self) -> None:
        error, self._ending = self._ending, COMPLETED
        assert error is not None
        try:
            raise error
        finally:
            del error  # whose traceback has this frame


class Substreams(Substream):
    """The substreams themselves, for the reader of the flow of flows.

    They take no room. One that nobody wants stays here, where it is known what it holds.
    """

    __slots__ = ()
    is_outer = True

    def sweep(self) -> None:
        """Nobody will ever read the substreams that wait here."""
        substreams = list(self.arrived)
        self.arrived.clear()
        self._router.abandon(substreams)

    def _take(self) -> Any:
        return self._router.flow_of(self.arrived.popleft())


class SubstreamRouter(Drain, RunContext):
    """Pulls a flow, as its run, and puts its elements into substreams.

    At most ``prefetch`` elements wait in all substreams together. As they are taken, portions of a
    quarter are replenished. It goes on as long as the outer stream or a substream has a reader.

    As a drain it pulls upstream, and calls the user's functions, on the thread of whichever reader
    wakes it, or on the executor of the flow upstream; on one thread at a time.

    ``outer``    the stream of the substreams
    ``held_up``  whether it takes nothing before something happens to a reader
    """

    wanted: int = 0

    def __init__(self, part: SplitIntoSubstreams, run: RunContext) -> None:
        super().__init__(part.executor)
        self.name = part.name  # for notes: what fails in here fails in that operator
        self.site = part.site
        self.reader = run
        self.outer = Substreams(self)
        self.flow_of = part.flow_of
        self._upstream: BaseFlow[Any] = part.upstream
        self._prefetch = part.prefetch
        self._portion = max(part.prefetch // 4, 1)
        self._own_context = copy_context()
        self._input: InputElements | None = None
        self._concluded = False
        self.held_up = False
        # What readers change from their threads.
        self._departed: deque[Substream] = deque()
        self._room = part.prefetch
        self._readers = 0
        self._outer_left = False
        self._tasks = ClosingTasks()
        self._begin_run(run.discards)

    # What decides where an element goes.

    @abstractmethod
    def _route(self, element: Any) -> None:
        """Put ``element`` into a substream, or discard it."""

    def _check_events(self) -> None:
        """Check whether something else has come: a timer, a signal, its end, room."""

    @abstractmethod
    def _open_substreams(self) -> Collection[Substream]:
        """Those into which elements may still be put."""

    def _begin(self) -> None:
        """Prepare for the first element: upstream was opened."""

    def _forget(self, substream: Substream) -> None:
        """The reader of ``substream`` has left, or nobody will ever read it."""

    def _end(self) -> None:
        """Upstream is over: drop all substreams."""

    def _lose(self, element: Any) -> None:
        """Discard ``element``, which goes into no substream."""
        discard(self.reader, (element,))
        self.make_room(1)

    # What readers call, from any thread.

    def admit(self, substream: Substream) -> None:
        """Make the caller the reader of ``substream``; ``RuntimeError`` if that cannot be."""
        with self._progress_lock:
            # When nobody reads any more, the run may have been stopped already.
            too_late = self.over and not substream.has_ended
            refusal = substream.refusal or (IS_ABANDONED if too_late else "")
            if not refusal:
                substream.refusal = HAS_A_READER
                self._readers += 1
        if refusal:
            raise RuntimeError(f"{self.name}: flow {shorten(substream.key)} {refusal}")

    def make_room(self, elements: int) -> None:
        """``elements`` of them have left their substreams."""
        with self._progress_lock:
            self._room += elements
            enough = self._room >= self._portion
        if enough and not self._concluded:
            self.wake()

    def leave(self, substream: Substream) -> None:
        """The reader of ``substream`` takes no more."""
        with self._progress_lock:
            self._readers -= 1
            self._outer_left |= substream.is_outer
            self.over = not self._readers
        self._departed.append(substream)
        self.wake()

    def hand_tasks_over(self, run: RunContext) -> None:
        """A reader has left its ``run``; if it was the last one, it waits for what is closed."""
        if self.over or self._concluded:
            self._tasks.hand_over(run)

    def leave_after(self, task: Future[Any]) -> None:
        """The readers who leave when all is over wait for ``task``."""
        self._tasks.add(task)

    def abandon(self, substreams: Collection[Substream]) -> None:
        """The outer stream was left: ``substreams`` without a reader will never get one."""
        with self._progress_lock:
            unread = [substream for substream in substreams if not substream.refusal]
            for substream in unread:
                substream.refusal = IS_ABANDONED
        for substream in unread:
            substream.abandon()
            self._departed.append(substream)

    # How it works.

    def _work(self) -> None:
        try:
            if not self._concluded:
                if self._executor is None:
                    self._own_context.run(self._go_on)
                else:
                    self._go_on()
        except Exception as error:
            self._conclude(caught(error))
        except BaseException as interrupt:
            self._conclude(RuntimeError(f"{self.name} was stopped by {interrupt!r}"))
            raise
        self._forget_the_departed()

    def _rejected(self, error: Exception) -> None:
        if not self._concluded:
            self._conclude(error)

    def _go_on(self) -> None:
        if self._input is None:
            self._input = InputElements(opened(self._upstream, self, prefetch=self._prefetch), self)
            self._begin()
        while not self.over:
            self._forget_the_departed()
            self._check_events()
            if self.held_up or self._concluded:
                return
            self._fill_up()
            if not self.wanted and not self.ended and not is_used_up(self.sized):
                return
            if not self._input.peek():
                if self._input.exhausted:
                    self._conclude(COMPLETED)
                return
            if not self.wanted:
                return
            self.wanted -= 1
            self._route(self._input.take())
        self._conclude(RuntimeError(f"{self.name}: nobody reads it any more"))

    def _fill_up(self) -> None:
        if self._room >= self._portion:
            with self._progress_lock:
                room, self._room = self._room, 0
            self.wanted += room

    def _forget_the_departed(self) -> None:
        if self._departed and self._outer_left:
            self.abandon(self._open_substreams())
        while self._departed:
            substream = self._departed.popleft()
            self._forget(substream)
            substream.forget()

    def _conclude(self, ending: Exception) -> None:
        """End all substreams, and then the outer stream."""
        self._concluded = True
        source, self._input = self._input, None
        close_quietly(source)
        self._forget_the_departed()
        substreams = (*self._open_substreams(), self.outer)
        del self.outer  # which refers to this object
        self._end()
        for substream in substreams:
            substream.end(ending)
