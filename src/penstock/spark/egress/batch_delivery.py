"""What becomes of a batch here: it waits, its rows go out, then the listener commits it.

Spark calls ``deliver`` from within ``foreachBatch`` and goes on only when that returns. So while
nobody wants elements, Spark neither plans nor reads: that is how demand reaches it. What is in a
journal is computed ahead of demand, one batch of it; what Spark reads itself it computes only when
``admit`` has returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, Final, NamedTuple

import pyarrow as pa

from penstock.core import COMPLETED
from penstock.delivery import DataFrameSink, Epoch
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard, started
from penstock.runtime import report_undelivered
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.egress.dataframe_sinks import BatchFanOut
from penstock.spark.egress.query import ProgramSink
from penstock.spark.egress.rows import Decode, nothing_of
from penstock.spark.failures import Stopped
from penstock.spark.plan import SparkPlan

__all__ = [
    "BatchDelivery",
    "BatchHandoff",
    "HandoffBatch",
]


TICK: Final = 1.0
"""The seconds for which a batch by the clock is held back while there is no row."""
LOOK: Final = 0.02


class HandoffBatch(NamedTuple):
    """The elements of one of Spark's batches."""

    number: int
    size: int
    elements: Iterator[Any]


class BatchHandoff:
    """Hands the elements of one batch after the other to the run of a flow.

    ``on_begin`` is called on the thread of Spark's call, the others on that which pulls the flow.

    on_close  is told that nobody wants anything any more
    passed    is given each element that goes out, and gives it back
    on_begin  is told the number of a batch before its first element goes out
    """

    def __init__(
        self,
        run: RunContext,
        on_close: Callable[[], object],
        passed: Callable[[Any], Any] | None = None,
        on_begin: Callable[[int], object] = lambda number: None,
    ) -> None:
        self._run = run
        self._on_close = on_close
        self._passed = passed
        self._on_begin = on_begin
        self._changed = threading.Condition()
        self._batch: HandoffBatch | None = None
        self._ending: Exception | None = None
        self._closed = False
        self._begun = -1
        self._delivered = 0
        self._asks = False
        self._admits_no_more = False
        self.admitted = -1
        """The last batch that Spark was let compute."""

    @property
    def waits(self) -> bool:
        """Whether a batch waits to be delivered."""
        return self._batch is not None

    # Spark's side.

    def admit(self, number: int, *, on_demand: bool) -> None:
        """Return when Spark is to compute a batch; raises ``Stopped`` if it is not.

        With ``on_demand`` that is when an element is wanted. Each batch asks anew: one that turns
        out to be empty has used up nobody's demand.
        """
        with self._changed:
            self._asks = on_demand
        self._run.wake()
        with self._changed:
            self._changed.wait_for(
                lambda: not self._asks or self._is_over or self._is_refused(number)
            )
            self._asks = False
            self._require_open()
            if self._is_refused(number):
                raise Stopped(f"batch {number} is left to the next run")
            self.admitted = max(number, self.admitted)

    def admit_by_clock(self, number: int, has_rows: Callable[[], bool]) -> None:
        """As ``admit``, without demand; a batch for which there are no rows has to wait a while.

        Else Spark would run one empty batch after the other, as fast as it can.
        """
        until = monotonic() + TICK
        with self._changed:
            while not (self._is_over or self._is_refused(number) or has_rows()):
                if not self._changed.wait(LOOK) and monotonic() >= until:
                    break
        self.admit(number, on_demand=False)

    def admit_no_more(self) -> None:
        """Let Spark compute no further batch; one that it was let compute may come again."""
        with self._changed:
            self._admits_no_more = True
            self._changed.notify_all()

    def _is_refused(self, number: int) -> bool:
        return self._admits_no_more and number > self.admitted

    def deliver(self, batch: HandoffBatch, keeps_sequence: bool) -> None:
        """Return when the whole batch is delivered; raises ``Stopped`` if it will not be.

        What was delivered of it already, before Spark began it again, is left out, unless its
        elements may come in another order now.
        """
        with self._changed:
            # Spark may begin a batch again while what it gave before is still being delivered.
            self._changed.wait_for(lambda: self._batch is None or self._is_over)
            self._require_open()
            if batch.number != self._begun or not (keeps_sequence or self._delivered == batch.size):
                self._begun, self._delivered = batch.number, 0
                self._on_begin(batch.number)  # no element is on its way now
            done = self._delivered
            rest = HandoffBatch(batch.number, batch.size - done, islice(batch.elements, done, None))
            if not rest.size:
                return
            self._batch = rest
        self._run.wake()
        with self._changed:
            self._changed.wait_for(lambda: self._batch is not rest or self._is_over)
            self._require_open()

    def end(self, ending: Exception) -> None:
        """There is no more; an error goes out at once, ahead of what waits here."""
        with self._changed:
            if self._ending is not None or self._closed:
                if ending is not COMPLETED:
                    report_undelivered(ending, "a stream through Spark was over before")
                return
            self._ending = ending
            self._run.end_is_near(self, ending)
            self._changed.notify_all()
        self._run.wake()

    def _require_open(self) -> None:
        if self._is_over:
            raise Stopped("nobody wants the rows")

    @property
    def _is_over(self) -> bool:
        return self._closed or self._ending is not None

    # The flow's side.

    def elements(self) -> Elements:
        """All elements, as they come."""
        return started(self._elements())

    def _elements(self) -> Elements:
        try:
            yield None
            while self._ending is None:
                if self._batch is None:
                    self._admit_if_wanted()
                    yield PENDING
                else:
                    yield from self._from(self._batch)
            if self._ending is not COMPLETED:
                raise self._ending
        finally:
            self._run.end_is_seen(self)
            self.close()

    def _admit_if_wanted(self) -> None:
        # It may also be pulled to look for the end, while nothing is wanted.
        if self._asks and self._run.wanted:
            with self._changed:
                self._asks = False
                self._changed.notify_all()

    def _from(self, batch: HandoffBatch) -> Elements:
        elements = batch.elements if self._passed is None else map(self._passed, batch.elements)
        for element in islice(elements, batch.size - 1):
            yield element
            self._delivered += 1
            if self._ending is not None:
                return
        # After its last element the batch is done, whether or not another one is wanted.
        self._run.ended.add(self)
        yield from islice(elements, 1)
        with self._changed:
            self._delivered += 1
            if self._ending is None:
                self._run.ended.discard(self)
            self._batch = None
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody wants anything any more: let Spark go on, to its end."""
        with self._changed:
            self._closed = True
            batch, self._batch = self._batch, None
            self._changed.notify_all()
        if batch is not None and self._run.discards:
            discard(self._run, batch.elements)
        self._on_close()


class BatchDelivery:
    """The batches of a run on their way to its subscriber.

    Listeners are told of batches on the thread of Spark's call, which waits meanwhile.

    on_close  is told that nobody wants anything any more
    on_fail   is given an error of the listener, which is the run's and none of Spark's
    on_done   is told the number of a batch that is committed, as far as this program goes
    passed    is given each element that goes out, and gives it back
    """

    def __init__(
        self,
        plan: SparkPlan,
        decode: Decode | None,
        run: RunContext,
        on_close: Callable[[], object],
        on_fail: Callable[[Exception], object],
        on_done: Callable[[int], object],
        passed: Callable[[Any], Any] | None,
    ) -> None:
        self._plan = plan
        self._decode = decode or nothing_of
        self._with_rows = decode is not None
        self._gives_elements = decode not in (None, nothing_of)
        self._on_fail = on_fail
        self._on_done = on_done
        self._listener = plan.batches
        self._epoch = Epoch.begun()
        self.emitter = BatchHandoff(run, on_close, passed, self._begin)

    def check_before(self, checkpoint: Checkpoint) -> None:
        """Let the sinks refuse a checkpoint that is not there yet: it would be made in vain."""
        plan = self._plan
        if plan.checkpoint is None or checkpoint.holds(plan.name, plan.identities):
            return
        epoch = checkpoint.next_epoch()
        if self._listener is not None:
            self._listener.check(epoch)
        self._check_native(epoch)

    def open(self, epoch: Epoch | None) -> None:
        """The run is whole; ``epoch`` is that of its checkpoint, if it has one."""
        if epoch is not None:
            self._epoch = epoch
        self._check_native(self._epoch)
        if self._listener is not None:
            self._listener.open(epoch)

    def close(self) -> None:
        """No batch is under way, and none will come."""
        if self._listener is not None:
            self._listener.close()

    def target(
        self,
        on_arrival: Callable[[int, int | None], object],
        has_rows: Callable[[], bool],
        on_planned: Callable[[], object] | None = None,
    ) -> ProgramSink:
        """Where a query is to send its batches.

        ``on_arrival`` is told of each: its number, and its rows if they are for this program;
        ``has_rows`` says whether the journals have some with which Spark is not done;
        ``on_planned`` is told before anything of it is computed, and its error is that of the run.
        """
        admit: Callable[[int], None] | None = None
        if self._plan.streams:
            admit = partial(self.emitter.admit, on_demand=self._gives_elements)
        elif self._plan.ticks:
            admit = partial(self.emitter.admit_by_clock, has_rows=has_rows)
        if on_planned is not None:
            admit = partial(self._plan_kept, on_planned, admit)
        return ProgramSink(partial(self._deliver, on_arrival), self._share, admit)

    @property
    def _share(self) -> BatchFanOut:
        sinks = tuple(sink.in_epoch(self._known_to(sink)) for sink in self._plan.sinks)
        return BatchFanOut(sinks, self._with_rows)

    def _known_to(self, sink: DataFrameSink) -> Epoch:
        return self._plan.epoch_known_to(sink, self._epoch)

    def _check_native(self, epoch: Epoch) -> None:
        if not self._plan.settings.is_remote:  # else only the server sees what is there
            for sink in self._plan.sinks:
                sink.check(self._plan.epoch_known_to(sink, epoch))

    # The thread of Spark's call, which waits meanwhile.

    def _plan_kept(
        self, on_planned: Callable[[], object], admit: Callable[[int], None] | None, number: int
    ) -> None:
        self._tell(lambda _: on_planned(), number)
        if admit is not None:
            admit(number)

    def _deliver(
        self, on_arrival: Callable[[int, int | None], object], number: int, table: pa.Table
    ) -> None:
        on_arrival(number, table.num_rows if self._with_rows else None)
        size, elements = self._decode(number, table, self._epoch)
        self.emitter.deliver(HandoffBatch(number, size, elements), self._plan.keeps_sequence)
        if self._listener is not None:
            self._tell(self._listener.commit, number)
        self._on_done(number)

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
