"""Asynchronous sources upstream of Spark: they run on the loop of the subscriber."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest

from penstock import Flow, collect_undelivered
from penstock.spark import SparkFlow

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]


class Feed:
    """Numbers, one after the other, for as long as somebody wants them."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[tuple[int]]:
        try:
            for number in count() if self.most is None else range(self.most):
                self.loops.add(asyncio.get_running_loop())
                await asyncio.sleep(0)
                yield (number,)
        finally:
            self.is_closed = True

    def on_spark(self) -> SparkFlow:
        return Flow.from_async_iterable(self).on_spark("number long", max_rows=1_000)


def test_a_thread_that_waits_lends_its_loop_to_the_source() -> None:
    rows: list[Any] | None = Feed(100).on_spark().rows().to_list().run_sync()
    assert [row.number for row in rows or []] == [*range(100)]


def test_the_source_runs_on_the_loop_of_the_task_that_iterates() -> None:
    feed = Feed(100)

    async def take_all() -> None:
        assert [row.number async for row in feed.on_spark().rows()] == [*range(100)]
        assert feed.loops == {asyncio.get_running_loop()}

    asyncio.run(take_all())


def test_a_loop_that_is_left_closes_the_source_and_nothing_is_reported() -> None:
    feed = Feed()
    with collect_undelivered() as reports:
        for row in feed.on_spark().rows().blocking():
            assert row.number == 0
            break
    assert feed.is_closed
    assert reports == []
