"""The kit calls no operator broken that keeps the rules, and holds each to its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.rules import RULES
from penstock.tck.operator_sides import inputs_for
from penstock.tck.report import RuleStatus
from penstock.tck.verifying import KINDS, verify_operator
from tests.quick import quick
from tests.tck.mutants import sound_operators as sound
from tests.tck.mutants import sound_processors, sound_strangers
from tests.tck.mutants.sound_operators import Direct, Through

pytestmark = pytest.mark.usefixtures("search_briefly")

Apply = Callable[[Any], Any]


def increase(element: int) -> int:
    return element + 1


def fail_at_two(element: int) -> int:
    if element == 2:
        raise LookupError("the function is broken")
    return element


def is_odd(element: int) -> bool:
    return element % 2 == 1


def is_small(element: int) -> bool:
    return element < 5


def through(make: Callable[[], Any]) -> Apply:
    return lambda source: Through(source, make)


class Accounted(Through):
    """Collects what its processors have discarded."""

    def __init__(self, source: Any) -> None:
        super().__init__(source, self.make_one)
        self.made: list[sound.Buffered] = []

    def make_one(self) -> sound.Buffered:
        self.made.append(sound.Buffered())
        return self.made[-1]

    @property
    def discarded(self) -> list[Any]:
        return [element for made in self.made for element in made.discarded]


IN_MANY_MANNERS: dict[str, tuple[Apply, dict[str, Any]]] = {
    "a queue": (
        through(sound_processors.Relay),
        {"errors_overtake": True, "completes_eagerly": True, "prefetch": 0},
    ),
    "a buffer": (through(sound.Buffered), {"prefetch": 4}),
    "a buffer with an account": (Accounted, {"discarded": lambda operator: operator.discarded}),
    "a filter": (
        through(lambda: sound.Filter(is_odd)),
        {"expected": lambda elements: list(filter(is_odd, elements)), "prefetch": 0},
    ),
    "a map without a buffer": (
        lambda source: Direct(source, increase),
        {
            "expected": lambda elements: list(map(increase, elements)),
            "failing": lambda source: Direct(source, fail_at_two),
            "watched": lambda source, call: Direct(source, lambda _: call() or 1),
            "keeps_context": True,
            "prefetch": 0,
        },
    ),
    "a map with a buffer": (
        through(lambda: sound.MappingInOrder(increase)),
        {
            "expected": lambda elements: list(map(increase, elements)),
            "failing": through(lambda: sound.MappingInOrder(fail_at_two)),
        },
    ),
    "a limit": (
        through(lambda: sound.Take(3)),
        {"expected": lambda elements: elements[:3], "cancels_early": True},
    ),
    "chunks": (
        sound.Chunks,
        {"expected": lambda elements: [elements[at : at + 3] for at in range(0, len(elements), 3)]},
    ),
    "threads": (through(sound_processors.OnAThread), {"errors_overtake": True}),
    "a queue and a thread": (sound_strangers.ThroughAQueue, {"prefetch": 2}),
    "a condition": (through(sound_processors.ByCondition), {"errors_overtake": True}),
    "a summary": (
        through(lambda: sound.Summary(len)),
        {"expected": lambda elements: [len(elements)], "unbounded": True},
    ),
    "a summary of at least two": (
        through(lambda: sound.Summary(lambda elements: elements[1])),
        {
            "expected": lambda elements: [elements[1]],
            "needs_elements": 2,
            "unbounded": True,
        },
    ),
    "everything twice": (
        through(sound.Doubling),
        {"expected": lambda elements: [each for each in elements for _ in range(2)]},
    ),
    "another order": (
        through(sound.Doubling),
        {"expected": lambda elements: [*elements, *elements], "in_order": False},
    ),
    "a limit that checks": (
        through(lambda: sound.TakeWhile(is_small)),
        {"expected": lambda elements: list(filter(is_small, elements)), "cancels_early": True},
    ),
    "nothing": (
        through(lambda: sound.Filter(lambda _: False)),
        {"expected": lambda elements: [], "prefetch": 0},
    ),
    "another try": (
        lambda source: sound.Again(source, "on_error"),
        {"resubscribes": True, "absorbs_errors": True},
    ),
    "a second time": (
        lambda source: sound.Again(source, "on_complete"),
        {"resubscribes": True, "expected": lambda elements: [*elements, *elements]},
    ),
    "a second time when that is wanted": (
        lambda source: sound.AgainWhenWanted(source, "on_complete"),
        {"resubscribes": True, "expected": lambda elements: [*elements, *elements]},
    ),
    "a record": (sound.Recorder, {"holds_elements": True}),
    "one for all": (
        lambda source: sound.Shared(source, sound_processors.Hub),
        {"shares": True, "multicast": True, "errors_overtake": True},
    ),
    "one for all that came before": (
        lambda source: sound.SharedAfterwards(source, sound_processors.Hub),
        {"shares": True, "multicast": True, "errors_overtake": True},
    ),
    "threads with a context": (through(sound.InContext), {"keeps_context": True}),
    "recovering": (through(sound_processors.Recovering), {"absorbs_errors": True}),
}

ELEMENTS_AND_ENDS = ["1.1", "1.4", "1.5", "2.1", "2.6", "3.13"]
ELEMENTS_EVERY_TIME = ("a buffer", "a limit", "threads")


@pytest.mark.parametrize("manner", ["a map without a buffer"])
def test_a_sound_operator_keeps_all_rules(manner: str) -> None:
    apply, claims = IN_MANY_MANNERS[manner]
    verify_operator(apply, **claims).raise_if_failed()


@pytest.mark.parametrize("manner", quick(IN_MANY_MANNERS, ELEMENTS_EVERY_TIME))
def test_a_sound_operator_keeps_the_rules_about_elements_and_ends(manner: str) -> None:
    apply, claims = IN_MANY_MANNERS[manner]
    verify_operator(apply, rules=ELEMENTS_AND_ENDS, **claims).raise_if_failed()


@pytest.mark.full
@pytest.mark.parametrize("manner", IN_MANY_MANNERS)
def test_a_sound_operator_keeps_all_rules_in_whatever_manner_it_is_written(manner: str) -> None:
    apply, claims = IN_MANY_MANNERS[manner]
    verify_operator(apply, **claims).raise_if_failed()


def test_an_operator_is_judged_by_all_rules() -> None:
    checks = KINDS["operator"].suite
    assert {check.rule for check in checks} == set(RULES)


def test_rules_that_need_more_elements_than_come_out_are_not_claimed() -> None:
    apply, claims = IN_MANY_MANNERS["a summary"]
    report = verify_operator(apply, rules=["3.2"], **claims)
    assert [outcome.detail for outcome in report.outcomes] == [
        "needs 2 elements, and 1 can come out"
    ]


def test_an_illegal_request_that_is_passed_on_is_answered_from_upstream() -> None:
    apply, claims = IN_MANY_MANNERS["a map without a buffer"]
    report = verify_operator(apply, rules=["3.9"], strict_types=True, **claims)
    assert report.passed


def test_what_a_subscriber_raises_is_reported_upstream_where_it_is_passed_on() -> None:
    apply, claims = IN_MANY_MANNERS["a map without a buffer"]
    checks = ["reports_what_a_subscriber_raises"]
    kind = KINDS["operator"]
    report = kind.verify(apply, {**claims, "reports_to_hook": True}, checks=checks)
    assert report.passed


def test_what_an_operator_does_is_compared_with_what_is_expected() -> None:
    apply, claims = IN_MANY_MANNERS["a filter"]
    report = verify_operator(apply, rules=["4.1"], **{**claims, "expected": list})
    assert {failure.rule for failure in report.failures} == {"4.1"}


def test_elements_that_are_kept_for_the_next_subscriber_have_to_be_claimed() -> None:
    report = verify_operator(sound.Recorder, rules=["1.6", "3.13"])
    assert {failure.check: failure.message for failure in report.failures} == {
        "drops_elements_at_the_end": "the stream ended by on_complete, and 4 of the elements that "
        "came out are still held",
        "drops_elements_after_cancel": "the stream was cancelled, and 2 of the elements that came "
        "out are still held",
    }


class Thing:
    """An element to which weak references are possible."""


@pytest.mark.parametrize(
    ("element", "status"),
    [(lambda _: Thing(), RuleStatus.FAILED), (lambda number: (number,), RuleStatus.NOT_CLAIMED)],
)
def test_elements_of_any_kind_are_watched_if_weak_references_can(
    element: Callable[[int], Any], status: RuleStatus
) -> None:
    checks = ["drops_elements_after_cancel"]
    report = KINDS["operator"].verify(sound.Recorder, {"element": element}, checks=checks)
    assert [outcome.status for outcome in report.outcomes] == [status]


def test_the_context_of_the_subscriber_is_of_no_account_unless_that_is_claimed() -> None:
    apply, claims = IN_MANY_MANNERS["threads"]
    name = "keeps_the_context_of_the_subscriber"
    for claimed, status in ((False, RuleStatus.NOT_CLAIMED), (True, RuleStatus.FAILED)):
        report = KINDS["operator"].verify(
            apply, {**claims, "keeps_context": claimed}, checks=[name]
        )
        assert [outcome.status for outcome in report.outcomes] == [status]


def test_a_second_subscription_to_the_source_has_to_be_claimed() -> None:
    apply, claims = IN_MANY_MANNERS["another try"]
    claims = {**claims, "resubscribes": False}
    report = verify_operator(apply, rules=["1.10"], **claims)
    assert {failure.rule for failure in report.failures} == {"2.3"}


def halved(inputs: int) -> int:
    return inputs // 2


def doubled(inputs: int) -> int:
    return 2 * inputs


def at_most_three(inputs: int) -> int:
    return min(inputs, 3)


def always_one(inputs: int) -> int:
    return 1


@pytest.mark.parametrize(
    ("size", "wanted", "inputs"),
    [
        (int, 5, 5),
        (halved, 5, 10),
        (halved, 0, 0),
        (doubled, 6, 3),
        (doubled, 5, 2),
        (at_most_three, 1_100, 3),
        (always_one, 1_100, 0),
        (always_one, 0, 0),
    ],
)
def test_as_many_elements_go_in_as_make_the_wanted_number_come_out(
    size: Callable[[int], int], wanted: int, inputs: int
) -> None:
    assert inputs_for(wanted, size) == inputs


def test_more_demand_than_was_claimed_breaks_rule_2_1() -> None:
    report = verify_operator(through(sound.Buffered), rules=["2.1"], prefetch=3)
    (failure,) = report.failures
    assert failure.message == "4 elements were requested ahead of time, at most 3 may be"


def test_the_report_is_about_an_operator_and_lists_what_was_not_claimed() -> None:
    report = verify_operator(through(sound.Buffered), rules=["2.6"])
    assert report.kind == "operator"
    listed = {
        outcome.check for outcome in report.outcomes if outcome.status is RuleStatus.NOT_CLAIMED
    }
    assert listed == {
        "cancels_upstream_when_its_function_raises",
        "cancels_upstream_when_it_has_enough",
        "cancels_or_goes_on_when_its_own_code_fails",
    }


def test_what_is_applied_has_to_be_a_publisher() -> None:
    report = verify_operator(lambda source: "nothing of the kind", rules=["4.1"])
    (failure,) = report.failures
    assert (
        failure.message == "apply(publisher) returned 'nothing of the kind', which has no subscribe"
    )


@pytest.mark.parametrize("claim", ["prefetch", "needs_elements"])
def test_a_claim_of_less_than_nothing_is_refused(claim: str) -> None:
    claims: dict[str, Any] = {claim: -1}
    with pytest.raises(ValueError, match=f"{claim} must be at least 0"):
        verify_operator(through(sound.Buffered), **claims)
