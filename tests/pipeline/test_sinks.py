"""Functions as sinks, and one stream for several sinks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock import Flow, IterablePublisher
from penstock.pipeline.sinks import FunctionSink, SinkFanOut
from penstock.tck import verify_subscriber
from penstock.testing import ManualPublisher, ManualSubscriber


def function_sink(errors: list[Exception] | None = None) -> FunctionSink:
    return FunctionSink("sink", lambda element: None, ([] if errors is None else errors).append)


def never(error: Exception) -> None:
    raise AssertionError(error)


@pytest.mark.usefixtures("search_briefly")
def test_a_function_as_a_sink_keeps_the_rules() -> None:
    report = verify_subscriber(function_sink)
    assert report.passed, report


@pytest.mark.usefixtures("search_briefly")
@pytest.mark.parametrize("count", [1, 2])
def test_a_fan_keeps_the_rules_for_any_number_of_sinks(count: int) -> None:
    report = verify_subscriber(lambda: SinkFanOut([function_sink() for _ in range(count)]))
    assert report.passed, report


def test_a_function_gets_each_element_once() -> None:
    taken: list[int] = []
    IterablePublisher(range(3)).subscribe(FunctionSink("sink", taken.append, never))
    assert taken == [0, 1, 2]


def test_a_function_that_raises_is_told_before_the_stream_is_cancelled() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    seen: list[tuple[str, bool]] = []

    def raise_error(element: int) -> None:
        raise OSError("no space left")

    def on_failure(error: Exception) -> None:
        seen.append((str(error), publisher.cancelled))
        assert error.__notes__ == ["in the sink sink, for 7"]

    publisher.subscribe(FunctionSink("sink", raise_error, on_failure))
    publisher.next(7)
    assert seen[0] == ("no space left", False)
    assert publisher.cancelled


@pytest.mark.parametrize("raised", [SystemExit(4), GeneratorExit(), KeyboardInterrupt()])
def test_what_is_no_exception_ends_the_pipeline_as_one(raised: BaseException) -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    failures: list[Exception] = []

    def leave(element: int) -> None:
        raise raised

    publisher.subscribe(FunctionSink("sink", leave, failures.append))
    with ThreadPoolExecutor(1) as other_thread:
        other_thread.submit(publisher.next, 7).result()
    assert [str(error) for error in failures[:1]] == [f"it raised {raised!r}"]
    assert failures[0].__cause__ is raised
    assert failures[0].__notes__ == ["in the sink sink, for 7"]
    assert publisher.cancelled


def test_ctrl_c_in_the_main_thread_is_no_failure_of_the_sink() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    def interrupted(element: int) -> None:
        raise KeyboardInterrupt

    publisher.subscribe(FunctionSink("sink", interrupted, never))
    with pytest.raises(KeyboardInterrupt):
        publisher.next(7)


def fan(count: int) -> tuple[ManualPublisher[int], list[ManualSubscriber[int]]]:
    publisher: ManualPublisher[int] = ManualPublisher()
    sinks: list[ManualSubscriber[int]] = [ManualSubscriber() for _ in range(count)]
    publisher.subscribe(SinkFanOut(sinks))
    return publisher, sinks


def test_the_slowest_sink_sets_the_pace() -> None:
    publisher, (quick, slow) = fan(2)
    quick.request(10)
    assert publisher.requested == 0
    slow.request(2)
    assert publisher.requested == 2
    publisher.next(1, 2)
    assert quick.elements == slow.elements == [1, 2]
    slow.request(1)
    assert publisher.requested == 3


def test_a_sink_that_leaves_no_longer_holds_up_the_others() -> None:
    publisher, (quick, slow) = fan(2)
    quick.request(10)
    slow.cancel()
    assert publisher.requested == 10
    publisher.next(1)
    assert (quick.elements, slow.elements) == ([1], [])


def test_without_any_sink_the_stream_is_cancelled() -> None:
    publisher, sinks = fan(2)
    sinks[0].cancel()
    assert not publisher.cancelled
    sinks[1].cancel()
    assert publisher.cancelled


def test_the_end_of_the_stream_is_told_to_every_sink() -> None:
    publisher, sinks = fan(2)
    publisher.complete()
    assert [sink.completed for sink in sinks] == [True, True]


def test_the_error_of_the_stream_is_told_to_every_sink() -> None:
    publisher, sinks = fan(2)
    error = ValueError("gone")
    publisher.error(error)
    assert [sink.error for sink in sinks] == [error, error]


def test_rule_3_09_a_request_for_nothing_ends_that_sink_alone() -> None:
    publisher, (wrong, right) = fan(2)
    right.request(1)
    wrong.request(0)
    assert isinstance(wrong.error, ValueError)
    publisher.next(1)
    assert right.elements == [1]
    assert not publisher.cancelled


def test_a_cancelled_fan_gives_nothing_more() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    sink: ManualSubscriber[int] = ManualSubscriber(request=10)
    spread: Any = SinkFanOut([sink])
    publisher.subscribe(spread)
    publisher.next(1)
    spread.cancel()
    assert publisher.cancelled
    spread.on_next(2)
    assert sink.elements == [1]


def test_demand_without_bound_of_all_sinks_is_passed_on() -> None:
    taken: list[list[int]] = [[], []]
    sinks = [FunctionSink("sink", each.append, never) for each in taken]
    Flow.range(1_000).subscribe(SinkFanOut(sinks))
    assert taken == [list(range(1_000))] * 2
