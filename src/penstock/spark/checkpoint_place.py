"""Whether a Spark can have its part of a checkpoint at a place."""

from __future__ import annotations

from penstock.spark.checkpoint import CheckpointError
from penstock.spark.journal.s3_folder import is_s3
from penstock.spark.session.spark_session import SparkSettings, is_here

__all__ = ["require_place_for_spark"]


def require_place_for_spark(place: str, settings: SparkSettings, *, is_native: bool) -> None:
    """``CheckpointError`` if nobody could keep on S3 what this Spark writes."""
    if not is_s3(place):
        return
    master = settings.master
    if settings.session is not None and not settings.is_remote:
        master = str(settings.session.sparkContext.master)
    if settings.is_remote:
        what = "a server of Spark Connect"
    elif not is_here(master):
        what = "a cluster"
    elif is_native:
        what = "what Spark writes itself, of which this program does not see the batches"
    else:
        return
    raise CheckpointError(
        f"the checkpoint {place} cannot be used with {what}: Spark itself writes to S3 only with "
        "the jars of s3a, and what it writes on this machine would not be there; name a place that "
        "Spark can write to"
    )
