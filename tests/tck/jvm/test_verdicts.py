"""What the official kit says of us, and that it can say no."""

from __future__ import annotations

from functools import cache

import pytest

from penstock.tck.report import Report
from tests.tck.jvm.broken import (
    broken_processors,
    broken_publishers,
    broken_subscribers,
    sound_models,
)
from tests.tck.jvm.judging import judge_all, tally
from tests.tck.jvm.page import (
    PAGE,
    Table,
    official_verdicts,
    own_verdicts,
    verdicts_by_implementation,
    verdicts_by_rule,
)

pytestmark = [pytest.mark.outside_judge, pytest.mark.timeout(600)]

REGENERATE = "python -m tests.tck.jvm.page"

PUBLISHER = "31 passed, 7 untested"
SUBSCRIBER = "11 passed, 15 untested"
SUBSCRIBER_INSIDE = "14 passed, 13 untested"
PROCESSOR = "48 passed, 20 untested"
PROCESSOR_OF_ONE = "41 passed, 20 untested, 7 not claimed"

REFERENCE = {
    "IterablePublisher": PUBLISHER,
    "ExecutorPublisher": PUBLISHER,
    "Broadcast of a source": PUBLISHER,
    "SyncSubscriber": SUBSCRIBER,
    "AsyncSubscriber": SUBSCRIBER,
    "SyncSubscriber, whitebox": SUBSCRIBER_INSIDE,
    "AsyncSubscriber, whitebox": SUBSCRIBER_INSIDE,
    "IdentityProcessor": PROCESSOR_OF_ONE,
    "IdentityProcessor on threads": PROCESSOR_OF_ONE,
    "Broadcast": PROCESSOR,
    "Broadcast on threads": PROCESSOR,
}
FLOWS = dict.fromkeys(["fused", "unfused", "publish_on", "map_async", "share", "delay"], PUBLISHER)
BRIDGES = dict.fromkeys(["to_jvm", "from_jvm"], PUBLISHER)


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


@cache
def official() -> dict[str, Report]:
    """The verdicts of the official kit."""
    return official_verdicts()


def test_the_official_kit_passes_the_reference_the_bridge_and_a_flow_of_each_kind() -> None:
    reports = official()
    assert {name: report.failures for name, report in reports.items() if not report.passed} == {}
    assert {name: tally(report) for name, report in reports.items()} == REFERENCE | FLOWS | BRIDGES
    for table in (verdicts_by_implementation(reports, {}), verdicts_by_rule(reports, {})):
        assert table.as_in(page()).of_the_official_kit() == table.of_the_official_kit()


@pytest.mark.full
def test_the_page_shows_what_both_kits_say() -> None:
    own = own_verdicts()
    assert {name: report.failures for name, report in own.items() if not report.passed} == {}
    for table in (verdicts_by_implementation(official(), own), verdicts_by_rule(official(), own)):
        assert str(table) in page(), f"run `{REGENERATE}`"


def test_a_table_that_is_written_again_stands_where_the_old_one_was() -> None:
    table = Table([["rule", "in short"], ["1.1", "new"]])
    text = "Before.\n\n| rule | in short |\n|---|---|\n| 1.1 | old |\n| 1.2 | gone |\n\nAfter.\n"
    assert table.replaced_in(text) == f"Before.\n\n{table}\n\nAfter.\n"
    at_the_end = text.removesuffix("\nAfter.\n")
    assert table.replaced_in(at_the_end) == f"Before.\n\n{table}\n"


def test_the_official_kit_fails_every_mutant_and_none_of_their_models() -> None:
    reports = judge_all(broken_publishers, broken_subscribers, broken_processors, patience=0.5)
    sound = judge_all(sound_models)
    broken = broken_publishers() | broken_subscribers() | broken_processors()
    assert len(broken) > 60
    rules = {name: {failure.rule for failure in reports[name].failures} for name in broken}
    assert rules == {name: set(subject.rules or ()) for name, subject in broken.items()}
    assert {name: report.failures for name, report in sound.items() if not report.passed} == {}
