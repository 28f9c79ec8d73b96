"""What a terminal, or a file in its place, shows of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest

from penstock.api import UNBOUNDED
from penstock.cli.progress import TerminalProgress, picture, summary
from penstock.observe import BatchStatus, Cause, EdgeStatus, Ledger, Observer, StageStatus, Status
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
    progress = TerminalProgress(stream)
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


def test_without_a_terminal_a_line_has_all_stages_and_the_sentence() -> None:
    first, last = shown(terminal=False).splitlines()
    assert first.startswith(
        "blizzard   RUNNING   00:00:00   batch 112 (400 ms)   checkpoint 112 ok   restarted 1x"
    )
    assert "in 0/s, out 0/s   asked for 2, in flight 1   lag 3.2 s" in first
    assert "departures 1,204 (0/s), phone 1,200 (0/s)" in first
    assert "lost 0, duplicated 0" in first
    assert first.endswith(status().sentence)
    assert last == summary(status())


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
