"""Streams that are kept in step, whatever their readers ask for."""

from __future__ import annotations

from asyncio import Queue, Task, create_task, gather, run, sleep
from collections.abc import Sequence
from contextlib import aclosing
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from penstock.demo.airport import InStep

START = datetime(2013, 2, 8, tzinfo=UTC)
LEAD = timedelta(hours=1)
QUIET = 12
"""More turns of the loop than a row takes from one reader's wish to the other's hand."""
MINUTES = st.lists(st.integers(0, 600), min_size=1, max_size=12).map(sorted)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["departures", "weather"]),
        st.integers(0, 6),  # rows that it wants
        st.none() | st.integers(0, 4),  # it comes back, and has forgotten so many rows
    )
)


class Reader:
    """Takes as many rows as it is told to; can come back after an earlier one."""

    def __init__(self, name: str, rows: Sequence[int], streams: InStep) -> None:
        self.rows = rows
        self.taken = 0
        self.other: Reader | None = None
        self._name = name
        self._streams = streams
        self._demand: Queue[None] = Queue()
        self._task: Task[None] = create_task(self._read())

    @property
    def last(self) -> int:
        """The row that it has taken last."""
        return self.rows[self.taken - 1]

    @property
    def has_all(self) -> bool:
        return self.taken == len(self.rows)

    def want(self, count: int) -> None:
        for _ in range(count):
            self._demand.put_nowait(None)

    async def come_back(self, forgets: int = 0) -> None:
        await self.leave()
        self.taken = max(self.taken - forgets, 0)
        self._task = create_task(self._read())
        self.want(1)

    async def leave(self) -> None:
        self._task.cancel()
        await gather(self._task, return_exceptions=True)

    async def _read(self) -> None:
        rows = self._streams.stream(self._name, self.rows[self.taken :], time_of)
        async with aclosing(rows):
            await self._demand.get()
            async for _ in rows:
                self.taken += 1
                self._require_in_step()
                await self._demand.get()

    def _require_in_step(self) -> None:
        assert self.other is not None
        if not self.other.has_all:
            ahead = self.last - self.other.rows[self.other.taken]
            assert timedelta(minutes=ahead) <= LEAD

    def raise_what_was_wrong(self) -> None:
        if self._task.done():
            self._task.result()


class Readers:
    """Of departures and of weather."""

    def __init__(self, departures: Sequence[int], weather: Sequence[int]) -> None:
        streams = InStep(["departures", "weather"], LEAD)
        self.departures = Reader("departures", departures, streams)
        self.weather = Reader("weather", weather, streams)
        self.departures.other, self.weather.other = self.weather, self.departures

    async def settle(self) -> tuple[int, int]:
        """What both have once nothing more happens: nothing here waits for time."""
        before, quiet = (-1, -1), 0
        while quiet < QUIET:
            await sleep(0)
            now = (self.departures.taken, self.weather.taken)
            before, quiet = now, quiet + 1 if now == before else 0
        for each in (self.departures, self.weather):
            each.raise_what_was_wrong()
        return before

    async def leave(self) -> None:
        await gather(self.departures.leave(), self.weather.leave())


def time_of(minute: int) -> datetime:
    return START + timedelta(minutes=minute)


def test_none_begins_before_all_have_a_reader_that_wants_a_row() -> None:
    async def story() -> None:
        readers = Readers([0, 10], [0])
        readers.departures.want(2)
        assert await readers.settle() == (0, 0)
        readers.weather.want(1)
        assert await readers.settle() == (2, 1)
        await readers.leave()

    run(story())


def test_one_that_is_wanted_waits_an_hour_ahead_of_one_that_is_not() -> None:
    async def story() -> None:
        readers = Readers([0, 20, 200], [0, 60, 80, 81, 120])
        readers.departures.want(1)
        readers.weather.want(5)
        await readers.settle()
        assert readers.weather.last == 60
        readers.departures.want(1)
        await readers.settle()
        assert readers.weather.last == 80
        await readers.leave()

    run(story())


def test_a_gap_in_one_does_not_hold_up_the_other() -> None:
    async def story() -> None:
        readers = Readers([0, 600], range(0, 720, 60))
        readers.departures.want(2)
        readers.weather.want(12)
        assert await readers.settle() == (2, 12)
        await readers.leave()

    run(story())


def test_one_that_has_ended_holds_nobody_back() -> None:
    async def story() -> None:
        readers = Readers([0], [0, 300, 600])
        readers.departures.want(2)  # the second time it is told that there is no more
        readers.weather.want(3)
        assert await readers.settle() == (1, 3)
        await readers.leave()

    run(story())


def test_one_that_comes_back_at_an_earlier_row_is_waited_for() -> None:
    async def story() -> None:
        readers = Readers(range(0, 300, 30), range(0, 600, 60))
        readers.departures.want(6)
        readers.weather.want(3)
        assert await readers.settle() == (6, 3)
        await readers.departures.come_back(forgets=4)
        await readers.weather.come_back()
        readers.weather.want(5)
        assert await readers.settle() == (3, 3)
        assert (readers.departures.last, readers.weather.last) == (60, 120)
        await readers.leave()

    run(story())


@given(MINUTES, MINUTES, STEPS)
def test_whatever_is_asked_for_and_whichever_comes_back_they_stay_in_step_and_end(
    departures: list[int], weather: list[int], steps: list[tuple[str, int, int | None]]
) -> None:
    async def story() -> None:
        readers = Readers(departures, weather)
        for name, wanted, forgets in steps:
            reader: Reader = getattr(readers, name)
            if forgets is not None:
                await reader.come_back(forgets)
            reader.want(wanted)
            await readers.settle()
        readers.departures.want(len(departures) + 1)
        readers.weather.want(len(weather) + 1)
        assert await readers.settle() == (len(departures), len(weather))
        await readers.leave()

    run(story())
