"""Where Spark's batches become elements, under all schedules of Spark's thread and the others'.

What every scenario asks: elements come in order, within demand and once; Spark goes on when a
batch is delivered, or when nobody wants it, and never waits for nothing.
"""

from __future__ import annotations

import threading
from asyncio import Future
from typing import Any

import pytest

import penstock.core
import penstock.flow.engine.fusion
import penstock.flow.engine.subscription
import penstock.spark.egress.batch_delivery
from penstock.core import COMPLETED
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.engine.stage import Origin
from penstock.spark.egress.batch_delivery import BatchHandoff, HandoffBatch
from penstock.spark.failures import Stopped
from penstock.tck import Environment
from tests.flow.explored.parties import SerialSubscriber
from tests.tck.explorer.holding import Scenario, assert_holds

SUBJECT = [
    penstock.core,
    penstock.flow.engine.subscription,
    penstock.flow.engine.fusion,
    penstock.spark.egress.batch_delivery,
]


class Batches(Origin):
    """An origin to which a test gives batches, as Spark does."""

    checked = True
    emitter: BatchHandoff

    def __init__(self) -> None:
        super().__init__("on_spark")
        self.closed = 0
        self.outcomes: list[object] = []

    def open(self, run: RunContext, per_output: int) -> Elements:
        self.emitter = BatchHandoff(run, self._close)
        return self.emitter.elements()

    def deliver(self, number: int, *elements: int, keeps_order: bool = True) -> None:
        try:
            batch = HandoffBatch(number, len(elements), iter(elements))
            self.emitter.deliver(batch, keeps_order)
            self.outcomes.append(number)
        except Stopped:
            self.outcomes.append("stopped")

    def compute(self, number: int, *elements: int) -> None:
        """A batch that Spark reads itself: it asks before it computes."""
        try:
            self.emitter.admit(number, on_demand=True)
        except Stopped:
            self.outcomes.append("not computed")
        else:
            self.deliver(number, *elements)

    def _close(self) -> None:
        self.closed += 1


def subscribed(env: Environment) -> tuple[Batches, SerialSubscriber]:
    batches, subscriber = Batches(), SerialSubscriber(env)
    BaseFlow._from(batches).subscribe(subscriber)
    return batches, subscriber


def two_batches_against_two_requests(env: Environment) -> None:
    batches, subscriber = subscribed(env)

    def run() -> None:
        batches.deliver(0, 0, 1)
        batches.deliver(1, 2)

    env.par(run, lambda: subscriber.request(1), lambda: subscriber.request(2))
    assert subscriber.elements == [0, 1, 2]
    assert batches.outcomes == [0, 1]


