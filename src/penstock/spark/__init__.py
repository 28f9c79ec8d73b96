"""Spark as a stage: a stream crosses onto Apache Spark and comes back, with demand all the way.

``spark_flow.py``         ``SparkFlow``: a stream that runs on Spark, assembled as a ``Flow`` is,
                          and a publisher again
``on_spark.py``           how a publisher gets onto Spark: through a journal, within the room that
                          it has
``plan.py``               a way through Spark as data: what goes in, what happens there, and where
                          it is kept
``stream_input.py``       a streaming DataFrame as an input: what it reads, and whether its batches
                          have a bound
``partitioned_input.py``  publishers that run on Spark's executors as an input: one for each
                          partition of its batches
``sql_query.py``          a query in SQL as a step of a stream, in which ``{stream}`` stands for the
                          rows so far
``stateful_stage.py``     what keeps something for each key, as a step of a stream, on Spark's own
                          state store
``picture.py``            a way through Spark as a notebook shows it
``from_spark.py``         what comes back from Spark, as the beginning of a flow
``run.py``                one run of a pipeline through Spark: journals, query and rows, from
                          subscribe to the end
``journaled_inputs.py``   the inputs of a run that go through journals: what is recorded, and what
                          Spark is done with
``ingest/``               from elements to Arrow batches in a journal, within the room that it has
``journal/``              a durable, bounded, append-only log of Arrow batches between a publisher
                          and Spark
``workers/``              what runs in Spark's Python processes
``egress/``               from Spark's batches to elements, as they are wanted, and until they are
                          committed
``session/``              where Spark runs: embedded, on a cluster, by Spark Connect
``checkpoint.py``         the place that a pipeline's journals and Spark's checkpoint share, and
                          what it remembers
``checkpoint_owner.py``   whose a checkpoint is: what its pipeline is called, and what that reads
``checkpoint_files.py``   the small files of a checkpoint, where it is: a folder, a file system of
                          Arrow, or S3
``checkpoint_copy.py``    Spark's own part of a checkpoint on S3: it writes here, and what it has
                          written is kept there
``checkpoint_upkeep.py``  what people do with a checkpoint while no run has it: look, back it up,
                          rewind it, begin again
``checkpoint_place.py``   whether a Spark can have its part of a checkpoint at a place
``temporary_folder.py``   a temporary folder that goes when its program is dead, even if nobody
                          could clean up
``state.py``              a checkpoint remembers what the state in it means, so that no other
                          meaning is put on it
``private_api.py``        what is private to Spark and py4j and needed all the same; no other module
                          touches any of it
``failures.py``           Spark's failures in a few words: the user's exception and line, not 200
                          lines of the JVM
``processor.py``          Spark as a ``Processor``: a subscriber on one side, a publisher on the
                          other
``run_counts.py``         what a run through Spark has counted, at one moment
``deployment.py``         where and how a flow through Spark runs, given from outside of the code
                          that assembled it
``dataframe.py``          a batch DataFrame as a cold publisher, computed as far as its batches are
                          wanted
"""

from typing import TYPE_CHECKING

from penstock.on_demand import loader

if TYPE_CHECKING:
    from penstock.spark.checkpoint import CheckpointError
    from penstock.spark.egress.batch_folders import write_with_spark
    from penstock.spark.egress.dataframe_sinks import for_each_batch
    from penstock.spark.egress.rows import NumberedBatch, Positioned
    from penstock.spark.failures import SparkFailed, SparkLost, UserError, WorkerLost
    from penstock.spark.ingest.conversion import DeadLetter, SchemaMismatch
    from penstock.spark.ingest.schema import Schema, SchemaError
    from penstock.spark.plan import CannotResume
    from penstock.spark.processor import SparkProcessor
    from penstock.spark.session.spark_session import SparkSettings, SparkUnavailable, spark_session
    from penstock.spark.spark_flow import SparkFlow
    from penstock.spark.state import StateChanged

__all__ = [
    "CannotResume",
    "CheckpointError",
    "DeadLetter",
    "NumberedBatch",
    "Positioned",
    "Schema",
    "SchemaError",
    "SchemaMismatch",
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

__getattr__ = loader(
    __name__,
    {
        "CannotResume": "plan",
        "CheckpointError": "checkpoint",
        "SchemaMismatch": "ingest.conversion",
        "DeadLetter": "ingest.conversion",
        "NumberedBatch": "egress.rows",
        "Positioned": "egress.rows",
        "Schema": "ingest.schema",
        "SchemaError": "ingest.schema",
        "SparkFailed": "failures",
        "SparkFlow": "spark_flow",
        "SparkLost": "failures",
        "SparkProcessor": "processor",
        "SparkSettings": "session.spark_session",
        "SparkUnavailable": "session.spark_session",
        "StateChanged": "state",
        "UserError": "failures",
        "WorkerLost": "failures",
        "for_each_batch": "egress.dataframe_sinks",
        "spark_session": "session.spark_session",
        "write_with_spark": "egress.batch_folders",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
