"""The base of sinks that store rows and the number of their batch in one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Final

from penstock.delivery.contract import Level
from penstock.delivery.epoch import BatchProgress, DeliveryRefused, Epoch
from penstock.delivery.held_rows import HeldRows

__all__ = ["TransactionalSink"]

CHUNK_ROWS: Final = 500
COMMIT_ROWS: Final = 1_000
COMMIT_SECONDS: Final = 1.0


class TransactionalSink(ABC):
    """Exactly once, for any store with transactions, which subclasses reach through the hooks.

    Rows go into the open transaction in chunks of ``chunk_rows``, or of fewer that are large, so a
    batch of any size takes little memory. ``commit`` adds the mark of the batch and commits.
    Another sink that has stored a mark meanwhile is noticed at the first row of a batch.

    Without batches, rows are gathered, and committed by ``commit_rows``, sooner if they are large,
    with the first row that comes a second or more after the last commit, and by ``close``. The
    hooks are called on the thread that calls the sink, one at a time.
    """

    level: Level = "exactly once"

    def __init__(
        self,
        name: str,
        *,
        chunk_rows: int = CHUNK_ROWS,
        commit_rows: int = COMMIT_ROWS,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``name`` is what messages to the user call it."""
        self.name = name
        self._chunk_rows = chunk_rows
        self._commit_rows = commit_rows
        self._clock = clock
        self._row_types: set[type] = {dict, tuple}
        self._elements: list[Any] = []
        self._gathered = HeldRows(chunk_rows)
        self._chunk: list[Any] = []
        self._more = 0
        self._uncommitted = HeldRows(commit_rows)
        self._last_commit = 0.0
        self._is_open = False
        self._in_batch = False
        self._in_transaction = False
        self._stored: str | None = None
        self._progress = BatchProgress(name)

    # The hooks, which subclasses implement. One thread at a time calls them, not always the same.

    @abstractmethod
    def connect(self) -> None:
        """Connect to the store, and refuse one that is not as it should be."""

    @abstractmethod
    def disconnect(self) -> None:
        """Close the connection, even if ``connect`` has failed."""

    @abstractmethod
    def start_transaction(self) -> None:
        """Nobody else may change the mark from here on, until the transaction is over."""

    @abstractmethod
    def load_mark(self) -> str | None:
        """The mark that is stored, within a transaction or not."""

    @abstractmethod
    def store_mark(self, mark: str) -> None:
        """Replace the mark."""

    @abstractmethod
    def insert(self, rows: Sequence[Any]) -> None:
        """Add rows, as ``row_of`` has made them; never none."""

    @abstractmethod
    def commit_transaction(self) -> None:
        """All of it counts when this returns, or none of it."""

    @abstractmethod
    def rollback(self) -> None:
        """Nothing of it counts."""

    def row_of(self, element: Any) -> Any:
        """What ``insert`` is given for an element; raises if it is not as it should be."""
        return element

    def rows_of(self, elements: Sequence[Any]) -> list[Any]:
        """The same for many, as those of a batch are given; where it is quicker so."""
        return [self.row_of(element) for element in elements]

    def is_block(self, element: Any) -> bool:
        """Whether an element is many rows; all of its class are, or none."""
        return False

    def take(self, block: Any) -> None:
        """Take such an element, by ``take_rows`` or ``take_block``."""
        raise NotImplementedError

    # What a pipeline calls.

    def open(self, epoch: Epoch | None) -> None:
        """Connect, and compare the mark with the checkpoint."""
        try:
            self.connect()
            self._stored = None if epoch is None else self.load_mark()
            self._progress = BatchProgress(self.name, epoch, self._stored)
        except BaseException:
            self.disconnect()
            raise
        self._last_commit = self._clock()
        self._in_batch = False
        self._is_open = True

    def begin(self, batch: int) -> bool:
        """Discard what was received of the batch earlier."""
        self._give_up()
        self._in_batch = True
        return self._progress.begin(batch)

    def __call__(self, element: Any) -> None:
        """Take an element."""
        if self._in_batch and type(element) in self._row_types:  # as few steps as there can be
            elements = self._elements
            elements.append(element)
            if len(elements) >= self._gathered.next and self._has_enough(elements):
                self._insert_chunk()
        else:
            self._take_other(element)

    def give_all(self, elements: Sequence[Any]) -> None:
        """Take many, which is the same as one by one and takes less time."""
        taken = 0
        while taken < len(elements):
            some = elements[taken : taken + max(self._commit_rows - self._held, 1)]
            taken += len(some)
            if self._in_batch or not self._row_types.issuperset(map(type, some)):
                for element in some:
                    self(element)
            else:
                self._elements.extend(some)
                self._make_rows()  # now: one that fails is to be known now
                self._pass_on()

    def _has_enough(self, elements: Sequence[Any]) -> bool:
        return self._gathered.are_enough(len(elements), elements.__getitem__)

    def _take_other(self, element: Any) -> None:
        if type(element) not in self._row_types and self.is_block(element):
            self._make_rows()
            self.take(element)
            return
        self._row_types.add(type(element))
        if self._in_batch:
            self(element)
        else:
            self._chunk.append(self.row_of(element))  # if that fails, the others stay
            self._pass_on()

    def take_rows(self, rows: Sequence[Any]) -> None:
        """Take several rows at once, as ``row_of`` would have made them."""
        self._chunk.extend(rows)
        self._pass_on()

    def take_block(self, block: Any, rows: int) -> None:
        """Take several rows as one object, which ``insert`` gets among the others."""
        self._chunk.append(block)
        self._more += rows - 1
        self._pass_on()

    @property
    def _held(self) -> int:
        return len(self._chunk) + self._more

    def _pass_on(self) -> None:
        if self._in_batch:
            if self._held >= self._chunk_rows:
                self._insert_chunk()
        elif self._is_due:
            self._commit(None)  # at once: a pause of the stream must not lock others out

    @property
    def _is_due(self) -> bool:
        return (
            self._held >= self._commit_rows
            or self._uncommitted.are_enough(len(self._chunk), self._chunk.__getitem__)
            or self._clock() - self._last_commit >= COMMIT_SECONDS
        )

    def commit(self, batch: int) -> None:
        """Store the batch with its mark; one without rows leaves no trace."""
        self._commit(self._progress.mark(batch))
        self._progress.committed(batch)

    def close(self) -> None:
        """Give up what was not committed; without batches, commit it."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            if self._in_batch:
                self._give_up()
            else:
                self._commit(None)
        finally:
            self.disconnect()

    def _commit(self, mark: str | None) -> None:
        self._insert_chunk()
        if self._in_transaction:
            if mark is not None:
                self.store_mark(mark)
            self.commit_transaction()
            self._in_transaction = False
            if mark is not None:
                self._stored = mark
        self._last_commit = self._clock()

    def _make_rows(self) -> None:
        """Make rows of the elements that wait for it.

        If that fails in a batch, all is given up; without one, those before it stay.
        """
        if not self._elements:
            return
        elements, self._elements = self._elements, []
        self._gathered.start()
        try:
            rows = self.rows_of(elements)
        except Exception:
            if self._in_batch:
                raise
            for element in elements:
                self._chunk.append(self.row_of(element))
        else:
            self._chunk.extend(rows)
            self._more += len(elements) - len(rows)  # where some are one object

    def _insert_chunk(self) -> None:
        self._make_rows()
        if not self._chunk:
            return
        if not self._in_transaction:
            self.start_transaction()  # if that fails, the rows are still here
            self._in_transaction = True
            self._require_known_mark()
        rows, self._chunk, self._more = self._chunk, [], 0
        self._uncommitted.start()
        self.insert(rows)

    def _require_known_mark(self) -> None:
        if self._progress.epoch is not None and (found := self.load_mark()) != self._stored:
            raise self._progress.loss(self._stored, found) or DeliveryRefused(
                f"{self.name} was written by another pipeline since this one was opened; stop that "
                "one, or write somewhere else"
            )

    def _give_up(self) -> None:
        self._elements, self._chunk, self._more = [], [], 0
        self._gathered.start()
        self._uncommitted.start()
        if self._in_transaction:
            self._in_transaction = False
            self.rollback()
