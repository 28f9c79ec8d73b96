"""The port of this process by which the JVM calls it: for its own JVM alone.

By default pyspark takes calls from everybody who finds the port, so that another user of the
machine could end a query or have a batch delivered twice. The server of py4j can ask for a token;
its client in the JVM has one, and loses it when pyspark tells it the port. So it gets it again.
"""

from __future__ import annotations

from typing import Any

__all__ = ["require_token_of_calls"]


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
