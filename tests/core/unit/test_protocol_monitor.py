"""The judge of signals: which rule the next one breaks."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from penstock.api import UNBOUNDED
from penstock.core.protocol_monitor import Fault, ProtocolMonitor

SUBSCRIPTION = object()
Signals = Callable[[ProtocolMonitor], Fault | None]


def opened(requested: int = 0) -> ProtocolMonitor:
    monitor = ProtocolMonitor()
    assert monitor.subscribes(SUBSCRIPTION) is None
    if requested:
        monitor.requests(requested)
    return monitor


def test_a_stream_in_order_breaks_no_rule() -> None:
    monitor = opened(requested=2)
    assert [monitor.sends("a"), monitor.sends("b"), monitor.completes()] == [None] * 3
    assert (monitor.received, monitor.outstanding, monitor.ended_by) == (2, 0, "on_complete")


@pytest.mark.parametrize(
    ("rule", "signal"),
    [
        pytest.param("1.1", lambda it: it.sends("a"), id="no demand"),
        pytest.param("1.4", lambda it: it.fails("a word"), id="no exception"),
        pytest.param("1.4", lambda it: it.fails(KeyboardInterrupt()), id="no Exception"),
        pytest.param("2.12", lambda it: it.subscribes(SUBSCRIPTION), id="subscribed again"),
        pytest.param("2.13", lambda it: it.sends(None), id="no element"),
        pytest.param("2.13", lambda it: it.fails(None), id="no error"),
    ],
)
def test_a_signal_to_an_open_stream_without_demand(rule: str, signal: Signals) -> None:
    fault = signal(opened())
    assert fault is not None
    assert fault.rule == rule


@pytest.mark.parametrize(
    "signal",
    [
        lambda it: it.sends("a"),
        lambda it: it.fails(ValueError()),
        lambda it: it.completes(),
    ],
    ids=["on_next", "on_error", "on_complete"],
)
def test_rules_1_07_and_1_09_a_signal_outside_of_the_stream(signal: Signals) -> None:
    early = signal(ProtocolMonitor())
    assert early is not None
    assert early.rule == "1.9"
    ended = opened(requested=1)
    ended.completes()
    late = signal(ended)
    assert late is not None
    assert late.rule == "1.7"


def test_what_breaks_a_rule_does_not_use_up_demand() -> None:
    monitor = opened()
    assert monitor.sends("a") is not None
    monitor.requests(1)
    assert monitor.sends("b") is None


def test_rule_3_17_demand_without_bound_stays_so() -> None:
    monitor = opened(requested=UNBOUNDED)
    monitor.requests(UNBOUNDED)
    assert monitor.sends("a") is None
    assert (monitor.requested, monitor.outstanding) == (UNBOUNDED, UNBOUNDED)


def test_rule_1_03_a_signal_during_that_of_another_thread() -> None:
    monitor = opened(requested=2)
    monitor.turn.enter("on_next")
    faults: list[Fault | None] = []
    other = threading.Thread(target=lambda: faults.append(monitor.sends("b")))
    other.start()
    other.join()
    assert [fault.rule for fault in faults if fault] == ["1.3"]
    monitor.turn.leave()
    assert monitor.sends("b") is None
