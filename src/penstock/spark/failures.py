"""Spark's failures in a few words: the user's exception and line, not 200 lines of the JVM."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeAlias

from penstock.flow.engine.call_site import is_library
from penstock.spark.private_api import call_status_of, cause_of

__all__ = [
    "OutOfSpace",
    "SparkFailed",
    "SparkLost",
    "SparkUnavailable",
    "Stopped",
    "UserError",
    "WorkerLost",
    "explained",
    "place_of",
]


class Stopped(Exception):
    """Ends a query whose rows nobody wants."""


class SparkFailed(Exception):
    """A query of Spark has failed. The error of Spark itself is the cause."""


class UserError(SparkFailed):
    """A function of the user has failed within Spark."""


class WorkerLost(SparkFailed):
    """Spark has lost a process that worked for it; from the checkpoint it can go on."""


class OutOfSpace(SparkFailed):
    """Spark cannot write its files; from the checkpoint it can go on once there is space."""


class SparkLost(SparkFailed):
    """Spark itself is gone."""


LONGEST: Final = 1_000
LOST: Final = (
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",
    "Timed out while waiting for the Python worker",
    "CANNOT_OPEN_SOCKET",
    "ExecutorLostFailure",
    "Executor heartbeat timed out",
    "SparkException: Job aborted due to stage failure: ResultTask",
    "Slave lost",
    "Worker lost",
    "worker lost",
    "Connection reset",
    "Broken pipe",
    "EOFException",
    "Failed to connect to",
    "PythonWorkerFactory.stopWorker(",  # it was dead already, and so was the one who is told
)
FULL: Final = ("No space left on device", "Disk quota exceeded", "File too large")
REMEDIES: Final = {
    "org.apache.hadoop.fs.ChecksumException": (
        "; restore the file from a backup, or start with a new checkpoint"
    ),
}
MARK: Final = re.compile(
    r"penstock\.spark\.failures\.UserError: (?P<text>.+?)(?=\n\n|\n\tat |\n SQLSTATE|\n=== |\Z)",
    re.DOTALL,
)
TRACEBACK: Final = re.compile(
    r"Traceback \(most recent call last\):\n(?P<frames>(?:[ \t]+.*\n)+)(?P<error>\S[^\n]*)"
)
FRAME: Final = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>\S+)')
OTHERS: Final = ("/py4j/", "/pyspark/", "<frozen")
PACKAGE: Final = Path(__file__).parents[1]

Frame: TypeAlias = tuple[str, object, str]
"""Of a traceback: the file, the line and the function."""


def place_of(frames: Iterable[Frame]) -> str:
    """The line in a traceback that tells the user most, or nothing.

    That is the last one of the user's own code. If there is none, it is the last one of a library,
    as the user's functions may be installed like one.
    """
    foreign = [frame for frame in frames if not _is_ours(frame[0])]
    users = [frame for frame in foreign if not is_library(frame[0])]
    for file, line, function in (users or foreign)[-1:]:
        return f"at {file}:{line}, in {function}"
    return ""


def _is_ours(file: str) -> bool:
    """Whether a file in a traceback is a part of Spark, or of this package.

    The package may lie elsewhere where Spark's workers run, and a user's project in a folder of the
    same name: what counts is whether there is such a file in the package.
    """
    _, is_named_so, part = file.rpartition("/penstock/")
    is_in_package = bool(is_named_so) and (PACKAGE / part).is_file()
    return is_in_package or any(other in file for other in OTHERS)


def explained(error: Exception) -> SparkFailed:
    """What a failed query comes to; ``error`` is its cause."""
    if isinstance(error, SparkFailed):
        return error
    failed = _kind_of(error)
    failed.__cause__ = error
    return failed


def _kind_of(error: Exception) -> SparkFailed:
    from py4j.protocol import Py4JError, Py4JJavaError

    if call_status_of(error) == "UNAVAILABLE":
        return SparkLost(
            "the Spark Connect server cannot be reached: it has ended, or the network is cut; when "
            "it can, start the program again, and it goes on from its checkpoint"
        )
    if isinstance(error, ConnectionError | OSError) or (
        isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
    ):
        return SparkLost("Spark's JVM is gone: it was killed, or has crashed")
    text = _text_of(error)
    marked = MARK.search(text)
    if marked:
        return UserError(_shortened(marked["text"]))
    raised, place = _raised(text)
    if place:  # looked at first: a user's function, too, may lose a connection
        return UserError(f"{raised} ({place})")
    if any(sign in text for sign in FULL):  # which may well cost a worker, too
        return OutOfSpace(f"there is no space where Spark writes: {raised or _first_line(text)}")
    if any(sign in text for sign in LOST):
        said = raised if any(sign in raised for sign in LOST) else _first_line(text)
        return WorkerLost(f"Spark has lost a worker: {said}")
    remedy = next((advice for sign, advice in REMEDIES.items() if sign in text), "")
    return SparkFailed((raised or _first_line(text)) + remedy)


def _text_of(error: Exception) -> str:
    """What Spark says, and what it gives as causes, which are not always in its text."""
    texts = []
    cause: Exception | None = error
    while cause is not None:
        texts.append(str(cause))
        cause = cause_of(cause)
    return "\nCaused by: ".join(texts)


def _raised(text: str) -> tuple[str, str]:
    """The Python exception in a text of Spark, and the line to name, if any."""
    tracebacks = list(TRACEBACK.finditer(text))
    if not tracebacks:
        return "", ""
    found = tracebacks[-1]
    return _shortened(found["error"]), place_of(FRAME.findall(found["frames"]))


def _first_line(text: str) -> str:
    """The last cause in a text of Spark, without its frames."""
    lines = [line for line in text.splitlines() if line and not line.startswith(("\tat ", "\t..."))]
    causes = [
        line.removeprefix("Caused by").removeprefix(": ")
        for line in lines
        if line.startswith(("Caused by: ", ": ")) and "java.lang.ClassNotFound" not in line
    ]
    line = causes[-1] if causes else (lines[0] if lines else "Spark gave no reason")
    return _shortened(re.sub(r"^(?:[\w$]+\.)+([\w$]+: )", r"\1", line))


def _shortened(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST else text[:LONGEST] + " ..."


class SparkUnavailable(RuntimeError):
    """Spark cannot be used here; the text says why, and what to do."""
