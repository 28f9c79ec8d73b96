"""Packages a Java into the environment where the machine has none for Spark.

Only the standard library, and no syntax newer than Python 3.8: see ``dev.py``. Which Java is used,
and how it is started, is decided by Penstock alone, whenever Spark starts.
"""

from __future__ import annotations

from tools.environment import Environment

QUESTION = ("-m", "penstock.java")


def provide_java(environment: Environment) -> None:
    """Install the package of a Java, unless there is a Java that will do."""
    code, _ = environment.call("python", *QUESTION)
    if code:
        environment.prepare("java")
