"""The Spark session of a pipeline: embedded, on a cluster, by Spark Connect, or handed in."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from penstock.java import JavaUnavailable, find_runtime, java_home
from penstock.runtime import shorten, shown_address
from penstock.spark.failures import SparkUnavailable, explained
from penstock.spark.private_api import (
    active_context,
    delete_at_end_of_jvm,
    first_java_class,
    forget_dead_jvm,
    is_alive,
    is_remote,
    log_lost_jvm_once,
    require_token_of_calls,
)
from penstock.spark.session.reachable import (
    limit_retries,
    require_connect_server,
    require_reachable,
)
from penstock.spark.session.stop_signals import unheard_by_jvm
from penstock.spark.session.temporary_files import (
    JAVA_OPTIONS,
    folder_of_jvm,
    java_option,
    sockets_in,
)
from penstock.spark.session.worker_python import worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "SparkSettings",
    "SparkUnavailable",
    "require_running",
    "require_startable",
    "spark_session",
]

EMBEDDED: Final = "local[*]"
HOST: Final = r"[^\s:/,]+(:\d+)?|\[[^\s/]+\](:\d+)?"
MASTERS: Final = re.compile(
    rf"local(\[.+\])?|local-cluster\[.+\]|spark://({HOST})(,({HOST}))*|yarn|k8s://.+"
)
LOCAL: Final = re.compile(r"local(\[.+\])?")
"""The masters whose workers are processes of this machine, started by the JVM of this one."""
REMOTES: Final = re.compile(rf"sc://({HOST})(/.*)?")
LOG_LEVELS: Final = ("OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL")
LOGGING: Final = Path(__file__).with_name("log4j2.properties")

_starting = Lock()


@dataclass(frozen=True, kw_only=True)
class SparkSettings:
    """Where Spark runs, and how it is started.

    Without master, remote and session, the variable ``SPARK_REMOTE`` names the remote, as it does
    for Spark itself; else Spark runs embedded.

    ``master``     a cluster, such as ``spark://host:7077``
    ``remote``     a server of Spark Connect, such as ``sc://host:15002``
    ``session``    a session that the user made; it is neither changed nor stopped
    ``name``       what Spark calls the program
    ``ui``         whether Spark serves its own page, which asks for no token: on this machine each
                   of its users can read it; on a cluster it is refused
    ``log_level``  what the JVM writes to standard error, such as ``WARN``; failures of a query are
                   signalled in any case
    ``options``    further options of Spark, which win over ours
    ``timeout``    the seconds within which a master or a server has to answer
    """

    master: str | None = None
    remote: str | None = field(default=None, repr=False)  # it may hold a token
    session: SparkSession | None = None
    name: str = "penstock"
    ui: bool = False
    log_level: str = "OFF"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)  # as these may
    timeout: float = 10.0

    def __post_init__(self) -> None:
        if self.master is None and self.remote is None and self.session is None:
            object.__setattr__(self, "remote", os.environ.get("SPARK_REMOTE") or None)
        if sum(place is not None for place in (self.master, self.remote, self.session)) > 1:
            raise ValueError("give one of master, remote and session, not several")
        if self.master is not None and not MASTERS.fullmatch(self.master):
            raise ValueError(
                "a master is local, local[n], spark://host:port, yarn or k8s://host:port, "
                f"not {shorten(shown_address(self.master))}"
            )
        if self.remote is not None and not REMOTES.fullmatch(self.remote):
            raise ValueError(
                f"a remote is sc://host:port, not {shorten(shown_address(self.remote))}"
            )
        if self.ui and not is_here(self.master):
            raise ValueError(
                "Spark's page asks for no token, and with the master "
                f"{shown_address(self.master or '')} the whole network could read it; if that is "
                "meant, say so by Spark's own option spark.ui.enabled"
            )
        if self.log_level.upper() not in LOG_LEVELS:  # it stands among the options of the JVM
            raise ValueError(
                f"log_level is one of {', '.join(LOG_LEVELS)}, not {shorten(self.log_level)}"
            )
        if not self.timeout > 0:
            raise ValueError(f"timeout must be above 0 seconds, not {shorten(self.timeout)}")

    @property
    def is_remote(self) -> bool:
        """Whether functions for batches run on a server of Spark Connect, and not here."""
        return self.remote is not None or is_remote(self.session)


def is_here(master: str | None) -> bool:
    """Whether all of Spark runs on this machine."""
    return master is None or master.startswith("local")


def spark_session(settings: SparkSettings | None = None) -> SparkSession:
    """The session of the settings: the one handed in, the one that runs already, or a new one.

    A new one runs until the program ends or stops it.
    """
    settings = settings or SparkSettings()
    _require_pyspark()
    if settings.session is not None:
        return require_running(settings.session)
    with _starting:
        if settings.remote is not None:
            return _connected(settings)
        return _running(settings) or _started(settings)


def require_startable(settings: SparkSettings) -> None:
    """Refuse settings with which Spark cannot start, as far as that is known without starting it.

    So nothing is taken from a source for a Spark that will never run.
    """
    _require_pyspark()
    if settings.session is not None:
        require_running(settings.session)
    elif settings.remote is not None:
        require_connect_server(settings.remote, settings.timeout)
    elif _running(settings) is None:
        _require_master(settings.master or EMBEDDED, settings.timeout)
        try:
            find_runtime("Spark")
        except JavaUnavailable as reason:
            raise SparkUnavailable(str(reason)) from None


def require_running(session: Any) -> Any:
    """``session``, when it is one that has not been stopped."""
    if not callable(getattr(session, "createDataFrame", None)):
        raise TypeError(f"session must be a SparkSession, not {shorten(session)}")
    if not _is_running(session):
        raise SparkUnavailable("the Spark session has been stopped; make a new one")
    return session


def _require_pyspark() -> None:
    try:
        import pyspark.sql  # noqa: F401 - only whether it is there
    except ImportError as error:
        missing = str(error.name).partition(".")[0]
        raise SparkUnavailable(
            f"Spark needs {missing}, which is not installed; install penstock[spark]"
        ) from error


def _is_running(session: Any) -> bool:
    if hasattr(session, "is_stopped"):  # Spark Connect
        return not session.is_stopped
    return is_alive(session.sparkContext)


def _running(settings: SparkSettings) -> SparkSession | None:
    """The session of this process, which can have one master only."""
    from pyspark.sql import SparkSession

    context = active_context()
    if context is None or not is_alive(context):
        forget_dead_jvm()
        return None
    if settings.master not in (None, context.master):
        raise SparkUnavailable(
            f"Spark runs in this process already, with master {context.master}, and cannot have "
            f"{settings.master} as well; stop that session before"
        )
    return SparkSession.Builder().getOrCreate()


def _started(settings: SparkSettings) -> SparkSession:
    master = settings.master or EMBEDDED
    _require_master(master, settings.timeout)
    _quieten_loggers(settings.log_level)
    log_lost_jvm_once()
    try:
        with (
            java_home("Spark") as home,
            _environment("JAVA_HOME", str(home)),
            # With it, the JVM asks which sources of data there are, before the first query.
            _environment("PYSPARK_DRIVER_PYTHON", worker_python()),
            _environment("PYSPARK_PYTHON", _python_of_workers(settings)),
            _addresses(master),
            unheard_by_jvm(),
        ):
            session = _made_here(settings, master)
    except JavaUnavailable as reason:
        raise SparkUnavailable(str(reason)) from None
    require_token_of_calls(session)
    _write_checkpoints_fast(session, settings)
    return session


def _made_here(settings: SparkSettings, master: str) -> SparkSession:
    """A session whose JVM has its temporary files where the next start finds them."""
    options = {"spark.master": master, **_options(settings)}
    with folder_of_jvm(settings.options) as folder:
        if folder is not None:
            options[JAVA_OPTIONS] += f" {java_option(folder)}"
            if LOCAL.fullmatch(master) and _forks_its_own(settings):
                options |= sockets_in(folder)
        session = _made(settings, options, master)
        if folder is not None:
            delete_at_end_of_jvm(session, str(folder))
    return session


def _python_of_workers(settings: SparkSettings) -> str:
    """Spark starts Python processes of its own, which need what this one has.

    On a cluster they may be elsewhere.
    """
    chosen = os.environ.get("PYSPARK_PYTHON")
    if settings.master is not None and chosen is not None:
        return chosen
    return worker_python() if is_here(settings.master) else sys.executable


def _forks_its_own(settings: SparkSettings) -> bool:
    """Whether all Python processes come from our daemon, which knows what hanging up is."""
    return _python_of_workers(settings) == worker_python() != sys.executable


def _addresses(master: str) -> AbstractContextManager[None]:
    """Let all that listens in the JVM do so on this machine, if nobody else has to reach it.

    Spark's page heeds nothing but this variable.
    """
    return _environment("SPARK_LOCAL_IP", LOOPBACK) if is_here(master) else nullcontext()


def _require_master(master: str, timeout: float) -> None:
    """Spark itself would try for minutes."""
    if master.startswith("spark://"):
        require_reachable("the master", master, 7077, timeout)


def _connected(settings: SparkSettings) -> SparkSession:
    assert settings.remote is not None
    require_connect_server(settings.remote, settings.timeout)
    session = _made(settings, {"spark.remote": settings.remote, **SESSION}, settings.remote)
    limit_retries(session, settings.timeout)
    _write_checkpoints_fast(session, settings)
    return session


def _made(settings: SparkSettings, options: Mapping[str, str], place: str) -> SparkSession:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder().appName(settings.name)
    for option, value in {**options, **settings.options}.items():
        builder = builder.config(option, value)
    try:
        return builder.getOrCreate()
    except (Py4JError, PySparkException, OSError) as error:
        words = f"Spark did not start at {place}: {explained(error)}"
        if JAVA_TOO_NEW in words:
            words += f", since {REMEDY}"
        raise SparkUnavailable(words.replace(place, shown_address(place))) from None


def _write_checkpoints_fast(session: SparkSession, settings: SparkSettings) -> None:
    """Only when Spark runs can it be asked where it has the class."""
    if CHECKPOINT_FILES not in settings.options:
        found = first_java_class(session, FAST_CHECKPOINT_FILES)
        if found is not None:
            session.conf.set(CHECKPOINT_FILES, found)


JAVA_TOO_NEW: Final = "getSubject is not supported"
"""What Hadoop says, as older releases of Spark have it, on Java 24 and newer."""
REMEDY: Final = "its Java is too new for this Spark; install Java 17 or 21, and set JAVA_HOME"
SESSION: Final = {
    # As elements: a datetime without a time zone means the same on every machine.
    "spark.sql.session.timeZone": "UTC",
}
CHECKPOINT_FILES: Final = "spark.sql.streaming.checkpointFileManagerClass"
FAST_CHECKPOINT_FILES: Final = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    "org.apache.spark.sql.execution.streaming.FileSystemBasedCheckpointFileManager",
)
"""A quarter of the time of the default for the two files that Spark writes for each batch."""
LOOPBACK: Final = "127.0.0.1"
HERE: Final = {
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    # Spark makes up a secret, which does not leave its processes.
    "spark.authenticate": "true",
}
WORKERS_HERE: Final = {"spark.python.daemon.module": "penstock.spark.workers.worker_daemon"}
UNSEEN: Final = {
    # What Spark's page would show of each query in full is written for every batch.
    "spark.sql.ui.explainMode": "simple"
}


def _options(settings: SparkSettings) -> dict[str, str]:
    options = {
        **SESSION,
        "spark.ui.enabled": str(settings.ui).lower(),
        "spark.ui.killEnabled": "false",
        "spark.ui.showConsoleProgress": "false",
        JAVA_OPTIONS: (
            f"-Dlog4j2.configurationFile={LOGGING.as_uri()} "
            f"-Dpenstock.spark.log={settings.log_level}"
        ),
    }
    if not settings.ui:
        options |= UNSEEN
    if LOCAL.fullmatch(settings.master or EMBEDDED):
        options |= WORKERS_HERE
    if is_here(settings.master):
        options |= HERE
    if settings.master is None:
        # Spark's 200 are for clusters: here each would cost a task for every batch.
        options["spark.sql.shuffle.partitions"] = str(os.cpu_count() or 1)
    return options


def _quieten_loggers(level: str) -> None:
    """Those of pyspark, which print each error of a query before it is raised."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = level.upper() == "OFF"


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Have an environment variable for as long as processes are started."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
