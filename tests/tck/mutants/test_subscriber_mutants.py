"""Subscribers that never ask, or that break a rule where it is hard to see which one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.tck.report import RuleStatus
from penstock.tck.verifying import verify_subscriber
from tests.tck.mutants.sound_subscribers import OneByOne
from tests.tck.mutants.subscribers_demand import NeverAsks

NEED_NO_ELEMENT = {
    "begins_and_ends_without_holding_up_the_publisher",
    "cancels_a_second_subscription_that_comes_at_once",
    "is_new_for_each_stream",
    "is_ready_for_completion_at_once",
    "is_ready_for_failure_at_once",
    "refuses_a_missing_error",
    "refuses_a_missing_subscription",
}
"""Checks that are about something else than a stream that flows."""


def test_a_subscriber_that_never_asks_fails_every_check_that_needs_an_element() -> None:
    report = verify_subscriber(NeverAsks)
    passed = {each.check for each in report.outcomes if each.status is RuleStatus.VERIFIED}
    assert passed == NEED_NO_ELEMENT


def test_a_call_on_a_loop_is_known_to_come_out_of_on_complete() -> None:
    """Rule 2.3, not 2.4: tasks of a loop carry the context of the signal that made them."""

    class CancelsOnALoop(OneByOne):
        def on_complete(self) -> None:
            assert self.subscription is not None
            loop.call_soon_threadsafe(loop.call_later, 0.01, self.subscription.cancel)

    with running_loop() as loop:
        report = verify_subscriber(CancelsOnALoop, rules=["2.3", "2.4"])
    assert {(failure.rule, failure.check) for failure in report.failures} == {
        ("2.3", "calls_nothing_in_on_complete"),
        ("2.3", "calls_nothing_once_the_stream_has_completed"),
    }


@contextmanager
def running_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop on a thread of its own, which was there before the subject."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
