"""What a terminal, or a file in its place, shows of a pipeline."""

from __future__ import annotations

import json
import logging
import warnings
from dataclasses import replace
from datetime import datetime
from io import StringIO

import pytest

from penstock.api import UNBOUNDED
from penstock.cli.arguments import LOG_FORMATS, RunOptions
from penstock.cli.log_progress import LineProgress
from penstock.cli.progress import TerminalProgress, picture, summary
from penstock.cli.run import progress_on
from penstock.observe import BatchStatus, Cause, EdgeStatus, Ledger, Observer, StageStatus, Status
from penstock.observe.figures import headline
from penstock.observe.status import State
from penstock.runtime import VirtualTime

LEDGER = Ledger(taken=1_204, delivered=1_200, replayed=56, lost=0, duplicated=0, restarts=1)


def status(ledger: Ledger = LEDGER, requested: int = 3) -> Status:
    reading = Status(
        state="running",
        stages=(
            StageStatus(
                "departures", "source", 1_204, trouble="nobody answers; tries again in 4 s"
            ),
            StageStatus("phone", "sink", 1_200, detail="[bold]:smile:"),
        ),
        edges=(EdgeStatus("departures", "phone", requested, 1, in_flight=1, held_up=True),),
        batch=BatchStatus(112, 50, 0.4),
        lag=3.2,
        ledger=ledger,
        checkpoint="112 ok",
    )
    return Observer("blizzard", lambda: reading, clock=VirtualTime()).status


def shown(terminal: bool) -> str:
    stream = StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    progress = progress_on(stream, RunOptions())
    progress.show(status())
    progress.end(status())
    return stream.getvalue()


def test_what_others_say_commands_no_terminal() -> None:
    stream = StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    hostile = StageStatus("departures", "source", 1, trouble="\x1b]52;c;ZXZpbA==\x07\x9b2J")
    reading = Status(state="running", stages=(hostile,), edges=())
    progress = TerminalProgress(stream)
    progress.end(Observer("blizzard\x1b[2J", lambda: reading, clock=VirtualTime()).status)
    progress.show(Observer("blizzard", lambda: reading, clock=VirtualTime()).status)
    progress.failed(ValueError("said \x1b]52;c;ZXZpbA==\x07"), debug=False)
    progress.failed(ValueError("said \x1b]52;c;ZXZpbA==\x07"), debug=True)
    assert "\x1b]52" not in stream.getvalue()
    assert not {"\x07", "\x9b"} & {*stream.getvalue()}
    assert stream.getvalue().count(r"\x1b]52;c;ZXZpbA==\x07") >= 3


def test_the_summary_has_the_ledger() -> None:
    assert summary(status()) == (
        "blizzard running after 0.0 s: taken 1,204, delivered 1,200, replayed 56, lost 0, "
        "duplicated 0"
    )


def test_what_nobody_can_tell_is_not_known() -> None:
    words = summary(status(Ledger(taken=5, delivered=5)))
    assert words.endswith("taken 5, delivered 5, lost not known, duplicated not known")


def test_the_summary_names_late_rows_and_the_sinks_that_may_have_rows_twice_if_there_are_any() -> (
    None
):
    again = [Cause("possibly_duplicated", 28, sink, "again") for sink in ("phone", "archive")]
    ledger = replace(LEDGER, late=3_001, possibly_duplicated=56, causes=tuple(again))
    assert summary(status(ledger)).endswith(
        "delivered 1,200, late 3,001, replayed 56, lost 0, duplicated 0, "
        "possibly duplicated 56 at phone, archive"
    )


def test_a_number_of_which_a_part_was_not_seen_is_so_many_or_more() -> None:
    ledger = replace(LEDGER, late=30, at_least=("late",))
    assert "late 30 or more," in summary(status(ledger))


def test_without_a_terminal_there_is_a_short_line_and_the_summary() -> None:
    first, last = shown(terminal=False).splitlines()
    assert first == (
        f"blizzard running 00:00:00   in 0/s, out 0/s, 1 in flight, lag 3.2 s   {status().sentence}"
    )
    assert last == summary(status())


