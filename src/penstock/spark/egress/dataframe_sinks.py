"""Sinks that Spark itself serves: each gets the DataFrame of every batch, and its number.

In a classic session they run in this program, over Spark Connect in a process of the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from penstock.delivery import DataFrameSink, Level
from penstock.flow.checks import require_callable
from penstock.spark.failures import SparkLost, UserError, WorkerLost, explained
from penstock.spark.workers.functions import told

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.workers.partitions import ToSubscribers

__all__ = ["BatchFanOut", "ForEachPartition", "for_each_batch"]

NO_ROWS: Final = pa.table({})


def for_each_batch(function: Callable[[DataFrame, int], object]) -> DataFrameSink:
    """A sink that calls ``function(dataframe, batch_id)`` for each batch, as Spark's own does.

    For ``MERGE``, JDBC and whatever else Spark's writers can do, among the sinks of a ``Pipeline``.
    A batch comes again after a crash, with the same number: at least once.
    """
    return ForEachBatch(require_callable("for_each_batch", function))


@dataclass(frozen=True)
class ForEachBatch(DataFrameSink):
    """A function of the user."""

    function: Callable[[DataFrame, int], object]
    level: Level = field(default="at least once", init=False)

    @property
    def sent(self) -> object:
        """The function."""
        return self.function

    def take(self, dataframe: DataFrame, batch_id: int) -> None:
        """Call it."""
        with blaming_or_lost("for_each_batch"):
            self.function(dataframe, batch_id)


@dataclass(frozen=True)
class ForEachPartition(DataFrameSink):
    """Subscribers in the workers of Spark Connect, which does not tell a task its batch."""

    give: ToSubscribers
    level: Level = field(default="at least once", init=False)

    @property
    def sent(self) -> object:
        """What makes the subscribers."""
        return self.give

    def take(self, dataframe: DataFrame, batch_id: int) -> None:
        """Give them the rows; none comes back."""
        give = replace(self.give, batch=batch_id)
        with blaming_or_lost("for_each_partition"):
            rows = dataframe.mapInArrow(give, dataframe.schema)
            rows.write.format("noop").mode("overwrite").save()


@contextmanager
def blaming_or_lost(name: str) -> Iterator[None]:
    """Tell an error of a user's function in few words, unless it is Spark that was lost there."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except UserError:
        raise
    except (Py4JError, PySparkException) as error:
        failed = explained(error)
        if isinstance(failed, WorkerLost | SparkLost):
            raise failed from None  # the batch comes again
        raise UserError(told(name, error, str(failed))) from None
    except BaseException as error:  # nobody could take an exit on Spark's thread
        raise UserError(told(name, error)) from None


def to_arrow(dataframe: DataFrame) -> pa.Table:
    """All rows of a DataFrame of any session."""
    return dataframe.toArrow()


@dataclass(frozen=True)
class BatchFanOut:
    """Gives each batch to all that take it: first to Spark's own sinks, then to the program.

    Goes to the server over Spark Connect.

    ``with_rows``  whether the program takes the rows
    """

    sinks: Sequence[DataFrameSink] = ()
    with_rows: bool = True

    def __call__(
        self,
        dataframe: DataFrame,
        batch_id: int,
        bring_back: Callable[[pa.Table], object],
        collect: Callable[[DataFrame], pa.Table] = to_arrow,
    ) -> None:
        """Return when all have it; it is computed once, however many they are."""
        is_shared = len(self.sinks) + self.with_rows > 1
        if is_shared:
            dataframe = dataframe.persist()
        try:
            for sink in self.sinks:
                sink.take(dataframe, batch_id)
            bring_back(collect(dataframe) if self.with_rows else NO_ROWS)
        finally:
            if is_shared:
                dataframe.unpersist()
