"""What becomes of a batch in this program: its rows go out, then the listener commits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.delivery import Epoch
from penstock.flow.engine.run_context import RunContext
from penstock.spark.egress.batch_elements import Decode, nothing_of
from penstock.spark.egress.batch_handoff import BatchHandoff, HandoffBatch
from penstock.spark.egress.dataframe_sinks import BatchFanOut
from penstock.spark.egress.query import ProgramSink
from penstock.spark.failures import Stopped
from penstock.spark.plan import SparkPlan

__all__ = ["BatchDelivery"]


class BatchDelivery:
    """The batches of a run on their way to its subscriber.

    on_close  is told that nobody wants anything any more
    on_fail   is given an error of the listener, which is the run's and none of Spark's
    on_done   is told that a batch is committed, as far as this program goes
    passed    is given each element that goes out, and gives it back
    """

    def __init__(
        self,
        plan: SparkPlan,
        decode: Decode | None,
        run: RunContext,
        on_close: Callable[[], object],
        on_fail: Callable[[Exception], object],
        on_done: Callable[[], object],
        passed: Callable[[Any], Any] | None,
    ) -> None:
        self._plan = plan
        self._decode = decode or nothing_of
        self._with_rows = decode is not None
        self._on_fail = on_fail
        self._on_done = on_done
        self._listener = plan.batches
        self._epoch = Epoch.begun()
        self.emitter = BatchHandoff(run, on_close, passed, self._begin)

    def open(self, epoch: Epoch | None) -> None:
        """The run is whole; ``epoch`` is that of its checkpoint, if it has one."""
        if epoch is not None:
            self._epoch = epoch
        if not self._plan.settings.is_remote:  # else only the server sees what is there
            for sink in self._plan.sinks:
                sink.check(self._epoch)
        if self._listener is not None:
            self._listener.open(epoch)

    def close(self) -> None:
        """No batch is under way, and none will come."""
        if self._listener is not None:
            self._listener.close()

    @property
    def target(self) -> ProgramSink:
        """Where the query is to send its batches."""
        return ProgramSink(self._deliver, self._share)

    @property
    def _share(self) -> BatchFanOut:
        sinks = tuple(sink.in_epoch(self._epoch) for sink in self._plan.sinks)
        return BatchFanOut(sinks, self._with_rows)

    # The thread of Spark's call, which waits meanwhile.

    def _deliver(self, number: int, table: pa.Table) -> None:
        size, elements = self._decode(number, table, self._epoch)
        self.emitter.deliver(HandoffBatch(number, size, elements), self._plan.keeps_sequence)
        if self._listener is not None:
            self._tell(self._listener.commit, number)
        self._on_done()

    def _begin(self, number: int) -> None:
        if self._listener is not None:
            self._tell(self._listener.begin, number)

    def _tell(self, told: Callable[[int], object], number: int) -> None:
        try:
            told(number)
        except Stopped:
            raise
        except Exception as error:
            self._on_fail(error)
            raise Stopped(f"batch {number} was not committed") from None
