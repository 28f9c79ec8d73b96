"""The page and the terminal say the same of the same moment."""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse
from prometheus_client.parser import text_string_to_metric_families

from penstock import Flow
from penstock.cli.progress import count, duration, rate, seconds, short, summary
from penstock.observe import Observer, Status
from penstock.observe.dashboard import Dashboard
from penstock.observe.figures import size
from penstock.observe.ledger import WORDS, in_short
from penstock.observe.metrics import METRICS
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from tests.cli import pipelines
from tests.cli.processes import RunningCommand
from tests.cli.terminals import in_a_terminal
from tests.observe.driven import DrivenPipeline
from tests.observe.opening import opened

ALWAYS = ("taken", "delivered", "lost", "duplicated")
WORTH = ("late", "dead_letters", "in_flight", "replayed", "possibly_duplicated")
PATIENCE = 60


class Recorded:
    """The statuses of an observer, by their moments."""

    def __init__(self, observer: Observer) -> None:
        self._views = {observer.status.point.at: observer.status}
        self._added = threading.Condition()
        observer.listen(self._add)

    def _add(self, status: Status) -> None:
        with self._added:
            self._views[status.point.at] = status
            self._added.notify_all()

    def at(self, moment: float) -> Status:
        """The page may be told of a status before we are."""
        with self._added:
            assert self._added.wait_for(lambda: moment in self._views, PATIENCE)
            return self._views[moment]


def events(dashboard: Dashboard) -> Generator[dict[str, Any], None, None]:
    """What a window is told."""
    with httpx.Client(timeout=PATIENCE) as client:
        address = str(opened(client, dashboard.address).join("events"))
        with connect_sse(client, "GET", address) as source:
            for event in source.iter_sse():
                if event.event == "message":
                    yield event.json()


def figures(event: dict[str, Any]) -> list[str]:
    """What the page shows of an event, and a terminal has to show as well."""
    point, ledger, batch = event["point"], event["ledger"], event["batch"]
    found = [
        event["pipeline"],
        duration(event["seconds"]),
        event["sentence"],
        f"in {rate(point['rate_in'])}, out {rate(point['rate_out'])}",
        f"in flight {short(point['in_flight'])}",
        *(
            f"{each['name']} {each['text']}"
            for each in ledger["entries"]
            if each["field"] in ALWAYS or (each["field"] in WORTH and each["text"] != "0")
        ),
    ]
    if batch is not None:
        took = "" if batch["seconds"] is None else f" ({seconds(batch['seconds'])})"
        found.append(f"batch {count(batch['number'])}{took}")
        if event["kept"]:
            rows, memory = (sum(each[key] for each in event["kept"]) for key in ("rows", "bytes"))
            found.append(f"state {count(rows)} rows ({size(memory)})")
        if point["lag"] is not None:
            found.append(f"lag {seconds(point['lag'])}")
        found.append(f"checkpoint {event['checkpoint']}")
        found.append(f"restarted {count(ledger['restarts'])}x")
        found.append(f"replayed {count(ledger['replayed'])}")
    return found


def require_agreement(event: dict[str, Any], status: Status) -> None:
    in_a_table = in_a_terminal(status)
    for figure in figures(event):
        assert figure in in_a_table
    for stage in event["stages"]:
        (row,) = (text for text in in_a_table.splitlines() if text.startswith(stage["name"]))
        assert row.split()[1:3] == [count(stage["passed"]), rate(stage["rate"])]
    assert summary(status).partition(": ")[2] in in_a_table


def test_the_terminal_says_of_a_running_pipeline_what_the_page_is_told() -> None:
    moving = threading.Event()
    pipeline = Pipeline(
        "agreement",
        sources={"ticks": lambda settings: Flow.interval(0.001)},
        sinks={"sink": lambda settings: lambda element: moving.set()},
    )
    run = PipelineRun(pipeline, NoSettings())
    observer = Observer(run.name, run.status)
    recorded = Recorded(observer)
    with Dashboard(observer) as dashboard:
        told = events(dashboard)
        first = next(told)
        require_agreement(first, recorded.at(first["point"]["at"]))
        run.start()
        assert moving.wait(PATIENCE)
        observer.start()
        later = next(event for event in told if event["ledger"]["delivered"] > 100)
        require_agreement(later, recorded.at(later["point"]["at"]))
        told.close()
    run.stop()
    observer.close()
    assert later["point"]["rate_out"] > 0


