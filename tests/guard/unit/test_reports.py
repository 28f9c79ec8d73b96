"""How a violation is reported: what it says, how often, and where it goes."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from penstock.core.protocol_monitor import Fault
from penstock.examples import IterablePublisher
from penstock.guard import ExplainedViolation, guard
from penstock.guard.reports import PartyReports, StreamReports
from penstock.rules import RuleViolation
from penstock.runtime import collect_undelivered
from tests.guard.unit import broken_publishers as broken
from tests.guard.unit import broken_subscribers
from tests.guard.unit.conformant import Recorder

FAULT = Fault("1.1", "sent too much", "send less")


def test_a_violation_names_the_party_the_deed_the_rule_the_remedy_and_the_signals() -> None:
    publisher = guard(broken.OneTooMany(), name="ticks", on_violation=lambda _: None)
    publisher.subscribe(Recorder(asks_for=1))
    (violation,) = publisher.violations
    text = str(violation).splitlines()
    assert text[0] == (
        "publisher ticks sent element number 2, beyond a demand of 1"
        " (rule 1.1: no more elements are sent than were requested)"
    )
    assert text[1].startswith("  to fix it: ")
    calls = [line.partition(threading.current_thread().name)[2].strip() for line in text[3:]]
    assert calls == [
        "subscribe(Recorder)",
        "on_subscribe(OneTooMany)",
        "request(1)",
        "on_next(0)",
        "on_next(1)",
    ]
    assert violation.detail == text[0].partition(" (rule")[0]
    assert [line.strip() for line in text[3:]] == [line.strip() for line in violation.timeline]


def test_a_violation_by_an_exception_carries_its_traceback_as_text() -> None:
    subscriber = guard(broken_subscribers.Raises("on_next"), on_violation=lambda _: None)
    IterablePublisher([1]).subscribe(subscriber)
    (violation,) = subscriber.violations
    (note,) = violation.__notes__
    assert note.startswith("Traceback")
    assert note.endswith("LookupError: in on_next")
    assert "penstock/guard" not in note
    assert violation.__cause__ is None


def test_a_violation_survives_copying_and_pickling_with_its_remedy() -> None:
    violation = ExplainedViolation("1.1", "the pump sent too much", ["1  request(1)"], "send less")
    for twin in (copy.copy(violation), pickle.loads(pickle.dumps(violation))):
        assert str(twin) == str(violation)
        assert twin.remedy == "send less"


def test_a_violation_without_remedy_and_signals_is_one_line() -> None:
    assert str(ExplainedViolation("1.1", "the pump sent too much")).count("\n") == 0


def test_without_a_listener_violations_go_to_the_hook_for_undelivered_errors() -> None:
    with collect_undelivered() as lost:
        publisher = guard(broken.OneTooMany(), name="ticks")
        publisher.subscribe(Recorder(asks_for=1))
    (undelivered,) = lost
    assert undelivered.error is publisher.violations[0]
    assert "publisher ticks" in undelivered.what


def test_a_listener_gets_the_violations_that_are_kept() -> None:
    heard: list[RuleViolation] = []
    publisher = guard(broken.OneTooMany(), on_violation=heard.append)
    publisher.subscribe(Recorder(asks_for=1))
    assert heard == list(publisher.violations)
    assert len(heard) == 1


def test_a_listener_that_raises_harms_nobody_and_the_violation_is_not_lost() -> None:
    def listener(_: RuleViolation) -> None:
        raise LookupError("no listener")

    publisher = guard(broken.OneTooMany(), on_violation=listener)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    with collect_undelivered() as lost:
        publisher.subscribe(subscriber)
    assert isinstance(lost[0].error, LookupError)
    assert lost[1].error is publisher.violations[0]
    assert isinstance(subscriber.error, RuleViolation)


def test_the_subscriber_gets_a_violation_of_its_own_to_raise() -> None:
    publisher = guard(broken.OneTooMany(), on_violation=lambda _: None)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    (kept,) = publisher.violations
    assert subscriber.error is not kept
    assert str(subscriber.error) == str(kept)


def test_no_more_than_the_last_hundred_violations_are_kept() -> None:
    publisher = guard(broken.OneTooMany(), on_violation=lambda _: None)
    for _ in range(130):
        publisher.subscribe(Recorder())
    assert len(publisher.violations) == 100
    assert publisher.counts == {"1.1": 130}


def test_a_fault_that_is_seen_again_while_its_report_is_written_is_reported_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    party = PartyReports("publisher pump", lambda _: None)
    stream = StreamReports(party)
    write = stream._violation
    overtaking: list[RuleViolation] = []

    def write_slowly(fault: Fault) -> RuleViolation:
        monkeypatch.setattr(stream, "_violation", write)
        overtaking.append(stream.report(fault))
        return write(fault)

    monkeypatch.setattr(stream, "_violation", write_slowly)
    assert stream.report(FAULT) is overtaking[0]
    assert party.violations == tuple(overtaking)
    assert party.counts == {"1.1": 2}


def test_an_element_that_cannot_be_shown_does_not_disturb_the_stream() -> None:
    class Unspeakable:
        def __repr__(self) -> str:
            raise LookupError("no words")

    element = Unspeakable()
    recorder: Recorder[object] = Recorder(asks_for=1)
    guard(IterablePublisher([element])).subscribe(recorder)
    assert recorder.signals == ["on_subscribe", element, "on_complete"]
