"""Runs that are stopped at odd moments. Spark itself is not needed for that."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, collect_undelivered
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import run as run_module
from penstock.spark.egress import query as query_module
from penstock.spark.failures import Stopped
from penstock.testing import ManualPublisher, ManualSubscriber

SECONDS = 30.0


class SlowStart:
    """A Spark that starts for as long as the test wants."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go_on = threading.Event()
        self.threads: list[threading.Thread] = []

    def __call__(self, settings: Any) -> Any:
        self.threads.append(threading.current_thread())
        self.begun.set()
        assert self.go_on.wait(SECONDS)
        return None


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlowStart:
    slow = SlowStart()
    monkeypatch.setattr(run_module, "spark_session", slow)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return slow


def test_cancel_does_not_wait_for_spark_to_start_and_nothing_is_left_once_it_has(
    start: SlowStart, tmp_path: Path
) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    Flow.range(10).map(lambda number: (number,)).on_spark("number long").subscribe(subscriber)
    assert start.begun.wait(SECONDS)
    subscriber.cancel()
    (thread,) = start.threads
    assert thread.is_alive()  # in the start of Spark, which cannot be interrupted
    start.go_on.set()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert list(tmp_path.iterdir()) == []


def test_an_error_from_upstream_arrives_while_spark_starts(start: SlowStart) -> None:
    problem = ValueError("no more")
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    with collect_undelivered() as undelivered:
        Flow.error(problem).on_spark("number long").subscribe(subscriber)
        subscriber.await_end(SECONDS)
        start.go_on.set()
        for thread in threading.enumerate():
            if thread.name == "penstock-spark-pipeline":
                thread.join(SECONDS)
    assert subscriber.error is problem
    assert list(undelivered) == []


@pytest.mark.parametrize(("resume", "comes_again"), [("none", False), ("from_start", True)])
def test_what_came_and_did_not_fit_is_lost_by_a_stop_unless_it_comes_again(
    resume: Any, comes_again: bool, start: SlowStart, tmp_path: Path
) -> None:
    publisher: ManualPublisher[Any] = ManualPublisher()
    came = threading.Event()

    def through(numbers: Any) -> Any:
        noted = numbers.do_on_next(lambda element: came.set() if element[0] == 15 else None)
        return noted.on_spark("number long, text string", resume=resume, max_bytes=100_000)

    run = PipelineRun(
        Pipeline(
            "stopped",
            sources={"numbers": lambda settings: publisher},
            transform=through,
            sinks={"sink": lambda settings: lambda row: None},
        ),
        NoSettings(),
        RunTarget(checkpoint=str(tmp_path / "checkpoint")),
    )
    run.start()
    publisher.await_requested(16)
    publisher.next(*((number, "x" * 20_000) for number in range(16)))
    assert came.wait(SECONDS)
    assert start.begun.wait(SECONDS)
    with collect_undelivered():
        run.stop()
        start.go_on.set()
        for thread in threading.enumerate():
            if thread.name.startswith(("penstock-spark-stopped", "penstock-input")):
                thread.join(SECONDS)
    ledger = run.status().ledger
    assert ledger.taken is not None
    assert 0 < ledger.taken < 16
    assert ledger.lost == (0 if comes_again else 16 - ledger.taken)


class GivenUp:
    """A query of Spark that has ended since its batch was not wanted."""

    isActive = False  # noqa: N815 - Spark's name

    def exception(self) -> Exception:
        return RuntimeError("[FOREACH_BATCH_USER_FUNCTION_ERROR] 200 lines of the JVM")


def test_a_query_whose_rows_nobody_wanted_has_not_failed() -> None:
    given_up = Stopped("nobody wants the rows")
    query = query_module.Query(Any, "numbers")
    query._query = GivenUp()
    query._returning = type("Way", (), {"error": given_up})()
    with pytest.raises(Stopped) as raised:
        query.require_active()
    assert raised.value is given_up
