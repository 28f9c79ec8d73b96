"""Ours beside the bare client of a server or library: how fast, and what a stalled consumer holds.

By the CPU time of this program, the best of some interleaved rounds: what a server does is the same
for both.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from penstock import Flow
from penstock.connectors import Writer
from penstock.testing import ManualSubscriber

__all__ = ["Beside", "Case", "from_a_flow", "held_by", "print_beside"]

Case: TypeAlias = Callable[[], object]


class Beside(NamedTuple):
    """The same number of elements in two ways, and the bar for ours, if there is one."""

    elements: int
    bare: Case
    ours: Case
    bar: float | None = None


def print_beside(title: str, cases: Mapping[str, Beside], rounds: int) -> None:
    """Print elements per second of CPU time, and how ours compare."""
    best = {name: [0.0, 0.0] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            for index, way in enumerate((case.bare, case.ours)):
                best[name][index] = max(best[name][index], case.elements / timed(way))
    print(f"{title:46} {'bare':>11} {'ours':>11} {'ratio':>7}")
    for name, (bare, ours) in best.items():
        print(f"{name:46} {bare:11,.0f} {ours:11,.0f} {ours / bare:7.2f}"
              f"{verdict(cases[name].bar, ours / bare)}")  # fmt: skip
    print()


def verdict(bar: float | None, ratio: float) -> str:
    """Whether the bar was met, where there is one."""
    return "" if bar is None else f"  bar {bar:g}: {'met' if ratio >= bar else 'MISSED'}"


def timed(case: Case) -> float:
    """The seconds of CPU time that it takes."""
    began = time.process_time()
    case()
    return time.process_time() - began


def from_a_flow(elements: Iterable[Any], writer: Writer) -> None:
    """Write them as a program without Spark does."""
    Flow.from_iterable(elements).subscribe(writer)
    writer.wait()
    assert writer.error is None


def held_by(
    flow: Flow[Any], look: Callable[[], object] = lambda: None, requested: int = 10
) -> tuple[int, object]:
    """The bytes of Python that a consumer that asks no more makes this program hold, at most.

    Also what a ``look`` finds then, before it is cancelled.
    """
    tracemalloc.start()
    flow.subscribe(subscriber := ManualSubscriber[Any](request=requested))
    subscriber.await_elements(requested)
    held, found = tracemalloc.get_traced_memory()[1], look()
    tracemalloc.stop()
    subscriber.cancel()
    return held, found
