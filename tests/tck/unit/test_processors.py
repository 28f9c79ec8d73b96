"""The kit calls no processor broken that keeps the rules, and says what it could not verify."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from penstock import Broadcast, IdentityProcessor
from penstock.runtime import ThreadPool
from penstock.tck.report import Report, RuleStatus
from penstock.tck.verifying import verify_processor
from tests.tck.mutants import sound_processors as sound

pytestmark = pytest.mark.usefixtures("search_briefly")

POISON = "poison"
CANCELS: dict[str, Any] = {"cancels_upstream": True}
PASSES_DEMAND_ON: dict[str, Any] = {**CANCELS, "asks_when_asked": True, "completes_eagerly": True}
ACTIVE: dict[str, Any] = {"multicast": True, "refuses_same_subscriber": True}


def double(element: Any) -> Any:
    if element == POISON:
        raise LookupError(POISON)
    return element * 2


IN_MANY_MANNERS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "one subscriber": (sound.Relay, {**PASSES_DEMAND_ON, "calls_nothing_cancelled": True}),
    "eager": (sound.Eager, CANCELS),
    "a function": (
        partial(sound.Mapping, double),
        {**CANCELS, "expected": double, "poison": lambda: POISON},
    ),
    "recovering": (sound.Recovering, {**CANCELS, "recovers": True}),
    "threads": (sound.OnAThread, CANCELS),
    "a condition": (sound.ByCondition, CANCELS),
    "many subscribers": (
        sound.Hub,
        {**CANCELS, "multicast": True, "stays_completed": True, "stays_failed": True},
    ),
}


def identity_on_a_pool() -> IdentityProcessor[Any]:
    return IdentityProcessor(executor=ThreadPool(2))


def eager_broadcast_on_a_pool() -> Broadcast[Any]:
    return Broadcast(eager=True, executor=ThreadPool(2))


REFERENCE: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "identity": (
        IdentityProcessor,
        {
            **PASSES_DEMAND_ON,
            "calls_nothing_cancelled": True,
            "concurrent_requests": True,
            "explains_illegal_requests": True,
            "passes_interrupts": True,
            "reports_to_hook": True,
            "strict_types": True,
        },
    ),
    "identity of one element": (partial(IdentityProcessor, 1), PASSES_DEMAND_ON),
    "identity on a pool": (identity_on_a_pool, PASSES_DEMAND_ON),
    "broadcast": (
        Broadcast,
        {
            **ACTIVE,
            "asks_when_asked": True,
            "completes_eagerly": True,
            "keeps_for_newcomers": True,
            "stays_completed": True,
            "stays_failed": True,
            "from_source": lambda source: Broadcast(source=source),
        },
    ),
    "broadcast that shuts down": (
        partial(Broadcast, shuts_down_when_idle=True, takes_unasked=True),
        {
            **ACTIVE,
            **CANCELS,
            "keep_alive": Broadcast.keep_alive,
            "shuts_down_when_idle": True,
            "takes_unasked": True,
        },
    ),
    "broadcast of what comes next": (
        partial(Broadcast, newcomers="next"),
        {**ACTIVE, "asks_when_asked": True},
    ),
    "eager broadcast on a pool": (eager_broadcast_on_a_pool, ACTIVE),
}

ALL = {**IN_MANY_MANNERS, **REFERENCE}


@pytest.mark.parametrize("manner", ALL)
def test_a_sound_processor_keeps_the_rule_about_errors(manner: str) -> None:
    factory, claims = ALL[manner]
    passes(verify_processor(factory, rules=["4.2"], **claims))


def test_the_identity_processor_keeps_all_rules() -> None:
    factory, claims = REFERENCE["identity"]
    passes(verify_processor(factory, **claims))


@pytest.mark.full
@pytest.mark.parametrize("manner", ALL)
def test_a_sound_processor_keeps_all_rules_in_whatever_manner_it_is_written(manner: str) -> None:
    factory, claims = ALL[manner]
    passes(verify_processor(factory, **claims))


def test_the_report_is_about_a_processor_and_names_both_of_its_sides() -> None:
    report = verify_processor(sound.Relay, rules=["1.1", "2.1", "4.2"], **CANCELS)
    assert report.kind == "processor"
    assert {row.rule: row.status for row in report.rows} == {
        "1.1": RuleStatus.VERIFIED,
        "2.1": RuleStatus.VERIFIED,
        "4.2": RuleStatus.VERIFIED,
    }


def test_what_is_not_claimed_is_listed_as_such() -> None:
    report = verify_processor(sound.Relay, rules=["4.2"])
    listed = {
        outcome.check for outcome in report.outcomes if outcome.status is RuleStatus.NOT_CLAIMED
    }
    assert listed == {
        "leaves_what_has_failed_alone",
        "passes_an_error_on_to_all",
        "recovers_from_an_error",
    }


def test_a_factory_that_makes_no_processor_is_named_as_the_fault() -> None:
    class Deaf:
        def subscribe(self, subscriber: Any) -> None:
            raise NotImplementedError

    report = verify_processor(Deaf, rules=["4.1"])
    (failure,) = report.failures
    assert failure.rule == "factory"
    assert "which has no on_subscribe, on_next, on_error, on_complete" in failure.message


def test_a_claim_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="there is no claim 'cancels_above'"):
        verify_processor(sound.Relay, cancels_above=True)


def test_elements_that_come_out_otherwise_than_expected_break_rule_4_1() -> None:
    report = verify_processor(sound.Relay, rules=["4.1"], expected=double)
    assert {failure.rule for failure in report.failures} == {"4.1"}
    assert "was to come out" in report.failures[0].message


def passes(report: Report) -> None:
    report.raise_if_failed()
    assert report.controlled
