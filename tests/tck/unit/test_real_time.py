"""Checks in real time: what hangs is reported with its place, and ended once that is known."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from penstock.core.timeline import Timeline
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.checks.suites import Suite
from penstock.tck.judge import CheckObservation, CheckRun


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.tck.judge.GRACE", 1.0)
    monkeypatch.setattr("penstock.tck.real_environment.PATIENCE", 0.1)


class Bench:
    def __init__(self, environment: CheckEnvironment, rule: str) -> None:
        self.environment = environment
        self.timeline = Timeline()


def finding_of(body: Callable[[CheckEnvironment], object]) -> CheckObservation:
    def some_check(fixture: Bench) -> None:
        """Does something.

        Do something else.
        """
        body(fixture.environment)

    suite = Suite("anything")
    suite.check("3.5")(some_check)
    (check,) = suite
    return CheckRun(check, Bench).in_real_time(limit=0.1)


def check_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "check"]


def hang(*_: object) -> None:
    threading.Event().wait()


def hang_in_two_threads(environment: CheckEnvironment) -> None:
    environment.together(hang, hang)


@pytest.mark.parametrize("body", [hang, hang_in_two_threads])
def test_a_call_that_hangs_is_reported_with_its_place_and_leaves_no_thread_behind(
    body: Callable[[CheckEnvironment], object],
) -> None:
    finding = finding_of(body)
    assert finding.hung
    assert finding.fault is not None
    rule, message = finding.fault
    assert rule == "3.5"
    assert message.startswith("did not return from test_real_time.py:")
    assert check_threads() == []


def test_a_call_that_hangs_aside_is_no_fault_and_leaves_no_thread_behind() -> None:
    finding = finding_of(lambda environment: environment.aside(hang))
    assert finding.fault is None
    assert check_threads() == []


def test_a_fault_that_was_seen_before_the_call_hung_is_what_is_reported() -> None:
    def see_a_fault(environment: CheckEnvironment) -> None:
        try:
            environment.fail("1.3", "signals overlap")
        except Exception:
            hang()

    finding = finding_of(see_a_fault)
    assert finding.fault == ("1.3", "signals overlap")
    assert check_threads() == []


def test_what_a_thread_does_as_it_is_ended_does_not_change_the_verdict() -> None:
    def complain_at_the_end(environment: CheckEnvironment) -> None:
        try:
            hang()
        finally:
            environment.fail("1.3", "signals overlap")

    finding = finding_of(complain_at_the_end)
    assert finding.fault is not None
    assert finding.fault[0] == "3.5"
    assert check_threads() == []


def test_a_thread_that_cannot_be_ended_goes_no_further_when_its_call_returns() -> None:
    lock = threading.Lock()
    lock.acquire()
    went_on: list[bool] = []

    def wait_in_c(environment: CheckEnvironment) -> None:
        environment.call("cancel()", "3.15", lock.acquire)
        went_on.append(True)

    finding = finding_of(wait_in_c)
    (thread,) = check_threads()
    lock.release()
    thread.join()
    assert finding.hung
    assert went_on == []


def test_a_check_that_returns_holds() -> None:
    finding = finding_of(lambda environment: environment.together(int, str))
    assert finding.fault is None
    assert not finding.hung


def test_a_cleanup_that_hangs_is_no_fault_and_leaves_no_thread_behind() -> None:
    finding = finding_of(lambda environment: environment.at_end(hang))
    assert finding.fault is None
    assert check_threads() == []
