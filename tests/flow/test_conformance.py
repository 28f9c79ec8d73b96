"""Every operator under the conformance kit: fused with its source, and downstream of a publisher.

Operators claim all that a flow promises, see ``PROMISES``; what one of them does beyond that, or
short of it, its case says.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Any

import pytest

from docs.operators import GROUPS
from penstock.flow import Flow
from penstock.tck import verify_operator, verify_publisher
from tests.flow.all_cases import ALL_CASES
from tests.flow.case import Case
from tests.flow.sources import SOURCES, Source

PROMISES: dict[str, Any] = {
    "calls_nothing_cancelled": True,
    "concurrent_requests": True,
    "explains_illegal_requests": True,
    "keeps_context": True,
    "passes_interrupts": True,
    "reports_to_hook": True,
    "strict_types": True,
}
NO_OPERATORS = {
    "blocking": "a loop of the calling thread, which is no publisher",
    "connect": "starts a shared run, and gives what cancels it",
    "explain": "a text about runs",
    "from_dataframe": "needs Spark: it is judged in tests/spark",
    "on_spark": "needs Spark: its processor is judged in tests/spark",
    "run_sync": "a result for the calling thread, which is no publisher",
    "subscribe": "what the kit calls at every case",
}
"""Methods of ``Flow`` that give no stream."""

QUICK = {"create", "publish_on"}
"""One of each kind, for the quick run."""


def operator_of(case: Case) -> str:
    return case.name.split()[0].rstrip(",")


def judged() -> Iterator[Case]:
    """The first case of each operator, and those that claim something."""
    seen: set[str] = set()
    for case in ALL_CASES:
        name = operator_of(case)
        if name in SOURCES:
            continue
        if name not in seen or case.claims:
            seen.add(name)
            yield case


def is_quick(name: str, case: Case | None = None) -> bool:
    """Whether this is the representative of its kind."""
    firsts = {operator_of(case): case for case in reversed(JUDGED)}
    return name in QUICK and (case is None or firsts[name] is case)


JUDGED = list(judged())
EVERY_OPERATOR = pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case, id=case.name, marks=[] if is_quick(operator_of(case), case) else pytest.mark.full
        )
        for case in JUDGED
    ],
)
EVERY_SOURCE = pytest.mark.parametrize(
    "source",
    [
        pytest.param(source, id=name, marks=[] if is_quick(name) else pytest.mark.full)
        for name, source in SOURCES.items()
    ],
)

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("search_briefly")]


@pytest.mark.full  # the kit's own tests have an operator for the quick run
@EVERY_OPERATOR
def test_an_operator_downstream_of_a_publisher_keeps_all_rules(case: Case) -> None:
    verify_operator(
        lambda source: case.apply(Flow.from_publisher(source)), **claims_of(case)
    ).raise_if_failed()


@EVERY_OPERATOR
def test_an_operator_that_is_fused_with_its_source_is_a_publisher_that_keeps_all_rules(
    case: Case,
) -> None:
    verify_publisher(lambda n: of_size(case, n), **most_elements(case)).raise_if_failed()


@EVERY_SOURCE
def test_a_source_is_a_publisher_that_keeps_all_rules(source: Source) -> None:
    verify_publisher(source.make, **source.claims).raise_if_failed()


def test_every_operator_has_a_case_or_a_reason_to_have_none() -> None:
    methods = {operator.name for group in GROUPS for operator in group.operators}
    shown = {operator_of(case) for case in ALL_CASES} | SOURCES.keys()
    assert methods - shown == NO_OPERATORS.keys()
    assert not shown & NO_OPERATORS.keys()


def test_the_operators_of_the_quick_run_exist() -> None:
    judged_ones = {operator_of(case) for case in JUDGED} | SOURCES.keys()
    assert not QUICK - judged_ones


def claims_of(case: Case) -> dict[str, Any]:
    """All that ``verify_operator`` has to know."""
    own = {
        "expected": case.model,
        "in_order": case.ordered,
        "prefetch": case.prefetch,
        "holds_elements": case.keeps,
        "completes_eagerly": not leaves_out(case),
    }
    return {**PROMISES, **own, **case.claims}


def leaves_out(case: Case) -> bool:
    """Whether nothing may come of an element, so that it takes demand to see that it was the last.

    That is so as well if all elements lead to one result.
    """
    return any(outputs(case, n) == outputs(case, n + 1) for n in range(20))


def of_size(case: Case, n: int) -> Flow[object]:
    """A flow of ``n`` elements that come out of the operator."""
    least = bisect_left(range(8 * n + 64), n, key=lambda given: outputs(case, given))
    if outputs(case, least) == n:
        return case.apply(Flow.range(least))
    return case.apply(Flow.range(least)).take(n)  # it never gives exactly so many


def most_elements(case: Case) -> dict[str, Any]:
    """The bound of an operator that gives few elements, however many go in."""
    most = outputs(case, 5_000)
    return {"max_elements": most} if most == outputs(case, 10_000) else {}


def outputs(case: Case, given: int) -> int:
    """How many elements come out if so many go in."""
    return len(case.model(list(range(given))))
