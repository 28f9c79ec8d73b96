"""Attacks by names: a text of a user or of the data that wants to be run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.flow import Flow, X
from penstock.spark.egress.rows import RowReader
from penstock.spark.on_spark import on_spark
from penstock.spark.session.spark_session import SparkSettings
from tests.attacks.attack import Attack

__all__ = ["attacks"]

RUN = "__import__('pathlib').Path({mark!r}).touch()"


def attacks() -> Iterator[Attack]:
    """All of them, in this process: names do not need a pipeline that runs."""
    with tempfile.TemporaryDirectory(prefix="penstock-attack-") as folder:
        mark = Path(folder, "was-run")
        code = RUN.format(mark=str(mark))
        for attack, tried, attempt in (
            ("an attribute of X that is code", "getattr(X, 'real + ...')", attribute(code)),
            ("a keyword of X that is code", "X.f(**{'a=...': 1})", keyword(code)),
            ("a keyword of Python in NFKC", "getattr(X, '\\uff2eone')", attribute("\uff2eone")),
            ("columns that are code", "a schema with such names", columns(code)),
            ("two columns that are one in NFKC", "'fi' and '\\ufb01'", columns("fi", "\ufb01")),
            ("an attribute in SQL", "sql('{stream.sparkSession} ...')", query),
            ("options of the JVM in a log level", "log_level='OFF -XX:...'", log_level),
            ("a pipeline whose name is code", "penstock init", lambda: initialised(code, folder)),
        ):
            happened = outcome(attempt)
            if mark.exists():
                happened = "IT WAS RUN"
                mark.unlink()
            yield Attack(attack, tried, happened, happened.startswith(("refused", "only a name")))


def outcome(attempt: Callable[[], object]) -> str:
    try:
        found = attempt()
    except (AttributeError, TypeError, ValueError) as error:
        return f"refused: {str(error).splitlines()[0][:60]}"
    return f"only a name: {found}" if isinstance(found, tuple) else str(found)


def attribute(text: str) -> Callable[[], object]:
    return lambda: Flow.of(1).map(getattr(X, f"real + {text}" if "(" in text else text)).run_sync()


def keyword(text: str) -> Callable[[], object]:
    return lambda: Flow.of(1).map(X.to_bytes(**{f"length={text}, x": 1})).run_sync()


def columns(*names: str) -> Callable[[], object]:
    def read() -> tuple[str, ...]:
        batch = pa.record_batch([[number] for number in range(len(names))], names=list(names))
        row: Any = next(RowReader(batch.schema).rows(batch))
        assert tuple(row._asdict()) == names
        return tuple(row._fields)

    return read


def query() -> object:
    flow = on_spark(Flow.of({"a": 1}), "a long")
    return flow.sql("SELECT {stream.sparkSession.sparkContext._gateway} FROM {stream}")


def log_level() -> object:
    return SparkSettings(log_level="OFF -XX:OnOutOfMemoryError=reboot")


def initialised(code: str, folder: str) -> object:
    """Make a pipeline of that name and load it."""
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", "init", f'a", {code}, "', "--into", folder],
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    if ran.returncode:
        raise ValueError(ran.stderr.removeprefix("Error: "))
    return "it was written"
