"""Settings of the whole suite, and fixtures for tests of parties that keep all rules.

The settings are its patience, the long tests, what some need, Hypothesis.
"""

from __future__ import annotations

import ast
import gc
import itertools
import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial, wraps
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from unittest.mock import patch

import pytest
from hypothesis import settings

from penstock.java import JavaUnavailable, installed_java
from penstock.tck.jvm.runner import prepare as prepare_judge
from penstock.testing.expectation import TIMEOUT
from tests.order import in_shares
from tests.quick import look_only_into_the_folder, search_briefly
from tests.quick_spark import archive_classes, fork_what_spark_asks, start_quickly
from tests.rules.fixtures import engine, undelivered, without_gc
from tests.servers.nats import nats_server
from tests.servers.postgres import postgres_database, postgres_server
from tests.servers.redis import redis_server
from tests.servers.s3 import prepare_s3, s3_server

if TYPE_CHECKING:
    from tests.servers.kafka import Kafka

__all__ = [
    "engine",
    "nats_server",
    "postgres_database",
    "postgres_server",
    "redis_server",
    "s3_server",
    "search_briefly",
    "undelivered",
    "without_gc",
]


def one_at_a_time(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for threads, each of which waits for the others."""
    lock = threading.RLock()

    @wraps(function)
    def alone(*arguments: Any, **options: Any) -> Any:
        with lock:
            return function(*arguments, **options)

    return alone


if sys.version_info < (3, 11, 8):
    # Until then, two threads that make a tree at once get a SystemError. pytest makes one of each
    # module of ours that is imported for the first time, on whatever thread that is.
    vars(ast)["parse"] = one_at_a_time(ast.parse)

settings.register_profile("quick", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("full", deadline=None, max_examples=500)

# Their modules import JPype, which has no wheels for the newest Python.
NEED_JPYPE: Final = ("bridges/jvm", "tck/jvm")
HAS_JPYPE: Final = find_spec("jpype") is not None
collect_ignore = [] if HAS_JPYPE else list(NEED_JPYPE)

# So it is with the client of Kafka, and the library of Iceberg.
NEED_KAFKA: Final = ("*/test_kafka*",)
HAS_KAFKA: Final = find_spec("confluent_kafka") is not None
NEED_ICEBERG: Final = ("*/test_iceberg*", "*/test_lake*")
HAS_ICEBERG: Final = find_spec("pyiceberg") is not None
collect_ignore_glob = [
    *(() if HAS_KAFKA else NEED_KAFKA),
    *(() if HAS_ICEBERG else NEED_ICEBERG),
]

# Spark logs the errors of queries with them, and lets them propagate no more when it has.
QUERY_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")

ENDED_TESTS: Final = itertools.count(1)
LEFT_OUT = pytest.StashKey[int]()
MISSING = pytest.StashKey[list[str]]()


def prepare_peers() -> None:
    """Imported where it is needed: it is a part of the tests that need it."""
    from tests.bridges.jvm.peers import prepare_peers

    prepare_peers()


def prepare_browser() -> None:
    """Imported where it is needed, as well."""
    from tests.browser.chromium import prepare_browser

    prepare_browser()


def prepare_openssl() -> None:
    """Imported where it is needed, too."""
    from tests.connectors.authority import prepare_openssl

    prepare_openssl()


def prepare_kafka() -> None:
    """Imported where it is needed, since the client need not be there."""
    from tests.servers.kafka import prepare_kafka

    prepare_kafka()


def prepare_postgres() -> None:
    """Find the programs of the server, and what connects to it."""
    from tests.servers.postgres import prepare_postgres

    import_module("psycopg")
    prepare_postgres()


def prepare_redis() -> None:
    """Find the programs of the server, and what connects to it."""
    from tests.servers.redis import prepare_redis

    import_module("redis")
    prepare_redis()


def prepare_nats() -> None:
    """Find the program of the server, and what connects to it."""
    from tests.servers.nats import prepare_nats

    import_module("nats")
    prepare_nats()


def prepare_registry() -> None:
    """Imported where it is needed: the program is large."""
    from tests.servers.registry import prepare_registry

    prepare_registry()


def prepare_program(name: str) -> None:
    """Find a program that reads what deploys a pipeline."""
    from tests.deploy.programs import program

    program(name)


def prepare_systemd_machine() -> None:
    """See to it that a systemd can run in namespaces of its own."""
    from tests.deploy.systemd_machine import prepare_systemd_machine

    prepare_systemd_machine()


def prepare_spark_connect() -> None:
    """See to it that a client of Spark Connect can be loaded."""
    from penstock.spark.session.reachable import missing_for_connect

    if missing := missing_for_connect():
        raise LookupError(f"{', '.join(missing)} not installed")


class Need(NamedTuple):
    """What some tests need from the machine."""

    marker: str
    prepare: Callable[[], object]
    complaint: str


NEEDS: Final = (
    Need("outside_judge", lambda: prepare_judge(fresh=True), "THE OUTSIDE JUDGE DID NOT SIT"),
    Need("java_peers", prepare_peers, "THE BRIDGE TO THE JVM WAS NOT CROSSED"),
    Need("openssl", prepare_openssl, "NO CONNECTION WAS ENCRYPTED"),
    Need("kafka", prepare_kafka, "NO BROKER OF KAFKA WAS ASKED"),
    Need("registry", prepare_registry, "NO REGISTRY OF SCHEMAS WAS ASKED"),
    Need("browser", prepare_browser, "NO BROWSER HAS SEEN THE DASHBOARD"),
    Need("postgres", prepare_postgres, "NO TABLE OF POSTGRESQL WAS READ OR WRITTEN"),
    Need("redis", prepare_redis, "NO STREAM OF REDIS WAS READ OR WRITTEN"),
    Need("nats", prepare_nats, "NO STREAM OF NATS WAS READ OR WRITTEN"),
    Need("s3", prepare_s3, "NOTHING WAS KEPT ON S3"),
    Need("hadolint", partial(prepare_program, "hadolint"), "NO DOCKERFILE WAS READ"),
    Need("promtool", partial(prepare_program, "promtool"), "NO ALERT WAS TRIED"),
    Need("systemd", partial(prepare_program, "systemd-analyze"), "NO UNIT WAS READ"),
    Need("systemd_machine", prepare_systemd_machine, "NO SYSTEMD HAS RUN A PIPELINE"),
    Need("spark_connect", prepare_spark_connect, "SPARK CONNECT WAS NOT TRIED"),
)


class Worker(Protocol):
    """A worker process of xdist, seen from the main one."""

    config: pytest.Config
    workeroutput: dict[str, Any]


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """The broker of all tests of this process; one that stops or kills it has its own."""
    from tests.servers.kafka import broker

    encrypted = shutil.which("openssl") is not None  # the tests that need it have their marker
    with broker(tmp_path_factory.mktemp("kafka"), encrypted=encrypted) as server:
        yield server


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long tests, too")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0
    config.stash[MISSING] = []
    if not HAS_JPYPE:
        left_out = " and ".join(f"tests/{folder}" for folder in NEED_JPYPE)
        config.stash[MISSING].append(f"{left_out} LEFT OUT: JPype is not there for this Python")
    if not HAS_KAFKA:
        config.stash[MISSING].append("tests of Kafka LEFT OUT: its client is not there")
    if not HAS_ICEBERG:
        config.stash[MISSING].append("tests of Iceberg LEFT OUT: its library is not there")
    # Hypothesis warns when it finds nobody who refers to its own random numbers. It does not find
    # what is frozen below.
    config.addinivalue_line("filterwarnings", "ignore:It looks like .register_random. was passed")
    # Spark says so where no older pandas has wheels; the tests show what works.
    config.addinivalue_line("filterwarnings", "ignore:PySpark does not yet fully support pandas")
    os.environ.setdefault(TIMEOUT, "60")  # only a test that fails ever waits so long
    # Nobody here multiplies matrices, and its threads would spin for work in each process.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if config.getoption("numprocesses", None):  # of many tests, as this is the main process
        archive_classes()
    start_quickly()
    settings.load_profile("full" if config.getoption("full") else "quick")
    if not config.getoption("full"):
        look_only_into_the_folder()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if find_spec("pyspark") is not None:
        allow_for_older_sparks(config, items)
    if not config.getoption("full"):
        config.stash[LEFT_OUT] = leave_out("full", config, items)
    if "SPARK_REMOTE" in os.environ:
        leave_out("classic", config, items)
    # In continuous integration the tests run, and fail by the sentence that says what is missing.
    if os.environ.get("CI") != "true":
        with patch.object(installed_java, "ask", cache(installed_java.ask)):  # by several of them
            leave_out_what_lacks_its_needs(config, items)
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = in_shares(items, [item.nodeid for item in items], processes)


def leave_out_what_lacks_its_needs(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests out whose needs the machine does not meet, and say so at the end."""
    for need in NEEDS:
        is_needed = any(item.get_closest_marker(need.marker) for item in items)
        if is_needed and (reason := why_not(need)):
            config.stash[MISSING].append(f"{need.complaint}: {reason}")
            leave_out(need.marker, config, items)


def allow_for_older_sparks(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what they cannot do, and let no test fail by a socket that they have not closed."""
    from tests.spark.capabilities import closes_its_sockets, has_read_limits

    if not has_read_limits():
        leave_out("read_limits", config, items)
    if not closes_its_sockets():
        for item in items:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


def pytest_collection() -> None:
    """Nearly all that is made until all tests are there stays: nobody need look through it."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported and collected stays."""
    if not session.config.getoption("full"):
        fork_what_spark_asks()
    gc.enable()
    look_for_garbage_only_in_what_is_new()


def pytest_runtest_logfinish() -> None:
    """So does what was reported, and more of it with each test."""
    if next(ENDED_TESTS) % 50 == 0:
        look_for_garbage_only_in_what_is_new()


def look_for_garbage_only_in_what_is_new() -> None:
    """Many tests look for it, and would take longer the more there is to look through."""
    gc.collect()
    gc.freeze()


def pytest_runtest_makereport() -> None:
    """After each phase of a test: let Spark's loggers propagate again.

    To those that do not, pytest adds the handler of `caplog`, and Spark's loggers have each of
    their handlers write JSON: all later tests of the process would read that in `caplog.text`.
    """
    known = logging.Logger.manager.loggerDict
    for logger in (known.get(name) for name in QUERY_LOGGERS):
        if isinstance(logger, logging.Logger):
            logger.propagate = True


def leave_out(marker: str, config: pytest.Config, items: list[pytest.Item]) -> int:
    """Leave the tests with that marker out; how many there are."""
    marked = [item for item in items if item.get_closest_marker(marker)]
    items[:] = [item for item in items if not item.get_closest_marker(marker)]
    config.hook.pytest_deselected(items=marked)
    return len(marked)


def why_not(need: Need) -> str:
    """Why there is not what is needed, if there is not."""
    try:
        need.prepare()
    except (JavaUnavailable, LookupError, ImportError) as reason:
        return str(reason)
    return ""


class FailuresAtOnce:
    """Says which test has failed when it has; why is said at the end."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._reporter.write(f"\nFAILED {report.nodeid}\n", red=True)


def pytest_sessionstart(session: pytest.Session) -> None:
    plugins = session.config.pluginmanager
    reporter = plugins.get_plugin("terminalreporter")
    if reporter is not None and session.config.option.verbose <= 0:  # else it says so anyway
        plugins.register(FailuresAtOnce(reporter))


def pytest_sessionfinish(session: pytest.Session) -> None:
    gc.unfreeze()  # modules written in C say at the exit what is left of them
    # Only the worker processes of xdist collect; each reports the same count to the main one.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]
        session.config.workeroutput["missing"] = session.config.stash[MISSING]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Worker) -> None:
    # A worker that crashed has no output.
    output = getattr(node, "workeroutput", {})
    node.config.stash[LEFT_OUT] = output.get("left_out") or node.config.stash[LEFT_OUT]
    node.config.stash[MISSING] = output.get("missing") or node.config.stash[MISSING]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if left_out := config.stash[LEFT_OUT]:
        terminalreporter.write_line(f"long tests left out: {left_out} (--full runs them, too)")
    for line in config.stash[MISSING]:
        terminalreporter.write_line(line, red=True, bold=True)
