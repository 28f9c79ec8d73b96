"""A user's function that keeps something for each key, in Spark's state store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from penstock.spark.egress.rows import row_type
from penstock.spark.ingest.encoding import columns_of
from penstock.spark.ingest.schema import Schema
from penstock.spark.workers.functions import blaming

__all__ = ["KeyState", "StatefulFunction"]

STATE: Final = "state"
AT_A_TIME: Final = 1_000


class KeyState:
    """What is kept for one key, for the time of one call.

    ``value``  a named tuple of the fields of the state, or ``None`` if nothing is kept
    """

    __slots__ = ("changed", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.changed = False

    def update(self, value: Any) -> None:
        """Keep ``value``: a mapping, a tuple or a dataclass, as an element of a stream is one."""
        self.value = value
        self.changed = True

    def remove(self) -> None:
        """Keep nothing, until there is another row of this key."""
        self.update(None)


class StatefulFunction(StatefulProcessor):
    """Calls the function for each key of a batch.

    Spark makes a copy in each task, and calls it on the thread of that task.
    """

    def __init__(
        self,
        function: Callable[[Any, Iterable[Any], KeyState], Iterable[Any] | None],
        schema: Schema,
        state: Schema,
    ) -> None:
        self._function = function
        self._names = schema.names
        self._state_names = state.names
        self._state_ddl = state.ddl

    def init(self, handle: Any) -> None:
        """Spark's handle of the state, for all keys of a partition."""
        self._state = handle.getValueState(STATE, self._state_ddl)
        self._kept = row_type(self._state_names)
        self._made = Row(*self._names)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[Any, ...],
        rows: Iterator[Any],
        timerValues: Any,  # noqa: N803 - Spark's name
    ) -> Iterator[Row]:
        """The rows of one key in a batch."""
        state = KeyState(self._kept(*self._state.get()) if self._state.exists() else None)
        with blaming("stateful"):
            made = iter(self._function(key[0] if len(key) == 1 else tuple(key), rows, state) or ())
            while some := list(islice(made, AT_A_TIME)):
                yield from map(self._made, *columns_of(some, self._names))
        self._keep(state)

    def _keep(self, state: KeyState) -> None:
        if not state.changed:
            return
        if state.value is None:
            self._state.clear()
            return
        with blaming("stateful"):
            columns = columns_of([state.value], self._state_names)
        self._state.update(tuple(column[0] for column in columns))
