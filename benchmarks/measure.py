"""Honest measuring on a noisy machine: CPU time, interleaved rounds, the best of each."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

__all__ = ["best_of"]


def best_of(
    cases: Mapping[str, Callable[[], int]], rounds: int = 9, seconds: float = 5
) -> dict[str, float]:
    """Nanoseconds of CPU time per operation of each case, the best of at least ``rounds``.

    A case does its work once per call and returns how many operations that was. All cases take
    their turn in each round, so that a slow moment of the machine hits all of them. Short ones have
    more rounds, until all of it has taken ``seconds``: nine moments may all be slow ones.
    """
    # What is loaded is no garbage of a case: to look at all of it before each one takes long, and
    # leaves the processor's caches empty, which costs most where the case is short.
    gc.freeze()
    try:
        return interleaved(cases, rounds, seconds)
    finally:
        gc.unfreeze()


def interleaved(
    cases: Mapping[str, Callable[[], int]], rounds: int, seconds: float
) -> dict[str, float]:
    """The rounds."""
    best = dict.fromkeys(cases, float("inf"))
    done, until = 0, time.monotonic() + seconds
    while done < rounds or time.monotonic() < until:
        done += 1
        for name, case in cases.items():
            gc.collect()
            started = time.process_time_ns()
            operations = case()
            spent = time.process_time_ns() - started
            best[name] = min(best[name], spent / operations)
    return best
