"""Spark as a stage: a stream crosses onto Apache Spark and comes back, with demand all the way.

An element goes through these modules in this sequence:

``spark_flow.py``       ``SparkFlow``, what ``Flow.on_spark`` returns: assembled as data
``pipeline.py``         that data
``run.py``              one run of it, from subscribe to the end, and the thread that looks after it
``conversion.py``       from elements to Arrow batches of a ``schema.py``, with ``encoding.py`` for
                        rows and ``columnar.py`` for batches; ``ddl.py`` reads schemas that are
                        texts
``recorder.py``         the subscriber that writes them into the journal, ``portion.py`` by portion,
                        and asks for as many as fit, ``sizes.py``; the source runs ``apart.py`` from
                        it
``journal/``            what lies between the publisher and Spark, durable and bounded
``source.py``           from there into Spark
``stages.py``           the user's functions, in Spark's workers; ``partitions.py``: subscribers
                        there
``query.py``            Spark's query
``dataframe_sinks.py``  the sinks that Spark serves; ``batch_folders.py``: files, one folder a batch
``returning.py``        how its batches come back to this program; ``token_gate.py``: past
                        strangers; ``return_encryption.py``: so that nobody can read them
``delivering.py``       what becomes of them there, until they are committed
``emitter.py``          from Spark's batches to elements, as they are wanted; ``batch_elements.py``
                        says of which kind, ``rows.py`` decodes them; ``acknowledgement.py`` looks
                        for operators downstream that keep them

``checkpoint.py``       the place that journal and Spark share, and whether it is whole
``state_change.py``     whether the state in it still means the same: ``state_plan.py`` reads what
                        it means in Spark's plans, ``state_code.py`` in functions of the user
``failures.py``         what Spark's errors come to; ``retries.py``: which of them are got over
``shipping.py``         what is sent to the workers, and whether it can be
``session.py``          where Spark runs; ``calls.py``, ``lost_jvm.py``, ``reachable.py``,
                        ``stop_signals.py`` and ``worker_daemon.py`` help it
``processor.py``        all of it as a ``Processor``
``batch_counts.py``     what Spark itself counts in its batches; ``late_rows.py``: rows that it
                        dropped
``deployment.py``       where it runs, given from outside; ``gauges.py``: what it shows meanwhile,
                        with ``input_reading.py`` for each input
``dataframe.py``        the other way in: a DataFrame as a source; ``arrow_batches.py`` has it
                        computed
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.spark.batch_elements import NumberedBatch, Positioned
    from penstock.spark.batch_folders import write_with_spark
    from penstock.spark.checkpoint import CheckpointError
    from penstock.spark.conversion import DoesNotFit, Misfit
    from penstock.spark.dataframe_sinks import for_each_batch
    from penstock.spark.failures import SparkFailed, SparkLost, UserError, WorkerLost
    from penstock.spark.pipeline import CannotResume
    from penstock.spark.processor import SparkProcessor
    from penstock.spark.schema import Schema, SchemaError
    from penstock.spark.session import SparkSettings, SparkUnavailable, spark_session
    from penstock.spark.spark_flow import SparkFlow
    from penstock.spark.state_change import StateChanged

__all__ = [
    "CannotResume",
    "CheckpointError",
    "DoesNotFit",
    "Misfit",
    "NumberedBatch",
    "Positioned",
    "Schema",
    "SchemaError",
    "SparkFailed",
    "SparkFlow",
    "SparkLost",
    "SparkProcessor",
    "SparkSettings",
    "SparkUnavailable",
    "StateChanged",
    "UserError",
    "WorkerLost",
    "for_each_batch",
    "spark_session",
    "write_with_spark",
]

_MODULES = {
    "CannotResume": "pipeline",
    "CheckpointError": "checkpoint",
    "DoesNotFit": "conversion",
    "Misfit": "conversion",
    "NumberedBatch": "batch_elements",
    "Positioned": "batch_elements",
    "Schema": "schema",
    "SchemaError": "schema",
    "SparkFailed": "failures",
    "SparkFlow": "spark_flow",
    "SparkLost": "failures",
    "SparkProcessor": "processor",
    "SparkSettings": "session",
    "SparkUnavailable": "session",
    "StateChanged": "state_change",
    "UserError": "failures",
    "WorkerLost": "failures",
    "for_each_batch": "dataframe_sinks",
    "spark_session": "session",
    "write_with_spark": "batch_folders",
}


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    """Load a part when it is used: Spark's processes need the journal only, and quickly."""
    from importlib import import_module

    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{module}"), name)
