"""What is private to Spark and py4j and needed all the same; no other module touches any of it.

Spark may change it in any release. So each function asks what is there, and never for the number
of a version. Nothing of Spark is imported before a function needs it.
"""

from __future__ import annotations

import atexit
import logging
import re
import socket
import socketserver
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import signature
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, Final

if TYPE_CHECKING:
    from subprocess import Popen

    import pyarrow as pa
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery
    from pyspark.sql.types import DataType, StructType

__all__ = [
    "active_context",
    "analyzed_plan",
    "answers_of_server",
    "arrow_schema_of",
    "arrow_type_of",
    "call_connection",
    "call_status_of",
    "cancel_jobs",
    "cause_of",
    "connect_channel",
    "dataframe_of",
    "delete_at_end_of_jvm",
    "first_java_class",
    "forget_dead_jvm",
    "has_executors",
    "is_alive",
    "is_remote",
    "jvm_started_by",
    "last_execution",
    "limit_retries_of",
    "log_lost_jvm_once",
    "own_jvm",
    "pickled",
    "plan_text",
    "require_token_of_calls",
    "scala_sequence",
    "serve_arrow_batches",
    "spark_schema_of",
    "worker_daemon",
    "worker_main",
    "wrap_worker_main",
]

CALL_STATUS: Final = re.compile(r"StatusCode\.(?P<name>\w+)")


# The JVM, and what runs in it.


def active_context() -> SparkContext | None:
    """The context of this process, which may have been stopped by its JVM."""
    from pyspark import SparkContext

    context: SparkContext | None = SparkContext._active_spark_context
    return context


def is_alive(context: SparkContext) -> bool:
    """Whether the context has neither been stopped nor lost its JVM."""
    from py4j.protocol import Py4JError

    try:
        return context._jsc is not None and not context._jsc.sc().isStopped()
    except (Py4JError, OSError):  # the JVM is gone
        return False


def has_executors(context: SparkContext) -> bool:
    """Whether there is one that is given tasks; Spark knows others, which it has given up."""
    backend: Any = context._jsc.sc().schedulerBackend()
    known = backend.getExecutorIds()
    return any(backend.isExecutorActive(known.apply(each)) for each in range(known.size()))


