"""The ledger of a pipeline without Spark: what was taken comes out, or is told lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pyarrow

from penstock import Flow
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Stage
from penstock.observe import Cause, Ledger, Observer, Passage
from penstock.observe.figures import passed
from penstock.observe.ledger import equation, in_short, note
from penstock.pipeline import NoSettings, Pipeline, PipelineRun
from penstock.runtime import VirtualTime
from penstock.testing import ManualPublisher, ManualSubscriber

Change = Callable[[Flow[Any]], Flow[Any]]
PATIENCE = 60


class Swallowing(Stage):
    """A stage that claims to give one element for each, and keeps one of them."""

    one_to_one = True

    def __init__(self, swallowed: int) -> None:
        super().__init__("swallowing")
        self._swallowed = swallowed

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        return (element for element in elements if element != self._swallowed)


def run_through(change: Change, *sinks: Any, source: Any = None) -> PipelineRun:
    run = PipelineRun(
        Pipeline(
            "ledger",
            sources={"numbers": lambda settings: source or Flow.range(5)},
            transform=change,
            sinks={f"sink {number}": made(sink) for number, sink in enumerate(sinks)},
        ),
        NoSettings(),
    )
    run.start()
    return run


def made(sink: Any) -> Callable[[Any], Any]:
    return lambda settings: sink


def ledger_of(change: Change, *sinks: Any) -> Ledger:
    run = run_through(change, *(sinks or (lambda element: None,)))
    assert run.wait(PATIENCE)
    return run.status().ledger


def test_a_stage_that_swallows_an_element_is_found_out() -> None:
    ledger = ledger_of(lambda numbers: numbers._then(Swallowing(2)))
    assert (ledger.taken, ledger.delivered, ledger.lost) == (5, 4, 1)
    assert ledger.passages == (Passage("numbers", "sink 0", 5, 4),)


def test_nothing_is_lost_where_each_element_becomes_another() -> None:
    ledger = ledger_of(lambda numbers: numbers.map(str))
    assert (ledger.taken, ledger.delivered, ledger.lost) == (5, 5, 0)


def test_downstream_of_a_filter_nobody_knows_what_should_have_come() -> None:
    ledger = ledger_of(lambda numbers: numbers.filter(bool))
    assert (ledger.taken, ledger.delivered, ledger.lost) == (5, 4, None)
    assert ledger.passages == ()


def test_what_is_on_its_way_is_not_lost() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    inside, go_on = threading.Event(), threading.Event()

    def take(element: int) -> None:
        inside.set()
        assert go_on.wait(PATIENCE)

    run = run_through(lambda numbers: numbers, take, source=publisher)
    publisher.await_requested(1)
    giving = threading.Thread(target=lambda: publisher.next(1))
    giving.start()
    assert inside.wait(PATIENCE)
    for _ in range(3):
        ledger = run.status().ledger
        assert (ledger.lost, ledger.passages[0].held) == (0, 1)
    go_on.set()
    giving.join()
    publisher.complete()
    assert run.wait(PATIENCE)
    assert run.status().ledger.lost == 0


def test_an_element_that_a_function_refuses_is_not_delivered_and_lost_without_a_journal() -> None:
    def refuse(element: int) -> None:
        if element == 2:
            raise OSError("no space left")

    run = run_through(lambda numbers: numbers, refuse)
    assert run.wait(PATIENCE)
    reading = run.status()
    assert (run.state, reading.ledger.delivered, reading.ledger.lost) == ("failed", 2, 1)
    sink = reading.stages[-1]
    assert sink.passed == 2
    assert [signal.text for signal in sink.errors] == ["OSError: no space left"]


def test_the_error_of_a_source_stands_at_the_source_alone() -> None:
    run = run_through(
        lambda numbers: numbers,
        lambda element: None,
        source=Flow.concat(Flow.of(1), Flow.error(OSError("gone"))),
    )
    assert run.wait(PATIENCE)
    source, sink = run.status().stages
    assert [signal.text for signal in source.errors] == ["OSError: gone"]
    assert (sink.errors, run.status().ledger.lost) == ((), 0)


def test_a_sink_that_wants_no_more_loses_nothing() -> None:
    sink: ManualSubscriber[int] = ManualSubscriber(request=2)
    run = run_through(lambda numbers: numbers, sink, lambda element: None)
    sink.await_elements(2)
    sink.cancel()
    assert run.wait(PATIENCE)
    ledger = run.status().ledger
    assert (ledger.delivered, ledger.lost) == (5, 0)  # the one that wants no more does not count
    assert [passage.taker for passage in ledger.passages] == ["sink 1"]


def test_what_a_sink_says_it_has_twice_is_duplicated_there() -> None:
    class Knows:
        duplicated = 2
        recognised = 3

        def __call__(self, element: int) -> None: ...

    ledger = ledger_of(lambda numbers: numbers, Knows(), lambda element: None)
    assert (ledger.duplicated, ledger.recognised, ledger.possibly_duplicated) == (2, 3, 0)
    assert [(each.field, each.count, each.place) for each in ledger.causes] == [
        ("duplicated", 2, "sink 0")
    ]


def test_what_was_taken_is_the_sum_of_what_became_of_it() -> None:
    ledger = ledger_of(lambda numbers: numbers.map(str), lambda element: None, lambda element: None)
    assert equation(ledger) == (
        "taken 5 = delivered 5 + filtered or aggregated 0 + late 0 + dead letters 0 + in flight 0"
    )
    assert ledger.difference == 0


def test_an_equation_that_does_not_come_out_says_so() -> None:
    ledger = ledger_of(lambda numbers: numbers._then(Swallowing(2)))
    assert ledger.difference == 1
    assert equation(ledger).endswith("; 1 more were taken than that")
    assert [(each.count, each.place, each.words) for each in ledger.causes] == [
        (1, "sink 0", "left numbers and never reached sink 0")
    ]


def test_a_filter_makes_its_term_unknown_and_not_0() -> None:
    ledger = ledger_of(lambda numbers: numbers.filter(bool))
    assert (ledger.filtered, ledger.in_flight, ledger.difference) == (None, None, None)
    assert "filtered or aggregated not known" in equation(ledger)


def test_each_sink_says_on_the_page_how_often_it_has_a_row() -> None:
    class Once:
        level = "exactly once"

        def __call__(self, element: int) -> None: ...

    run = run_through(lambda numbers: numbers, Once(), lambda element: None, ManualSubscriber())
    assert [stage.detail for stage in run.status().stages[1:]] == [
        "exactly once",
        "at least once",
        "",
    ]
    run.stop()


def batch_of(number: int) -> pyarrow.RecordBatch:
    return pyarrow.RecordBatch.from_pydict({"number": [number] * 100})


def test_where_elements_are_arrow_batches_each_number_says_what_it_counts() -> None:
    run = run_through(lambda numbers: numbers, print_nothing, source=Flow.range(3).map(batch_of))
    assert run.wait(PATIENCE)
    status = Observer("batches", run.status, clock=VirtualTime()).status
    assert in_short(status.ledger) == ("taken 3 batches, delivered 300 rows, lost 0, duplicated 0")
    assert [passed(status, stage) for stage in status.stages] == ["3 batches", "3 batches"]
    assert status.ledger.difference == 0
    (passage,) = status.ledger.passages
    assert (passage.entered, passage.unit) == (3, "batches")


def test_rows_that_become_batches_on_their_way_are_counted_as_what_they_are_at_each_place() -> None:
    run = run_through(
        lambda numbers: numbers.buffer(2).map(lambda some: batch_of(len(some))), print_nothing
    )
    assert run.wait(PATIENCE)
    status = Observer("batches", run.status, clock=VirtualTime()).status
    assert in_short(status.ledger).startswith("taken 5 elements, delivered 300 rows, ")
    assert [passed(status, stage) for stage in status.stages] == ["5 elements", "3 batches"]


def test_a_batch_that_is_lost_is_one_batch() -> None:
    lost = Cause("lost", 1, "sink", "left numbers and never reached sink", "batches")
    ledger = Ledger(taken=3, delivered=200, lost=1, causes=(lost,)).in_units("batches")
    assert in_short(ledger) == (
        "taken 3 batches, delivered 200 rows, lost 1 batch, duplicated not known"
    )
    assert note(ledger, "lost") == "1 batch at sink"


def print_nothing(element: Any) -> None:
    """A sink."""
