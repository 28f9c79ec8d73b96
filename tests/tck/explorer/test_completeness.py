"""A stand-in can do all that the real primitive can, on the running version of Python."""

from __future__ import annotations

import queue
import threading
from types import ModuleType

import pytest

from penstock.tck import Environment, Verdict, explore

PRIMITIVES = [
    (threading, "Lock"),
    (threading, "RLock"),
    (threading, "Condition"),
    (threading, "Event"),
    (threading, "Semaphore"),
    (threading, "BoundedSemaphore"),
    (queue, "SimpleQueue"),
]


@pytest.mark.parametrize(("module", "name"), PRIMITIVES)
def test_a_stand_in_has_the_public_methods_of_the_real_one(module: ModuleType, name: str) -> None:
    expected = public_names(getattr(module, name)())
    missing: set[str] = set()

    def scenario(env: Environment) -> None:
        missing.update(expected - public_names(getattr(module, name)()))

    assert explore(scenario, seeds=()).verdict is Verdict.HELD_EXHAUSTIVELY
    assert not missing


def public_names(primitive: object) -> set[str]:
    """Without obsolete second names, such as ``acquire_lock``."""
    return {name for name in dir(primitive) if not name.startswith("_") and "_lock" not in name}


def test_a_condition_and_its_lock_say_alike_whether_they_are_locked() -> None:
    answers: list[bool] = []

    def scenario(env: Environment) -> None:
        lock = threading.Lock()
        condition = threading.Condition(lock)
        with condition:
            answers.append(getattr(condition, "locked", lock.locked)())
        answers.append(getattr(condition, "locked", lock.locked)())

    assert explore(scenario, seeds=()).verdict is Verdict.HELD_EXHAUSTIVELY
    assert answers[:2] == [True, False]
