"""Whether a pipeline can be sent to Spark's workers, found out before data moves."""

from __future__ import annotations

from penstock.spark.pipeline import Pipeline
from penstock.spark.stages import FrameStage

__all__ = ["require_sendable"]


def require_sendable(pipeline: Pipeline) -> None:
    """Refuse a function that refers to something that cannot leave this process."""
    from pyspark import cloudpickle

    for stage in pipeline.stages:
        sent = stage.sent if isinstance(stage, FrameStage) else stage.function
        try:
            cloudpickle.dumps(sent)
        except Exception as error:
            raise TypeError(
                f"{stage.name} got a function that cannot be sent to Spark's workers: {error}; "
                "make what it needs within the function, or in the worker"
            ) from error
