"""Sources that are asked for so many elements at a time: demand, the end, lost connections."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from threading import Event, current_thread
from typing import Any

import pytest

from penstock import Flow, Retry
from penstock.connectors import ConnectionLost, PulledSource, from_pulled
from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber

AT_ONCE = Retry(times=3, backoff=0.001)


class Numbers(PulledSource[int]):
    """The numbers after a position, up to an end; it writes down what is asked of it."""

    def __init__(self, after: int | None, end: int, calls: list[Any] | None = None) -> None:
        self.next = 0 if after is None else after + 1
        self.end = end
        self.calls = [] if calls is None else calls

    def connect(self) -> None:
        self.calls.append("connect")

    def fetch(self, most: int) -> Sequence[int] | None:
        self.calls.append(most)
        first, self.next = self.next, min(self.next + most, self.end)
        return range(first, self.next) or None

    def disconnect(self) -> None:
        self.calls.append("disconnect")


class Flaky(Numbers):
    """Loses its connection before every second fetch, and gives one element at a time."""

    is_lost = False

    def fetch(self, most: int) -> Sequence[int] | None:
        self.is_lost = not self.is_lost
        if self.is_lost:
            raise ConnectionLost("the server went away")
        return super().fetch(1)


def numbers(end: int, calls: list[Any] | None = None, **options: Any) -> Flow[int]:
    return from_pulled(
        "numbers", lambda after: Numbers(after, end, calls), address="here", **options
    )


def test_a_pulled_source_keeps_all_rules(search_briefly: None) -> None:
    verify_publisher(
        numbers,
        repeatable=True,
        concurrent_requests=True,
        explains_illegal_requests=True,
        max_elements=10_000,
        reports_to_hook=True,
        strict_types=True,
    ).raise_if_failed()


def test_nothing_is_fetched_that_was_not_requested() -> None:
    calls: list[Any] = []
    numbers(100, calls).subscribe(subscriber := ManualSubscriber[int](request=0))
    assert calls == []
    for n, sum_so_far in ((1, 1), (7, 8), (3, 11)):
        subscriber.request(n)
        subscriber.await_elements(sum_so_far)
    subscriber.cancel()
    assert [call for call in calls if isinstance(call, int)] == [1, 7, 3]


def test_take_fetches_no_more_than_it_takes() -> None:
    calls: list[Any] = []
    assert numbers(100, calls).take(3).to_list().run_sync() == [0, 1, 2]
    assert calls[:2] == ["connect", 3]


def test_no_more_is_fetched_at_a_time_than_was_said() -> None:
    calls: list[Any] = []
    assert numbers(25, calls, fetch=10).to_list().run_sync() == [*range(25)]
    assert max(call for call in calls if isinstance(call, int)) == 10


def test_a_lost_connection_is_made_again_and_nothing_is_missing() -> None:
    calls: list[Any] = []
    told: list[str] = []
    flow = from_pulled(
        "numbers",
        lambda after: Flaky(after, 3, calls),
        address="the server",
        reconnect=AT_ONCE,
        on_state=told.append,
    )
    assert flow.to_list().run_sync() == [0, 1, 2]
    assert calls.count("connect") == calls.count("disconnect") == 5
    assert told[:3] == [
        "connected to the server",
        "the server: the server went away; next attempt in 0.0 s",
        "connected to the server",
    ]


def test_a_source_that_stays_away_is_given_up() -> None:
    class Away(Numbers):
        def connect(self) -> None:
            raise ConnectionLost("nobody answers")

    flow = from_pulled(
        "numbers", lambda after: Away(after, 3), address="the server", reconnect=AT_ONCE
    )
    with pytest.raises(
        ConnectionError, match="numbers gave up on the server after 4 attempts: nobody answers"
    ):
        flow.to_list().run_sync()


def test_a_fetch_that_waits_is_interrupted_by_a_cancel_and_disconnected_on_its_thread() -> None:
    waits, interrupted, over = Event(), Event(), Event()
    threads = []

    class Slow(Numbers):
        def fetch(self, most: int) -> Sequence[int] | None:
            threads.append(current_thread())
            waits.set()
            assert interrupted.wait(60)
            raise InterruptedError("as any client may")

        def interrupt(self) -> None:
            interrupted.set()

        def disconnect(self) -> None:
            threads.append(current_thread())
            over.set()

    flow = from_pulled("numbers", lambda after: Slow(after, 3), address="here")
    flow.subscribe(subscriber := ManualSubscriber[int](request=1))
    assert waits.wait(60)
    subscriber.cancel()
    assert over.wait(60)
    assert threads[0] is threads[1] is not current_thread()
    assert subscriber.elements == []


def test_a_pause_between_two_attempts_is_ended_by_a_cancel() -> None:
    told, over = Event(), Event()

    class Away(Numbers):
        def connect(self) -> None:
            raise ConnectionLost("nobody answers")

        def disconnect(self) -> None:
            over.set()

    flow = from_pulled(
        "numbers",
        lambda after: Away(after, 3),
        address="here",
        reconnect=Retry(times=None, backoff=3_000),
        on_state=lambda words: told.set(),
    )
    flow.subscribe(subscriber := ManualSubscriber[int](request=1))
    assert told.wait(60)
    subscriber.cancel()
    assert over.wait(60)


def test_a_source_goes_on_after_a_position() -> None:
    flow = numbers(10, position_of=lambda number: number, after=6)
    assert flow.to_list().run_sync() == [7, 8, 9]


def test_a_fetch_that_gives_too_many_ends_the_stream() -> None:
    class TooMany(Numbers):
        def fetch(self, most: int) -> Sequence[int] | None:
            return range(most + 1)

    flow = from_pulled("numbers", lambda after: TooMany(after, 3), address="here")
    with pytest.raises(ValueError, match=r"fetch\(2\) returned 3 elements"):
        flow.take(2).to_list().run_sync()


def test_a_factory_that_makes_something_else_says_so() -> None:
    flow: Flow[int] = from_pulled("numbers", lambda after: [1], address="here")  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match=r"numbers needs a PulledSource, not \[1\]"):
        flow.to_list().run_sync()


ENDLESS = """
from threading import Event
from penstock.connectors import ConnectionLost, PulledSource, from_pulled
from penstock.testing import ManualSubscriber

class Waiting(PulledSource):
    def __init__(self, after): pass
    def connect(self): print("connected", flush=True)
    def fetch(self, most):
        fetching.set()
        {fetch}
    def disconnect(self): print("disconnected", flush=True)

fetching = Event()
flow = from_pulled("waiting", Waiting, address="here")
flow.subscribe(subscriber := ManualSubscriber(request=1))
assert fetching.wait(60)
"""


@pytest.mark.parametrize("fetch", ["return ()", "raise ConnectionLost('away')"])
def test_a_program_that_ends_does_not_wait_for_what_nobody_has_cancelled(fetch: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS.format(fetch=fetch)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout.split()[-1]) == (0, "disconnected"), done.stderr
