"""Each check for subscribers can fail: broken ones fail it, under the rule that they break."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import pytest

from penstock.tck import judge
from penstock.tck.checks.subscriber import SUBSCRIBER
from penstock.tck.report import Status
from penstock.tck.verify_subscriber import verify_subscriber
from tests.mutants import (
    subscribers_cancelling,
    subscribers_demand,
    subscribers_endings,
    subscribers_signals,
    subscribers_threads,
)
from tests.mutants.sound_subscribers import OneByOne
from tests.mutants.subscribers import SUBSCRIBER_MUTANTS

MODULES = (
    subscribers_cancelling,
    subscribers_demand,
    subscribers_endings,
    subscribers_signals,
    subscribers_threads,
)


RULES = tuple(dict.fromkeys(check.rule for check in SUBSCRIBER))

NEED_NO_ELEMENT = {
    "begins_and_ends_without_holding_up_the_publisher",
    "cancels_a_second_subscription_that_comes_at_once",
    "is_made_anew_for_each_stream",
    "is_ready_for_completion_at_once",
    "is_ready_for_failure_at_once",
    "refuses_a_missing_error",
    "refuses_a_missing_subscription",
}
"""Checks that are about something else than a stream that flows."""


@pytest.mark.parametrize("rule", RULES)
def test_mutants_fail_the_checks_of_the_rule_that_they_break(rule: str) -> None:
    breaking = [name for name, mutant in SUBSCRIBER_MUTANTS.items() if mutant.rule == rule]
    found = {name: killers(name) for name in breaking}
    assert [name for name in breaking if not found[name]] == [], "these pass all checks"
    failed = set().union(*found.values())
    checks = [check.name for check in SUBSCRIBER.about([rule])]
    assert [check for check in checks if check not in failed] == [], "no mutant fails these"


def test_every_mutant_breaks_a_rule_that_has_a_check() -> None:
    assert {mutant.rule for mutant in SUBSCRIBER_MUTANTS.values()} == set(RULES)


def test_a_subscriber_that_never_asks_fails_every_check_that_needs_an_element() -> None:
    report = verify_subscriber(subscribers_demand.NeverAsks)
    passed = {each.check for each in report.outcomes if each.status is Status.VERIFIED}
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


def matrix() -> dict[str, tuple[str, ...]]:
    """The mutants that fail each check."""
    return {
        check.name: tuple(name for name in SUBSCRIBER_MUTANTS if check.name in killers(name))
        for check in SUBSCRIBER
    }


@cache
def killers(name: str) -> frozenset[str]:
    """The checks that a mutant fails, under the rule that it breaks."""
    mutant = SUBSCRIBER_MUTANTS[name]
    # A busy machine gets through fewer schedules in the same time.
    with patch.object(judge, "EXPLORED_BUDGET", 2.0):
        report = verify_subscriber(mutant.factory, rules=[mutant.rule], **mutant.claims)
    return frozenset(
        outcome.check
        for outcome in report.outcomes
        if outcome.rule == mutant.rule and outcome.status is Status.FAILED
    ) - {"preflight"}
