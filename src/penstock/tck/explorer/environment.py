"""What a scenario gets to steer its threads."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.task import (
    QUIESCENCE,
    Deadline,
    End,
    Group,
    RunEnd,
    current_task,
)
from penstock.tck.explorer.threads import spawn_thread

__all__ = ["Environment"]


class Environment:
    """The scheduler's side of a scenario: parallel calls, quiescence, virtual time, failure.

    The factories are for subjects that take their locks and clocks as arguments. A subject that
    uses `threading` and `time` by name needs none of them.
    """

    def __init__(self, run: ScheduledRun) -> None:
        self._run = run

    @property
    def now(self) -> float:
        """Seconds of virtual time since the run began."""
        return self._run.now

    def monotonic(self) -> float:
        """Return `now`; takes the place of `time.monotonic`."""
        return self._run.now

    def sleep(self, seconds: float) -> None:
        """Take the place of `time.sleep`."""
        time.sleep(seconds)

    def lock(self) -> threading.Lock:
        """Make a lock; takes the place of `threading.Lock`."""
        return threading.Lock()

    def rlock(self) -> threading.RLock:
        """Make a reentrant lock."""
        return threading.RLock()

    def condition(
        self, lock: threading.Lock | threading.RLock | None = None
    ) -> threading.Condition:
        """Make a condition variable."""
        return threading.Condition(lock)

    def event(self) -> threading.Event:
        """Make an event."""
        return threading.Event()

    def semaphore(self, value: int = 1) -> threading.Semaphore:
        """Make a semaphore."""
        return threading.Semaphore(value)

    def bounded_semaphore(self, value: int = 1) -> threading.BoundedSemaphore:
        """Make a semaphore that does not rise above ``value``."""
        return threading.BoundedSemaphore(value)

    def barrier(self, parties: int) -> threading.Barrier:
        """Make a barrier."""
        return threading.Barrier(parties)

    def simple_queue(self) -> queue.SimpleQueue[Any]:
        """Make an unbounded queue."""
        return queue.SimpleQueue()

    def thread(self, target: Callable[..., object], *arguments: Any) -> threading.Thread:
        """Return a thread, not yet started, that calls ``target`` with ``arguments``."""
        return threading.Thread(target=target, args=arguments)

    def par(self, *bodies: Callable[[], Any]) -> Sequence[Any]:
        """Call all ``bodies`` at once, each in a thread of its own; return their results.

        The threads start in one step, which leaves far fewer schedules than starting them one
        after the other.
        """
        results: list[Any] = [None] * len(bodies)

        def call(index: int) -> None:
            results[index] = bodies[index]()

        me = self._run.operator(QUIESCENCE)
        group = Group(
            [
                spawn_thread(me, threading.Thread(target=call, args=(index,)), _label(body))
                for index, body in enumerate(bodies)
            ]
        )
        if group.tasks:
            self._run.block(group, group.waiting)
        return results

    def settle(self) -> None:
        """Wait until no other thread can run. Time does not advance."""
        self._run.block(QUIESCENCE, self._run.settlers)

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` of virtual time pass, and everything happen that is due by then."""
        if seconds < 0:
            raise ValueError(f"time cannot go back: advance({seconds!r})")
        moment = self._run.now + seconds
        if seconds > 0:
            self._run.block(Deadline(moment), [], moment)
        self.settle()

    def forgive(self, *errors: type[BaseException]) -> None:
        """Let threads end with ``errors`` from now on, as those that the scenario provokes."""
        self._run.forgiven += errors

    @property
    def controls_this_thread(self) -> bool:
        """Whether the calling thread is one of this run."""
        task = current_task()
        return task is not None and task.run is self._run

    @property
    def is_over(self) -> bool:
        """Whether the run has ended, for a thread that is none of its own."""
        return self._run.aborting and not self.controls_this_thread

    def lose_control(self, reason: str) -> None:
        """Something happened that the scheduler does not own: nothing can be said any more."""
        self._run.stop(RunEnd(End.UNCONTROLLED, reason))

    def fail(self, rule: str, message: str) -> NoReturn:
        """Report that ``rule`` is broken. No handler of the subject can swallow it."""
        self._run.stop(RunEnd(End.VIOLATED, message, rule))
        self._run.die(current_task() or self._run.outsider)


def _label(body: Callable[[], Any]) -> str:
    name: str = getattr(body, "__name__", "<")
    return "" if name.startswith("<") else name
