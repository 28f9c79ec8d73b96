"""Honest measuring on a noisy machine: CPU time, interleaved rounds, the best of each."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

__all__ = ["best_of"]


def best_of(cases: Mapping[str, Callable[[], int]], rounds: int = 9) -> dict[str, float]:
    """Nanoseconds of CPU time per operation of each case, the best of ``rounds``.

    A case does its work once per call and returns how many operations that was. All cases take
    their turn in each round, so that a slow moment of the machine hits all of them.
    """
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(rounds):
        for name, case in cases.items():
            gc.collect()
            started = time.process_time_ns()
            operations = case()
            spent = time.process_time_ns() - started
            best[name] = min(best[name], spent / operations)
    return best
