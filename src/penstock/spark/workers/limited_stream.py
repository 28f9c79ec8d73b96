"""The journal as a stream for a Spark that limits its batches itself, as it does from 4.2 on."""

from __future__ import annotations

from typing import Any

from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from penstock.spark.workers.journal_source import JournalStream, offset, position_of

__all__ = ["LimitedStream"]


class LimitedStream(JournalStream, SupportsTriggerAvailableNow):
    """Spark says where a batch begins, and how many rows it may have."""

    _final: int | None = None

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """The bound of a batch, whatever else the query says."""
        return ReadMaxRows(self._batch_rows)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the next batch ends."""
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._batch_rows
        end = self._journal.end() if self._final is None else self._final
        return self._bounded(position_of(start, self._identity), end, most)

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """How far the journal goes, from which Spark computes how far it lags behind."""
        return offset(self._identity, self._journal.end())

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """What comes from now on belongs to a later query."""
        self._final = self._journal.end()