def a_batch_is_done_without_further_demand(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    env.par(lambda: batches.deliver(0, 0), lambda: subscriber.request(1))
    assert batches.outcomes == [0]
    assert subscriber.signals == ["on_subscribe", 0]


def a_batch_against_a_cancel(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    subscriber.request(1)
    env.par(lambda: batches.deliver(0, 0, 1), subscriber.cancel)
    assert batches.outcomes == ["stopped"]
    assert subscriber.elements in ([], [0])
    assert batches.closed == 1


def an_error_against_a_batch_that_nobody_wants(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    subscriber.request(1)
    env.par(
        lambda: batches.deliver(0, 0, 1, 2),
        lambda: batches.emitter.end(LookupError("gone")),
    )
    assert subscriber.endings == [LookupError]
    assert subscriber.elements in ([], [0])
    assert batches.outcomes == ["stopped"]


def an_error_against_the_last_element_of_a_batch(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    subscriber.request(1)
    env.par(lambda: batches.deliver(0, 0), lambda: batches.emitter.end(LookupError("gone")))
    assert subscriber.endings == [LookupError]


def completion_against_a_request(env: Environment) -> None:
    batches, subscriber = subscribed(env)

    def run() -> None:
        batches.deliver(0, 0)
        batches.emitter.end(COMPLETED)

    env.par(run, lambda: subscriber.request(1))
    assert subscriber.signals == ["on_subscribe", 0, "on_complete"]


def a_batch_that_spark_begins_anew_while_it_is_delivered(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    subscriber.request(1)
    env.par(
        lambda: batches.deliver(0, 0, 1),
        lambda: batches.deliver(0, 0, 1),
        lambda: subscriber.request(5),
    )
    assert subscriber.elements == [0, 1]
    assert batches.outcomes == [0, 0]


def a_batch_is_computed_when_an_element_is_wanted(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    env.par(lambda: batches.compute(0, 0), lambda: subscriber.request(1))
    assert subscriber.elements == [0]
    assert batches.outcomes == [0]


def an_empty_batch_uses_up_no_demand(env: Environment) -> None:
    batches, subscriber = subscribed(env)

    def run() -> None:
        batches.compute(0)
        batches.compute(1)
        batches.compute(2, 7)

    env.par(run, lambda: subscriber.request(1))
    assert subscriber.elements == [7]
    assert batches.outcomes == [0, 1, 2]


def a_batch_that_waits_for_demand_against_a_cancel(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    env.par(lambda: batches.compute(0, 0), subscriber.cancel)
    assert batches.outcomes == ["not computed"]


def the_last_batch_against_one_more(env: Environment) -> None:
    batches, subscriber = subscribed(env)
    subscriber.request(1)

    def run() -> None:
        batches.compute(0, 0)
        batches.compute(1, 1)  # for which there is no demand

    env.par(run, batches.emitter.admit_no_more)
    first = batches.outcomes[0]
    assert batches.outcomes == [first, "not computed"]
    assert subscriber.elements == ([0] if first == 0 else [])


SCENARIOS: list[Scenario] = [
    two_batches_against_two_requests,
    a_batch_is_done_without_further_demand,
    a_batch_against_a_cancel,
    an_error_against_a_batch_that_nobody_wants,
    an_error_against_the_last_element_of_a_batch,
    completion_against_a_request,
    a_batch_that_spark_begins_anew_while_it_is_delivered,
    a_batch_is_computed_when_an_element_is_wanted,
    an_empty_batch_uses_up_no_demand,
    a_batch_that_waits_for_demand_against_a_cancel,
    the_last_batch_against_one_more,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_batches_become_elements_under_all_schedules(scenario: Scenario) -> None:
    assert_holds(scenario, SUBJECT, bound=1, seeds=(), budget=4)


def test_a_batch_that_is_begun_again_in_another_order_comes_again_as_a_whole() -> None:
    from penstock.testing import ManualSubscriber

    batches: Batches = Batches()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=9)
    BaseFlow._from(batches).subscribe(subscriber)
    batches.deliver(0, 0, 1)
    batches.emitter._delivered = 1  # as if it had ended in the middle
    batches.deliver(0, 1, 0, keeps_order=False)
    assert subscriber.elements == [0, 1, 1, 0]


def test_a_batch_that_was_let_in_may_come_again_after_the_last_one() -> None:
    from penstock.testing import ManualSubscriber

    batches, subscriber = Batches(), ManualSubscriber[int](request=9)
    BaseFlow._from(batches).subscribe(subscriber)
    batches.compute(0, 0)
    batches.emitter.admit_no_more()
    batches.compute(0, 0)
    batches.compute(1, 1)
    assert batches.outcomes == [0, 0, "not computed"]
    assert subscriber.elements == [0]


def test_a_pull_that_looks_for_the_end_lets_no_batch_in() -> None:
    run = Pulled()
    handoff = BatchHandoff(run, lambda: None)
    elements = handoff.elements()
    asking = threading.Thread(target=lambda: handoff.admit(0, on_demand=True))
    asking.start()
    assert run.woken.wait(30)
    assert next(elements) is PENDING
    assert (handoff._asks, handoff.admitted) == (True, -1)
    run.demand = 1
    assert next(elements) is PENDING
    asking.join(30)
    assert handoff.admitted == 0


class Pulled(RunContext):
    """A run that the test pulls; ``demand`` is what it says is wanted."""

    def __init__(self) -> None:
        self._begin_run()
        self.demand = 0
        self.woken = threading.Event()

    @property
    def wanted(self) -> int:
        return self.demand

    def wake(self) -> None:
        self.woken.set()

    def leave_after(self, task: Future[Any]) -> None:
        raise NotImplementedError
