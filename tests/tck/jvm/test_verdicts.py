"""What the official kit says of us, and that it can say no."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from penstock.tck.report import Report
from tests.style.project import text
from tests.tck.jvm.broken import (
    broken_processors,
    broken_publishers,
    broken_subscribers,
    sound_models,
)
from tests.tck.jvm.judging import judge_all, judge_all_by_the_own_kit, tally
from tests.tck.jvm.page import verdicts_by_implementation, verdicts_by_rule
from tests.tck.jvm.subjects import flows, from_java, processors, publishers, subscribers, to_java

pytestmark = [pytest.mark.outside_judge, pytest.mark.timeout(600)]

PAGE = text(Path("docs/outside-judge.md"))

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


@cache
def official() -> dict[str, Report]:
    """The verdicts of the official kit."""
    crossings = (to_java, from_java)
    return judge_all(publishers, subscribers, processors, flows, *crossings)


def test_the_official_kit_passes_the_reference_the_bridge_and_a_flow_of_each_kind() -> None:
    reports = official()
    assert {name: report.failures for name, report in reports.items() if not report.passed} == {}
    assert {name: tally(report) for name, report in reports.items()} == REFERENCE | FLOWS | BRIDGES
    for table in (verdicts_by_implementation(reports, {}), verdicts_by_rule(reports, {})):
        assert table.as_in(PAGE).of_the_official_kit() == table.of_the_official_kit()


@pytest.mark.full
def test_the_page_shows_what_both_kits_say() -> None:
    own = judge_all_by_the_own_kit(publishers, subscribers, processors, flows, from_java)
    assert {name: report.failures for name, report in own.items() if not report.passed} == {}
    for table in (verdicts_by_implementation(official(), own), verdicts_by_rule(official(), own)):
        assert str(table) in PAGE


def test_the_official_kit_fails_every_mutant_and_none_of_their_models() -> None:
    reports = judge_all(broken_publishers, broken_subscribers, broken_processors, patience=0.5)
    sound = judge_all(sound_models)
    broken = broken_publishers() | broken_subscribers() | broken_processors()
    assert len(broken) > 60
    rules = {name: {failure.rule for failure in reports[name].failures} for name in broken}
    assert rules == {name: set(subject.rules or ()) for name, subject in broken.items()}
    assert {name: report.failures for name, report in sound.items() if not report.passed} == {}
