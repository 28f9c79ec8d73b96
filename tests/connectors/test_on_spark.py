"""A websocket upstream of Spark: a pipeline goes on after the last element that was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.connectors import Request, from_websocket, serve_websocket
from penstock.spark import SparkFlow

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]


def test_a_pipeline_that_was_stopped_asks_for_what_it_has_not_recorded(tmp_path: Path) -> None:
    asked_for: list[Any] = []

    def departures(request: Request) -> Flow[Any]:
        asked_for.append(request.after)
        first = 0 if request.after is None else request.after + 1
        return Flow.range(first, 2_000).map(lambda number: {"number": number})

    def number_of(element: Any) -> int:
        number: int = element["number"]
        return number

    with serve_websocket(departures) as server:

        def pipeline() -> SparkFlow:
            return from_websocket(server.address, position_of=number_of).on_spark(
                "number long",
                checkpoint=tmp_path,
                max_rows=300,
                batch_rows=100,
            )

        with pipeline().rows().blocking() as rows:
            before = [row.number for _, row in zip(range(50), rows, strict=False)]
        after = [row.number for row in pipeline().rows().to_list().run_sync() or []]
    assert before == [*range(50)]
    assert {*before, *after} == {*range(2_000)}
    assert asked_for[0] is None
    assert asked_for[1] is not None
    assert 50 <= asked_for[1] < 1_999
