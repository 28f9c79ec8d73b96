"""A report has 43 rows, tells each fault once and in full, and fits an 80-column terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from penstock.rules import RULES
from penstock.tck.junit import to_junit
from penstock.tck.outcome import FACTORY, PREFLIGHT, Failure, Outcome, RuleResult, RuleStatus
from penstock.tck.report import Report, render

SCHEDULE = "v1:py3.11:gil:12>2"
COMMAND = "penstock tck prices:make"


def held(rule: str, check: str, schedules: int = 10, exhaustive: bool = True) -> Outcome:
    return Outcome(
        check, rule, RuleStatus.VERIFIED, "held", 0.25, schedules=schedules, exhaustive=exhaustive
    )


def failed(rule: str, check: str, message: str = "it went wrong") -> Outcome:
    failure = Failure(
        rule,
        check,
        message,
        remedy="Do it ``right``.",
        timeline=("1  0.000 s  MainThread  request(1)",),
        schedule=SCHEDULE,
        verifies="Does something.",
        trail=("1. T1  runs request",),
    )
    return Outcome(check, rule, RuleStatus.FAILED, "violated", failure=failure, schedules=4)


def ran_into(broken: str, rule: str, check: str, message: str = "it went wrong") -> Outcome:
    failure = Failure(broken, check, message, timeline=("1  ...",), schedule=SCHEDULE)
    detail = f"stopped, since this is broken: {broken}"
    return Outcome(check, rule, RuleStatus.UNDECIDED, detail, failure=failure, schedules=1)


def not_claimed(rule: str, check: str, claim: str) -> Outcome:
    return Outcome(check, rule, RuleStatus.NOT_CLAIMED, f"needs the claim {claim}")


def broken_factory() -> Report:
    failure = Failure(FACTORY, PREFLIGHT, "factory(3) raised ValueError('no')")
    first = Outcome(PREFLIGHT, FACTORY, RuleStatus.FAILED, failure=failure)
    rest = Outcome("sends", "1.1", RuleStatus.UNDECIDED, "factory(3) raised ValueError('no')")
    return Report("publisher", "make", (first, rest))


def report(*outcomes: Outcome, asked: tuple[str, ...] | None = None, command: str = "") -> Report:
    return Report("publisher", "make", outcomes, 1.25, asked, command)


def row(of: Report, number: str) -> RuleResult:
    (found,) = (each for each in of.rules if each.rule == number)
    return found


MIXED = report(
    held("1.1", "sends"),
    held("1.1", "sends_at_random", schedules=2_500, exhaustive=False),
    failed("1.3", "overlaps"),
    not_claimed("1.4", "fails", "failed"),
    held("1.5", "completes"),
    not_claimed("1.5", "completes_at_once", "completes_eagerly"),
    ran_into("1.3", "1.8", "falls_silent"),
    held("1.9", "subscribes", schedules=0),
    command=COMMAND,
)


def test_there_is_one_row_for_each_of_the_43_rules() -> None:
    assert [each.rule for each in MIXED.rules] == list(RULES)
    assert sum(MIXED.counts.values()) == 43


def test_a_rule_is_verified_when_all_its_checks_hold() -> None:
    found = row(MIXED, "1.1")
    assert (found.status, found.checks) == (RuleStatus.VERIFIED, ("sends", "sends_at_random"))


def test_a_rule_that_a_check_saw_broken_has_failed() -> None:
    found = row(MIXED, "1.3")
    assert (found.status, found.detail) == (RuleStatus.FAILED, "it went wrong")


def test_a_rule_that_only_checks_of_other_rules_saw_broken_has_failed() -> None:
    found = row(report(held("1.7", "ends"), ran_into("1.7", "1.5", "completes")), "1.7")
    assert (found.status, found.detail) == (RuleStatus.FAILED, "it went wrong")


def test_a_rule_whose_check_ran_into_another_fault_is_undecided() -> None:
    found = row(MIXED, "1.8")
    assert (found.status, found.detail) == (
        RuleStatus.UNDECIDED,
        "stopped, since this is broken: 1.3",
    )


def test_a_rule_whose_checks_lack_a_claim_is_not_claimed() -> None:
    found = row(MIXED, "1.4")
    assert (found.status, found.detail) == (RuleStatus.NOT_CLAIMED, "needs the claim failed")


def test_a_row_names_all_claims_that_its_checks_lack_each_once() -> None:
    lacking = [
        not_claimed("1.4", name, claim) for name, claim in [("a", "x"), ("b", "y"), ("c", "x")]
    ]
    assert row(report(*lacking), "1.4").detail == "needs the claim x; needs the claim y"


def test_a_verified_rule_says_which_part_of_it_was_left_out() -> None:
    found = row(MIXED, "1.5")
    assert found.status is RuleStatus.VERIFIED
    assert found.detail == "1 of 2 checks not claimed"


def test_a_rule_without_a_check_says_whom_it_binds() -> None:
    assert row(MIXED, "2.1").detail == "binds the subscriber"
    assert row(MIXED, "3.9").detail == "no check for a publisher"


@pytest.mark.parametrize(
    ("outcomes", "how"),
    [
        ([held("1.1", "a", 1)], "all 1 schedule"),
        ([held("1.1", "a", 4), held("1.1", "b", 8)], "all 12 schedules"),
        ([held("1.1", "a", 4), held("1.1", "b", 1_200, exhaustive=False)], "1,204 schedules"),
        ([held("1.1", "a", 4), held("1.1", "b", 0)], "real time"),
        ([held("1.1", "a", 4), not_claimed("1.1", "b", "multicast")], "all 4 schedules"),
        ([not_claimed("1.1", "a", "multicast")], ""),
    ],
)
def test_a_row_names_the_weakest_ground_that_it_rests_on(outcomes: list[Outcome], how: str) -> None:
    assert row(report(*outcomes), "1.1").how == how


def test_it_passes_when_every_claimed_rule_holds() -> None:
    assert report(held("1.1", "sends"), not_claimed("1.4", "fails", "failed")).passed


@pytest.mark.parametrize(
    "outcome",
    [
        failed("1.3", "overlaps"),
        ran_into("1.3", "1.8", "falls_silent"),
        Outcome("hangs", "1.8", RuleStatus.UNDECIDED, "not run"),
    ],
    ids=["broken", "ran into a fault", "undecided"],
)
def test_it_does_not_pass_with_a_rule_that_is_broken_or_undecided(outcome: Outcome) -> None:
    assert not report(held("1.1", "sends"), outcome).passed


def test_it_does_not_pass_when_nothing_was_verified() -> None:
    nothing = report(not_claimed("1.4", "fails", "failed"), asked=("1.4",))
    assert not nothing.passed
    assert str(nothing).endswith(
        "NOTHING VERIFIED: 0 verified, 0 failed, 0 undecided, 1 not claimed, in 1.2 s"
    )


def test_the_text_shows_all_rows_within_80_columns() -> None:
    table = str(MIXED).split("\n\nNot claimed")[0].splitlines()
    assert [line.split()[0] for line in table[3:] if line] == list(RULES)
    assert max(map(len, table)) <= 80


def test_a_row_shows_rule_status_schedules_and_detail() -> None:
    lines = str(MIXED).splitlines()
    assert "Rule  Status       Schedules  Detail" in lines
    assert "1.1   verified     2,510      no more elements are sent than were requested" in lines
    assert "1.3   FAILED       4          it went wrong" in lines
    assert (
        "1.9   verified     real time  on_subscribe comes first; subscribe returns nor..." in lines
    )


def test_a_message_of_several_lines_stays_on_its_row() -> None:
    assert "1.3   FAILED       4          raised at x.py:3\n" in str(
        report(failed("1.3", "overlaps", "raised\n  at x.py:3"))
    )


def test_the_text_lists_every_check_that_was_left_out_by_the_claim_it_needs() -> None:
    block = (
        "Not claimed, so not verified:\n"
        "  needs the claim failed\n"
        "    1.4 fails\n"
        "  needs the claim completes_eagerly\n"
        "    1.5 completes_at_once"
    )
    assert block in str(MIXED).split("\n\n")


def test_the_text_says_why_a_check_is_undecided_when_no_failure_does() -> None:
    reason = "this schedule cannot be replayed: a run ended before the decisions it is about"
    text = str(report(Outcome("sends", "1.1", RuleStatus.UNDECIDED, reason, schedules=1)))
    assert f"Undecided:\n  {reason}\n    1.1 sends" in text.split("\n\n")


def test_the_text_says_when_the_subject_could_not_be_controlled() -> None:
    sentence = "The order of the subject's steps cannot be controlled"
    assert sentence not in str(MIXED)
    assert sentence in str(replace(MIXED, controlled=False))


def test_a_failure_tells_the_rule_the_timeline_the_remedy_and_how_to_replay_it() -> None:
    assert str(MIXED).split("\n\n")[-2] == (
        "rule 1.3 is broken: it went wrong\n"
        "  The rule        The signals to one subscriber MUST be sent serially:\n"
        "                  on_subscribe, on_next, on_error and on_complete never overlap,\n"
        "                  and each happens before the next, whichever threads they come\n"
        "                  from.\n"
        "  The check       overlaps. Does something.\n"
        "  Seen as well by falls_silent\n"
        "  What happened:\n"
        "    1  0.000 s  MainThread  request(1)\n"
        "  What to change  Do it right.\n"
        "  To replay it:\n"
        "    penstock tck prices:make --check overlaps --schedule 'v1:py3.11:gil:12>2'"
    )


def test_without_a_command_a_failure_names_the_check_and_the_schedule() -> None:
    assert f"check overlaps, schedule {SCHEDULE}" in str(failed("1.3", "overlaps").failure)


def test_what_each_thread_did_is_shown_on_request() -> None:
    assert "Thread by thread" not in render(MIXED)
    assert "  Thread by thread:\n    1. T1  runs request\n" in render(MIXED, trail=True)


def test_faults_that_differ_in_their_numbers_only_are_told_once() -> None:
    text = str(
        report(
            failed("1.1", "a", "the publisher sent element number 2, beyond a demand of 1"),
            failed("1.1", "b", "the publisher sent element number 9, beyond a demand of 8"),
            ran_into(
                "1.1", "1.5", "c", "the publisher sent element number 3, beyond a demand of 2"
            ),
        )
    )
    assert text.count("is broken: the publisher sent element") == 1
    assert "Seen as well by b, c" in text


def test_different_faults_of_one_rule_are_all_told_and_the_rule_once() -> None:
    text = str(report(failed("3.9", "a", "nothing came"), failed("3.9", "b", "it raised")))
    assert text.count("rule 3.9 is broken: nothing came") == 1
    assert text.count("rule 3.9 is broken: it raised") == 1
    assert text.count("  The rule  ") == 1


def test_a_fault_is_told_by_the_check_of_its_own_rule_if_there_is_one() -> None:
    text = str(report(ran_into("1.7", "1.5", "completes", "late"), failed("1.7", "ends", "late")))
    assert text.count("rule 1.7 is broken") == 1
    assert "The check       ends. Does something.\n  Seen as well by completes\n" in text


def test_failures_are_told_in_the_order_of_the_rules() -> None:
    text = str(report(ran_into("3.16", "1.1", "a"), failed("1.11", "b"), failed("1.9", "c")))
    places = [text.index(f"rule {number} is broken") for number in ("1.9", "1.11", "3.16")]
    assert places == sorted(places)


def test_the_closing_line_counts_rules_and_seconds() -> None:
    assert str(MIXED).splitlines()[-1] == (
        "FAILED: 3 verified, 1 failed, 1 undecided, 38 not claimed, in 1.2 s"
    )


def test_a_factory_that_does_not_work_is_the_only_thing_told() -> None:
    assert str(broken_factory()) == (
        "Conformance of the publisher make\n"
        "\n"
        "the factory does not work: factory(3) raised ValueError('no')\n"
        "  The check       preflight\n"
        "\n"
        "FAILED: nothing could be verified, in 0.0 s"
    )


def test_with_some_rules_asked_for_only_their_rows_are_shown_and_counted() -> None:
    partial = report(held("1.1", "sends"), asked=("1.1", "2.1"))
    assert [each.rule for each in partial.rows] == ["1.1", "2.1"]
    assert row(partial, "1.2").detail == "not asked for"
    assert str(partial).endswith(
        "passed: 1 verified, 0 failed, 0 undecided, 1 not claimed, in 1.2 s"
    )


def test_a_broken_rule_is_shown_even_if_it_was_not_asked_for() -> None:
    partial = report(ran_into("1.7", "1.1", "sends"), asked=("1.1",))
    assert [(each.rule, each.status) for each in partial.rows] == [
        ("1.1", RuleStatus.UNDECIDED),
        ("1.7", RuleStatus.FAILED),
    ]


def test_colours_are_put_around_the_status_and_nothing_else_moves() -> None:
    def paint(status: RuleStatus, text: str) -> str:
        return f"<{status.name}>{text}</>"

    text = render(MIXED, paint=paint)
    assert "1.1   <VERIFIED>verified</>     2,510      no more" in text
    assert text.splitlines()[-1].startswith("<FAILED>FAILED: 3 verified")


def test_raise_if_failed_tells_the_failures_and_stays_silent_otherwise() -> None:
    report(held("1.1", "sends")).raise_if_failed()
    with pytest.raises(AssertionError, match="rule 1.3 is broken: it went wrong"):
        MIXED.raise_if_failed()


def test_the_report_as_json_holds_rows_failures_and_checks() -> None:
    found = json.loads(json.dumps(MIXED.to_json()))
    assert (found["kind"], found["passed"]) == ("publisher", False)
    assert found["counts"] == {"verified": 3, "failed": 1, "undecided": 1, "not claimed": 38}
    assert len(found["rules"]) == 43
    assert found["rules"][2] == {
        "rule": "1.3",
        "status": "failed",
        "checks": ["overlaps"],
        "how": "4 schedules",
        "detail": "it went wrong",
        "summary": RULES["1.3"].summary,
    }
    assert found["failures"][0]["schedule"] == SCHEDULE
    assert found["failures"][0]["replay"].startswith("penstock tck prices:make --check overlaps")
    assert [check["status"] for check in found["checks"]][:3] == ["verified", "verified", "failed"]


def test_junit_has_one_case_for_each_check_with_its_verdict() -> None:
    (suite,) = ElementTree.fromstring(to_junit(MIXED))
    counted = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counted == ["8", "1", "1", "2"]
    verdicts = {
        (case.get("classname"), case.get("name")): [child.tag for child in case] for case in suite
    }
    assert verdicts[("tck.publisher.rule_1_01", "sends")] == []
    assert verdicts[("tck.publisher.rule_1_03", "overlaps")] == ["failure"]
    assert verdicts[("tck.publisher.rule_1_04", "fails")] == ["skipped"]
    assert verdicts[("tck.publisher.rule_1_08", "falls_silent")] == ["error"]


def test_a_junit_failure_holds_the_title_and_the_full_text() -> None:
    (suite,) = ElementTree.fromstring(to_junit(MIXED))
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "rule 1.3 is broken: it went wrong"
    assert "penstock tck prices:make --check overlaps --schedule" in (failure.text or "")


def test_junit_survives_characters_that_xml_cannot_hold() -> None:
    odd = "a\x00b\ud800c\uffffd"
    (suite,) = ElementTree.fromstring(to_junit(report(failed("1.3", "overlaps", odd))))
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "rule 1.3 is broken: a?b?c?d"


def test_junit_reports_a_factory_that_does_not_work() -> None:
    (suite,) = ElementTree.fromstring(to_junit(broken_factory()))
    (failure,) = suite.iter("failure")
    assert failure.get("message") == (
        "the factory does not work: factory(3) raised ValueError('no')"
    )
