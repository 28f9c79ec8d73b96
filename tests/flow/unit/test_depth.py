"""Chains of a thousand stages: no recursion error, and all that holds for short ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Flow, ThreadPool
from penstock.flow.engine import plan
from penstock.tck import verify_operator, verify_publisher
from penstock.testing import ManualSubscriber
from tests.flow.all_cases import EVERY_CASE
from tests.flow.case import Case

DEEP = 1_000
Operator = Callable[[Flow[Any]], Flow[Any]]

# Each of them gives what it gets, so a thousand of them do, too.
STAGES: dict[str, Operator] = {
    "map": lambda flow: flow.map(lambda x: x),
    "flat_map": lambda flow: flow.flat_map(Flow.of),
    "concat_map": lambda flow: flow.concat_map(Flow.of),
    "flat_map_sequential": lambda flow: flow.flat_map_sequential(Flow.of),
    "buffer": lambda flow: flow.buffer(1).concat_map(Flow.from_iterable),
    "switch_if_empty": lambda flow: flow.switch_if_empty(Flow.of(7)),
    "take_until": lambda flow: flow.take_until(Flow.never()),
    "skip_until": lambda flow: flow.skip_until(Flow.empty()),
    "timeout": lambda flow: flow.timeout(3_600),
    "with_latest_from": lambda flow: flow.with_latest_from(Flow.of(7)).map(lambda pair: pair[0]),
    "on_error_resume": lambda flow: flow.on_error_resume(lambda error: Flow.of(7)),
    "do_finally": lambda flow: flow.do_finally(lambda end: None),
}
EVERY_STAGE = pytest.mark.parametrize("operator", STAGES.values(), ids=STAGES)
A_STAGE = STAGES["switch_if_empty"]


class Closing:
    """Numbers from a place that has to be closed."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell

    def __iter__(self) -> Iterator[int]:
        try:
            yield from range(5)
        finally:
            self.tell("closed")


def chain(operator: Operator, flow: Flow[Any], depth: int = DEEP) -> Flow[Any]:
    for _ in range(depth):
        flow = operator(flow)
    return flow


@EVERY_STAGE
def test_a_thousand_stages_give_what_one_gives(operator: Operator) -> None:
    assert chain(operator, Flow.range(5)).to_list().run_sync() == [0, 1, 2, 3, 4]


@EVERY_STAGE
def test_a_thousand_stages_make_no_more_than_is_wanted_and_complete_without_demand(
    operator: Operator,
) -> None:
    made: list[int] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    chain(operator, Flow.range(5).do_on_next(made.append)).subscribe(subscriber)
    subscriber.request(2)
    assert (subscriber.elements, made) == ([0, 1], [0, 1])
    subscriber.request(3)
    subscriber.assert_elements(0, 1, 2, 3, 4)
    subscriber.assert_completed()


@EVERY_STAGE
def test_a_thousand_stages_can_be_cancelled(operator: Operator) -> None:
    ends: list[str] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    chain(operator, Flow.range(5).do_finally(ends.append)).subscribe(subscriber)
    subscriber.cancel()
    assert ends == ["cancelled"]
    subscriber.assert_elements(0, 1)


def test_elements_that_come_from_elsewhere_pass_a_thousand_stages() -> None:
    with ThreadPool(1) as thread:
        flow = chain(A_STAGE, Flow.range(300).publish_on(thread))
        assert flow.to_list().run_sync() == list(range(300))


def test_an_error_passes_a_thousand_stages_and_names_the_operator_in_which_it_arose() -> None:
    def invert(x: int) -> float:
        return 1 / x

    flow = chain(A_STAGE, Flow.of(1, 0).map(invert)).map(float)
    with pytest.raises(ZeroDivisionError) as caught:
        flow.to_list().run_sync()
    assert [note.partition(",")[0] for note in caught.value.__notes__] == ["in map"]


def test_an_error_is_handled_by_the_first_stage_that_does_so() -> None:
    failing = Flow.error(LookupError("no")).on_error_return(1)
    assert chain(A_STAGE, failing).to_list().run_sync() == [1]


def test_a_stage_in_the_middle_that_has_enough_closes_all_upstream_of_it_before_it_ends() -> None:
    ends: list[str] = []

    front = chain(A_STAGE, Flow.from_iterable(Closing(ends.append)), 500).do_finally(ends.append)
    flow = chain(A_STAGE, front.take(2), 500).do_finally(ends.append)
    assert flow.to_list().run_sync() == [0, 1]
    assert ends == ["closed", "cancelled", "completed"]


def test_a_stage_upstream_that_cannot_be_closed_keeps_none_from_being_closed() -> None:
    ends: list[str] = []

    def refuse(_: str) -> None:
        raise OSError("cannot be closed")

    flow = chain(A_STAGE, Flow.from_iterable(Closing(refuse)).do_finally(ends.append), 200)
    with pytest.raises(OSError, match="cannot be closed"):
        flow.take(1).to_list().run_sync()
    assert ends == ["failed"]


# With a trampoline upstream of each part, all that holds of operators still does.


@pytest.fixture
def _trampolines_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "SECTION", 1)


@pytest.mark.usefixtures("_trampolines_everywhere")
@EVERY_CASE
def test_trampolines_change_no_result(case: Case) -> None:
    given = list(range(7))
    flow = case.apply(Flow.from_iterable(given).switch_if_empty(Flow.of(7)))
    assert case.agrees(flow.to_list().run_sync() or [], given)


@pytest.mark.full
@pytest.mark.usefixtures("_trampolines_everywhere")
def test_a_chain_with_trampolines_keeps_all_rules() -> None:
    def apply(source: Any) -> Flow[int]:
        return Flow.from_publisher(source).concat_map(Flow.of).map(int).do_finally(str)

    verify_operator(apply, prefetch=0).raise_if_failed()
    verify_publisher(lambda n: apply(Flow.range(n)), repeatable=True).raise_if_failed()
