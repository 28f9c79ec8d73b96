"""The timeline: bounded, readable, and not to be broken by what it shows."""

from __future__ import annotations

from functools import partial

import pytest

from penstock.api import UNBOUNDED
from penstock.core.timeline import Timeline
from penstock.runtime import ThreadPool, VirtualTime, shorten


def test_a_line_has_the_number_the_seconds_the_thread_and_the_call() -> None:
    time = VirtualTime(start=100.0)
    timeline = Timeline(now=time.now)
    timeline.record("on_subscribe")
    time.advance(1.5)
    timeline.record("on_next", "a")
    assert timeline.lines() == (
        "1  0.000 s  MainThread  on_subscribe()",
        "2  1.500 s  MainThread  on_next('a')",
    )


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    time = VirtualTime()
    timeline = Timeline(now=time.now)
    timeline.record("request", 1)
    time.advance(3600)
    with ThreadPool(name="a-thread-with-a-long-name") as pool:
        pool.execute(lambda: timeline.record("on_next", 1))
    first, second = timeline.lines()
    assert first.index("request") == second.index("on_next")
    assert "3600.000 s  a-thread-with-a-long-name_0  " in second


def test_the_largest_demand_is_shown_by_its_name() -> None:
    timeline = Timeline()
    timeline.record("request", UNBOUNDED)
    assert timeline.lines()[0].endswith("request(UNBOUNDED)")


def test_the_signals_between_the_first_and_the_last_are_counted_and_left_out() -> None:
    timeline = Timeline(first=2, last=3)
    for element in range(100):
        timeline.record("on_next", element)
    lines = timeline.lines()
    assert [line.split()[-1] for line in lines] == [
        "on_next(0)",
        "on_next(1)",
        "...",
        "on_next(97)",
        "on_next(98)",
        "on_next(99)",
    ]
    assert lines[2] == "... 95 more ..."
    assert len(timeline) == 100


def test_nothing_is_left_out_while_there_is_room() -> None:
    timeline = Timeline(first=2, last=3)
    for element in range(5):
        timeline.record("on_next", element)
    assert [line.split()[-1] for line in timeline.lines()] == [
        f"on_next({element})" for element in range(5)
    ]


def test_an_element_is_shown_as_it_was_when_it_went_by() -> None:
    timeline = Timeline()
    element = [1]
    timeline.record("on_next", element)
    element.append(2)
    assert timeline.lines()[0].endswith("on_next([1])")


def test_a_repr_that_raises_does_not_break_the_timeline() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ZeroDivisionError

    timeline = Timeline()
    timeline.record("on_next", Broken())
    timeline.record("on_next", [Broken()])
    timeline.record("on_next", int("9" * 4000) ** 2)
    assert "Broken" in timeline.lines()[0]
    assert "Broken" in timeline.lines()[1]
    assert "on_next(<int" in timeline.lines()[2]  # what follows depends on reprlib


def test_a_long_repr_is_cut_and_kept_in_one_line() -> None:
    class Page:
        def __repr__(self) -> str:
            return "line\n" * 1000

    assert shorten("x" * 198) == repr("x" * 198)
    assert len(shorten("x" * 10_000)) <= 200
    assert len(shorten([["x" * 150] * 6] * 6)) <= 200
    assert len(shorten(Page())) <= 200
    assert "\n" not in shorten(Page())


def test_any_thread_may_record_and_none_gets_lost() -> None:
    timeline = Timeline(first=1000)
    with ThreadPool(4) as pool:
        for element in range(400):
            pool.execute(partial(timeline.record, "on_next", element))
    shown = {line.split()[-1] for line in timeline.lines()}
    assert shown == {f"on_next({element})" for element in range(400)}
    assert [int(line.split()[0]) for line in timeline.lines()] == list(range(1, 401))


def test_a_note_is_a_line_and_the_text_of_the_timeline_is_all_lines() -> None:
    timeline = Timeline(now=lambda: 0.0)
    assert str(timeline) == ""
    timeline.note("the pump was switched off")
    timeline.record("cancel")
    assert str(timeline) == (
        "1  0.000 s  MainThread  the pump was switched off\n2  0.000 s  MainThread  cancel()"
    )


def test_a_timeline_keeps_at_least_one_signal_at_each_end() -> None:
    with pytest.raises(ValueError, match="first must be at least 1, not 0"):
        Timeline(first=0)
    with pytest.raises(ValueError, match="last must be at least 1, not 0"):
        Timeline(last=0)
