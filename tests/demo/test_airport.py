"""The airport of the demo: two tables that go through the days together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any

import pytest

from penstock.connectors import Server, from_websocket, serve_websocket
from penstock.demo.airport import LEAD, Airport, time_of
from penstock.demo.blizzard import Settings
from penstock.demo.week import departures, known_hours, weather
from penstock.testing import ManualSubscriber

AT_ONCE = 1e12
"""So fast that only demand and each other hold the tables back."""
ON_THEIR_WAY = 2
"""At most so many rows has a table given out that its reader does not have."""
NAMES = ("departures", "weather")


@pytest.fixture
def airport() -> Airport:
    return Airport(AT_ONCE)


class Readers:
    """Subscribers to the tables of one airport."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._all: list[ManualSubscriber[Any]] = []

    def of(self, table: str, after: int | None = None, wants: int = 0) -> ManualSubscriber[Any]:
        reader: ManualSubscriber[Any] = ManualSubscriber(request=wants)
        self._all.append(reader)
        from_websocket(f"{self._server.address}/{table}", after=after).subscribe(reader)
        return reader

    def leave(self) -> None:
        for reader in self._all:
            reader.cancel()


@pytest.fixture
def readers(airport: Airport) -> Iterator[Readers]:
    with serve_websocket(airport.flow_for) as server:
        readers = Readers(server)
        yield readers
        readers.leave()


def until(rows: list[dict[str, Any]], time: datetime) -> int:
    """How many rows there are by then."""
    return sum(time_of(row) <= time for row in rows)


@pytest.mark.parametrize(
    ("slow", "demands"),
    [("departures", (1, 7, 64, 128, 600, 3, 900)), ("weather", (1, 3, 16, 64, 1, 90))],
)
def test_neither_table_runs_ahead_of_the_other_one(
    readers: Readers, slow: str, demands: tuple[int, ...]
) -> None:
    tables = {"departures": list(departures()), "weather": list(weather())}
    rows = tables.pop(slow)
    ((fast, other),) = tables.items()
    waiting, eager = readers.of(slow), readers.of(fast, wants=len(other) + 1)
    for taken in accumulate(demands):
        waiting.request(taken - len(waiting.elements))
        waiting.await_elements(taken)
        eager.await_elements(until(other, time_of(rows[taken - 1]) + LEAD))
        assert time_of(eager.elements[-1]) <= time_of(rows[taken - 1 + ON_THEIR_WAY]) + LEAD
    eager.assert_not_ended()


def test_readers_that_come_back_get_what_follows_their_last_row(readers: Readers) -> None:
    before = [readers.of(name, wants=200) for name in NAMES]
    for reader in before:
        reader.await_elements(10)
    for reader in before:
        reader.cancel()
    departing = readers.of("departures", after=9, wants=3)
    measured = readers.of("weather", after=1, wants=3)
    for reader, after in ((departing, 9), (measured, 1)):
        reader.await_elements(3)
        assert [row["number"] - after for row in reader.elements] == [1, 2, 3]


def test_both_tables_complete_when_the_airport_closes_and_for_later_readers(
    airport: Airport, readers: Readers
) -> None:
    early = [readers.of(name, wants=200) for name in NAMES]
    for reader in early:
        reader.await_elements(10)
    airport.close()
    late = [readers.of(name, after=30, wants=1) for name in NAMES]
    for reader in (*early, *late):
        reader.await_end()
        reader.assert_completed()


def test_both_tables_have_more_than_spark_takes_at_once_when_the_week_is_complete() -> None:
    """Three batches: one that passes the last hour, one that gives it out, and one more.

    So a run that is killed before the last hour is on the board finds rows of both.
    """
    last = max(hour for _, hour in known_hours())
    passed = last + timedelta(hours=2) + LEAD  # the watermark
    batches = 3 * Settings().held
    assert sum(time_of(row) > passed for row in departures()) > batches
    assert abs(time_of(list(departures())[-1]) - time_of(list(weather())[-1])) <= LEAD
