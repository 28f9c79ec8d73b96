"""A journal against a plain list, over random lives of its writer."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.spark.journal import JournalFull, JournalReader
from tests.spark.journals import PLACES, numbered, open_journal, read_rows

MAX_ROWS = 60
MAX_BYTES = 12_000


class JournalAndList(RuleBasedStateMachine):
    """Does the same to both, and compares."""

    def __init__(self, number_of_place: int) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.place = PLACES[number_of_place](self.folder)
        self.rows: list[int] = []
        self.committed = 0
        self.sealed = False
        self.position: object = None
        self.open()

    def open(self) -> None:
        self.journal = open_journal(self.place, max_rows=MAX_ROWS, max_bytes=MAX_BYTES)

    @precondition(lambda self: not self.sealed)
    @rule(count=st.integers(1, 25), position=st.none() | st.text() | st.integers())
    def append(self, count: int, position: object) -> None:
        end = len(self.rows) + count
        try:
            assert self.journal.append(numbered(len(self.rows), end), position) == end
        except JournalFull:
            assert self.committed < len(self.rows)
            assert count > MAX_ROWS - (len(self.rows) - self.committed) or self.bytes_are_scarce()
        else:
            self.rows += range(len(self.rows), end)
            self.position = position

    def bytes_are_scarce(self) -> bool:
        return self.journal.bytes_held > MAX_BYTES // 2

    @rule(share=st.floats(0, 1))
    def commit(self, share: float) -> None:
        position = round(len(self.rows) * share)
        self.journal.commit(position)
        self.committed = max(self.committed, position)

    @rule()
    def reopen(self) -> None:
        self.journal.close()
        self.open()

    @precondition(lambda self: len(self.rows) > 40)
    @rule()
    def seal(self) -> None:
        self.journal.seal()
        self.sealed = True

    @rule(first=st.floats(0, 1), last=st.floats(0, 1))
    def read(self, first: float, last: float) -> None:
        waiting = self.rows[self.committed :]
        start, end = sorted(round(len(waiting) * share) for share in (first, last))
        expected = waiting[start:end]
        start, end = start + self.committed, end + self.committed
        assert read_rows(self.place, start, end) == expected
        parts = JournalReader(self.place).ranges(start, end)
        assert [row for part in parts for row in range(*part)] == expected

    @invariant()
    def both_say_the_same(self) -> None:
        journal = self.journal
        bounds = (self.committed, len(self.rows), self.sealed)
        assert (journal.start, journal.end, journal.sealed) == bounds
        assert JournalReader(self.place).bounds() == bounds
        assert journal.last_source_position == self.position
        assert journal.room == MAX_ROWS - (len(self.rows) - self.committed)

    def teardown(self) -> None:
        self.journal.close()
        shutil.rmtree(self.folder)


class InAFolder(JournalAndList):
    """In a local folder."""

    def __init__(self) -> None:
        super().__init__(0)


class InObjects(JournalAndList):
    """In a store whose files cannot grow."""

    def __init__(self) -> None:
        super().__init__(2)


@pytest.mark.parametrize("machine", [InAFolder, InObjects])
def test_a_journal_behaves_like_a_list(machine: type[JournalAndList]) -> None:
    lives = settings(max_examples=25, stateful_step_count=30)
    run_state_machine_as_test(machine, settings=lives)
