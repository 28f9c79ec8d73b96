"""What the Spark that the tests run with can do, found by what it has; see ``dev.py --spark``."""

from __future__ import annotations

from importlib.util import find_spec
from inspect import signature
from pathlib import Path

__all__ = [
    "closes_its_sockets",
    "has_call_status",
    "has_read_limits",
    "has_sockets_in_folders",
    "has_state_of_rows",
    "runs_on_new_java",
]


def has_read_limits() -> bool:
    """Whether Spark tells a source in Python where a batch begins, and how large it may be."""
    return find_spec("pyspark.sql.streaming.datasource") is not None


def has_call_status() -> bool:
    """Whether an error of Spark Connect knows the status of its call."""
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    return "grpc_status_code" in signature(SparkConnectGrpcException).parameters


def has_sockets_in_folders() -> bool:
    """Whether Spark can talk to its Python workers without ports."""
    from pyspark import accumulators

    return hasattr(accumulators, "AccumulatorUnixServer")


def has_state_of_rows() -> bool:
    """Whether functions that keep state can be given rows, and not only frames of pandas."""
    from pyspark.sql import GroupedData

    return hasattr(GroupedData, "transformWithState")


def runs_on_new_java() -> bool:
    """Whether its Hadoop does without what Java 24 has taken away."""
    import pyspark

    jars = Path(pyspark.__file__).with_name("jars")
    return not [*jars.glob("hadoop-client-api-3.4.*.jar")]


def closes_its_sockets() -> bool:
    """Whether Spark closes what ``toArrow`` reads from, and does not leave it to the garbage."""
    from pyspark import util

    return hasattr(util._load_from_socket, "__wrapped__")  # a context manager