def forget_dead_jvm() -> None:
    """Let a new JVM be started if the last one was killed, which is not foreseen by pyspark."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    process = own_jvm()
    if process is not None and process.poll() is not None:
        SparkContext._active_spark_context = None
        SparkContext._gateway = SparkContext._jvm = None
        SparkSession._instantiatedSession = None


def own_jvm() -> Popen[bytes] | None:
    """The process of the JVM that pyspark has started; no other one ends with this program."""
    from pyspark import SparkContext

    return getattr(SparkContext._gateway, "proc", None)


@contextmanager
def jvm_started_by(start: Callable[..., Any]) -> Iterator[None]:
    """Let pyspark start a JVM by ``start``, which is called as ``Popen`` would be."""
    from pyspark import java_gateway

    names = vars(java_gateway)
    before, names["Popen"] = names["Popen"], start
    try:
        yield
    finally:
        names["Popen"] = before


def delete_at_end_of_jvm(session: SparkSession, folder: str) -> None:
    """Let Spark delete a folder when its JVM ends, with all that is in it."""
    jvm: Any = session._jvm
    shutdown = jvm.org.apache.spark.util.ShutdownHookManager
    shutdown.registerShutdownDeleteDir(jvm.java.io.File(folder))


def first_java_class(session: SparkSession, names: Sequence[str]) -> str | None:
    """The first of these classes that the JVM has; over Spark Connect, that of the server."""
    has_class = _server_has_class if is_remote(session) else _jvm_has_class
    return next((name for name in names if has_class(session, name)), None)


def _jvm_has_class(session: SparkSession, name: str) -> bool:
    from py4j.protocol import Py4JJavaError

    jvm: Any = session._jvm
    try:
        jvm.java.lang.Class.forName(name)
    except Py4JJavaError:
        return False
    return True


def _server_has_class(session: SparkSession, name: str) -> bool:
    """By a query over values alone, which runs where it is planned: no executor is needed."""
    asked = f"SELECT try_reflect('java.lang.Class', 'forName', name) FROM VALUES ('{name}') t(name)"
    return session.sql(asked).collect()[0][0] is not None


# Calls from the JVM.


def require_token_of_calls(session: SparkSession) -> None:
    """Open the port of calls, and let nobody call without the token that only the JVM knows."""
    from py4j.java_gateway import JavaObject
    from pyspark.java_gateway import ensure_callback_server_started

    gateway: Any = session.sparkContext._gateway
    if gateway.__dict__.get("_callback_server") is not None:
        return  # somebody has opened it, and the calls of theirs go on as they were
    token = gateway.gateway_parameters.auth_token
    gateway.callback_server_parameters.auth_token = token
    ensure_callback_server_started(gateway)
    # Else it holds all that was loaded for runs, which libraries in C++ list when Python ends.
    atexit.register(gateway.gateway_property.pool.dict.clear)
    server = JavaObject("GATEWAY_SERVER", gateway._gateway_client)
    jvm, client = gateway.jvm, server.getCallbackClient()
    place = client.getPort(), client.getAddress()
    unit = jvm.java.util.concurrent.TimeUnit.SECONDS
    sockets = jvm.javax.net.SocketFactory.getDefault()
    with_token = jvm.py4j.PythonClient(
        server.getGateway(), None, *place, 0, unit, sockets, client.getJavaServer(), True, 0, token
    )
    field = jvm.java.lang.Class.forName("py4j.Gateway").getDeclaredField("cbClient")
    field.setAccessible(True)
    field.set(server.getGateway(), with_token)
    client.shutdown()


def call_connection(frame: DataFrame) -> Any:
    """The connection by which the JVM calls this thread, with the ``socket`` that it has."""
    gateway: Any = frame.sparkSession.sparkContext._gateway
    return gateway._gateway_client.get_thread_connection()


def log_lost_jvm_once() -> None:
    """Let py4j and pyspark log on the level for debugging that the JVM is gone."""
    from py4j import java_gateway
    from pyspark import accumulators

    def debug(message: str, **_: object) -> None:
        java_gateway.logger.debug(message, exc_info=True)

    vars(java_gateway)["logging"] = SimpleNamespace(info=debug, exception=debug)
    for each in vars(accumulators).values():  # older releases have one, by another name
        if isinstance(each, type) and issubclass(each, socketserver.BaseServer):
            setattr(each, "handle_error", _handle_error)  # noqa: B010 - of no type that is known


def _handle_error(server: Any, request: object, address: object) -> None:
    """The JVM has hung up, within a message or between two; any other error is reported."""
    if isinstance(sys.exception(), EOFError | ConnectionError):
        logging.getLogger("pyspark.accumulators").debug("the JVM has hung up", exc_info=True)
    else:
        super(type(server), server).handle_error(request, address)


def cause_of(error: Exception) -> Exception | None:
    """What the JVM gives as the cause of an error."""
    cause: Exception | None = getattr(error, "_cause", None)
    return cause


# A server of Spark Connect.


def call_status_of(error: Exception) -> str:
    """What became of a call of Spark Connect, such as ``UNAVAILABLE``, if it is its error."""
    status = getattr(error, "getGrpcStatusCode", None)
    if callable(status):
        return str(status().name)
    is_of_connect = type(error).__module__ == "pyspark.errors.exceptions.connect"
    found = CALL_STATUS.search(str(error)) if is_of_connect else None  # older ones only write it
    return "" if found is None else found["name"]


def is_remote(thing: object) -> bool:
    """Whether a session or a DataFrame is one of Spark Connect."""
    return type(thing).__module__.startswith("pyspark.sql.connect.")


def connect_channel(address: str) -> Any:
    """A channel of gRPC, made as a session would make it."""
    from pyspark.sql.connect.client import DefaultChannelBuilder

    return DefaultChannelBuilder(address).toChannel()


def limit_retries_of(session: SparkSession, retries: int, pause: float) -> None:
    """Let a session ask a server that is gone so often, with that many seconds in between."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    client: Any = session.client
    policy = DefaultPolicy(
        max_retries=retries, backoff_multiplier=1.0, initial_backoff=round(pause * 1_000), jitter=0
    )
    client.set_retry_policies([policy])


def answers_of_server(dataframe: Any) -> Iterator[Any]:
    """What the server sends as it computes a DataFrame: tables of Arrow, among others."""
    client, plan = dataframe.sparkSession.client, dataframe._plan
    answers: Iterator[Any] = client.to_table_as_iterator(plan.to_proto(client), plan.observations)
    return answers


# Types.


def arrow_type_of(kind: DataType) -> pa.DataType:
    """The type that Spark has in Arrow; moments are in UTC."""
    from pyspark.sql.pandas.types import to_arrow_type

    return to_arrow_type(kind, **_in_utc(to_arrow_type))


