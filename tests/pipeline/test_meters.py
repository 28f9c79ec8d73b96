"""Gauges count what passes, and remember the last of it as text."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api import UNBOUNDED
from penstock.observe.meters import RECENT, RecentElements, SinkMeter, SourceMeter
from penstock.testing import ManualPublisher, ManualSubscriber


class Ends:
    """Who is told that a sink has ended."""

    def __init__(self) -> None:
        self.told: list[Exception | None] = []

    def __call__(self, sink: SinkMeter, error: Exception | None) -> None:
        self.told.append(error)


class Broken:
    """A sink that raises at one of the signals."""

    def __init__(self, signal: str) -> None:
        self._signal = signal

    def on_subscribe(self, subscription: Any) -> None:
        self._raise_at("on_subscribe")
        subscription.request(10)

    def on_next(self, element: Any) -> None:
        self._raise_at("on_next")

    def on_error(self, error: Exception) -> None:
        self._raise_at("on_error")

    def on_complete(self) -> None:
        self._raise_at("on_complete")

    def _raise_at(self, signal: str) -> None:
        if signal == self._signal:
            raise OSError(f"broken at {signal}")


def gauge_of(sink: Any) -> tuple[SinkMeter, Ends, ManualPublisher[int]]:
    ends = Ends()
    gauge = SinkMeter("sink", sink, sink, None, ends)
    publisher: ManualPublisher[int] = ManualPublisher()
    publisher.subscribe(gauge)
    return gauge, ends, publisher


def test_only_the_last_things_are_remembered_and_all_are_counted() -> None:
    recent = RecentElements()
    for number in range(RECENT + 4):
        recent.add(number)
    assert recent.count == RECENT + 4
    assert [signal.text for signal in recent.signals()] == [
        str(number) for number in range(4, RECENT + 4)
    ]


def test_a_long_value_is_shown_by_its_beginning() -> None:
    recent = RecentElements()
    recent.add("<b>" + "x" * 1_000)
    (signal,) = recent.signals()
    assert signal.text.startswith("<b>xxx")
    assert signal.text.endswith("…")
    assert len(signal.text) < 300


def test_a_source_counts_what_comes_out() -> None:
    source = SourceMeter("numbers")
    source.recent.add(7)
    assert (source.passed, source.trouble) == (1, "")


def test_requests_and_elements_of_a_sink_are_counted() -> None:
    sink: ManualSubscriber[int] = ManualSubscriber()
    gauge, ends, publisher = gauge_of(sink)
    sink.request(2)
    assert (gauge.requested, gauge.wants) == (2, True)
    publisher.next(1)
    publisher.next(2)
    assert (gauge.given, gauge.taken, gauge.wants) == (2, 2, False)
    sink.request(UNBOUNDED)
    sink.request(UNBOUNDED)
    assert gauge.requested == UNBOUNDED
    publisher.complete()
    assert ends.told == [None]


def test_an_illegal_request_is_passed_on_and_not_counted() -> None:
    sink: ManualSubscriber[int] = ManualSubscriber()
    gauge, _, _ = gauge_of(sink)
    sink.request(0)
    assert gauge.requested == 0


def test_a_sink_that_cancels_has_ended_well() -> None:
    sink: ManualSubscriber[int] = ManualSubscriber()
    _, ends, publisher = gauge_of(sink)
    sink.cancel()
    assert publisher.cancelled
    assert ends.told == [None]


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_complete"])
def test_a_sink_that_raises_ends_with_that_error_and_is_named(signal: str) -> None:
    gauge, ends, publisher = gauge_of(Broken(signal))
    if signal == "on_next":
        publisher.next(1)
    elif signal == "on_complete":
        publisher.complete()
    (error,) = ends.told
    assert str(error) == f"broken at {signal}"
    assert error is not None
    assert error.__notes__ == ["in the sink sink"]
    assert gauge.taken == 0


def test_the_error_of_the_stream_is_told_even_if_the_sink_raises() -> None:
    _, ends, publisher = gauge_of(Broken("on_error"))
    failure = ValueError("gone")
    publisher.error(failure)
    assert failure in ends.told


def test_a_sink_says_itself_whether_it_knows_rows_that_came_twice() -> None:
    sink: Any = ManualSubscriber()
    gauge, _, _ = gauge_of(sink)
    assert gauge.duplicated is None
    sink.duplicated = 3
    assert gauge.duplicated == 3


def test_a_sink_that_has_each_row_once_has_none_twice_unless_it_says_so() -> None:
    sink: Any = ManualSubscriber()
    sink.level = "exactly once"
    gauge, _, _ = gauge_of(sink)
    assert gauge.duplicated == 0
    sink.duplicated = 3
    assert gauge.duplicated == 3
