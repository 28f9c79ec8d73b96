"""The streams of others that the bridge is tested with, and the process in which they run."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol

from penstock.java import Library, classes, find_java, read_checksums

__all__ = ["NAMES", "Elsewhere", "machine_of_its_own", "prepare_peers"]

NAMES: Final = ("Jdk", "Reactor", "RxJava", "Pekko")
LIBRARY: Final = Library(
    name="the libraries to test the bridge with",
    folder="peers-2",
    artifacts=(
        "io.projectreactor:reactor-core:3.7.6",
        "io.reactivex.rxjava3:rxjava:3.1.10",
        "org.apache.pekko:pekko-stream_2.13:1.1.3",
    ),
    checksums=read_checksums(Path(__file__).with_suffix(".sha256")),
)
SOURCE: Final = Path(__file__).with_name("Peers.java")
LIMIT: Final = 100.0
"""Seconds for one scenario."""

# All of the heap from the beginning, so that what grows is something else.
OPTIONS: Final = ("-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC")


class Elsewhere(Protocol):
    """Calls a function by its name in the process with the JVM, and returns what it returns."""

    def __call__(self, function: str, *arguments: Any) -> Any: ...


def prepare_peers() -> list[Path]:
    """See to it that the peers are at hand: where Java finds their classes."""
    from penstock.bridges.jvm import class_path

    class_path()
    java = find_java("a test of the bridge")
    libraries = LIBRARY.jars(java)
    return [classes(java, "peers", [SOURCE], libraries), *libraries]


@contextmanager
def machine_of_its_own(module: str) -> Iterator[Elsewhere]:
    """A process with a JVM, to call functions of a module in."""
    prepare_peers()
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, initializer=_start) as process:

        def call(function: str, *arguments: Any) -> Any:
            return process.submit(_call, module, function, *arguments).result(LIMIT)

        yield call


def _start() -> None:
    from penstock.bridges.jvm import start_jvm

    start_jvm(prepare_peers(), *OPTIONS)


def _call(module: str, function: str, *arguments: Any) -> Any:
    return getattr(import_module(module), function)(*arguments)