def arrow_schema_of(schema: StructType, *, large: bool, unique: bool = False) -> pa.Schema:
    """The columns as Spark has them in Arrow; the names in a struct may have to be ``unique``."""
    from pyspark.sql.pandas.types import to_arrow_schema

    options = {"error_on_duplicated_field_names_in_struct": unique, **_in_utc(to_arrow_schema)}
    return to_arrow_schema(schema, prefers_large_types=large, **options)


def _in_utc(function: Callable[..., Any]) -> dict[str, Any]:
    """How a function is told that moments are in UTC; it was a switch before it was a zone."""
    return {"timezone": "UTC"} if "timezone" in signature(function).parameters else {}


def spark_schema_of(schema: pa.Schema) -> StructType:
    """The columns as Spark has them; a timestamp without a zone stays one."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def pickled(thing: object) -> bytes:
    """``thing`` as Spark sends it to its workers, functions included."""
    from pyspark import cloudpickle

    sent: bytes = cloudpickle.dumps(thing)
    return sent


# DataFrames, plans and queries of a classic session.


def serve_arrow_batches(
    dataframe: Any, *, at_once: bool = False, prefetch_partitions: bool = False
) -> tuple[BinaryIO, socket.socket, Any]:
    """A stream from the JVM, its connection and server: partitions when asked, or all at once."""
    from pyspark.util import local_connect_and_auth

    jvm, batches = dataframe.sparkSession.sparkContext._jvm, dataframe._jdf.toArrowBatchRdd()
    place, secret, server = (
        jvm.PythonRDD.collectAndServe(batches)
        if at_once
        else jvm.PythonRDD.toLocalIteratorAndServe(batches, prefetch_partitions)
    )
    stream, connection = local_connect_and_auth(place, secret)
    connection.settimeout(None)  # it takes as long as it takes
    return stream, connection, server


def cancel_jobs(context: SparkContext, group: str) -> None:
    """Cancel the jobs of a group, also those to come; nothing if the session has ended."""
    from py4j.protocol import Py4JError

    if context._jsc is None:
        return  # the session has been stopped
    with suppress(Py4JError, OSError):  # the JVM is gone, and its jobs with it
        context._jsc.sc().cancelJobGroupAndFutureJobs(group)


def analyzed_plan(frame: DataFrame) -> Any:
    """The plan of a DataFrame in the JVM; ``None`` over Spark Connect."""
    java: Any = getattr(frame, "_jdf", None)
    return None if java is None else java.queryExecution().analyzed()


def plan_text(plan: Any, max_fields: int) -> str:
    """A plan in the JVM as a text, one operator on each line, with so many of its columns."""
    from py4j.protocol import Py4JError, Py4JJavaError

    arguments = (True, False, max_fields, False)
    try:
        text: str = plan.treeString(*arguments, False)
    except Py4JJavaError:
        raise
    except Py4JError:  # there is no such method: the last argument came later
        text = plan.treeString(*arguments)
    return text


def last_execution(query: StreamingQuery) -> Any:
    """The batch that a query executes, in the JVM; ``None`` over Spark Connect."""
    java: Any = getattr(query, "_jsq", None)
    return None if java is None else java.streamingQuery().lastExecution()


def dataframe_of(session: SparkSession, java_session: Any, plan: Any) -> DataFrame:
    """A plan in the JVM as a DataFrame of ``java_session``, which may be the query's own."""
    from pyspark.sql import DataFrame

    jvm: Any = session._jvm
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(java_session, plan), session)


def scala_sequence(session: SparkSession, items: Sequence[Any]) -> Any:
    """Objects of the JVM as an immutable sequence of Scala, such as the children of a plan."""
    jvm: Any = session._jvm
    java_list = jvm.java.util.ArrayList()
    for each in items:
        java_list.add(each)
    return jvm.scala.jdk.javaapi.CollectionConverters.asScala(java_list).toIndexedSeq()


# Spark's Python workers.


def worker_daemon() -> ModuleType:
    """The module that forks workers: ``manager()`` calls its ``worker`` in each of them."""
    from pyspark import daemon

    module: ModuleType = daemon
    return module


def worker_main() -> Callable[[Any, Any], None]:
    """What runs the tasks of a worker. It may start threads: to be called after the fork."""
    from pyspark import worker

    main: Callable[[Any, Any], None] = worker.main
    return main


def wrap_worker_main(main: Callable[[Any, Any], None]) -> None:
    """Let ``main`` run the tasks of this worker."""
    from pyspark import daemon, worker

    vars(worker)["main"] = main
    if "worker_main" in vars(daemon):  # which had imported it before the fork
        vars(daemon)["worker_main"] = main
