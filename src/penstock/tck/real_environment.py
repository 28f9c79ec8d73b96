"""Real threads in real time, for subjects that cannot be controlled, and how their threads end."""

from __future__ import annotations

import _thread
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, NoReturn, Self

from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.explorer.trail import locate_thread
from penstock.tck.explorer.watchdog import interrupt

__all__ = [
    "POLL",
    "TASKS",
    "DisposableThread",
    "Halted",
    "Hung",
    "RealEnvironment",
    "Stopwatch",
]

QUIET = 0.02
"""Seconds without any movement after which nothing more is expected."""
RESTLESS = 0.3
"""Seconds after which nothing more is expected though there was movement: it may be of others."""
HOPELESS = 0.5
"""Seconds without any movement after which something expected will not come any more."""
PATIENCE = 1.0
"""Seconds that something expected may take, however late it is."""

POLL: Final = 0.05
"""The most seconds that count between two polls."""
TASKS = Path("/proc/self/task")
SLICE = 0.002
BUSY = ("R", "D")
"""A thread that runs, or waits for a processor; and one that waits for a disk."""

_WAIT = threading.Condition.wait.__code__
# Taken before any exploration replaces them.
_monotonic = time.monotonic
_sleep = time.sleep


class Halted(Exception):
    """Ends a check at the place where its verdict is known."""


class Hung(Exception):
    """Ends a check that waits for a call which does not return; the text says where that is."""


class RealEnvironment(CheckEnvironment):
    """Real threads in real time, watched from outside."""

    quick = 0.1  # the machine may be busy with something else
    given_up: int | None = None
    """The thread that nobody waits for: it goes no further when the subject returns after all."""

    def __init__(self, limit: float, answers_within: float = 0.0) -> None:
        self._end = _monotonic() + limit
        self._hopeless = max(HOPELESS, answers_within)
        self._stillness = Stillness()
        self.verdict: tuple[str, str] | None = None
        self._forgiven: tuple[type[BaseException], ...] = (Halted,)
        self._cleanups: list[Callable[[], object]] = []
        self._threads: list[DisposableThread] = []
        self._is_over = False

    def __enter__(self) -> Self:
        self._hook, threading.excepthook = threading.excepthook, self._end_of_thread
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._start(self._clean_up).returns_within(PATIENCE)  # it may hang, like all the rest
        threading.excepthook = self._hook

    def _clean_up(self) -> None:
        for cleanup in self._cleanups:
            with suppress(Exception):
                cleanup()

    def _end_of_thread(self, arguments: threading.ExceptHookArgs, /) -> None:
        if not issubclass(arguments.exc_type, self._forgiven):
            self._hook(arguments)

    @contextmanager
    def expecting(self, what: str, rule: str) -> Iterator[None]:
        with super().expecting(what, rule):
            yield
        if threading.get_ident() == self.given_up:
            raise Halted(f"{what} returned too late")

    @property
    def is_over(self) -> bool:
        return self._is_over

    @property
    def is_late(self) -> bool:
        return not self._time_left()

    def rest(self) -> None:
        self.settle()

    def settle(self) -> None:
        self._stillness.lasts(QUIET, RESTLESS)
        self._stop_if_judged()

    def reaches(self, condition: Callable[[], bool]) -> bool:
        def known() -> bool:
            return self.verdict is not None or condition()

        self._stillness.lasts(self._hopeless, self._patience(), unless=known)
        self._stop_if_judged()
        return condition()

    def together(self, *bodies: Callable[[], object]) -> None:
        threads = [self._start(body) for body in bodies]
        hung = [each for each in threads if not each.returns_within(self._patience())]
        self._stop_if_judged()
        if hung:
            raise Hung(hung[0].place)

    def aside(self, body: Callable[[], object]) -> None:
        self._start(body)

    def end_threads(self) -> None:
        """End those threads that hang, if there is a way; nobody waits for them."""
        for thread in tuple(self._threads):
            if not thread.returns_within(PATIENCE):
                thread.end()

    def noticed(self) -> None:
        pass

    def pause(self) -> None:
        _sleep(0)

    def now(self) -> float:
        return _monotonic()

    def fail(self, rule: str, message: str) -> NoReturn:
        if self.verdict is None:
            self.verdict = rule, message
        # An ordinary exception: anything else could end a loop that is not ours to end.
        raise Halted(message)

    def is_own(self, error: Exception) -> bool:
        return isinstance(error, Halted)

    def forgive(self, *errors: type[BaseException]) -> None:
        self._forgiven += errors

    def at_end(self, cleanup: Callable[[], object]) -> None:
        self._cleanups.append(cleanup)

    def _start(self, body: Callable[[], object]) -> DisposableThread:
        def call() -> None:
            try:
                body()
            except Halted:
                pass

        thread = DisposableThread(call, name="check")
        thread.start()
        self._threads.append(thread)  # then only: another thread may be about to end them all
        return thread

    def _stop_if_judged(self) -> None:
        if self.verdict is not None:
            raise Halted(self.verdict[1])

    def _patience(self) -> float:
        return max(self._time_left(), PATIENCE)

    def _time_left(self) -> float:
        return max(self._end - _monotonic(), 0.0)


