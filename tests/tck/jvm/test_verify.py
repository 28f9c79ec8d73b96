"""The official kit from code and from the command line, on subjects good and bad."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock import Flow, IdentityProcessor, IterablePublisher
from penstock.cli.application import application
from penstock.runtime import report_undelivered
from penstock.tck.jvm import (
    verify_processor,
    verify_publisher,
    verify_subscriber,
    verify_subscriber_whitebox,
)
from penstock.tck.jvm.official_kit import subject_of
from penstock.tck.jvm.runner import judge
from penstock.tck.outcome import FACTORY
from penstock.tck.report import RuleStatus
from tests.tck.jvm.broken import LOOKING_IN
from tests.tck.mutants.publishers import Numbers, Stream
from tests.tck.mutants.publishers_subscribe import ForgetsTheSecond
from tests.tck.mutants.sound_subscribers import Manual, OneByOne

pytestmark = [pytest.mark.outside_judge, pytest.mark.timeout(600)]


class Hangs:
    """A publisher whose subscribe does not return."""

    def subscribe(self, subscriber: Any) -> None:
        threading.Event().wait()


class EndsTheProcess:
    """A publisher that ends all in subscribe."""

    def subscribe(self, subscriber: Any) -> None:
        os.write(2, b"all is lost\n")
        os._exit(1)


class LosesAnError:
    """A publisher that stays silent, since what it runs on has failed."""

    def subscribe(self, subscriber: Any) -> None:
        report_undelivered(OSError("the cable is cut"), "a thread failed")


class AnswersLate(Stream):
    """A stream that refuses a request, but later than the kit's own polls."""

    def refuse(self, n: int) -> None:
        threading.Timer(0.5, self.subscriber.on_error, [ValueError(f"request({n})")]).start()
        self.cancel()


def test_an_error_has_as_much_time_to_come_as_any_other_signal() -> None:
    verify_publisher(
        lambda n: Numbers(n, AnswersLate), rules=["3.9"], explains_illegal_requests=False
    ).raise_if_failed()


def test_a_failure_shows_the_errors_that_nobody_was_told_of() -> None:
    subject = subject_of("publisher", lambda n: LosesAnError(), {}, rules=["1.1"])
    (report,) = judge(lambda: [subject], patience=0.2)
    assert "meanwhile: a thread failed: OSError: the cable is cut" in report.failures[0].timeline


def test_a_failure_shows_the_errors_that_the_kit_does_not_check() -> None:
    def failing(n: int) -> Flow[int]:
        return Flow.error(OSError("the cable is cut"))

    (report,) = judge(lambda: [subject_of("publisher", failing, {}, rules=["1.3"])], patience=0.2)
    assert "meanwhile: on_error(OSError('the cable is cut'))" in report.failures[0].timeline
    with pytest.raises(AssertionError, match="on_error.OSError.'the cable is cut'"):
        report.raise_if_failed()


def test_all_four_kinds_are_verified_from_code_and_each_row_has_its_status() -> None:
    reports = [
        verify_publisher(lambda n: IterablePublisher(range(n)), rules=["3.9", "1.6"]),
        verify_subscriber(OneByOne, rules=["2.13"]),
        verify_subscriber_whitebox(Manual, rules=["3.8"], **LOOKING_IN),
        verify_processor(IdentityProcessor, rules=["4.2"]),
    ]
    assert [report.kind for report in reports] == [
        "publisher",
        "subscriber",
        "subscriber",
        "processor",
    ]
    assert [report.passed for report in reports] == [True] * 4
    rows = {row.rule: row.status for row in reports[0].rules}
    assert len(rows) == 43
    assert rows["3.9"] is RuleStatus.VERIFIED
    assert rows["1.6"] is RuleStatus.NOT_CLAIMED


def test_a_subject_that_comes_to_no_end_is_given_up_and_the_next_one_judged() -> None:
    def raising(n: int) -> Any:
        raise OSError("the market is closed")

    factories = [lambda n: Hangs(), raising, ForgetsTheSecond]
    subjects = [
        subject_of("publisher", factory, {"multicast": True}, rules=["1.1", "1.11"])
        for factory in factories
    ]
    hanging, failing, alone = judge(lambda: subjects, limit=20, patience=0.2)

    assert "did not end within 20 s" in hanging.failures[0].message
    assert RuleStatus.UNDECIDED in {outcome.status for outcome in hanging.outcomes}
    assert not hanging.passed

    (failure,) = failing.failures
    assert failure.rule == FACTORY
    assert failure.message == "factory(3) raised OSError: the market is closed"

    # The official kit skips optional tests that fail.
    assert {failure.rule for failure in alone.failures} == {"1.11"}


def test_a_subject_that_ends_the_process_is_told_so() -> None:
    subject = subject_of("publisher", lambda n: EndsTheProcess(), {}, rules=["1.1"])
    (report,) = judge(lambda: [subject])
    (failure,) = report.failures
    assert failure.rule == "1.1"
    assert failure.message.endswith("ended its process: all is lost")


def test_a_whitebox_without_a_way_in_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="needs the claim received, completed, failed"):
        verify_subscriber_whitebox(Manual, puppet=LOOKING_IN["puppet"])


def test_the_command_line_lets_the_official_kit_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prices.py").write_text(
        "from penstock import ExecutorPublisher, ThreadPool\n"
        "pool = ThreadPool()\n"  # threads that were there before belong to another process
        "def make(n):\n"
        "    print('the subject prints')\n"
        "    return ExecutorPublisher(range(n), pool)\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["tck", "--jvm", "prices:make", "--rule", "1.1", "--json"]
    result = CliRunner().invoke(application, arguments)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (report["kind"], report["passed"]) == ("publisher", True)
    assert [row["rule"] for row in report["rules"]] == ["1.1"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["prices"], "'prices' refers to nothing"),
        (["penstock:IterablePublisher", "--kind", "operator"], "but no operator"),
        (["penstock:IterablePublisher", "--schedule", "1"], "leave out --jvm"),
        (["penstock:IterablePublisher", "--check", "spec101"], "there is no test 'spec101'"),
    ],
)
def test_a_mistake_in_the_arguments_is_one_sentence(arguments: list[str], sentence: str) -> None:
    result = CliRunner().invoke(application, ["tck", "--jvm", *arguments])
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
