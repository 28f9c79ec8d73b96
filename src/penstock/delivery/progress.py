"""Which batches a sink has: by the marks of its checkpoint, or by their numbers within one run."""

from __future__ import annotations

from penstock.delivery.epoch import NOTHING_PLANNED, Epoch

__all__ = ["BatchProgress"]


class BatchProgress:
    """What a sink needs to know between ``open`` and ``close``.

    ``epoch``     that of the checkpoint, if there is one
    ``in_batch``  whether it is told of batches at all
    """

    def __init__(self, sink: str, epoch: Epoch | None = None, mark: str | None = None) -> None:
        """``mark`` is the last one of the sink, whose name is for ``DeliveryRefused``."""
        self._sink = sink
        self._mark = mark
        self._last = NOTHING_PLANNED
        self.epoch = epoch
        self.in_batch = False
        if epoch is not None:
            epoch.last_batch(mark, sink)  # refuses one of another checkpoint

    def begin(self, batch: int) -> bool:
        """Whether the rows of the batch are wanted."""
        self.in_batch = True
        if self.epoch is None:
            return batch > self._last
        return not self.epoch.has(self._mark, batch, self._sink)

    def mark(self, batch: int) -> str | None:
        """What to store with the rows of the batch, if there is a checkpoint."""
        return None if self.epoch is None else self.epoch.mark(batch)

    def committed(self, batch: int) -> None:
        """The sink has the batch."""
        self._last = batch
        self._mark = self.mark(batch)
