"""The kit calls no operator broken that keeps the rules, and holds each to its model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.tck.report import Status
from penstock.tck.verify_operator import verify_operator
from tests.mutants import sound_operators as sound
from tests.mutants import sound_processors
from tests.mutants.sound_operators import Direct, Through

Apply = Callable[[Any], Any]


def increase(element: int) -> int:
    return element + 1


def fail_at_two(element: int) -> int:
    if element == 2:
        raise LookupError("the function is broken")
    return element


def is_odd(element: int) -> bool:
    return element % 2 == 1


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
        {"model": lambda elements: list(filter(is_odd, elements)), "prefetch": 0},
    ),
    "a map without a buffer": (
        lambda source: Direct(source, increase),
        {
            "model": lambda elements: list(map(increase, elements)),
            "failing": lambda source: Direct(source, fail_at_two),
            "prefetch": 0,
        },
    ),
    "a map with a buffer": (
        through(lambda: sound.MappingInOrder(increase)),
        {
            "model": lambda elements: list(map(increase, elements)),
            "failing": through(lambda: sound.MappingInOrder(fail_at_two)),
        },
    ),
    "a limit": (
        through(lambda: sound.Take(3)),
        {"model": lambda elements: elements[:3], "cancels_early": True},
    ),
    "chunks": (
        sound.Chunks,
        {"model": lambda elements: [elements[at : at + 3] for at in range(0, len(elements), 3)]},
    ),
    "threads": (through(sound_processors.OnAThread), {"errors_overtake": True}),
    "a condition": (through(sound_processors.ByCondition), {"errors_overtake": True}),
    "recovering": (through(sound_processors.Recovering), {"absorbs_errors": True}),
}

ELEMENTS_AND_ENDS = ["1.1", "1.4", "1.5", "2.1", "2.6", "3.13"]


@pytest.mark.parametrize("manner", ["a buffer with an account", "a map without a buffer"])
def test_a_sound_operator_keeps_all_rules(manner: str) -> None:
    apply, claims = IN_MANY_MANNERS[manner]
    verify_operator(apply, **claims).raise_if_failed()


@pytest.mark.parametrize("manner", IN_MANY_MANNERS)
def test_a_sound_operator_keeps_the_rules_about_elements_and_ends(manner: str) -> None:
    apply, claims = IN_MANY_MANNERS[manner]
    verify_operator(apply, rules=ELEMENTS_AND_ENDS, **claims).raise_if_failed()


@pytest.mark.full
@pytest.mark.parametrize("manner", IN_MANY_MANNERS)
def test_a_sound_operator_keeps_all_rules_in_whatever_manner_it_is_written(manner: str) -> None:
    apply, claims = IN_MANY_MANNERS[manner]
    verify_operator(apply, **claims).raise_if_failed()


def test_what_an_operator_does_is_compared_with_its_model() -> None:
    apply, claims = IN_MANY_MANNERS["a filter"]
    report = verify_operator(apply, rules=["4.1"], **{**claims, "model": list})
    assert {failure.rule for failure in report.failures} == {"4.1"}


def test_more_demand_than_was_claimed_breaks_rule_2_1() -> None:
    report = verify_operator(through(sound.Buffered), rules=["2.1"], prefetch=3)
    (failure,) = report.failures
    assert failure.message == "4 elements were requested ahead of time, at most 3 may be"


def test_the_report_is_about_an_operator_and_lists_what_was_not_claimed() -> None:
    report = verify_operator(through(sound.Buffered), rules=["2.6"])
    assert report.kind == "operator"
    listed = {outcome.check for outcome in report.outcomes if outcome.status is Status.NOT_CLAIMED}
    assert listed == {"cancels_above_when_its_function_raises", "cancels_above_when_it_has_enough"}


def test_what_is_applied_has_to_be_a_publisher() -> None:
    report = verify_operator(lambda source: "nothing of the kind", rules=["4.1"])
    (failure,) = report.failures
    assert (
        failure.message == "apply(publisher) returned 'nothing of the kind', which has no subscribe"
    )


def test_a_claim_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="prefetch must be at least 0"):
        verify_operator(through(sound.Buffered), prefetch=-1)
