"""``penstock doctor``: whether a pipeline on Spark can run here, and if not, what to do."""

from __future__ import annotations

import json
import os
import platform
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click

from penstock.cli.findings import Finding, State, as_data, has_problem, lines
from penstock.cli.places import free_bytes, local_path, try_out
from penstock.java import JavaUnavailable, find_runtime
from penstock.spark.session.reachable import INSTALL_CONNECT, installed, missing_for_connect

__all__ = [
    "EXTRAS",
    "Package",
    "command",
    "findings_for",
    "installed",
]

GIGABYTE: Final = 1 << 30
LEAST_SPACE: Final = GIGABYTE
LEAST_MEMORY: Final = 1.5 * GIGABYTE
"""What the JVM, Spark's Python workers and a small pipeline take together."""
SLOW_SYNC: Final = 0.1
LOOPBACK: Final = "127.0.0.1"
OLDEST_PYTHON: Final = (3, 11)
VERSION_QUESTION: Final = "import sys; print('%d.%d' % sys.version_info[:2])"


@click.command(name="doctor")
@click.option("--checkpoint", metavar="PLACE", help="Try out this place for a checkpoint.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port that the page is to have.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def command(checkpoint: str | None, port: int | None, as_json: bool) -> None:
    """Say what is missing on this machine.

    The exit code is 0 if a pipeline on Spark can run here, and 1 if not. A warning is about
    something that not every pipeline needs.
    """
    findings = [*examine(checkpoint, port)]
    click.echo(json.dumps(as_data(findings), indent=2) if as_json else lines(findings))
    sys.exit(1 if has_problem(findings) else 0)


def examine(checkpoint: str | None, port: int | None) -> Iterator[Finding]:
    """Everything, from the interpreter to the network."""
    yield python()
    yield from findings_for()
    yield from connect()
    yield java()
    yield from workers()
    yield place(checkpoint)
    yield loopback()
    if port is not None:
        yield free_port(port)
    yield hostname()
    yield memory()


def python() -> Finding:
    """The interpreter."""
    words = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", "problem", words, "install Python 3.11 or newer")
    return Finding("python", "ok", words)


def connect() -> Iterator[Finding]:
    """Whether Spark Connect, which has requirements of its own, can be used where Spark can."""
    if installed("pyspark") is not None and (missing := missing_for_connect()):
        words = f"{', '.join(missing)} is needed, and not installed"
        yield Finding("spark connect", "warning", words, INSTALL_CONNECT)


def java() -> Finding:
    """The Java that would run Spark."""
    try:
        found = find_runtime("Spark")
    except JavaUnavailable as reason:
        return Finding("java", "problem", str(reason), "pip install 'penstock[java]'")
    return Finding("java", "ok", f"Java {found.version}, {found.home}")


def workers() -> Iterator[Finding]:
    """Whether Spark's own processes are of the versions that this one has."""
    chosen = os.environ.get("PYSPARK_PYTHON")
    mine = f"{sys.version_info.major}.{sys.version_info.minor}"
    if chosen is None:
        yield Finding("workers", "ok", f"they take this Python, {mine}")
    elif (theirs := version_of(chosen)) == mine:
        yield Finding("workers", "ok", f"PYSPARK_PYTHON is Python {mine}")
    else:
        yield Finding(
            "workers",
            "warning",
            f"PYSPARK_PYTHON is {chosen}, which is {theirs or 'no Python that runs'}; this is "
            f"Python {mine}. Embedded Spark takes this one anyway, a cluster does not",
            f"export PYSPARK_PYTHON={sys.executable}",
        )
    home, pyspark = os.environ.get("SPARK_HOME"), installed("pyspark")
    if home is not None and pyspark is not None:
        yield spark_home(Path(home), pyspark)


def version_of(command: str) -> str | None:
    """The version of another Python."""
    try:
        question = [command, "-c", VERSION_QUESTION]
        answer = subprocess.run(question, check=True, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()


def spark_home(home: Path, pyspark: str) -> Finding:
    """Whether the Spark that pyspark would start is its own version."""
    jars = [each.name for each in home.glob("jars/spark-core_*.jar")]
    found = re.search(r"spark-core_[\d.]+-(.+)\.jar", jars[0]) if jars else None
    if found is None:
        text = f"SPARK_HOME is {home}, where there is no Spark"
    elif found[1] == pyspark:
        return Finding("spark home", "ok", f"Spark {pyspark}, {home}")
    else:
        text = f"SPARK_HOME has Spark {found[1]}, and pyspark is {pyspark}"
    return Finding("spark home", "problem", text, "unset SPARK_HOME")


def place(checkpoint: str | None) -> Finding:
    """Where a checkpoint would be: that it can be written, and how quickly."""
    where = tempfile.gettempdir() if checkpoint is None else checkpoint
    try:
        trial = try_out(where)
    except (OSError, ImportError) as error:
        remedy = "name another place with --checkpoint, or make this one writable"
        return Finding("checkpoint", "problem", f"{where} cannot be written: {error}", remedy)
    words = f"{trial.folder}: write and sync in {trial.seconds * 1_000:.1f} ms"
    path = local_path(where)
    free = None if path is None else free_bytes(path)
    if free is not None:
        words += f", {free / GIGABYTE:,.1f} GB free"
    if free is not None and free < LEAST_SPACE:
        return Finding("checkpoint", "warning", words, "make space, or name another place")
    if trial.seconds > SLOW_SYNC:
        return Finding(
            "checkpoint", "warning", f"{words}, which bounds the pace", "name a quicker place"
        )
    return Finding("checkpoint", "ok", words)


def loopback() -> Finding:
    """Spark's processes and the page talk over it."""
    try:
        socket.create_server((LOOPBACK, 0)).close()
    except OSError as error:
        return Finding(
            "loopback", "problem", f"{LOOPBACK} cannot be bound: {error}", "ip link set lo up"
        )
    return Finding("loopback", "ok", f"{LOOPBACK} can be bound")


def free_port(port: int) -> Finding:
    """The port that the page is to have."""
    try:
        socket.create_server((LOOPBACK, port)).close()
    except OSError as error:
        return Finding(
            "port",
            "problem",
            f"{port} cannot be had: {error.strerror}",
            f"end what listens there (ss -ltnp 'sport = :{port}' names it), or take another port",
        )
    return Finding("port", "ok", f"{port} is free")


def hostname() -> Finding:
    """Java resolves the name of its own host, and waits where that cannot be resolved."""
    name = socket.gethostname()
    try:
        address = socket.gethostbyname(name)
    except OSError as error:
        return Finding(
            "hostname",
            "warning",
            f"{name} cannot be resolved ({error.strerror}), which delays Java",
            f"echo '{LOOPBACK} {name}' | sudo tee -a /etc/hosts",
        )
    return Finding("hostname", "ok", f"{name} is {address}")


def memory() -> Finding:
    """The memory that is available."""
    available = available_bytes()
    if available is None:
        return Finding("memory", "ok", "this system does not say how much is left")
    words = f"{available / GIGABYTE:.1f} GB available"
    if available < LEAST_MEMORY:
        remedy = f"end other programs: Spark takes about {LEAST_MEMORY / GIGABYTE:.1f} GB"
        return Finding("memory", "warning", words, remedy)
    return Finding("memory", "ok", words)


def available_bytes() -> int | None:
    """As Linux reports it, within the limit of a container."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    machine = int(found[1]) * 1024 if found else None
    container = container_bytes()
    return min((size for size in (machine, container) if size is not None), default=None)


def container_bytes() -> int | None:
    """What a control group still allows, where there is one with a bound."""
    group = Path("/sys/fs/cgroup")
    try:
        most, used = (
            (group / f"memory.{name}").read_text(encoding="ascii") for name in ("max", "current")
        )
        return int(most) - int(used)
    except (OSError, ValueError):  # no such group, or "max", which is no bound
        return None


class Package(NamedTuple):
    """A package and the versions that will do: from ``oldest`` up to, but without, ``below``."""

    name: str
    oldest: str = ""
    below: str = ""

    def suits(self, found: str) -> bool:
        """Whether this version will do."""
        number = numbers(found)
        return numbers(self.oldest) <= number and (not self.below or number < numbers(self.below))

    @property
    def wanted(self) -> str:
        """The versions in words."""
        oldest = f" {self.oldest} or newer" if self.oldest else ""
        return f"{self.name}{oldest}" + (f", below {self.below}" if self.below else "")


BESIDE_PYSPARK: Final = (
    (Package("pandas", "2.2", "3"),)
    if sys.version_info < (3, 15)
    # Of pandas, only newer releases have wheels. protobuf comes with Spark Connect, which has none.
    else (Package("pandas", "3.1"), Package("protobuf", "6.33"))
)
SERVING: Final = (Package("starlette", "0.45"), Package("uvicorn", "0.34"))
EXTRAS: Final[Mapping[str, tuple[Package, ...]]] = {
    "cli": (Package("click", "8.1"), Package("rich", "13")),
    "spark": (
        Package("pyspark", "4.0", "4.4"),
        Package("pyarrow", "18"),
        *BESIDE_PYSPARK,
    ),
    "connectors": (
        Package("websockets", "15"),
        Package("httpx", "0.28"),
        Package("httpx-sse", "0.4"),
        *SERVING,
    ),
    "dashboard": SERVING,
    "prometheus": (Package("prometheus-client", "0.21"),),
    "opentelemetry": (Package("opentelemetry-api", "1.30"),),
}
NEEDED: Final = ("cli", "spark")
"""Without these no pipeline runs on Spark."""


def findings_for(extras: Mapping[str, tuple[Package, ...]] = EXTRAS) -> Iterator[Finding]:
    """One finding for each extra."""
    for extra, packages in extras.items():
        found = {package: installed(package.name) for package in packages}
        wrong = [
            f"{package.wanted} is needed, and {number or 'none'} is installed"
            for package, number in found.items()
            if number is None or not package.suits(number)
        ]
        if wrong:
            state: State = "problem" if extra in NEEDED else "warning"
            yield Finding(extra, state, "; ".join(wrong), f"pip install 'penstock[{extra}]'")
        else:
            words = ", ".join(f"{package.name} {number}" for package, number in found.items())
            yield Finding(extra, "ok", words)


def numbers(text: str) -> tuple[int, ...]:
    """A version as it is compared: its leading numbers."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()
