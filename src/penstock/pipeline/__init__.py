"""Pipelines: named sources, a way between, named sinks; run, watched and drained as one.

``definition.py``      a pipeline as data: where elements come from, what happens to them, and where
                       they go
``settings.py``        the settings of a pipeline: its dataclass, filled from a file and from the
                       command line
``secret.py``          settings that are shown to nobody: where they come from, and what is made of
                       them
``assembly.py``        from a pipeline and its settings to flows and sinks that can run, and be told
                       to stop
``engine.py``          what moves elements from sources to sinks, with or without Spark
``spark_engine.py``    the way through Spark: a journal for each source, the query, and its rows for
                       the sinks
``journal_stages.py``  the journals of a way through Spark as stages: their names, what they hold,
                       their edges
``inner_flows.py``     the flows of a pipeline by their segments, as ``explain`` has them
``inside_spark.py``    what a status says of the inside of a way through Spark: phases, event time,
                       and the flows
``sinks.py``           the end of a pipeline: one stream for several sinks, and the batches of Spark
                       for each
``spark_sinks.py``     the sinks of a pipeline that Spark itself serves: which flows they fit, and
                       what they show
``stream_sources.py``  the sources of a pipeline that Spark reads itself: which they are, and what
                       they show
``run.py``             one run of a pipeline, from its start to its end, and what it does meanwhile
``history.py``         the history of a pipeline over its restarts, kept beside its checkpoint
``run_log.py``         the runs of a pipeline: when, for how long, how each ended; kept with its
                       checkpoint
``sink_accounts.py``   what each sink was given, batch by batch, written down as it happens
``spark_ledger.py``    the ledger of a way through Spark: what goes in and what comes out, counted
                       at each place
"""

from penstock.pipeline.assembly import AssemblyError, RunTarget
from penstock.pipeline.definition import NoSettings, Pipeline
from penstock.pipeline.run import PipelineRun
from penstock.pipeline.secret import Secret
from penstock.pipeline.settings import SettingsError

__all__ = [
    "AssemblyError",
    "NoSettings",
    "Pipeline",
    "PipelineRun",
    "RunTarget",
    "Secret",
    "SettingsError",
]
