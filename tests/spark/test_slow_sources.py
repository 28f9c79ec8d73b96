"""A source that blocks between its elements: none of them waits for the next one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import Flow
from penstock.pipeline import NoSettings, Pipeline, PipelineRun

PATIENCE = 120.0
AT_FIRST = 16
"""So many elements a journal asks for before it knows how large they are."""

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


def test_an_element_comes_out_of_spark_before_its_source_makes_the_next_one() -> None:
    came: list[int] = []
    changed = threading.Condition()

    def note(row: Any) -> None:
        with changed:
            came.append(row.number)
            changed.notify_all()

    def await_row(number: int) -> None:
        with changed:
            assert changed.wait_for(lambda: number in came, PATIENCE)

    def one_by_one() -> Iterator[tuple[int]]:
        for number in range(AT_FIRST + 4):
            yield (number,)
            if number >= AT_FIRST:
                await_row(number)

    pipeline = Pipeline(
        "slow",
        sources={"numbers": lambda settings: Flow.from_iterable(one_by_one())},
        transform=lambda numbers: numbers.on_spark("number long").rows(),
        sinks={"sink": lambda settings: note},
    )
    run = PipelineRun(pipeline, NoSettings())
    run.start()
    assert run.wait(2 * PATIENCE)
    assert (run.state, run.error) == ("completed", None)
    assert came == [*range(AT_FIRST + 4)]
