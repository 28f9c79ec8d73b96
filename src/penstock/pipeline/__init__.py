"""Pipelines: named sources, a way between, named sinks; run, watched and drained as one.

``pipeline.py``   ``Pipeline``, which is data
``settings.py``   its settings, from a file and from the command line
``secret.py``     settings that are shown to nobody
``assembly.py``   flows and sinks, made of both
``gauges.py``     what counts at the sources and at the sinks
``stopping.py``   how sources are told to complete
``sinks.py``      functions as sinks, and one stream for several sinks
``batches.py``    the batches of Spark, for the sinks that store their numbers
``spark_sinks.py``  the sinks that Spark itself serves
``plans.py``      where a flow gives one element for each
``way.py``        what lies between, without Spark; ``spark_way.py``: with it
``spark_count.py``   what goes into Spark and out of it; ``accounts.py``: what each sink was given
``spark_ledger.py``  the ledger that is made of both
``books.py``      what is remembered over restarts
``running.py``    one run of it all
"""

from penstock.pipeline.assembly import AssemblyError
from penstock.pipeline.pipeline import NoSettings, Pipeline
from penstock.pipeline.running import PipelineRun, Place
from penstock.pipeline.secret import Secret
from penstock.pipeline.settings import SettingsError

__all__ = [
    "AssemblyError",
    "NoSettings",
    "Pipeline",
    "PipelineRun",
    "Place",
    "Secret",
    "SettingsError",
]