@pytest.mark.parametrize("samples", [0, 7])
def test_the_terminal_says_of_spark_what_the_page_is_told(samples: int) -> None:
    pipeline = DrivenPipeline(
        checkpoint="112 ok", dead_letters=3, late=3_001, possibly_duplicated=28
    )
    observer = pipeline.observer()
    recorded = Recorded(observer)
    pipeline.pass_time(observer, samples)
    with Dashboard(observer) as dashboard:
        event = next(events(dashboard))
        require_agreement(event, recorded.at(event["point"]["at"]))


@pytest.mark.full
@pytest.mark.timeout(900)
def test_page_terminal_summary_and_metrics_say_the_same_after_a_kill(tmp_path: Path) -> None:
    ledger, checkpoint = tmp_path / "ledger", tmp_path / "checkpoint"
    settings = pipelines.Settings(count=2_000, every=0, ledger=ledger)
    with RunningCommand(
        *("run", "tests.cli.pipelines:audited", "--checkpoint", str(checkpoint)),
        *("--set", f"count={settings.count}", "--set", f"ledger={ledger}"),
    ) as command:
        command.out.wait_for("stalled")
        command.kill()
        command.end()
    before = rows_in(ledger)

    run = PipelineRun(pipelines.audited, settings, RunTarget(checkpoint=str(checkpoint)))
    observer = Observer(run.name, run.status)
    run.start()
    assert run.wait(500)
    assert run.state == "completed", run.error
    observer.sample()
    recorded = Recorded(observer)
    with Dashboard(observer) as dashboard:
        event = next(events(dashboard))
        metrics = metrics_of(dashboard)
    status = recorded.at(event["point"]["at"])
    require_agreement(event, status)

    after = rows_in(ledger)[len(before) :]
    numbers = {number for _, each in before + after for number in each}
    wanted = {n for n in range(settings.count) if pipelines.fits(n) and pipelines.is_wanted(n)}
    late = {n for n in wanted if pipelines.may_be_late(n)} - numbers
    distinct = {tuple(each) for _, each in before + after}
    killed_in, _ = before[-1]
    again = [each for batch, each in after if batch == killed_in]
    truth = {
        "taken": settings.count,
        "delivered": len(distinct),
        "late": len(late),
        "dead_letters": sum(not pipelines.fits(n) for n in range(settings.count)),
        "in_flight": 0,
        "replayed": 200,
        "recognised": 0,
        "lost": 0,
        "duplicated": 0,
        "possibly_duplicated": len(again),
        "restarts": 1,
    }
    assert truth["late"] > 0
    assert 0 < len(before) + len(after) - len(distinct) <= len(again)
    shown = {each["field"]: each["text"] for each in event["ledger"]["entries"]}
    assert shown == {**{field: f"{n:,}" for field, n in truth.items()}, "filtered": "not known"}
    assert {word.field: metrics.get(word.metric) for word in WORDS} == {**truth, "filtered": None}
    assert in_short(status.ledger) in summary(status)
    places = {(each["field"], each["place"]): each["count"] for each in event["ledger"]["causes"]}
    assert places == {
        ("late", "spark"): len(late),
        ("possibly_duplicated", "terminal"): len(again),
    }


def rows_in(ledger: Path) -> list[tuple[int, list[int]]]:
    """The rows that a sink was given: the batch and the numbers of each."""
    return [(batch, numbers) for batch, numbers in map(json.loads, ledger.read_text().splitlines())]


def metrics_of(dashboard: Dashboard) -> dict[str, float]:
    """By the names of OpenTelemetry, those that are one number for the pipeline."""
    names = {metric.prometheus_name: metric.name for metric in METRICS}
    with httpx.Client(timeout=PATIENCE) as client:
        response = client.get(str(opened(client, dashboard.address).join("metrics")))
    response.raise_for_status()
    return {
        names[sample.name]: sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
        if len(sample.labels) == 1
    }
