"""Where a check runs: who owns the threads and the time of the subject, and how a fault ends it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from penstock.runtime import shorten
from penstock.tck.explorer import Environment

__all__ = ["CheckEnvironment", "ControlledEnvironment"]

T = TypeVar("T")

PATIENCE = (0.001, 0.01, 0.1, 1.0, 10.0)
"""Seconds to let pass, one after the other, until something that is expected has come."""
QUIET = 1.0
"""Seconds in which nothing may come that is not expected."""


class CheckEnvironment(ABC):
    """The world of one run of a check: its threads, its time, its verdict."""

    quick: float = 0.01
    """Seconds that a call which returns quickly may take."""
    owns_time = False
    """Whether time passes only when a check says so, and then at once."""
    calling: tuple[str, str] | None = None
    """The call into the subject that is under way, and the rule that it breaks by not returning."""

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether the run has come to its end, so that what still happens is judged by nobody."""

    @property
    def is_late(self) -> bool:
        """Whether the run has no time left to wait for anything."""
        return False

    def call(self, what: str, rule: str, call: Callable[[], T]) -> T:
        """Call the subject; an ``Exception`` breaks ``rule``."""
        with self.expecting(what, rule):
            return call()

    @contextmanager
    def expecting(self, what: str, rule: str) -> Iterator[None]:
        """The block calls the subject; an ``Exception`` breaks ``rule``."""
        outer, self.calling = self.calling, (what, rule)
        try:
            yield
        except Exception as error:
            if self.is_own(error):
                raise
            self.fail(rule, f"{what} raised {shorten(error)}")
        finally:
            self.calling = outer

    def is_own(self, error: Exception) -> bool:
        """Whether this is how the environment itself ends a run."""
        return False

    @abstractmethod
    def forgive(self, *errors: type[BaseException]) -> None:
        """Let threads of the subject end with ``errors``, which the check provokes."""

    def aside(self, body: Callable[[], object]) -> None:
        """Call ``body`` on a thread of its own, and do not wait for it."""
        threading.Thread(target=body, daemon=True).start()

    @abstractmethod
    def at_end(self, cleanup: Callable[[], object]) -> None:
        """Call this when the run is over, unless all of its threads are ended anyway."""

    @abstractmethod
    def rest(self) -> None:
        """Wait until nothing happens any more at this moment; timers do not get their time."""

    @abstractmethod
    def settle(self) -> None:
        """Wait until nothing happens any more, timers of the next moment included."""

    @abstractmethod
    def reaches(self, condition: Callable[[], bool]) -> bool:
        """Wait until ``condition`` holds, or until nothing happens that could bring it about."""

    @abstractmethod
    def together(self, *bodies: Callable[[], object]) -> None:
        """Call all ``bodies`` at once, each on a thread of its own; returns when all are back."""

    @abstractmethod
    def pause(self) -> None:
        """A moment within a signal at which another thread may get its turn."""

    @abstractmethod
    def noticed(self) -> None:
        """The subject called one of the kit's parties, on this thread."""

    @abstractmethod
    def now(self) -> float:
        """Seconds, virtual where time is owned."""

    @abstractmethod
    def fail(self, rule: str, message: str) -> NoReturn:
        """End the run: the subject broke ``rule``. May be called from any thread of it."""


class ControlledEnvironment(CheckEnvironment):
    """Every switch and the time belong to the schedule explorer."""

    owns_time = True

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._turn = environment.lock()

    @property
    def is_over(self) -> bool:
        return self._environment.is_over

    def at_end(self, cleanup: Callable[[], object]) -> None:
        pass  # the explorer ends all threads

    def rest(self) -> None:
        self._environment.settle()

    def settle(self) -> None:
        self._environment.settle()
        self._environment.advance(QUIET)

    def reaches(self, condition: Callable[[], bool]) -> bool:
        self._environment.settle()
        for seconds in PATIENCE:
            if condition():
                return True
            self._environment.advance(seconds)
        return condition()

    def together(self, *bodies: Callable[[], object]) -> None:
        self._environment.par(*bodies)

    def noticed(self) -> None:
        if not self._environment.controls_this_thread:
            self._environment.lose_control("a thread that was there before called")

    def pause(self) -> None:
        with self._turn:
            pass

    def now(self) -> float:
        return self._environment.now

    def fail(self, rule: str, message: str) -> NoReturn:
        self._environment.fail(rule, message)

    def forgive(self, *errors: type[BaseException]) -> None:
        self._environment.forgive(*errors)
