"""Operators that keep rows which Spark has committed are refused where there is a checkpoint."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, ThreadPool
from penstock.flow.engine.stage import FlowNode
from penstock.pipeline import AssemblyError, NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.testing import ManualSubscriber

Rows = Callable[[Flow[Any]], Any]

POOL = ThreadPool(name="acknowledgement")
OTHER = Flow.of(1)


async def same(row: Any) -> Any:
    return row


KEEPS: dict[str, Rows] = {
    "buffer": lambda rows: rows.buffer(3),
    "buffer every": lambda rows: rows.buffer(3, every=1.0),
    "buffer step": lambda rows: rows.buffer(3, step=1),
    "window": lambda rows: rows.window(3),
    "window step": lambda rows: rows.window(3, step=1),
    "group_by": lambda rows: rows.group_by(lambda row: row.n),
    "publish_on": lambda rows: rows.publish_on(POOL),
    "limit_rate": lambda rows: rows.limit_rate(4),
    "on_backpressure_buffer": lambda rows: rows.on_backpressure_buffer(8),
    "on_backpressure_drop": lambda rows: rows.on_backpressure_drop(),
    "on_backpressure_latest": lambda rows: rows.on_backpressure_latest(),
    "conflate": lambda rows: rows.conflate(lambda old, new: new),
    "map_async": lambda rows: rows.map_async(same),
    "flat_map": lambda rows: rows.flat_map(Flow.of),
    "flat_map_sequential": lambda rows: rows.flat_map_sequential(Flow.of),
    "concat_map": lambda rows: rows.concat_map(Flow.of),
    "switch_map": lambda rows: rows.switch_map(Flow.of),
    "exhaust_map": lambda rows: rows.exhaust_map(Flow.of),
    "expand": lambda rows: rows.expand(lambda row: Flow.empty()),
    "scan": lambda rows: rows.scan(0, lambda total, row: total + 1),
    "enumerate": lambda rows: rows.enumerate(),
    "pairwise": lambda rows: rows.pairwise(),
    "reduce": lambda rows: rows.reduce(0, lambda total, row: total + 1),
    "any": lambda rows: rows.any(bool),
    "all": lambda rows: rows.all(bool),
    "contains": lambda rows: rows.contains(3),
    "count": lambda rows: rows.count(),
    "collect": lambda rows: rows.collect(set),
    "to_list": lambda rows: rows.to_list(),
    "single": lambda rows: rows.single(),
    "last": lambda rows: rows.last(),
    "take_last": lambda rows: rows.take_last(3),
    "skip_last": lambda rows: rows.skip_last(3),
    "skip": lambda rows: rows.skip(1),
    "skip_while": lambda rows: rows.skip_while(lambda row: row.n < 3),
    "skip_until": lambda rows: rows.skip_until(OTHER),
    "distinct": lambda rows: rows.distinct(),
    "distinct_until_changed": lambda rows: rows.distinct_until_changed(),
    "delay": lambda rows: rows.delay(0.1),
    "debounce": lambda rows: rows.debounce(0.1),
    "throttle latest": lambda rows: rows.throttle(0.1, last=True),
    "sample": lambda rows: rows.sample(0.1),
    "with_latest_from": lambda rows: rows.with_latest_from(OTHER),
    "start_with": lambda rows: rows.start_with(0),
    "then": lambda rows: rows.then(OTHER),
    "default_if_empty": lambda rows: rows.default_if_empty(0),
    "on_error_return": lambda rows: rows.on_error_return(0),
    "materialize": lambda rows: rows.materialize(),
    "retry": lambda rows: rows.retry(2),
    "repeat": lambda rows: rows.repeat(2),
    "merge": lambda rows: Flow.merge(rows, OTHER),
    "concat": lambda rows: Flow.concat(OTHER, rows),
    "zip": lambda rows: Flow.zip(rows, OTHER),
    "combine_latest": lambda rows: Flow.combine_latest(OTHER, rows),
    "race": lambda rows: Flow.race(rows, OTHER),
    "share": lambda rows: rows.share(),
    "cache": lambda rows: rows.cache(),
    "by the way": OTHER.with_latest_from,
    "further down": lambda rows: rows.buffer(3).map(len).filter(bool),
    "further up": lambda rows: rows.map(str).publish_on(POOL).map(len),
}
STOPS: dict[str, Rows] = {
    "take": lambda rows: rows.take(3),
    "take_while": lambda rows: rows.take_while(bool),
    "take_while with the last": lambda rows: rows.take_while(bool, inclusive=True),
    "take_until": lambda rows: rows.take_until(Flow.never()),
    "first": lambda rows: rows.map(str).first(),
    "dematerialize": lambda rows: rows.dematerialize(),
}
PASSES: dict[str, Rows] = {
    "nothing": lambda rows: rows,
    "map": lambda rows: rows.map(str),
    "pipe": lambda rows: rows.pipe(lambda flow: flow.map(str)),
    "map_not_none": lambda rows: rows.map_not_none(str),
    "filter": lambda rows: rows.filter(bool),
    "flat_map_iterable": lambda rows: rows.flat_map_iterable(lambda row: [row, row]),
    "do_on_next": lambda rows: rows.do_on_next(print),
    "do_on_error": lambda rows: rows.do_on_error(print),
    "do_finally": lambda rows: rows.do_finally(print),
    "do_on_discard": lambda rows: rows.do_on_discard(print),
    "tap": lambda rows: rows.tap(ManualSubscriber()),
    "log": lambda rows: rows.log(),
    "named": lambda rows: rows.named("rows").annotate_errors("here"),
    "watch_stalls": lambda rows: rows.watch_stalls(60.0),
    "on_error_map": lambda rows: rows.on_error_map(lambda error: error),
    "on_error_continue": lambda rows: rows.map(str).on_error_continue(print),
    "timeout": lambda rows: rows.timeout(60.0),
    "throttle": lambda rows: rows.throttle(0.1),
    "space_out": lambda rows: rows.space_out(0.1),
    "timestamp": lambda rows: rows.timestamp(),
    "elapsed": lambda rows: rows.elapsed(),
    "subscribe_on": lambda rows: rows.subscribe_on(POOL),
    "delay_subscription": lambda rows: rows.delay_subscription(0.1),
    "upstream": lambda rows: rows,
}


def on_spark(
    operator: Rows, checkpoint: Path | None = None, numbers: Flow[Any] | None = None
) -> Any:
    numbers = Flow.range(9) if numbers is None else numbers
    rows = numbers.buffer(2).map(tuple).on_spark("n long", checkpoint=checkpoint).rows()
    return operator(rows)


def pipeline(operator: Rows, checkpoint: Path | None = None) -> Pipeline:
    return Pipeline(
        "numbers",
        sources={"numbers": lambda settings: Flow.range(9)},
        transform=lambda numbers: on_spark(operator, checkpoint, numbers),
        sinks={"terminal": lambda settings: print},
    )


@pytest.mark.parametrize("name", KEEPS)
def test_an_operator_that_keeps_rows_is_refused_with_a_checkpoint(
    name: str, tmp_path: Path
) -> None:
    with pytest.raises(AssemblyError) as refused:
        PipelineRun(pipeline(KEEPS[name], tmp_path / "checkpoint"), NoSettings())
    said = str(refused.value)
    assert "keeps rows of Spark" in said
    assert "put it upstream of on_spark, do it on Spark with sql or frame, or take" in said
    assert "\n" not in said
    operator = {"further down": "buffer", "further up": "publish_on"}.get(name, name.split()[0])
    assert said.startswith("with_latest_from" if name == "by the way" else operator)


@pytest.mark.parametrize("name", STOPS)
def test_an_operator_that_ends_the_stream_within_a_batch_is_refused_with_a_checkpoint(
    name: str, tmp_path: Path
) -> None:
    said = (
        rf"^{name.split()[0]} \(at .*\) may end the stream within a batch of Spark, "
        ".* upstream of on_spark$"
    )
    with pytest.raises(AssemblyError, match=said):
        PipelineRun(pipeline(STOPS[name], tmp_path / "checkpoint"), NoSettings())


@pytest.mark.parametrize("name", KEEPS)
def test_without_a_checkpoint_nothing_is_promised_and_nothing_refused(name: str) -> None:
    PipelineRun(pipeline(KEEPS[name]), NoSettings())


@pytest.mark.parametrize("name", PASSES)
def test_an_operator_that_is_done_with_each_row_is_fine(name: str, tmp_path: Path) -> None:
    PipelineRun(pipeline(PASSES[name], tmp_path / "checkpoint"), NoSettings())


def test_a_checkpoint_from_outside_of_the_code_counts_as_well(tmp_path: Path) -> None:
    with pytest.raises(AssemblyError, match=r"^buffer \(at .*acknowledgement.py:\d+.*\) keeps"):
        PipelineRun(
            pipeline(KEEPS["buffer"]),
            NoSettings(),
            RunTarget(checkpoint=str(tmp_path / "checkpoint")),
        )


@pytest.mark.parametrize(
    "name", ["buffer", "publish_on", "merge", "share", "further up", "to_list", "take", "map"]
)
def test_a_user_who_subscribes_himself_is_warned_of_each_once(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flow = on_spark({**KEEPS, **STOPS, **PASSES}[name], tmp_path / "checkpoint")
    for _ in range(2):
        flow.subscribe(subscriber := ManualSubscriber[Any]())
        subscriber.await_subscription()
        subscriber.cancel()
    warnings = [each.message for each in caplog.records if "keeps rows of Spark" in each.message]
    assert len(warnings) == (name in KEEPS)
    assert all(re.match(r"\w+ \(at .*acknowledgement.py:\d+", each) for each in warnings)


def test_every_operator_is_known_here() -> None:
    """A new operator needs a place in one of the tables above."""
    elsewhere = {  # sources, ways to run, and other names for operators that are here
        "from_async_iterable", "from_awaitable", "create", "interval", "explain", "on_error_resume",
        "switch_if_empty", "publish", "replay", "for_each", "annotate_errors",
    }  # fmt: skip
    families = {
        base
        for base in Flow.__mro__
        if base.__module__.startswith("penstock.flow.methods.")
        and base.__module__.rpartition(".")[2] not in ("creating", "running", "spark")
    }
    methods = {name for base in families for name in vars(base) if not name.startswith("_")}
    known = {name.split()[0] for name in (*KEEPS, *STOPS, *PASSES)} | elsewhere
    assert methods - known == set()


def test_an_operator_of_a_stranger_is_taken_for_one_that_keeps_rows() -> None:
    assert FlowNode.rerun.keeps
