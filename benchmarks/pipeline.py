"""What an element costs in a pipeline without Spark: to be counted, shown, and given to sinks.

``python -m benchmarks.pipeline`` runs it alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from penstock import Flow
from penstock.delivery import Epoch, Level
from penstock.pipeline import Pipeline
from penstock.pipeline.run import PipelineRun

__all__ = ["report"]

ELEMENTS: Final = 300_000
ROUNDS: Final = 7


def report() -> None:
    """Print nanoseconds of CPU time for each element, the best of some interleaved rounds."""
    elements = [{"flight": number, "delay": number / 7} for number in range(ELEMENTS)]
    cases: dict[str, Callable[[], object]] = {
        "a flow alone": lambda: Flow.from_iterable(elements).do_on_next(nothing).count().run_sync(),
        "a pipeline, a function": lambda: run(elements, nothing),
        "a pipeline, a sink with batches": lambda: run(elements, Nothing()),
        "a pipeline, one of each": lambda: run(elements, nothing, Nothing()),
    }
    best = dict.fromkeys(cases, float("inf"))
    for _ in range(ROUNDS):
        for name, case in cases.items():
            began = time.process_time()
            case()
            best[name] = min(best[name], (time.process_time() - began) / ELEMENTS * 1e9)
    print(f"{'an element into sinks that do nothing':46} {'ns':>7}")
    for name, nanoseconds in best.items():
        print(f"{name:46} {nanoseconds:7,.0f}")
    print()


def nothing(element: Any) -> None:
    """Takes it."""


class Nothing:
    """Takes it, and is told of batches."""

    level: Level = "exactly once"

    def open(self, epoch: Epoch | None) -> None:
        """There is nothing to open."""

    def begin(self, batch: int) -> bool:
        """It wants all batches."""
        return True

    def __call__(self, element: Any) -> None:
        """Take it."""

    def commit(self, batch: int) -> None:
        """There is nothing to store."""

    def close(self) -> None:
        """There is nothing to close."""


def run(elements: list[Any], *sinks: Any) -> None:
    """All elements through a pipeline."""
    pipeline = Pipeline(
        "bench",
        sources={"elements": lambda settings: Flow.from_iterable(elements)},
        transform=lambda elements: elements,
        sinks={str(number): sink_of(sink) for number, sink in enumerate(sinks)},
    )
    started = PipelineRun(pipeline, None)
    started.start()
    assert started.wait()
    assert started.error is None


def sink_of(sink: Any) -> Callable[[Any], Any]:
    """What a pipeline is given."""
    return lambda settings: sink


if __name__ == "__main__":
    report()
