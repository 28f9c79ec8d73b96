"""The subscriber that all sinks share, under all schedules of a flow on another thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penstock.connectors.shared.writer
import penstock.core
import penstock.flow.engine.fusion
import penstock.flow.engine.subscription
from penstock import Flow, collect_undelivered
from penstock.connectors import Writer
from penstock.delivery import Epoch, Level
from penstock.tck import Environment
from tests.flow.explored.parties import ThreadForEachTask
from tests.tck.explorer.holding import BRIEFLY, Scenario, assert_holds

SUBJECT = [
    penstock.core,
    penstock.connectors.shared.writer,
    penstock.flow.engine.subscription,
    penstock.flow.engine.fusion,
]


class Kept:
    """A sink that keeps what it is given, and notices what comes at the wrong time."""

    level: Level = "at least once"

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._switch = env.lock()
        self._inside = False
        self.elements: list[Any] = []
        self.calls: list[str] = []
        self.refuses: object = None

    def check(self, epoch: Epoch | None) -> str:
        return ""

    def open(self, epoch: Epoch | None) -> None:
        self._alone("open", lambda: None)

    def begin(self, batch: int) -> bool:
        return True

    def commit(self, batch: int) -> None:
        pass

    def __call__(self, element: Any) -> None:
        if element == self.refuses:
            raise ValueError(f"{element} is refused")
        self._alone("", lambda: self.elements.append(element))

    def close(self) -> None:
        self._alone("close", lambda: None)

    def _alone(self, call: str, work: Callable[[], object]) -> None:
        if self._inside:
            self._env.fail("1.3", f"{call or 'an element'} came while another call was running")
        if "close" in self.calls:
            self._env.fail("1.7", f"{call or 'an element'} came after close")
        self._inside = True
        work()
        with self._switch:
            pass  # another thread may get in between
        self._inside = False
        if call:
            self.calls.append(call)


class KeptAtOnce(Kept):
    """The same for many at once."""

    def give_all(self, elements: list[Any]) -> None:
        for element in elements:
            self(element)


def writer_of(env: Environment, sink: Kept) -> Writer:
    return Writer(sink, executor=ThreadForEachTask(env), new_lock=env.lock)


def numbers(env: Environment, count: int) -> Flow[int]:
    return Flow.range(count).subscribe_on(ThreadForEachTask(env))


def all_elements_of_a_flow_are_written(env: Environment) -> None:
    sink = Kept(env)
    numbers(env, 3).subscribe(writer_of(env, sink))
    env.settle()
    assert sink.elements == [0, 1, 2]
    assert sink.calls == ["open", "close"]


def more_elements_than_there_is_room_for_are_written_at_once(env: Environment) -> None:
    sink = KeptAtOnce(env)
    numbers(env, 20).subscribe(writer_of(env, sink))
    env.settle()
    assert sink.elements == list(range(20))
    assert sink.calls == ["open", "close"]


def elements_of_a_flow_that_does_not_end_are_written(env: Environment) -> None:
    sink = KeptAtOnce(env)
    writer = writer_of(env, sink)
    endless = Flow.concat(Flow.range(3), Flow.never())
    endless.subscribe_on(ThreadForEachTask(env)).subscribe(writer)
    env.settle()  # nothing but the elements themselves can have woken the writer
    assert sink.elements == [0, 1, 2]
    writer.stop()
    env.settle()
    assert sink.calls == ["open", "close"]


def a_stop_against_elements(env: Environment) -> None:
    sink = KeptAtOnce(env)
    writer = writer_of(env, sink)
    numbers(env, 3).subscribe(writer)
    env.par(writer.stop)
    env.settle()
    assert sink.elements == list(range(len(sink.elements)))
    assert sink.calls[-1] == "close"
    assert writer.wait(0)
    assert writer.buffered == 0


def a_flush_against_elements(env: Environment) -> None:
    sink = Kept(env)
    writer = writer_of(env, sink)
    numbers(env, 2).subscribe(writer)
    flushed: list[int] = []
    env.par(lambda: writer.flush(lambda: flushed.append(len(sink.elements))))
    env.settle()
    assert len(flushed) == 1
    assert sink.elements == [0, 1]


def a_sink_that_raises_amid_elements(env: Environment) -> None:
    sink = Kept(env)
    sink.refuses = 1
    writer = writer_of(env, sink)
    with collect_undelivered():
        numbers(env, 3).subscribe(writer)
        env.settle()
    assert str(writer.error) == "1 is refused"
    assert sink.elements == [0]
    assert sink.calls == ["open", "close"]
    assert writer.buffered == 0


SCENARIOS: list[Scenario] = [
    all_elements_of_a_flow_are_written,
    more_elements_than_there_is_room_for_are_written_at_once,
    elements_of_a_flow_that_does_not_end_are_written,
    a_stop_against_elements,
    a_flush_against_elements,
    a_sink_that_raises_amid_elements,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_one_preemption(scenario: Scenario) -> None:
    assert_holds(scenario, SUBJECT, bound=1, seeds=(), budget=BRIEFLY)


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", ["gil", "visible"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_two_preemptions(scenario: Scenario, level: str) -> None:
    assert_holds(scenario, SUBJECT, level=level, budget=40)
