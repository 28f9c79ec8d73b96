"""Microseconds per element across the bridge to the JVM, beside streams that stay on one side."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock import ExecutorPublisher, Flow, ThreadPool
from penstock.java import JavaUnavailable, classes, find_java

__all__ = ["report"]

ELEMENTS = 200_000
ROUNDS = 7
SOURCE = Path(__file__).with_name("Numbers.java")
BARS = {"Java to Python, numbers": 8.0, "Python to Java, numbers": 3.0}
"""What was seen element by element; less is the point of crossing by chunks."""


def report() -> None:
    """Print the times; one line if there is no Java."""
    try:
        found = measured()
    except (JavaUnavailable, ImportError) as error:
        print(f"the bridge to the JVM was not measured: {error}\n")
        return
    print(
        f"the bridge to the JVM, {ELEMENTS:,} elements, wall time, best of {ROUNDS} rounds, in us"
    )
    for name, spent in found.items():
        print(f"{name:42} {spent:8.2f}  {verdict(name, spent)}")
    print()


def verdict(name: str, spent: float) -> str:
    """Whether a bar was met, where there is one."""
    bar = BARS.get(name)
    return "" if bar is None else f"{bar:g}: {'met' if spent < bar else 'MISSED'}"


def measured() -> dict[str, float]:
    """Microseconds per element of each case."""
    from penstock.bridges.jvm import start_jvm

    java = find_java("the benchmark of the bridge")
    start_jvm([classes(java, "numbers", [SOURCE])])
    import jpype

    there = jpype.JClass("penstock.benchmarks.Numbers")
    best: dict[str, float] = {}
    for _ in range(ROUNDS):  # all cases in each round: a slow moment hits all of them
        for name, case in cases(there).items():
            gc.collect()
            started = time.perf_counter()
            assert case() == ELEMENTS
            spent = (time.perf_counter() - started) / ELEMENTS * 1e6
            best[name] = min(spent, best.get(name, spent))
    return best


def cases(there: Any) -> dict[str, Callable[[], int]]:
    """What is measured; each returns how many elements have come."""
    from penstock.bridges.jvm import from_jvm, to_jvm

    def counted(flow: Flow[Any]) -> int:
        return flow.reduce(0, lambda count, _: count + 1).run_sync() or 0

    def python_alone() -> int:
        with ThreadPool() as pool:
            return counted(Flow.from_publisher(ExecutorPublisher(range(ELEMENTS), pool)))

    def texts() -> Flow[str]:
        return Flow.from_iterable(map(str, range(ELEMENTS)))

    return {
        "Java alone, thread to thread": lambda: there.countOf(there.below(ELEMENTS, False)),
        "Python alone, thread to thread": python_alone,
        "Java to Python, numbers": lambda: counted(from_jvm(there.below(ELEMENTS, False))),
        "Java to Python, text": lambda: counted(from_jvm(there.below(ELEMENTS, True))),
        "Python to Java, numbers": lambda: there.countOf(to_jvm(Flow.range(ELEMENTS))),
        "Python to Java, text": lambda: there.countOf(to_jvm(texts())),
        "Python to Java, any objects": lambda: there.countOf(
            to_jvm(Flow.range(ELEMENTS).map(lambda number: (number,)))
        ),
        "there and back, numbers": lambda: counted(from_jvm(to_jvm(Flow.range(ELEMENTS)))),
    }
