"""Threads switch where CPython switches them, neither elsewhere nor less often.

What is expected here was measured with real threads and a tiny switch interval: whether a million
increments of each kind by two threads lose any. Code that ran only a few times can be switched in
some more places than code that the interpreter has specialized; these count as well.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable

import pytest

from penstock.tck import Environment, Exploration, Verdict, explore
from tests.tck.explorer import increments
from tests.tck.explorer.increments import Cell

Increment = Callable[[Cell], None]

LOSING = [
    increments.around_a_python_call,
    increments.around_a_c_call,
    increments.around_a_loop,
    increments.around_the_door_of_another_module,
    increments.by_a_class,
    increments.by_a_callable_object,
    increments.by_a_partial,
    increments.by_a_callback_of_c,
    increments.by_a_generator,
]
SAFE = [
    increments.in_place,
    increments.read_in_a_python_call,
    increments.around_a_branch,
    increments.around_a_c_call_that_raises,
    increments.by_a_property,
    increments.by_a_subscript,
    increments.by_an_operator,
    increments.by_iteration,
]
# Since there is that instruction, the end of a block is a call from Python and not from C.
(SAFE if "LOAD_SPECIAL" in dis.opmap else LOSING).append(increments.by_the_end_of_a_block)


def two_increments(increment: Increment, level: str) -> Exploration:
    def scenario(env: Environment) -> None:
        cell = Cell()
        env.par(lambda: increment(cell), lambda: increment(cell))
        assert cell.value == 2

    return explore(scenario, subject=increments, level=level)


@pytest.mark.parametrize("increment", LOSING)
def test_an_increment_is_lost(increment: Increment) -> None:
    found = two_increments(increment, "gil")
    assert found.verdict is Verdict.VIOLATED, found.explain()


@pytest.mark.parametrize("increment", SAFE)
def test_no_increment_is_lost(increment: Increment) -> None:
    found = two_increments(increment, "gil")
    assert found.verdict is Verdict.HELD_EXHAUSTIVELY, found.explain()


def test_only_python_3_11_switches_after_a_python_call_with_unpacked_arguments() -> None:
    found = two_increments(increments.by_unpacked_arguments, "gil")
    switches = sys.version_info < (3, 12)
    assert found.verdict is (Verdict.VIOLATED if switches else Verdict.HELD_EXHAUSTIVELY)


@pytest.mark.parametrize("increment", [*LOSING, *SAFE])
def test_by_the_language_every_increment_can_be_lost(increment: Increment) -> None:
    found = two_increments(increment, "visible")
    assert found.verdict is Verdict.VIOLATED, found.explain()
