"""The board of the demo: what it keeps, and what it makes of rows that come again."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from penstock.demo.board import Board, rows_on, totals_on


class Row(NamedTuple):
    """As Spark gives it."""

    origin: str = "JFK"
    hour: datetime = datetime(2013, 2, 8, 17)
    departures: int = 30
    cancelled: int = 20
    delay: float | None = 12.5
    wind: float | None = 31.1


def board_with(path: Path, *rows: Any) -> Board:
    """One that has taken these rows, and is closed."""
    board = Board(path)
    with closing(board):
        for row in rows:
            board(row)
    return board


def test_a_board_that_is_not_there_has_no_rows(tmp_path: Path) -> None:
    assert rows_on(tmp_path / "board.sqlite") == 0


def test_a_row_is_there_for_others_as_soon_as_it_was_taken(tmp_path: Path) -> None:
    path = tmp_path / "board.sqlite"
    board = board_with(path, Row(), Row(origin="EWR"))
    assert rows_on(path) == 2
    assert (board.recognised, board.duplicated) == (0, 0)


def test_a_row_that_comes_again_is_recognised(tmp_path: Path) -> None:
    row = Row(delay=None, wind=None)
    board = board_with(tmp_path / "board.sqlite", row, row)
    assert (board.recognised, board.duplicated) == (1, 0)


def test_a_row_that_comes_again_with_another_content_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "board.sqlite"
    board = board_with(path, Row(), Row(cancelled=21))
    assert (board.recognised, board.duplicated) == (0, 1)
    assert rows_on(path) == 1


def test_another_process_goes_on_with_the_same_board(tmp_path: Path) -> None:
    path = tmp_path / "board.sqlite"
    board_with(path, Row())
    assert board_with(path, Row()).recognised == 1


def test_the_totals_are_of_days_in_new_york(tmp_path: Path) -> None:
    path = tmp_path / "board.sqlite"
    board_with(
        path,
        Row(hour=datetime(2013, 2, 9, 4), departures=3, cancelled=1),  # 23:00 on the 8th
        Row(hour=datetime(2013, 2, 9, 5), departures=5, cancelled=2),
        Row(hour=datetime(2013, 2, 13, 5), departures=7, cancelled=0),  # after the week
    )
    totals = totals_on(path)
    assert totals.departures == {8: 3, 9: 5}
    assert totals.cancelled == {8: 1, 9: 2}
