"""The metrics for Prometheus and OpenTelemetry, and that their documentation is right."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client.parser import text_string_to_metric_families

from penstock.api import UNBOUNDED
from penstock.observe import EngineStatus, MachineStatus, Observer, Status
from penstock.observe.ledger import WORDS
from penstock.observe.metrics import METRICS, MetricsUnavailable
from penstock.observe.metrics.opentelemetry import instrument
from penstock.observe.metrics.prometheus import text
from tests.observe.driven import DrivenPipeline

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"

Values = dict[tuple[str, frozenset[tuple[str, str]]], float]


def prometheus(observer: Observer) -> Values:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text(observer).decode())
        for sample in family.samples
    }


def opentelemetry(observer: Observer) -> Values:
    """By the names that Prometheus has for them."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    instrument(observer, provider.get_meter("test"))
    data = reader.get_metrics_data()
    provider.shutdown()
    assert data is not None
    names = {metric.name: metric.prometheus_name for metric in METRICS}
    (resource,) = data.resource_metrics
    (scope,) = resource.scope_metrics
    found: list[Any] = list(scope.metrics)
    return {
        (names[metric.name], frozenset(point.attributes.items())): point.value
        for metric in found
        for point in metric.data.data_points
    }


def labelled(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset({"pipeline": "blizzard", **labels}.items())


def test_the_metrics_say_what_the_view_says(pipeline: DrivenPipeline, observer: Observer) -> None:
    pipeline.late, pipeline.possibly_duplicated = 3_001, 28
    pipeline.pass_time(observer)
    values = prometheus(observer)
    edge = {"giver": "spark", "taker": "phone"}
    assert values[labelled("penstock_state", state="running")] == 1
    assert values[labelled("penstock_state", state="failed")] == 0
    assert values[labelled("penstock_uptime_seconds")] == 5
    assert values[labelled("penstock_stage_elements_total", stage="phone")] == pipeline.passed
    assert values[labelled("penstock_stage_slowest", stage="phone")] == 1
    assert values[labelled("penstock_stage_slowest", stage="board")] == 0
    assert values[labelled("penstock_edge_requested_total", **edge)] == pipeline.passed + 256
    assert values[labelled("penstock_edge_delivered_total", **edge)] == pipeline.passed
    assert values[labelled("penstock_edge_in_flight", **edge)] == 12
    assert values[labelled("penstock_edge_capacity", **edge)] == 256
    assert values[labelled("penstock_edge_held_up_ratio", **edge)] == 1
    assert values[labelled("penstock_edge_idle_ratio", **edge)] == 0
    assert values[labelled("penstock_lag_seconds")] == 3.2
    assert values[labelled("penstock_latency_seconds", quantile="0.99")] == 0.9
    assert values[labelled("penstock_batch_number")] == pipeline.looks
    assert values[labelled("penstock_batch_duration_seconds")] == 0.4
    assert values[labelled("penstock_batch_phase_seconds", phase="compute")] == 0.25
    assert values[labelled("penstock_watermark_seconds")] == 1_767_226_089
    assert values[labelled("penstock_checkpoint_age_seconds")] == 1.4
    assert values[labelled("penstock_process_cpu", process="Spark's JVM")] == 1.07
    assert values[labelled("penstock_process_memory_bytes", process="this program")] == 212e6
    assert values[labelled("penstock_checkpoint_free_bytes")] == 8.1e9
    kept = {"operator": "dropDuplicates"}
    assert values[labelled("penstock_state_store_rows", **kept)] == pipeline.passed
    assert values[labelled("penstock_state_store_memory_bytes", **kept)] == 2_345_678
    assert values[labelled("penstock_state_store_late_total", **kept)] == 3_001
    assert values[labelled("penstock_ledger_replayed_total")] == 56
    assert values[labelled("penstock_ledger_lost_total")] == 0
    assert values[labelled("penstock_ledger_late_total")] == 3_001
    assert values[labelled("penstock_ledger_possibly_duplicated_total")] == 28
    causes = "penstock_ledger_causes_total"
    assert values[labelled(causes, number="late", stage="spark")] == 3_001
    assert values[labelled(causes, number="possibly_duplicated", stage="phone")] == 28


def test_every_metric_of_the_table_is_there(pipeline: DrivenPipeline, observer: Observer) -> None:
    pipeline.late = 1  # a cause
    observer.sample()
    names = {name for name, _ in prometheus(observer)}
    absent = {metric.prometheus_name for metric in METRICS} - names
    assert absent == {"penstock_ledger_filtered_total"}  # downstream of an aggregation nobody knows


def test_opentelemetry_has_the_same_values(pipeline: DrivenPipeline, observer: Observer) -> None:
    pipeline.pass_time(observer)
    assert opentelemetry(observer) == prometheus(observer)


def test_a_name_stays_text_whatever_is_in_it(pipeline: DrivenPipeline) -> None:
    name = 'a "quoted"\nname\\'
    values = prometheus(pipeline.observer(name))
    assert ("penstock_lag_seconds", frozenset({("pipeline", name)})) in values


def test_what_is_not_known_or_has_no_bound_is_left_out() -> None:
    pipeline = DrivenPipeline()

    def read() -> Status:
        reading = pipeline.read()
        edges = tuple(replace(edge, requested=UNBOUNDED, capacity=None) for edge in reading.edges)
        return replace(
            reading,
            edges=edges,
            batch=None,
            kept=(),
            lag=None,
            latencies=(),
            engine=EngineStatus(),
            machine=MachineStatus(),
        )

    pipeline.lost = None

    names = {name for name, _ in prometheus(Observer("blizzard", read, clock=pipeline.time))}
    absent = {metric.prometheus_name for metric in METRICS} - names
    assert absent == {
        "penstock_edge_requested_total",
        "penstock_edge_capacity",
        "penstock_lag_seconds",
        "penstock_latency_seconds",
        "penstock_batch_number",
        "penstock_batch_rows",
        "penstock_batch_duration_seconds",
        "penstock_batch_phase_seconds",
        "penstock_watermark_seconds",
        "penstock_checkpoint_age_seconds",
        "penstock_process_cpu",
        "penstock_process_memory_bytes",
        "penstock_checkpoint_free_bytes",
        "penstock_state_store_rows",
        "penstock_state_store_memory_bytes",
        "penstock_state_store_late_total",
        "penstock_ledger_lost_total",
        "penstock_ledger_duplicated_total",
        "penstock_ledger_filtered_total",
        "penstock_ledger_causes_total",
    }


@pytest.mark.parametrize(
    ("module", "package"),
    [("prometheus", "prometheus_client"), ("opentelemetry", "opentelemetry.metrics")],
)
def test_a_missing_package_is_named_with_the_extra_that_has_it(
    module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"penstock.observe.metrics.{module}"
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MetricsUnavailable, match=rf"{package}: pip install 'penstock\[{module}\]'"):
        __import__(name)


def test_the_documentation_explains_each_word_of_the_ledger() -> None:
    page = PAGE.with_name("dashboard.md").read_text(encoding="utf-8")
    explained = [line for line in page.splitlines() if line.startswith("| *")]
    assert explained == [f"| *{word.name}* | {word.meaning} |" for word in WORDS]


def test_the_documentation_has_the_table_of_the_metrics() -> None:
    rows = [
        f"| `{metric.prometheus_name}` | `{metric.name}` | {metric.kind} | "
        f"{', '.join(f'`{label}`' for label in metric.labels[1:])} | {metric.meaning} |"
        for metric in METRICS
    ]
    documented = [
        line
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `penstock_") and "`penstock." in line
    ]
    assert documented == rows