def test_a_line_comes_when_the_state_changes_and_otherwise_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream, now = StringIO(), 100.0
    monkeypatch.setattr("penstock.cli.log_progress.monotonic", lambda: now)
    progress = LineProgress(stream)
    lines: list[int] = []
    states: list[tuple[float, State]] = [
        (0, "starting"),
        (1, "starting"),
        (1, "running"),
        (9, "running"),
        (1, "running"),
        (1, "draining"),
    ]
    for seconds, state in states:
        now += seconds
        progress.show(replace(status(), state=state))
        lines.append(stream.getvalue().count("\n"))
    assert lines == [1, 1, 2, 2, 3, 4]


@pytest.mark.parametrize("log_format", LOG_FORMATS)
def test_a_quiet_one_says_nothing_but_what_went_wrong(log_format: str) -> None:
    stream = StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    with progress_on(stream, RunOptions(quiet=True, log_format=log_format)) as progress:
        progress.say("the page: somewhere")
        progress.show(status())
        progress.end(status())
        assert stream.getvalue() == ""
        progress.warn("not drained")
        progress.failed(ValueError("no"), debug=False)
    first, second = stream.getvalue().splitlines()
    assert "not drained" in first
    assert "failed: ValueError: no" in second


def test_each_line_is_an_object_with_the_figures_of_the_page_and_no_element() -> None:
    stream = StringIO()
    reading = status()
    with progress_on(stream, RunOptions(log_format="json")) as progress:
        progress.say("the page: somewhere")
        progress.show(reading)
        logging.getLogger("penstock").warning("the sink %s is slow", "phone")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        progress.failed(ValueError("no"), debug=True)
        progress.end(replace(reading, state="failed"))
    said, shown, logged, warned, failed, ended = map(json.loads, stream.getvalue().splitlines())
    assert all(datetime.fromisoformat(each["time"]).tzinfo for each in (said, shown, logged))
    assert (said["level"], said["message"]) == ("info", "the page: somewhere")
    page = reading.as_json()
    assert {name: shown[name] for name in ("pipeline", "state", "sentence")} == {
        name: page[name] for name in ("pipeline", "state", "sentence")
    }
    assert all(shown[name] == page["point"][name] for name in ("rate_in", "rate_out", "lag", "p99"))
    assert shown["stages"]["phone"] == {
        "passed": 1_200, "unit": "elements", "rate": 0.0, "trouble": "",
    }  # fmt: skip
    assert shown["batch"] == 112
    assert all(shown["ledger"][name] == page["ledger"][name] for name in shown["ledger"])
    assert shown["ledger"]["possibly_duplicated"] is page["ledger"]["possibly_duplicated"]
    assert (logged["level"], logged["message"]) == ("warning", "the sink phone is slow")
    assert warned["logger"] == "py.warnings"
    assert failed["level"] == "error"
    assert failed["message"] == "ValueError: no"  # it was never raised, so there is no traceback
    assert (ended["state"], ended["message"]) == (
        "failed",
        summary(replace(reading, state="failed")),
    )


def test_on_a_terminal_a_table_shows_troubles_and_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    text = shown(terminal=True)
    assert "checkpoint 112 ok   restarted 1x" in text
    assert "taken 1,204, delivered 1,200, replayed 56, lost 0, duplicated 0" in text
    assert "nobody answers; tries again in 4 s" in text
    assert "asked for" in text


def test_texts_are_shown_as_they_are() -> None:
    stream = StringIO()
    progress = TerminalProgress(stream)
    progress.say("[bold]:smile: 1:warning:2")
    assert stream.getvalue() == "[bold]:smile: 1:warning:2\n"


def test_demand_without_a_bound_is_all() -> None:
    from rich.console import Console

    console = Console(file=StringIO(), width=150)
    with console.capture() as captured:
        console.print(picture(status(requested=UNBOUNDED)))
    assert " all " in captured.get()


def test_a_batch_whose_time_nobody_knows_yet_has_none() -> None:
    unknown = replace(status(), batch=BatchStatus(27, 50, None))
    assert "   batch 27   " in headline(unknown)
    assert "   batch 112 (400 ms)   " in headline(status())
