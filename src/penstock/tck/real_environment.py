"""For subjects that cannot be controlled, such as threads and sockets that were there before."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn, Self

from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.disposable import DisposableThread
from penstock.tck.stillness import Stillness

__all__ = ["Halted", "Hung", "RealEnvironment"]

QUIET = 0.02
"""Seconds without any movement after which nothing more is expected."""
RESTLESS = 0.3
"""Seconds after which nothing more is expected though there was movement: it may be of others."""
HOPELESS = 0.5
"""Seconds without any movement after which something expected will not come any more."""
PATIENCE = 1.0
"""Seconds that something expected may take, however late it is."""

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
