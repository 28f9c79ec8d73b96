"""The last rows at each edge: what a status says of them, what it hides, and what it never says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from penstock import Flow
from penstock.observe import Observer, Status
from penstock.observe.meters import RecentElements, Timestamped
from penstock.observe.metrics.prometheus import text as metrics_of
from penstock.observe.samples import FIELDS, MOST_VALUE, ROWS, sampled
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.runtime import hide_fields, secret_fields, shorten, shown_element

PATIENCE = 240
CARD = "4111-1111"
CARD_NUMBER = 4_716_253_980_417  # no figure of a run looks like it


class Payment(NamedTuple):
    card: str
    amount: int


@dataclass
class Transfer:
    card: str
    amount: int


@pytest.fixture(autouse=True)
def nothing_is_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret_fields, "hidden", set())


def as_sample(*elements: Any) -> list[Any]:
    recent = RecentElements()
    for element in elements:
        recent.add(element)
    return [row.fields for row in sampled(recent.last)]


@contextmanager
def ended(pipeline: Pipeline, target: RunTarget | None = None) -> Iterator[Status]:
    run = PipelineRun(pipeline, NoSettings(), target)
    observer = Observer(run.name, run.status)
    run.start()
    assert run.wait(PATIENCE)
    yield observer.sample()


def payments(count: int, sink: Any = lambda element: None, **options: Any) -> Pipeline:
    return Pipeline(
        "payments",
        sources={
            "till": lambda settings: Flow.range(count).map(
                lambda number: {"card": f"{CARD}-{number}", "amount": number}
            )
        },
        sinks={"book": lambda settings: sink},
        **options,
    )


def test_an_edge_has_its_last_rows_with_names_and_values() -> None:
    with ended(payments(100)) as status:
        (edge,) = status.edges
    assert [row.fields for row in edge.sample] == [
        (("card", f"{CARD}-{number}"), ("amount", str(number))) for number in range(95, 100)
    ]


@pytest.mark.parametrize(
    "kind", [Payment, Transfer, lambda *values: {"card": values[0], "amount": 7}]
)
def test_what_has_fields_is_shown_by_them(kind: Any) -> None:
    assert as_sample(kind(CARD, 7)) == [(("card", CARD), ("amount", "7"))]


def test_a_moment_and_a_number_are_shown_as_people_write_them() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert as_sample({"at": moment, "price": Decimal("1.50"), "share": 0.5, "no": None}) == [
        (("at", "2026-01-02 03:04:05+00:00"), ("price", "1.50"), ("share", "0.5"), ("no", "None"))
    ]


def test_what_has_no_fields_is_one_text() -> None:
    assert as_sample("a line", 7, (1, 2)) == [(("", "a line"),), (("", "7"),), (("", "(1, 2)"),)]


def test_a_batch_is_shown_by_its_last_rows() -> None:
    batch = pa.RecordBatch.from_pylist([{"number": number} for number in range(1_000)])
    assert as_sample(batch) == [(("number", str(number)),) for number in range(995, 1_000)]
    assert as_sample(batch, batch.slice(0, 2))[-2:] == [(("number", "0"),), (("number", "1"),)]
    assert as_sample(batch.slice(0, 0)) == []


def test_a_row_whose_field_is_named_like_that_of_a_batch_is_a_row() -> None:
    assert as_sample({"num_rows": 3}) == [(("num_rows", "3"),)]


def test_a_sample_is_bounded_whatever_passes() -> None:
    wide = {f"{'name' * 100}{number}": "x" * 100_000 for number in range(1_000)}
    deep = {"all": [[list(range(1_000))] * 1_000] * 1_000}
    nasty = {"text": "\x1b]52;c;aGk=\x07\n" * 100}
    rows = sampled([Timestamped(0.0, each) for each in (wide, deep, nasty) * 20])
    assert len(rows) == ROWS
    assert {row.more for row in rows} == {1_000 - FIELDS, 0}
    assert all(len(value) <= MOST_VALUE + 1 for row in rows for _, value in row.fields)
    assert len(json.dumps([[row.fields for row in rows]])) < 10_000
    assert not any("\x1b" in value for row in rows for _, value in row.fields)


def test_secret_fields_are_masked_wherever_an_element_is_shown() -> None:
    failing = threading.Event()

    def sink(element: Any) -> None:
        if failing.is_set():
            raise OSError("no space left")
        failing.set()

    with ended(payments(2, sink, secret_fields=["card"])) as status:
        shown = json.dumps(status.as_json())
    assert status.state == "failed"
    assert CARD not in shown
    (edge,) = status.edges
    assert edge.sample[-1].fields == (("card", "***"), ("amount", "1"))
    assert "{'amount': 1, 'card': ***}" in shown.replace('\\"', '"')


@pytest.mark.parametrize(
    "element",
    [
        {"card": CARD},
        {"at": {"card": CARD}},
        [{"card": CARD}],
        {"all": [Payment(CARD, 1), Transfer(CARD, 2)]},
        Payment(CARD, 1),
        Transfer(CARD, 1),
        {"card": {"number": CARD}},
    ],
)
def test_a_secret_within_another_value_is_masked(element: Any) -> None:
    hide_fields(["card"])
    assert CARD not in shorten(element)
    assert CARD not in str(as_sample(element))


@pytest.mark.parametrize(
    "element",
    [CARD, CARD.encode(), (CARD, 1), pa.RecordBatch.from_pylist([{"card": CARD}])],
    ids=lambda element: type(element).__name__,
)
def test_what_has_no_fields_is_not_shown_where_some_are_secret(element: Any) -> None:
    hide_fields(["card"])
    recent = RecentElements()
    recent.add(element)
    for shown in (shown_element(element), str(as_sample(element)), str(recent.signals())):
        assert CARD not in shown


def test_without_samples_no_element_is_in_the_status() -> None:
    with ended(payments(100), RunTarget(samples=False)) as status:
        shown = json.dumps(status.as_json())
    assert CARD not in shown
    assert not status.samples
    assert [stage.passed for stage in status.stages] == [100, 100]


def test_no_element_is_among_the_metrics() -> None:
    run = PipelineRun(payments(100), NoSettings())
    observer = Observer(run.name, run.status)
    run.start()
    assert run.wait(PATIENCE)
    assert CARD in json.dumps(observer.sample().as_json())
    assert CARD not in metrics_of(observer).decode()


@pytest.mark.parametrize("given", ["card", [7]])
def test_secret_fields_are_a_list_of_names(given: Any) -> None:
    with pytest.raises(TypeError, match="secret_fields must be a list of texts"):
        payments(1, secret_fields=given)


def test_on_spark_each_edge_has_its_rows_and_secrets_are_masked_in_workers_too(
    tmp_path: Path,
) -> None:
    letters: list[Any] = []

    def pipeline(function: Any) -> Pipeline:
        return Pipeline(
            "payments",
            sources={
                "till": lambda settings: Flow.of(
                    {"card": CARD, "amount": 1},
                    {"card": CARD_NUMBER, "amount": "many"},
                    {"card": [CARD], "amount": 3},
                )
            },
            transform=lambda till: till.on_spark(
                "card string, amount int", resume="from_start", dead_letters=letters.append
            ).map(function),
            sinks={"book": lambda settings: lambda element: None},
            secret_fields=["card"],
        )

    place = RunTarget(checkpoint=str(tmp_path / "kept"))
    with ended(pipeline(lambda row: row), place) as status:
        shown = json.dumps(status.as_json())
    samples = {(edge.giver, edge.taker): edge.sample for edge in status.edges}
    assert [*samples] == [("till", "journal"), ("journal", "spark"), ("spark", "book")]
    assert samples["spark", "book"][-1].fields == (("card", "***"), ("amount", "1"))
    assert len(samples["till", "journal"]) == 3
    assert (status.state, status.dead_letters, len(letters)) == ("completed", 2, 2)
    assert any("card" in letter.text for letter in status.last_dead_letters)
    assert CARD not in shown
    assert str(CARD_NUMBER) not in shown
    # What a worker says of an element is made in its own process.
    failing = RunTarget(checkpoint=str(tmp_path / "failing"))
    with ended(pipeline(lambda row: {"card": [row.card], "amount": 1}), failing) as status:
        shown = json.dumps(status.as_json())
    assert (status.state, CARD in shown) == ("failed", False)
    assert "*** in field 'card' does not fit" in shown