class _Disposed(BaseException):
    """Unwinds a thread whose call is not awaited any more."""


class _Parked(_Disposed):
    """Sent into a thread that swallows everything: it may stay, but must not run on."""

    def __init__(self) -> None:
        _park()


_FORCES = ((_Disposed, 0.05), (_Disposed, 0.2), (_Disposed, 1.0), (_Parked, 0.05))
"""What is sent into a thread, and the seconds that it may take to unwind, on a busy machine."""


class DisposableThread:
    """Runs ``body`` on a daemon thread."""

    def __init__(self, body: Callable[[], object], name: str) -> None:
        self._body = body
        self._ended = _locked()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def returns_within(self, seconds: float) -> bool:
        """Wait for the end of ``body``."""
        stopwatch = Stopwatch()
        while self._thread.is_alive() and stopwatch.elapsed() < seconds:
            self._thread.join(POLL)
        return not self._thread.is_alive()

    @property
    def ident(self) -> int:
        """The identity of the thread, which was started."""
        return self._thread.ident or 0

    @property
    def place(self) -> str:
        """Where the thread is now, in the user's code."""
        return locate_thread(self.ident)

    def end(self) -> bool:
        """Unwind the thread, wherever it is; say if it has ended.

        A thread that executes Python code is ended, and so is one that waits for a condition, an
        event, a semaphore, a future or a queue. Nothing ends one that waits in a function of C,
        such as a lock, a socket or a sleep.
        """
        for error, seconds in _FORCES:
            if not self._thread.is_alive() or self._is_ended_by(error, seconds):
                self._thread.join()  # it has nothing left to do
                return True
        return False

    def _is_ended_by(self, error: type[BaseException], seconds: float) -> bool:
        waiter = _waiter_of(self.ident)
        wake = waiter.release if waiter is not None else None
        return interrupt(self.ident, error, partial(self._ended.acquire, timeout=seconds), wake)

    def _run(self) -> None:
        try:
            self._body()
        except _Disposed:
            pass
        finally:
            self._ended.release()


def _waiter_of(ident: int) -> _thread.LockType | None:
    """Return the lock by which `threading` makes one thread wait that waits for a condition."""
    frame = sys._current_frames().get(ident)
    if frame is None or frame.f_code is not _WAIT:
        return None
    waiter: _thread.LockType | None = frame.f_locals.get("waiter")
    return waiter


def _park() -> NoReturn:
    while True:
        _locked().acquire()


def _locked() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


class Stopwatch:
    """Counts seconds as long as it is polled.

    While the machine stands still nobody polls it, and the threads that are waited for stand still,
    too: that time does not count against them.
    """

    def __init__(self) -> None:
        self._last = _monotonic()
        self._passed = 0.0

    def elapsed(self) -> float:
        """The seconds that have passed, without those in which the machine stood still."""
        last, self._last = self._last, _monotonic()
        self._passed += min(self._last - last, POLL)
        return self._passed


class Stillness:
    """Watches the other threads of the process.

    A thread that sleeps and has used no processor time since the last sample is at rest, however
    loaded the machine is: one that waits for a processor does not sleep.
    """

    def __init__(self) -> None:
        self._last: object = None

    def lasts(
        self, seconds: float, limit: float, unless: Callable[[], bool] = lambda: False
    ) -> bool:
        """Wait until all other threads have been at rest for so long.

        The answer is no when ``limit`` seconds have passed before, or when ``unless`` holds.
        """
        stopwatch = Stopwatch()
        now = since = 0.0
        self._is_unchanged()
        while not unless() and now < limit:
            _sleep(SLICE)
            now = stopwatch.elapsed()
            if not self._is_unchanged():
                since = now
            elif now - since >= seconds:
                return True
        return False

    def _is_unchanged(self) -> bool:
        asleep, now = _threads_by_system() if TASKS.is_dir() else _threads_by_frame()
        last, self._last = self._last, now
        return asleep and now == last


def _threads_by_system() -> tuple[bool, object]:
    """Whether all other threads sleep, and the processor time that each has used."""
    me = str(threading.get_native_id())
    asleep, used = True, {}
    for task in TASKS.iterdir():
        if task.name == me:
            continue
        try:
            fields = (task / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        asleep = asleep and fields[0] not in BUSY
        used[task.name] = fields[11:13]
    return asleep, used


def _threads_by_frame() -> tuple[bool, object]:
    """Where each other thread stands; elsewhere the system does not say more."""
    me = threading.get_ident()
    frames = sys._current_frames()
    return True, {
        ident: (id(frame), frame.f_lasti) for ident, frame in frames.items() if ident != me
    }
