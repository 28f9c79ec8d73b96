"""The base of transactional sinks, told in the order of its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.delivery import BatchesLost, BatchProgress, DeliveryRefused, Epoch, TransactionalSink
from penstock.delivery.held_rows import MOST_BYTES


class Log(TransactionalSink):
    """Writes down what it is told, in place of a database."""

    def __init__(
        self, mark: str | None = None, *, fails: str = "", chunk_rows: int = 2, **options: Any
    ) -> None:
        super().__init__("the log", chunk_rows=chunk_rows, clock=lambda: self.now, **options)
        self.now = 0.0
        self.mark = mark
        self.told: list[Any] = []
        self._fails = fails

    def tell(self, what: Any) -> None:
        self.told.append(what)
        if what == self._fails:
            raise OSError(f"no {what}")

    def connect(self) -> None:
        self.tell("connect")

    def disconnect(self) -> None:
        self.tell("disconnect")

    def start_transaction(self) -> None:
        self.tell("start")

    def load_mark(self) -> str | None:
        return self.mark

    def store_mark(self, mark: str) -> None:
        self.mark = mark
        self.tell("mark")

    def insert(self, rows: Sequence[Any]) -> None:
        self.tell([*rows])

    def commit_transaction(self) -> None:
        self.tell("commit")

    def rollback(self) -> None:
        self.tell("rollback")


def test_rows_go_into_the_transaction_in_chunks_and_the_mark_comes_last() -> None:
    log = Log()
    log.open(Epoch.begun())
    log.begin(0)
    for number in range(5):
        log(number)
    assert log.told == ["connect", "start", [0, 1], [2, 3]]
    log.commit(0)
    assert log.told[4:] == [[4], "mark", "commit"]
    log.close()
    log.close()
    assert log.told[7:] == ["disconnect"]


def test_a_batch_without_rows_leaves_no_trace() -> None:
    log = Log()
    log.open(Epoch.begun())
    log.begin(0)
    log.commit(0)
    assert not log.begin(0)
    assert log.told == ["connect"]


def test_a_batch_that_begins_again_is_rolled_back_and_so_is_one_that_is_closed() -> None:
    log = Log()
    log.open(Epoch.begun())
    log.begin(0)
    for number in range(3):
        log(number)
    log.begin(0)
    log(7)
    log.close()
    assert log.told == ["connect", "start", [0, 1], "rollback", "disconnect"]


def test_without_batches_rows_are_committed_by_number_by_time_and_at_the_end() -> None:
    log = Log(commit_rows=3)
    log.open(None)
    for number in range(4):
        log(number)
    assert log.told == ["connect", "start", [0, 1, 2], "commit"]
    log.now = 0.9
    log(4)
    assert log.told[4:] == []
    log.now = 1.0
    log(5)
    assert log.told[4:] == ["start", [3, 4, 5], "commit"]
    log(6)
    log.close()
    assert log.told[7:] == ["start", [6], "commit", "disconnect"]


def test_rows_that_are_large_wait_for_fewer_others() -> None:
    large = {"text": "x" * (MOST_BYTES // 16)}
    log = Log(chunk_rows=500)
    log.open(Epoch.begun())
    log.begin(0)
    for _ in range(40):
        log(large)
    assert [len(told) for told in log.told if isinstance(told, list)] == [16, 16]
    log.commit(0)
    assert [len(told) for told in log.told if isinstance(told, list)] == [16, 16, 8]


def test_without_batches_rows_that_are_large_are_committed_sooner() -> None:
    large = {"text": "x" * (MOST_BYTES // 16)}
    log = Log()
    log.open(None)
    for _ in range(20):
        log(large)
    assert log.told == ["connect", "start", [large] * 16, "commit"]
    log.give_all([large] * 40)  # which were there already
    assert log.told[4:] == ["start", [large] * 44, "commit"]
    log.close()


class Choosy(Log):
    """Refuses some rows, and makes one object of others."""

    def row_of(self, element: Any) -> Any:
        if element == {"n": 13}:
            raise ValueError("13 brings bad luck")
        return element

    def rows_of(self, elements: Sequence[Any]) -> list[Any]:
        rows = super().rows_of(elements)
        return [rows] if len(rows) > 2 else rows  # ``insert`` writes all of them down alike

    def insert(self, rows: Sequence[Any]) -> None:
        flat: list[Any] = []
        for row in rows:
            flat.extend(row if isinstance(row, list) else [row])
        self.tell(flat)


@given(
    st.lists(st.lists(st.sampled_from([{"n": 1}, {"n": 2}, (3,), {"n": 13}]), max_size=7)),
    st.integers(min_value=1, max_value=5),
)
def test_many_at_once_are_as_many_one_by_one(portions: list[list[Any]], commit_rows: int) -> None:
    together, singly = Choosy(commit_rows=commit_rows), Choosy(commit_rows=commit_rows)

    def given_singly(portion: list[Any]) -> None:
        for element in portion:
            singly(element)

    words = given_to(together, together.give_all, portions)
    assert words == given_to(singly, given_singly, portions)
    assert together.told == singly.told


def given_to(log: Log, give: Callable[[list[Any]], None], portions: list[list[Any]]) -> str:
    """How it ended."""
    log.open(None)
    try:
        for portion in portions:
            give(portion)
    except ValueError as error:
        return str(error)
    finally:
        log.close()
    return "well"


def test_many_at_once_in_a_batch_are_as_many_one_by_one() -> None:
    log = Log()
    log.open(Epoch.begun())
    log.begin(0)
    log.give_all([{"n": 0}, {"n": 1}, {"n": 2}])
    assert log.told == ["connect", "start", [{"n": 0}, {"n": 1}]]
    log.commit(0)
    assert log.told[3:] == [[{"n": 2}], "mark", "commit"]


def test_a_mark_that_somebody_else_has_stored_meanwhile_is_refused() -> None:
    log = Log()
    log.open(Epoch.begun())
    log.begin(0)
    log.mark = Epoch.begun().mark(3)
    log(1)
    with pytest.raises(DeliveryRefused, match="the log was written by another pipeline since"):
        log.commit(0)
    log.close()
    assert log.told == ["connect", "start", "rollback", "disconnect"]


@pytest.mark.parametrize("older", [True, False])
def test_a_store_that_was_restored_while_it_is_open_has_lost_batches(*, older: bool) -> None:
    log, epoch = Log(), Epoch.begun()
    log.open(epoch)
    for batch in range(2):
        log.begin(batch)
        log(batch)
        log.commit(batch)
    log.begin(2)
    log.mark = epoch.mark(0) if older else None
    log(2)
    with pytest.raises(BatchesLost, match="and has had batch 1: it was emptied, replaced or"):
        log.commit(2)


def test_one_that_cannot_be_opened_is_disconnected() -> None:
    refusing = Log(Epoch.begun().mark(3))
    with pytest.raises(DeliveryRefused, match="written from another checkpoint"):
        refusing.open(Epoch.begun())
    failing = Log(fails="connect")
    with pytest.raises(OSError, match="no connect"):
        failing.open(None)
    for log in (refusing, failing):
        log.close()
        assert log.told == ["connect", "disconnect"]


def test_one_that_cannot_be_committed_is_disconnected_all_the_same() -> None:
    log = Log(fails="commit")
    log.open(None)
    log(1)
    with pytest.raises(OSError, match="no commit"):
        log.close()
    assert log.told[-1] == "disconnect"


def test_progress_without_a_checkpoint_goes_by_numbers() -> None:
    progress = BatchProgress("the log")
    assert not progress.in_batch
    assert progress.begin(4)
    assert progress.in_batch
    assert progress.mark(4) is None
    progress.committed(4)
    assert not progress.begin(4)
    assert progress.begin(5)
