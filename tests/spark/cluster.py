"""Spark as others run it: a master with its workers, or a server of Spark Connect, on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from penstock.java import java_home
from tests.faults.processes import MARK, marked
from tests.style.project import ROOT

__all__ = [
    "MASTER",
    "REMOTE",
    "SERVER",
    "WORKERS",
    "Host",
    "Place",
    "connect_server",
    "standalone_cluster",
]

MASTER: Final = "PENSTOCK_TEST_MASTER"
REMOTE: Final = "PENSTOCK_TEST_REMOTE"
SERVER: Final = "PENSTOCK_TEST_SERVER"
LOOPBACK: Final = "127.0.0.1"
STARTING: Final = 90.0
ENDING: Final = 30.0


@dataclass(frozen=True)
class Host:
    """An address, and the command that runs another one where that address is."""

    address: str
    enter: tuple[str, ...] = ()


HERE: Final = Host(LOOPBACK)
WORKERS: Final = (Host("127.0.0.2"), Host("127.0.0.3"))
"""All on this machine; but Spark runs no second attempt of a task on a host of the same name."""


@dataclass(frozen=True)
class Place:
    """Where Spark runs; ``environment`` tells it to tests in a process of their own."""

    environment: dict[str, str]
    mark: str
    driver: Host = HERE

    def run_tests(self, *tests: str) -> str:
        """Run tests in another process, for one process has one Spark; what pytest says."""
        others = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
        options = ("-q", "-p", "no:cacheprovider")
        command = [*self.driver.enter, sys.executable, "-m", "pytest", *options, *tests]
        ran = subprocess.run(
            command,
            check=False,
            cwd=ROOT,
            env={**others, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        assert ran.returncode == 0, ran.stdout[-10_000:]
        return ran.stdout

    def left(self) -> list[int]:
        """The processes that Spark has here."""
        return marked(self.mark)


@contextmanager
def standalone_cluster(
    folder: Path, master: Host = HERE, workers: Sequence[Host] = WORKERS, driver: Host = HERE
) -> Iterator[Place]:
    """A master, and workers that have one core each."""
    with daemons() as start:
        address = start(
            "deploy.master.Master",
            *("--host", master.address, "--port", "0", "--webui-port", "0"),
            host=master,
        ).said(r"Starting Spark master at (spark://\S+)")
        started = [
            start(
                "deploy.worker.Worker",
                *("--host", each.address, "--webui-port", "0", "--cores", "1", "--memory", "1g"),
                *("--work-dir", str(folder / each.address), address),
                host=each,
            )
            for each in workers
        ]
        for worker in started:
            worker.said(r"Successfully (registered) with master")
        known = {**start.environment, "SPARK_LOCAL_IP": driver.address, MASTER: address}
        yield Place(known, start.mark, driver)


@contextmanager
def connect_server(host: Host = HERE, driver: Host = HERE) -> Iterator[Place]:
    """A server of Spark Connect, with an embedded Spark; programs that use it are at ``driver``."""
    # Functions that get batches run at the server, and reach it as localhost.
    bound = LOOPBACK if host is HERE else "0.0.0.0"
    with daemons() as start:
        server = start(
            "deploy.SparkSubmit",
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--master", "local[2]"),
            *("--conf", f"spark.connect.grpc.binding.address={bound}"),
            *("--conf", "spark.connect.grpc.binding.port=0"),
            *("--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.sql.shuffle.partitions=2"),
            "spark-internal",
            host=host,
        )
        port = server.said(r"Spark Connect server started at: \S*:(\d+)")
        known = {REMOTE: f"sc://{host.address}:{port}", SERVER: str(server.process.pid)}
        yield Place({**start.environment, **known}, start.mark, driver)


@contextmanager
def daemons() -> Iterator[Launcher]:
    """What starts daemons of Spark, and stops them in the end with all that they have started."""
    mark = uuid.uuid4().hex
    with java_home("Spark") as home:
        launcher = Launcher(mark, home)
        try:
            yield launcher
        finally:
            for daemon in launcher.started:
                daemon.stop()
            kill(mark)


def kill(mark: str) -> None:
    """End what is left behind, and wait until the system is done with it."""
    pause = threading.Event()
    while left := marked(mark):  # again: one of them may have started another one
        for process in left:
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, signal.SIGKILL)
        pause.wait(0.05)


class Launcher:
    """Starts daemons of Spark. All that they start in turn carries ``mark``."""

    def __init__(self, mark: str, home: Path) -> None:
        self.mark = mark
        self.started: list[Daemon] = []
        self.environment = {
            "JAVA_HOME": str(home),
            "PYSPARK_PYTHON": sys.executable,
            # Functions of the tests are known to Spark by their names.
            "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "src", ROOT))),
            "SPARK_LOCAL_IP": LOOPBACK,
        }

    def __call__(self, name: str, *arguments: str, host: Host = HERE) -> Daemon:
        """Start the daemon of that class."""
        own = {"SPARK_LOCAL_IP": host.address, MARK: self.mark}
        environment = {**os.environ, **self.environment, **own}
        daemon = Daemon(host, [f"org.apache.spark.{name}", *arguments], environment)
        self.started.append(daemon)
        return daemon


class Daemon:
    """A process of Spark, and what it says."""

    def __init__(self, host: Host, arguments: list[str], environment: dict[str, str]) -> None:
        pyspark = find_spec("pyspark")
        assert pyspark is not None
        assert pyspark.origin is not None
        program = str(Path(pyspark.origin).parent / "bin" / "spark-class")
        self.process = subprocess.Popen(
            [*host.enter, program, *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self._lines: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def said(self, pattern: str) -> str:
        """Wait until it says something, and return the part of it that is in parentheses."""

        def found() -> list[str]:
            return re.findall(pattern, "\n".join(self._lines))

        with self._changed:
            self._changed.wait_for(lambda: found() or self._ended, STARTING)
            assert found(), "\n".join(self._lines[-30:])
            return found()[0]

    def stop(self) -> None:
        """End it, at its own pace or not."""
        self.process.terminate()
        try:
            self.process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(ENDING)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for line in said:
                with self._changed:
                    self._lines.append(line.rstrip())
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()
