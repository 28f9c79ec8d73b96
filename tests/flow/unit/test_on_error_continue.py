"""Elements at which a function fails, left out and reported: which functions that covers."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from penstock import UNBOUNDED, Flow, IterablePublisher, ThreadPool, X
from penstock.flow.resume.planning import resumption_of
from penstock.testing import ManualPublisher, ManualSubscriber

Reported = list[tuple[Any, str]]


def reporting(to: Reported) -> Callable[[Any, Exception], None]:
    return lambda element, error: to.append((element, type(error).__name__))


def inverse(x: int) -> float:
    return 12 / x


def test_the_report_has_the_element_as_it_came_and_a_note_of_the_function_that_failed() -> None:
    notes: list[tuple[str, str]] = []
    flow = Flow.of("4", "x", "0", "6").map(int).map(inverse)
    kept = flow.on_error_continue(lambda text, error: notes.append((text, error.__notes__[0])))
    assert kept.to_list().run_sync() == [3.0, 2.0]
    assert [text for text, _ in notes] == ["x", "0"]
    assert all(note.startswith("in map, assembled at ") for _, note in notes)


@pytest.mark.parametrize(
    "covered",
    [
        lambda flow: flow.map(inverse),
        lambda flow: flow.map_not_none(inverse),
        lambda flow: flow.filter(inverse),
        lambda flow: flow.do_on_next(inverse),
        lambda flow: flow.map(12 / X),
        lambda flow: flow.map(inverse).named("inverses").annotate_errors("here"),
        lambda flow: flow.do_on_discard(print).map(inverse).do_on_discard(print).map(str),
        lambda flow: flow.map(lambda x: x or None),
    ],
    ids=["map", "map_not_none", "filter", "do_on_next", "X", "named", "do_on_discard", "None"],
)
@pytest.mark.parametrize(
    "source",
    [Flow.from_iterable, lambda elements: Flow.from_publisher(IterablePublisher(elements))],
    ids=["fused", "publisher"],
)
def test_it_covers_each_function_of_one_element(
    covered: Callable[[Flow[int]], Flow[Any]], source: Callable[[list[int]], Flow[int]]
) -> None:
    reported: Reported = []
    flow = covered(source([1, 0, 2, 0])).on_error_continue(reporting(reported))
    assert flow.count().run_sync() == 2
    assert [element for element, _ in reported] == [0, 0]


@pytest.mark.parametrize(
    ("flow", "last"),
    [
        (Flow.range(3), "range"),
        (Flow.range(3).named("numbers"), "range"),
        (Flow.range(3).map(inverse).scan(0.0, max), "scan"),
        (Flow.range(3).map(inverse).log(), "log"),
        (Flow.range(3).map(inverse).take(2).named("two"), "take"),
        (Flow.range(3).map(inverse).flat_map(Flow.of), "flat_map"),
        (Flow.range(3).map(inverse).flat_map_iterable(lambda x: [x]), "flat_map_iterable"),
        (Flow.range(3).map(inverse).share(), "share"),
        (Flow.range(3).map(inverse).publish_on(ThreadPool()), "publish_on"),
        (Flow.range(3).map(inverse).on_error_continue(print), "on_error_continue"),
    ],
    ids=str,
)
def test_it_is_refused_where_it_would_cover_nothing(flow: Flow[Any], last: str) -> None:
    with pytest.raises(ValueError, match="on_error_continue goes directly downstream of") as caught:
        flow.on_error_continue(print)
    assert f"not of {last}, assembled at {__file__}:" in str(caught.value)


def test_what_is_farther_upstream_ends_the_flow() -> None:
    reported: Reported = []
    flow = Flow.of(1, 0, 2).map(inverse).skip(1).map(str).on_error_continue(reporting(reported))
    with pytest.raises(ZeroDivisionError):
        flow.to_list().run_sync()
    assert reported == []


def test_what_is_downstream_ends_the_flow() -> None:
    reported: Reported = []
    flow = Flow.of(1, 0, 2).map(str).on_error_continue(reporting(reported)).map(int).map(inverse)
    with pytest.raises(ZeroDivisionError):
        flow.to_list().run_sync()
    assert reported == []


def test_two_of_them_cover_what_is_between() -> None:
    first: Reported = []
    second: Reported = []
    flow = Flow.of("4", "x", "0").map(int).on_error_continue(reporting(first))
    flow.map(inverse).on_error_continue(reporting(second)).count().run_sync()
    assert first == [("x", "ValueError")]
    assert second == [(0, "ZeroDivisionError")]


def test_an_error_of_another_kind_ends_the_flow() -> None:
    reported: Reported = []
    flow = Flow.of("4", "x", "0").map(int).map(inverse)
    with pytest.raises(ZeroDivisionError):
        flow.on_error_continue(reporting(reported), only=ValueError).count().run_sync()
    assert reported == [("x", "ValueError")]
    both = flow.on_error_continue(reporting(reported), only=(ValueError, ArithmeticError))
    assert both.count().run_sync() == 1


def test_what_the_report_raises_ends_the_flow_with_the_error_as_its_context() -> None:
    def refuse(element: int, error: Exception) -> None:
        raise KeyError(element)

    subscriber = ManualSubscriber[float](request=UNBOUNDED)
    Flow.of(1, 0, 2).map(inverse).on_error_continue(refuse).subscribe(subscriber)
    assert subscriber.elements == [12.0]
    assert isinstance(subscriber.error, KeyError)
    assert isinstance(subscriber.error.__context__, ZeroDivisionError)
    assert any(note.startswith("in on_error_continue") for note in subscriber.error.__notes__)


def test_an_element_that_is_left_out_is_replaced_by_another_one() -> None:
    publisher, subscriber = ManualPublisher[int](), ManualSubscriber[float](request=2)
    flow = Flow.from_publisher(publisher).map(inverse).on_error_continue(lambda *_: None)
    flow.subscribe(subscriber)
    publisher.next(0, 1)
    assert publisher.outstanding == 1
    publisher.next(0)
    assert publisher.outstanding == 1
    publisher.next(2)
    assert (subscriber.elements, publisher.outstanding) == ([12.0, 6.0], 0)


def test_a_cancel_within_the_report_is_seen_before_the_next_element() -> None:
    subscriber = ManualSubscriber[float](request=UNBOUNDED)
    taken: list[int] = []
    flow = Flow.range(9).do_on_next(taken.append).skip(0).map(lambda x: 12 / (x - 3))
    flow.on_error_continue(lambda *_: subscriber.cancel()).subscribe(subscriber)
    assert taken == [0, 1, 2, 3]


def test_the_last_element_may_be_one_that_fails() -> None:
    reported: Reported = []
    subscriber = ManualSubscriber[float](request=2)
    flow = Flow.of(1, 2, 0, 4).take(3).map(inverse).on_error_continue(reporting(reported))
    flow.subscribe(subscriber)
    subscriber.request(1)
    assert subscriber.completed
    assert reported == [(0, "ZeroDivisionError")]


def test_it_works_within_a_loop_in_the_loop() -> None:
    reported: Reported = []
    flow = Flow.of([1, 0], [2, 3]).flat_map_iterable(lambda pair: pair).map(inverse)
    kept = flow.on_error_continue(reporting(reported)).flat_map_iterable(lambda x: [x, -x])
    assert kept.to_list().run_sync() == [12.0, -12.0, 6.0, -6.0, 4.0, -4.0]
    assert reported == [(0, "ZeroDivisionError")]


def test_it_works_after_as_many_loops_as_one_segment_takes() -> None:
    for depth in range(12):
        flow: Flow[Any] = Flow.of(1, 0, 2)
        for _ in range(depth):
            flow = flow.flat_map_iterable(lambda x: [x])
        kept = flow.map(lambda x: x).map(inverse).map(str).on_error_continue(lambda *_: None)
        assert kept.to_list().run_sync() == ["12.0", "6.0"]


def test_flows_of_the_same_shape_keep_their_functions_apart() -> None:
    one: Reported = []
    other: Reported = []
    flow = Flow.of(1, 0).map(inverse).on_error_continue(reporting(one))
    flow.count().run_sync()
    Flow.of(0, 1).map(inverse).on_error_continue(reporting(other)).count().run_sync()
    assert len(one) == len(other) == 1


class Nothing:
    """What an expression can make ``None`` of."""

    def __radd__(self, other: int) -> None: ...


def test_an_expression_that_gives_nothing_fails_at_its_element() -> None:
    reported: Reported = []
    flow = Flow.of(1, 2).map(X + Nothing()).on_error_continue(reporting(reported))
    assert flow.to_list().run_sync() == []
    assert reported == [(1, "TypeError"), (2, "TypeError")]


def test_a_flow_with_it_goes_on_after_a_restart() -> None:
    def make() -> Flow[Any]:
        return Flow.of(1, 0, 2, 0, 3).map(inverse).on_error_continue(lambda *_: None).map(str)

    whole = make().to_list().run_sync() or []
    for cut in range(1, len(whole) + 1):
        before = resumption_of(make()).positioned(None).take(cut).to_list().run_sync() or []
        rest = resumption_of(make()).positioned(before[-1].position).to_list().run_sync() or []
        assert [each.element for each in before + rest] == whole


def test_a_flow_of_positions_with_it_goes_on_after_a_restart() -> None:
    def make() -> Flow[Any]:
        source = Flow.resumable(lambda at: Flow.range(at or 0, 9), position=lambda x: x + 1)
        return source.map(lambda x: 12 / (x % 3)).on_error_continue(lambda *_: None)

    whole = make().to_list().run_sync() or []
    for cut in range(1, len(whole) + 1):
        before = resumption_of(make()).positioned(None).take(cut).to_list().run_sync() or []
        rest = resumption_of(make()).positioned(before[-1].position).to_list().run_sync() or []
        assert [each.element for each in before + rest] == whole


def test_an_error_that_was_reported_keeps_nothing_alive() -> None:
    class Element: ...

    def fail(element: Element) -> None:
        del element  # which this frame would keep, as a part of the traceback
        raise ValueError("no")

    errors: list[Exception] = []
    elements = [Element(), Element()]
    alive = [weakref.ref(each) for each in elements]
    flow = Flow.from_iterable(elements).map(fail)
    kept = flow.on_error_continue(lambda element, error: errors.append(error))
    assert kept.count().run_sync() == 0
    del flow, kept
    elements.clear()
    gc.collect()
    assert [each() for each in alive] == [None, None]
    assert len(errors) == 2


def test_explain_and_repr_show_what_is_covered() -> None:
    flow = Flow.range(3).map(inverse).on_error_continue(print)
    assert repr(flow) == "<Flow: range map on_error_continue>"
    assert "range | map on_error_continue" in str(flow.explain())
