"""The connection to the JVM: its calls come from no other, and a JVM that is gone says so once."""

from __future__ import annotations

import logging
import sys
from types import SimpleNamespace
from typing import Any

__all__ = [
    "log_lost_jvm_once",
    "require_token_of_calls",
]


def require_token_of_calls(gateway: Any) -> None:
    """Open the port, and let nobody call without the token that only the JVM knows."""
    from py4j.java_gateway import JavaObject
    from pyspark.java_gateway import ensure_callback_server_started

    if gateway.__dict__.get("_callback_server") is not None:
        return  # somebody has opened it, and the calls of theirs go on as they were
    token = gateway.gateway_parameters.auth_token
    gateway.callback_server_parameters.auth_token = token
    ensure_callback_server_started(gateway)
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    jvm, client = gateway.jvm, server.getCallbackClient()
    with_token = jvm.py4j.PythonClient(
        server.getGateway(),
        None,
        client.getPort(),
        client.getAddress(),
        0,
        jvm.java.util.concurrent.TimeUnit.SECONDS,
        jvm.javax.net.SocketFactory.getDefault(),
        client.getJavaServer(),
        True,
        0,
        token,
    )
    field = jvm.java.lang.Class.forName("py4j.Gateway").getDeclaredField("cbClient")
    field.setAccessible(True)
    field.set(server.getGateway(), with_token)
    client.shutdown()


def log_lost_jvm_once() -> None:
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
