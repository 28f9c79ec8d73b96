"""Waiting, by clocks that stand still or hurry."""

from __future__ import annotations

from penstock import VirtualTime
from penstock.flow import Flow
from penstock.runtime import SystemClock
from tests.flow.case import Case
from tests.flow.hurrying import Hurrying

__all__ = ["CASES"]

HOUR = 3600
MOMENT = 1e-6

CASES = [
    Case(
        "delay for a moment",
        lambda flow: flow.delay(MOMENT, clock=SystemClock()),
        list,
        claims={"prefetch": 256},  # those that are held may be asked for again
    ),
    Case("delay", lambda flow: flow.delay(HOUR, clock=Hurrying(2 * HOUR)), list),
    Case(
        "delay_subscription for a moment",
        lambda flow: flow.delay_subscription(MOMENT, clock=SystemClock()),
        list,
    ),
    Case(
        "delay_subscription until another flow",
        lambda flow: flow.delay_subscription(Flow.of("go")),
        list,
    ),
    Case(
        "debounce in quiet times",
        lambda flow: flow.debounce(1, clock=Hurrying(HOUR)),
        list,
        claims={"prefetch": 1},  # the latest element is held
    ),
    Case(
        "debounce while elements come",
        lambda flow: flow.debounce(HOUR, clock=VirtualTime()),
        lambda given: given[-1:],
    ),
    Case("throttle in quiet times", lambda flow: flow.throttle(1, clock=Hurrying(HOUR)), list),
    Case(
        "throttle to the first",
        lambda flow: flow.throttle(HOUR, clock=VirtualTime()),
        lambda given: given[:1],
    ),
    Case(
        "throttle to the last",
        lambda flow: flow.throttle(HOUR, last=True, clock=VirtualTime()),
        lambda given: given[-1:],
    ),
    Case(
        "sample in quiet times",
        lambda flow: flow.sample(1, clock=Hurrying(HOUR)),
        list,
        claims={"prefetch": 1},  # the latest element is held
    ),
    Case(
        "sample while elements come",
        lambda flow: flow.sample(HOUR, clock=VirtualTime()),
        lambda given: given[-1:],
    ),
    Case("space_out", lambda flow: flow.space_out(HOUR, clock=Hurrying(2 * HOUR)), list),
    Case(
        "space_out for a moment",
        lambda flow: flow.space_out(MOMENT, clock=SystemClock()),
        list,
        claims={"prefetch": 0},
    ),
    Case(
        "space_out, three at a time",
        lambda flow: flow.space_out(MOMENT, 3, clock=SystemClock()),
        list,
    ),
    Case(
        "timestamp",
        lambda flow: flow.timestamp(clock=VirtualTime(5.0)),
        lambda given: [(5.0, x) for x in given],
    ),
    Case(
        "elapsed",
        lambda flow: flow.elapsed(clock=Hurrying(HOUR)),
        lambda given: [(HOUR, x) for x in given],
    ),
    Case("timeout", lambda flow: flow.timeout(HOUR, clock=VirtualTime()), list),
    Case(
        "timeout with a fallback",
        lambda flow: flow.timeout(HOUR, Flow.of(-1), clock=VirtualTime()),
        list,
    ),
]
