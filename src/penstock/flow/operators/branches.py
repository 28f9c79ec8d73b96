"""One stream that is split into several, each of them for a reader of its own.

A ``Router`` pulls the flow in front, ahead of demand and as its host, and puts each element into a
``Branch``. Readers take elements out of their branches wherever they run. So all that decides where
an element goes is plain, single-threaded code within the drain of the router.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Collection
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, Final

from penstock.demand import COMPLETED, Drain, shorten
from penstock.flow.elements import (
    PENDING,
    Elements,
    Host,
    close_quietly,
    discard,
    is_used_up,
    started,
)
from penstock.flow.fluent import Fluent, opened
from penstock.flow.operators.inputs import Input
from penstock.flow.operators.recovery import caught

if TYPE_CHECKING:
    from penstock.flow.operators.splitting import Splitting

__all__ = ["Branch", "Router"]

HAS_A_READER: Final = "takes one subscriber, and has had one; publish() or cache() would share it"
IS_ABANDONED: Final = (
    "was not subscribed to when the flow that gave it was cancelled; subscribe to it when it comes"
)


class Branch:
    """Elements for one reader, which the router puts here and the reader takes out.

    ``refusal``  why nobody may read it, once somebody does, or nobody ever will
    """

    __slots__ = ("_ending", "_host", "_left", "_router", "_waiting", "arrived", "key", "refusal")
    is_trunk = False

    def __init__(self, router: Router, key: Any = None) -> None:
        self.key = key
        self.refusal = ""
        self.arrived: deque[Any] = deque()
        self._router = router
        self._ending: Exception | None = None
        self._host: Host | None = None
        self._waiting = False
        self._left = False

    @property
    def router(self) -> Router:
        """Who puts elements here."""
        return self._router

    # What the router calls, within its drain.

    def put(self, element: Any) -> None:
        """One more element for the reader."""
        self.arrived.append(element)
        if self._left:
            self.sweep()
        elif self._waiting:
            self._waiting = False
            assert self._host is not None
            self._host.wake()

    def end(self, ending: Exception) -> None:
        """Nothing will follow what has been put here."""
        self._ending = COMPLETED if self._left else ending
        host = self._host
        if host is not None:
            host.ended.add(self)
            if self._left:
                host.ended.discard(self)  # the reader does not see it any more
            else:
                host.wake()

    def sweep(self) -> None:
        """Let go of what nobody will take."""
        swept = 0
        while self.arrived:
            try:
                element = self.arrived.popleft()
            except IndexError:  # another thread sweeps, too
                break
            discard(self._host or self._router.reader, (element,))
            swept += 1
        if swept:
            self._router.make_room(swept)

    def abandon(self) -> None:
        """Nobody will ever read it."""
        self._left = True
        self._let_go_of_error()
        self.sweep()

    def forget(self) -> None:
        """Nothing will be put here any more, and the reader has left."""
        self._host = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing will follow what is here."""
        return self._ending is not None

    @property
    def is_read(self) -> bool:
        """Whether somebody reads it, or has."""
        return self._host is not None

    @property
    def starves(self) -> bool:
        """Whether its reader has taken all that was put here, and waits for more."""
        # In this order: one that is about to take the last element was waiting a moment ago.
        return not self.arrived and self._waiting and not self._left

    # What the reader calls, within its host.

    def elements(self, host: Host) -> Elements:
        """What is put here, for the only reader; ``RuntimeError`` if this is not the only one."""
        self._router.admit(self)
        self._host = host
        if self.has_ended:
            host.ended.add(self)
        return started(self._elements(host))

    def _elements(self, host: Host) -> Elements:
        seen = False
        try:
            yield None
            while True:
                self._waiting = True  # before looking, so that nothing comes unseen
                ended = self.has_ended
                if self.arrived and (host.wanted or not self.is_trunk):
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
                self._let_go_of_error()
            host.ended.discard(self)
            self.sweep()
            self._router.leave(self)
        if self._ending is not COMPLETED:
            self._fail()

    def _take(self) -> Any:
        element = self.arrived.popleft()
        self._router.make_room(1)
        return element

    def _let_go_of_error(self) -> None:
        """Nobody will see how it ended: an error leads by its frames to those who were here."""
        if self._ending is not None:
            self._ending = COMPLETED

    def _fail(self) -> None:
        error, self._ending = self._ending, COMPLETED
        assert error is not None
        try:
            raise error
        finally:
            del error  # whose traceback has this frame


