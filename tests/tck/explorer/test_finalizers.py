"""Finalizers that use primitives of an earlier run, while a later one is being given up."""

from __future__ import annotations

import gc
import queue
import weakref
from typing import Any

from penstock.tck import Environment, Verdict, explore

MANY = 50
"""More than the times that a thread may swallow its unwinding before it is parked."""


class Farewell:
    """Says goodbye to a queue when it is collected, as a forgotten pool dismisses its threads."""

    def __init__(self, letters: queue.SimpleQueue[str]) -> None:
        self.itself = self
        self._letters = letters

    def __del__(self) -> None:
        self._letters.put("goodbye")


def test_the_garbage_collector_goes_on_although_a_run_is_given_up_within_finalizers() -> None:
    earlier: list[queue.SimpleQueue[str]] = []

    def leave_queues(env: Environment) -> None:
        earlier.extend(queue.SimpleQueue[str]() for _ in range(MANY))

    def fail_and_collect(env: Environment) -> None:
        for letters in earlier:
            Farewell(letters)
        try:
            env.fail("1.1", "on purpose")
        finally:
            gc.collect()

    assert explore(leave_queues, seeds=()).verdict is Verdict.HELD_EXHAUSTIVELY
    assert explore(fail_and_collect, seeds=(), budget=5).verdict is Verdict.VIOLATED
    assert is_collected()


def is_collected() -> bool:
    """Whether a cycle that nobody refers to goes away."""
    cycle: Any = Cycle()
    cycle.itself = cycle
    reference = weakref.ref(cycle)
    del cycle
    gc.collect()
    return reference() is None


class Cycle:
    """Refers to itself."""
