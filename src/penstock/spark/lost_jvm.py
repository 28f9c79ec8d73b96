"""A JVM that is gone: the run's error says so, once, and not each of those who talked to it.

py4j logs a traceback for each call that was not answered, to the root logger, and pyspark's server
of accumulators prints one for a connection that ends. They are kept for whoever debugs these.
"""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace
from typing import Any

__all__ = ["told_once"]


def told_once() -> None:
    """Let py4j and pyspark log on the level for debugging that the JVM is gone."""
    from py4j import java_gateway
    from pyspark import accumulators

    def debug(message: str, **_: object) -> None:
        java_gateway.logger.debug(message, exc_info=True)

    vars(java_gateway)["logging"] = SimpleNamespace(info=debug, exception=debug)
    for server in (accumulators.AccumulatorTCPServer, accumulators.AccumulatorUnixServer):
        server.handle_error = handle_error


def handle_error(server: Any, request: object, address: object) -> None:
    """The JVM has hung up, within a message or between two; any other error is reported."""
    if isinstance(sys.exception(), EOFError | ConnectionError):
        logging.getLogger("pyspark.accumulators").debug("the JVM has hung up", exc_info=True)
    else:
        super(type(server), server).handle_error(request, address)
