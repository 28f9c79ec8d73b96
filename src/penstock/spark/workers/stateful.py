"""A user's function that keeps something for each key, in Spark's state store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice, starmap
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from penstock.runtime import shorten
from penstock.spark.egress.rows import RowReader, row_type
from penstock.spark.failures import UserError
from penstock.spark.ingest.conversion import Converter
from penstock.spark.ingest.schema import Schema
from penstock.spark.workers.functions import blaming

__all__ = ["KeyState", "StatefulFunction"]

OPERATOR: Final = "stateful"
STATE: Final = "state"
AT_A_TIME: Final = 1_000
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND: Final = timedelta(milliseconds=1)


class KeyState:
    """What is kept for one key, for the time of one call.

    ``value``      a named tuple of the fields of the state, or ``None`` if nothing is kept
    ``timed_out``  whether the moment has come that ``time_out_at`` has set: there are no rows then
    ``now``        where time stands in this batch: its beginning by the clock of the driver, or by
                   event time the watermark, which is the beginning of 1970 until there is one;
                   ``None`` without ``timeouts=``
    """

    __slots__ = ("changed", "now", "timed_out", "timeout", "timeout_changed", "value")

    def __init__(self, value: Any, now: datetime | None = None, *, timed_out: bool = False) -> None:
        self.value = value
        self.now = now
        self.timed_out = timed_out
        self.changed = False
        self.timeout: datetime | None = None
        self.timeout_changed = False

    def update(self, value: Any) -> None:
        """Keep ``value``: a mapping, a tuple or a dataclass, as an element of a stream is one."""
        self.value = value
        self.changed = True

    def remove(self) -> None:
        """Keep nothing, until there is another row of this key; it does not time out either."""
        self.update(None)
        self.timeout, self.timeout_changed = None, True

    def time_out_at(self, moment: datetime) -> None:
        """Call the function without rows once ``now`` is there; instead of what was set before.

        A moment that is over comes in the same batch, when all its rows are through.
        """
        if self.now is None:
            raise ValueError("time_out_at needs stateful(timeouts=), which says by which time")
        if not isinstance(moment, datetime):
            raise TypeError(f"time_out_at needs a datetime, not {shorten(moment)}")
        if moment.tzinfo is None:
            raise ValueError(f"time_out_at needs a datetime with a zone, not {moment!r}")
        if self.timed_out and moment <= self.now:
            raise ValueError(
                f"a key that has timed out can only do so again after {self.now.isoformat()}, "
                f"not at {moment.isoformat()}"
            )
        self.timeout, self.timeout_changed = moment, True


class StatefulFunction(StatefulProcessor):
    """Calls the function for each key of a batch, and for each that has timed out.

    Spark makes a copy in each task, and calls it on the thread of that task.

    by_watermark  whether keys time out by the watermark, or else by the clock; ``None`` if they
                  do not at all
    """

    def __init__(
        self,
        function: Callable[[Any, Iterable[Any], KeyState], Iterable[Any] | None],
        schema: Schema,
        state: Schema,
        *,
        by_watermark: bool | None = None,
    ) -> None:
        self._function = function
        self._schema = schema
        self._kept_schema = state
        self._by_watermark = by_watermark

    def init(self, handle: Any) -> None:
        """Spark's handle of the state, for all keys of a partition."""
        self._handle = handle
        self._state = handle.getValueState(STATE, self._kept_schema.ddl)
        self._kept = row_type(self._kept_schema.names)
        self._kinds = [field.dataType for field in self._kept_schema.spark.fields]
        self._has_moments = any("timestamp" in kind.simpleString() for kind in self._kinds)
        self._made = Row(*self._schema.names)
        self._made_exact = ExactRows("made a wrong element", self._schema)
        self._kept_exact = ExactRows("keeps a wrong value", self._kept_schema)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[Any, ...],
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803 - Spark's name
    ) -> Iterator[Row]:
        """The rows of one key in a batch."""
        state = KeyState(self._value(), self._now(timerValues))
        yield from self._called(key, rows, state)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: tuple[Any, ...],
        timerValues: Any,  # noqa: N803 - Spark's name
        expiredTimerInfo: Any,  # noqa: N803 - Spark's name
    ) -> Iterator[Row]:
        """The moment has come that was set for a key. Spark forgets it when this has ended."""
        state = KeyState(self._value(), self._now(timerValues), timed_out=True)
        yield from self._called(key, iter(()), state)

    def _called(self, key: tuple[Any, ...], rows: Iterator[Any], state: KeyState) -> Iterator[Row]:
        with blaming(OPERATOR):
            made = iter(self._function(key[0] if len(key) == 1 else tuple(key), rows, state) or ())
            while some := list(islice(made, AT_A_TIME)):
                yield from starmap(self._made, self._made_exact.rows(some))
        self._keep(state)
        self._set_timeout(state)

    def _value(self) -> Any:
        if not self._state.exists():
            return None
        kept = self._state.get()
        return self._kept(*(map(with_zone, self._kinds, kept) if self._has_moments else kept))

    def _now(self, times: Any) -> datetime | None:
        if self._by_watermark is None:
            return None
        by_clock, watermark = times.getCurrentProcessingTimeInMs, times.getCurrentWatermarkInMs
        return EPOCH + timedelta(milliseconds=watermark() if self._by_watermark else by_clock())

    def _keep(self, state: KeyState) -> None:
        if not state.changed:
            return
        if state.value is None:
            self._state.clear()
            return
        (kept,) = self._kept_exact.rows([state.value])
        self._state.update(tuple(kept))

    def _set_timeout(self, state: KeyState) -> None:
        if not state.timeout_changed or self._by_watermark is None:
            return
        for before in list(self._handle.listTimers()):
            self._handle.deleteTimer(before)
        if state.timeout is not None:
            # Spark has milliseconds: not before the moment.
            self._handle.registerTimer(-((EPOCH - state.timeout) // MILLISECOND))


class ExactRows:
    """Makes rows of a schema of what a function gives; Spark alone would change what does not fit.

    It makes 1 of 1.5 for a ``long``, and 0 of what is too large for an ``int``.
    """

    def __init__(self, fault: str, schema: Schema) -> None:
        self._fault = fault
        self._converter = Converter(schema)
        self._reader = RowReader(schema.arrow)

    def rows(self, elements: Sequence[Any]) -> Iterator[Any]:
        """The elements as named tuples, with the values that come out of the schema."""
        batch, dead_letters = self._converter.convert(elements)
        if dead_letters:
            raise UserError(f"{OPERATOR} {self._fault}: {dead_letters[0]}")
        return self._reader.rows(batch)


def with_zone(kind: DataType, value: Any) -> Any:
    """``value`` with the zone of its moments: Spark gives them as the clock of the worker does."""
    if value is None:
        return None
    if isinstance(kind, TimestampType):
        return value.astimezone(UTC)
    if isinstance(kind, ArrayType):
        return [with_zone(kind.elementType, each) for each in value]
    if isinstance(kind, MapType):
        return {
            with_zone(kind.keyType, key): with_zone(kind.valueType, each)
            for key, each in value.items()
        }
    if isinstance(kind, StructType):
        fields = zip(kind.fields, value, strict=True)
        return Row(*kind.names)(*(with_zone(field.dataType, each) for field, each in fields))
    return value
