"""A machine that stands still makes nobody late."""

from __future__ import annotations

import pytest

from penstock.tck import real_environment
from penstock.tck.real_environment import POLL, Stopwatch


def test_time_counts_between_polls_but_not_while_the_machine_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr(real_environment, "_monotonic", lambda: now)
    watch = Stopwatch()
    now += 0.002
    assert watch.elapsed() == pytest.approx(0.002)
    now += 60.0
    assert watch.elapsed() == pytest.approx(0.002 + POLL)
    now += 0.002
    assert watch.elapsed() == pytest.approx(0.004 + POLL)
