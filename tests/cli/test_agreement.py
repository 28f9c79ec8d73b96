"""The page and the terminal say the same of the same moment."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any

import httpx
import pytest
from httpx_sse import connect_sse
from rich.console import Console

from penstock import Flow
from penstock.cli.figures import count, duration, known, rate, seconds, short
from penstock.cli.progress import line, picture, summary
from penstock.observe import Observer, View
from penstock.observe.dashboard import Dashboard
from penstock.pipeline import NoSettings, Pipeline, PipelineRun
from tests.observe.driven import DrivenPipeline

WIDE = 400
PATIENCE = 60


class Recorded:
    """The views of an observer, by their moments."""

    def __init__(self, observer: Observer) -> None:
        self._views = {observer.view.point.at: observer.view}
        self._added = threading.Condition()
        observer.listen(self._add)

    def _add(self, view: View) -> None:
        with self._added:
            self._views[view.point.at] = view
            self._added.notify_all()

    def at(self, moment: float) -> View:
        """The page may be told of a view before we are."""
        with self._added:
            assert self._added.wait_for(lambda: moment in self._views, PATIENCE)
            return self._views[moment]


def events(dashboard: Dashboard) -> Generator[dict[str, Any], None, None]:
    """What a window is told."""
    with httpx.Client(timeout=PATIENCE) as client:
        client.get(dashboard.address).raise_for_status()
        address = str(httpx.URL(dashboard.address).join("/events"))
        with connect_sse(client, "GET", address) as source:
            for event in source.iter_sse():
                if event.event == "message":
                    yield event.json()


def terminal(view: View) -> str:
    console = Console(width=WIDE)
    with console.capture() as captured:
        console.print(picture(view))
    return captured.get()


def figures(event: dict[str, Any]) -> list[str]:
    """What the page shows of an event, and a terminal has to show as well."""
    point, ledger, batch = event["point"], event["ledger"], event["batch"]
    found = [
        event["pipeline"],
        duration(event["seconds"]),
        event["sentence"],
        f"in {rate(point['rate_in'])}, out {rate(point['rate_out'])}",
        f"in flight {short(point['in_flight'])}",
        f"taken {count(ledger['taken'])}, delivered {count(ledger['delivered'])}",
        f"lost {known(ledger['lost'])}, duplicated {known(ledger['duplicated'])}",
    ]
    if batch is not None:
        found.append(f"batch {count(batch['number'])} ({seconds(batch['seconds'])})")
        found.append(f"lag {seconds(point['lag'])}")
        found.append(f"checkpoint {event['checkpoint']}")
        found.append(f"restarted {count(ledger['restarts'])}x")
        found.append(f"replayed {count(ledger['replayed'])}")
    return found


def require_agreement(event: dict[str, Any], view: View) -> None:
    in_one_line, in_a_table = line(view), terminal(view)
    for figure in figures(event):
        assert figure in in_one_line
        assert figure in in_a_table
    for stage in event["stages"]:
        passed = f"{stage['name']} {count(stage['passed'])} ({rate(stage['rate'])})"
        assert passed in in_one_line
        (row,) = (text for text in in_a_table.splitlines() if text.startswith(stage["name"]))
        assert row.split()[1:3] == [count(stage["passed"]), rate(stage["rate"])]
    books = summary(view).partition(": ")[2]
    assert books in in_one_line
    assert books in in_a_table


def test_the_terminal_says_of_a_running_pipeline_what_the_page_is_told() -> None:
    moving = threading.Event()
    pipeline = Pipeline(
        "agreement",
        sources={"ticks": lambda settings: Flow.interval(0.001)},
        sinks={"sink": lambda settings: lambda element: moving.set()},
    )
    run = PipelineRun(pipeline, NoSettings())
    observer = Observer(run.name, run.reading)
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


@pytest.mark.parametrize("looks", [0, 7])
def test_the_terminal_says_of_spark_what_the_page_is_told(looks: int) -> None:
    pipeline = DrivenPipeline(checkpoint="112 ok", dead_letters=3)
    observer = pipeline.observer()
    recorded = Recorded(observer)
    pipeline.pass_time(observer, looks)
    with Dashboard(observer) as dashboard:
        event = next(events(dashboard))
        require_agreement(event, recorded.at(event["point"]["at"]))
