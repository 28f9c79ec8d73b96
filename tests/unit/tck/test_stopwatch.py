"""A machine that stands still makes nobody late."""

from __future__ import annotations

import pytest

from penstock.tck import stopwatch
from penstock.tck.stopwatch import LOOK, Stopwatch


def test_time_counts_between_looks_but_not_while_the_machine_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr(stopwatch, "_monotonic", lambda: now)
    watch = Stopwatch()
    now += 0.002
    assert watch.look() == pytest.approx(0.002)
    now += 60.0
    assert watch.look() == pytest.approx(0.002 + LOOK)
    now += 0.002
    assert watch.look() == pytest.approx(0.004 + LOOK)
