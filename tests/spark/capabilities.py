"""What the Spark that the tests run with can do, found by what it has; see ``dev.py --spark``."""

from __future__ import annotations

from importlib.util import find_spec
from inspect import signature

__all__ = ["closes_its_sockets", "has_call_status", "has_read_limits"]


def has_read_limits() -> bool:
    """Whether Spark tells a source in Python where a batch begins, and how large it may be."""
    return find_spec("pyspark.sql.streaming.datasource") is not None


def has_call_status() -> bool:
    """Whether an error of Spark Connect knows the status of its call."""
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    return "grpc_status_code" in signature(SparkConnectGrpcException).parameters


def closes_its_sockets() -> bool:
    """Whether Spark closes what ``toArrow`` reads from, and does not leave it to the garbage."""
    from pyspark import util

    return hasattr(util._load_from_socket, "__wrapped__")  # a context manager
