"""The JVM of this process, with our classes in it, and the threads that wait there."""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import jpype

from penstock.java import OLDEST, JavaUnavailable, classes, find_java
from penstock.runtime import report_undelivered

__all__ = [
    "class_path",
    "java_class",
    "require_classes",
    "start_jvm",
    "start_thread",
]

PACKAGE: Final = "penstock.bridge"
SOURCES: Final = sorted(Path(__file__).with_name("classes").glob("*.java"))
_USER: Final = "the bridge to the JVM"
_starting = threading.Lock()
_FAREWELL: Final = 20.0
"""Seconds that the threads get to end when the program does; they need them on a busy machine."""
_threads: Final[set[threading.Thread]] = set()
_exits: Final[dict[threading.Thread, Callable[[], object]]] = {}
"""What makes a thread come back from Java."""


def class_path() -> Path:
    """The folder of our classes for Java, which are compiled when they are first needed."""
    return classes(find_java(_USER), "bridge", SOURCES)


def start_jvm(class_paths: Iterable[str | os.PathLike[str]] = (), *options: str) -> None:
    """Start a JVM in this process, with our classes and those of ``class_paths``.

    The ``options`` are those of the command ``java``. A process has one JVM for all its life, so a
    ``RuntimeError`` says so if there is one already.
    """
    with _starting:
        if jpype.isJVMStarted():
            raise RuntimeError("this process has a JVM already, and can have no other one")
        java = find_java(_USER)
        ours = classes(java, "bridge", SOURCES)
        os.environ["JAVA_HOME"] = str(java.home)  # where JPype looks first
        # Signals are for Python.
        path = [*map(str, class_paths), str(ours)]
        jpype.startJVM("-Xrs", *options, classpath=path, convertStrings=False)


def require_classes() -> None:
    """See to it that a JVM runs, and knows our classes."""
    if not jpype.isJVMStarted():
        start_jvm()
    if _knows_our_classes():
        return
    version = str(jpype.JClass("java.lang.System").getProperty("java.specification.version"))
    if float(version) < OLDEST:
        raise JavaUnavailable(
            f"{_USER} needs Java {OLDEST}, and the JVM of this process is Java {version}: start "
            "it from a newer JDK"
        )
    jpype.addClassPath(str(class_path()))
    if not _knows_our_classes():
        raise JavaUnavailable(
            f"the JVM of this process takes no more classes: start it by {__package__}.start_jvm, "
            "or with class_path() of that package among its classes"
        )


def java_class(name: str) -> Any:
    """One of our classes."""
    return jpype.JClass(f"{PACKAGE}.{name}")


def _knows_our_classes() -> bool:
    try:
        java_class("BridgeEvents")
    except TypeError:
        return False
    return True


def start_thread(name: str, run: Callable[[], object], leave: Callable[[], object]) -> None:
    """Start a thread; ``leave`` makes it come back from Java when the program ends."""
    thread = threading.Thread(
        target=_run_to_the_end, args=([run],), name=f"penstock bridge {name}", daemon=True
    )
    _threads.add(thread)
    _exits[thread] = leave
    try:
        thread.start()
    except RuntimeError:
        _threads.discard(thread)
        del _exits[thread]
        raise


def _run_to_the_end(work: list[Callable[[], object]]) -> None:
    thread = threading.current_thread()
    try:
        _run_reporting(work.pop())
    finally:
        del _exits[thread]
        # The JVM does not notice on its own. All objects of Java have to be released by now: to
        # release one later would attach the thread again.
        jpype.java.lang.Thread.detach()
        _threads.discard(thread)


def _run_reporting(run: Callable[[], object]) -> None:
    try:
        run()
    except BaseException as error:
        report_undelivered(error, "a thread of the bridge to the JVM failed")


@atexit.register
def _leave_all() -> None:
    """A thread that comes back from Java when Python is gone would end the process with a bang."""
    for leave in list(_exits.values()):
        leave()
    end = time.monotonic() + _FAREWELL
    for thread in list(_threads):
        thread.join(max(end - time.monotonic(), 0.0))
