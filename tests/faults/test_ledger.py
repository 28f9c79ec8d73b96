"""The oracle finds what it is there to find."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.faults.ledger import Entry, Ledger, Verdict, entries, judge

CLEAN = [Entry(number, number // 3, number % 3) for number in range(9)]


def verdict(path: Path, given: Iterable[Entry], count: int = 9) -> Verdict:
    ledger = Ledger(path / "ledger")
    for entry in given:
        ledger.add(entry)
    ledger.close()
    return judge(path / "ledger", count)


def test_a_ledger_with_everything_once_is_clean(tmp_path: Path) -> None:
    found = verdict(tmp_path, CLEAN)
    assert found.is_clean
    assert not any(found)
    assert list(entries(tmp_path / "ledger")) == CLEAN


def test_a_batch_that_comes_twice_is_a_duplicate_only_at_the_plain_sink(tmp_path: Path) -> None:
    found = verdict(tmp_path, [*CLEAN[:6], *CLEAN[3:]])
    assert found.is_clean
    assert (found.duplicated, found.largest_repetition) == (3, 3)


def test_a_number_that_never_came_is_lost(tmp_path: Path) -> None:
    found = verdict(tmp_path, CLEAN[:8])
    assert found.lost == 1
    assert not found.is_clean


def test_a_ledger_that_was_never_written_has_lost_everything(tmp_path: Path) -> None:
    assert judge(tmp_path / "none", 9).lost == 9


def test_a_number_at_two_places_is_a_duplicate_at_the_idempotent_sink(tmp_path: Path) -> None:
    found = verdict(tmp_path, [*CLEAN, Entry(4, 3, 0)])
    assert found.duplicated_once == 1
    assert not found.is_clean


def test_another_number_at_the_same_place_is_a_change(tmp_path: Path) -> None:
    found = verdict(tmp_path, [*CLEAN, Entry(5, 1, 1)])
    assert found.changed == 1
    assert not found.is_clean


def test_numbers_that_do_not_rise_are_out_of_sequence(tmp_path: Path) -> None:
    found = verdict(tmp_path, [Entry(1, 0, 0), Entry(0, 0, 1), *CLEAN[2:]])
    assert found.out_of_sequence == 1
    assert not found.is_clean


def test_a_number_that_the_source_never_had_is_foreign(tmp_path: Path) -> None:
    found = verdict(tmp_path, CLEAN, count=8)
    assert found.foreign == 1
    assert not found.is_clean
