"""The time that an exploration may take counts what is computed."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from penstock.tck.explorer import watchdog
from penstock.tck.explorer.watchdog import Budget


@dataclass
class Clocks:
    """What the two clocks show."""

    wall: float = 100.0
    computed: float = 5.0


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    clocks = Clocks()
    monkeypatch.setattr(watchdog, "_monotonic", lambda: clocks.wall)
    monkeypatch.setattr(watchdog, "_process_time", lambda: clocks.computed)
    return clocks


def test_what_was_computed_is_spent_however_long_it_took(clocks: Clocks) -> None:
    two = Budget(2.0)
    clocks.computed += 1.0
    clocks.wall += 9.0
    assert two.left == 1.0
    assert not two.is_spent(0.5)
    clocks.computed += 0.5
    assert two.is_spent(0.5)
    assert not two.is_spent()
    clocks.computed += 1.0
    assert two.is_spent()


def test_what_only_waits_comes_to_an_end_too(clocks: Clocks) -> None:
    two = Budget(2.0)
    clocks.wall += 19.0
    assert not two.is_spent()
    clocks.wall += 2.0
    assert two.is_spent()
