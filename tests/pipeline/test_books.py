"""The books of a pipeline are kept over its restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.pipeline.books import MOST_LINES, Books
from penstock.spark.checkpoint import Checkpoint


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    made = Checkpoint(tmp_path / "checkpoint")
    made.claim("books", ["number long"])
    return made


def texts(books: Books) -> list[str]:
    return [line.text for line in books.lines]


def test_before_the_first_run_there_are_none(checkpoint: Checkpoint) -> None:
    assert Books.opened(checkpoint) is None


def test_what_is_kept_is_found_again(checkpoint: Checkpoint) -> None:
    books = Books(restarts=2, replayed=7).noted("something happened")
    books.keep(checkpoint)
    assert Books.opened(checkpoint) == books


def test_a_restart_notes_the_rows_that_are_replayed() -> None:
    books = Books().restarted([(1_204, 1_260), (5, 5), (0, 2)])
    assert (books.restarts, books.replayed) == (1, 58)
    assert texts(books) == ["restarted; replayed 1,204..1,260, 0..2 (58)"]


def test_a_restart_without_an_unfinished_batch_replays_nothing() -> None:
    books = Books(restarts=1, replayed=3).restarted([(5, 5)])
    assert (books.restarts, books.replayed) == (2, 3)
    assert texts(books) == ["restarted; nothing to replay"]


@pytest.mark.parametrize("damage", ["", "no json", "[]", '{"restarts": 1, "unheard": 2}', "3"])
def test_damaged_books_begin_anew_and_say_so(checkpoint: Checkpoint, damage: str) -> None:
    checkpoint.remember("books.json", damage)
    books = Books.opened(checkpoint)
    assert books is not None
    assert books.restarts == 0
    assert texts(books) == ["the books of earlier runs could not be read; they begin anew"]


def test_only_the_last_lines_are_kept() -> None:
    books = Books()
    for number in range(MOST_LINES + 1):
        books = books.noted(str(number))
    assert texts(books) == [str(number) for number in range(1, MOST_LINES + 1)]