class Trunk(Branch):
    """The branches themselves, for whoever reads the flow of flows.

    They take no room. One that nobody wants stays here, where it is known what it holds.
    """

    __slots__ = ()
    is_trunk = True

    def sweep(self) -> None:
        """Nobody will ever read the branches that wait here."""
        branches = list(self.arrived)
        self.arrived.clear()
        self._router.abandon(branches)

    def _take(self) -> Any:
        return self._router.flow_of(self.arrived.popleft())


class Router(Drain):
    """Pulls a flow, as its host, and puts its elements into branches.

    At most ``prefetch`` elements wait in all branches together. As they are taken, portions of a
    quarter are replenished. It goes on as long as somebody reads the trunk or a branch.

    ``held_up``  whether it takes nothing before something happens to a reader
    """

    def __init__(self, part: Splitting, host: Host) -> None:
        super().__init__(part.executor)
        self.name = part.name  # for notes: what fails in here fails in that operator
        self.site = part.site
        self.reader = host
        self.trunk = Trunk(self)
        self.flow_of = part.flow_of
        self._upstream: Fluent[Any] = part.upstream
        self._prefetch = part.prefetch
        self._portion = max(part.prefetch // 4, 1)
        self._own_context = copy_context()
        self._input: Input | None = None
        self._concluded = False
        self.held_up = False
        # What readers change from their threads.
        self._departed: deque[Branch] = deque()
        self._room = part.prefetch
        self._readers = 0
        self._trunk_left = False
        # What makes it a host.
        self.wanted = 0
        self.over = False
        self.ended: set[object] = set()
        self.discards = host.discards
        self.prepared: Any = None
        self.sized: object = None

    @property
    def source(self) -> Input | None:
        """What it pulls."""
        return self._input

    # What decides where an element goes.

    @abstractmethod
    def _route(self, element: Any) -> None:
        """Put ``element`` into a branch, or discard it."""

    def _look_around(self) -> None:
        """See whether something else than an element has happened."""

    @abstractmethod
    def _open_branches(self) -> Collection[Branch]:
        """Those into which elements may still be put."""

    def _begin(self) -> None:
        """The flow in front was opened."""

    def _forget(self, branch: Branch) -> None:
        """The reader of ``branch`` has left, or nobody will ever read it."""

    def _end(self) -> None:
        """The flow in front is over: let go of all branches."""

    def _lose(self, element: Any) -> None:
        """``element`` goes nowhere."""
        discard(self.reader, (element,))
        self.make_room(1)

    # What readers call, from any thread.

    def admit(self, branch: Branch) -> None:
        """Somebody wants to read ``branch``; ``RuntimeError`` if that cannot be."""
        with self._progress_lock:
            # When nobody reads any more, the run may have been stopped already.
            too_late = self.over and not branch.has_ended
            refusal = branch.refusal or (IS_ABANDONED if too_late else "")
            if not refusal:
                branch.refusal = HAS_A_READER
                self._readers += 1
        if refusal:
            raise RuntimeError(f"{self.name}: flow {shorten(branch.key)} {refusal}")

    def make_room(self, elements: int) -> None:
        """So many elements have left their branches."""
        with self._progress_lock:
            self._room += elements
            enough = self._room >= self._portion
        if enough and not self._concluded:
            self.wake()

    def leave(self, branch: Branch) -> None:
        """The reader of ``branch`` takes no more."""
        with self._progress_lock:
            self._readers -= 1
            self._trunk_left |= branch.is_trunk
            self.over = not self._readers
        self._departed.append(branch)
        self.wake()

    def abandon(self, branches: Collection[Branch]) -> None:
        """The trunk was left: nobody will read those of ``branches`` that nobody reads now."""
        with self._progress_lock:
            unread = [branch for branch in branches if not branch.refusal]
            for branch in unread:
                branch.refusal = IS_ABANDONED
        for branch in unread:
            branch.abandon()
            self._departed.append(branch)

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
            self._input = Input(opened(self._upstream, self, prefetch=self._prefetch), self)
            self._begin()
        while not self.over:
            self._forget_the_departed()
            self._look_around()
            if self.held_up:
                return
            self._fill_up()
            if not self.wanted and not self.ended and not is_used_up(self.sized):
                return
            if not self._input.look():
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
        if self._departed and self._trunk_left:
            self.abandon(self._open_branches())
        while self._departed:
            branch = self._departed.popleft()
            self._forget(branch)
            branch.forget()

    def _conclude(self, ending: Exception) -> None:
        """End all branches, and the trunk behind them."""
        self._concluded = True
        source, self._input = self._input, None
        close_quietly(source)
        self._forget_the_departed()
        branches = (*self._open_branches(), self.trunk)
        del self.trunk  # which refers to this
        self._end()
        for branch in branches:
            branch.end(ending)
