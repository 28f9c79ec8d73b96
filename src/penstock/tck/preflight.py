"""Before the checks: does the subject work at all, and can the explorer hold it?"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.real_environment import TASKS, DisposableThread, Halted, RealEnvironment
from penstock.tck.report import FACTORY

__all__ = ["Preflight", "fly"]

LIMIT = 3.0
GRACE = 1.0
"""Seconds that an exercise may take to come to its end when its time is up."""
FLIGHTS = 6
"""So often a bystander must wake up with the subject to belong to it, but for the first time."""
REST = 0.02
"""Seconds after which a thread that has not moved is at rest."""

SWITCHES = "voluntary_ctxt_switches"

# Taken before any exploration replaces them.
_sleep = time.sleep
_monotonic = time.monotonic


@dataclass(frozen=True)
class Preflight:
    """What a first contact with the subject has shown."""

    controllable: bool
    fault: tuple[str, str] | None = None


def fly(exercise: Callable[[CheckEnvironment], set[int]], answers_within: float = 0.0) -> Preflight:
    """Use the subject for a moment, several times, in real time.

    ``exercise`` returns the threads from which the subject called. Threads that were there before
    it began belong to a pool or a loop that several subjects share: no explorer can hold them, and
    it must not try, since ending such a thread would break the pool for good. The same goes for
    those that do not call, but wake up each time that the subject is used, and only then.
    """
    suspects: set[int] = set()
    for number in range(FLIGHTS):
        bystanders = _Bystanders()
        before = _threads_here()
        flight = _Flight(exercise, answers_within)
        fault = flight.run()
        if fault is not None:
            return Preflight(controllable=True, fault=fault)
        if flight.callers & before:
            return Preflight(controllable=False)
        if number:  # the first one may wake up threads that have to prepare something
            stirred = bystanders.stirred()
            suspects = stirred & suspects if number > 1 else stirred
            if not suspects:
                return Preflight(controllable=True)
    return Preflight(controllable=False)


class _Bystanders:
    """The other threads that are there and at rest, as far as the system tells."""

    def __init__(self) -> None:
        first = _switches_of_threads()
        _sleep(REST)
        self._resting = first.items() & _switches_of_threads().items()
        self._since = _monotonic()

    def stirred(self) -> set[int]:
        """Those that have been awake since, and do not wake up for reasons of their own.

        A clock that ticks in the background also ticks while the subject is left alone.
        """
        now = _switches_of_threads()
        moved = {each for each, switches in self._resting if now.get(each, switches) != switches}
        if not moved:
            return moved
        _sleep(_monotonic() - self._since)
        later = _switches_of_threads()
        return {each for each in moved if later.get(each) == now[each]}


def _switches_of_threads() -> dict[int, str]:
    """How often each other thread began and ceased to wait; nothing where the system is silent."""
    found = {}
    for task in TASKS.glob("*"):
        try:
            found[int(task.name)] = (task / "status").read_text().partition(SWITCHES)[2]
        except OSError:
            continue  # it has just ended
    found.pop(threading.get_native_id(), None)
    return found


def _threads_here() -> set[int]:
    """All threads, by the numbers of the system: Python's own are given to the next one at once."""
    known = {thread.native_id for thread in threading.enumerate() if thread.native_id is not None}
    return known | {int(task.name) for task in TASKS.glob("*")}


class _Flight:
    """One exercise on a thread of its own, so that a subject that hangs can be given up."""

    def __init__(
        self, exercise: Callable[[CheckEnvironment], set[int]], answers_within: float
    ) -> None:
        self._exercise = exercise
        self._limit = LIMIT + 3 * answers_within
        self._environment = RealEnvironment(self._limit, answers_within)
        self.callers: set[int] = set()

    def run(self) -> tuple[str, str] | None:
        """Only a factory that does not work is a fault by now; the rest is for the checks."""
        thread = DisposableThread(self._body, name="preflight")
        with self._environment:
            thread.start()
            returned = thread.returns_within(self._limit + GRACE)
        verdict = self._environment.verdict if returned else self._give_up(thread)
        self._environment.end_threads()
        return verdict if not returned or (verdict and verdict[0] == FACTORY) else None

    def _give_up(self, thread: DisposableThread) -> tuple[str, str]:
        call, rule = self._environment.calling or ("it", FACTORY)
        fault = f"{call} did not return within {self._limit:g} s, it is at {thread.place}"
        self._environment.given_up = thread.ident
        return rule, fault if thread.end() else f"{fault}, and its thread cannot be ended"

    def _body(self) -> None:
        try:
            self.callers = self._exercise(self._environment)
        except Halted:
            pass
