"""The Python that Spark starts: where it finds pyspark, and what it is where there is no cache."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.spark.session import spark_session as session
from penstock.spark.session.worker_python import worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZIPS = "/spark/python/lib/pyspark.zip:/spark/python/lib/py4j-0.10.9.9-src.zip"
SHOW = "import os, sys; print(sys.executable, os.environ['PYTHONPATH'])"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return tmp_path


def where(row: Any) -> tuple[str]:
    import pyspark

    return (f"{row.number} {pyspark.__file__}",)


@pytest.mark.usefixtures("spark")
def test_sparks_workers_read_pyspark_as_it_is_installed() -> None:
    import pyspark

    rows = Flow.of((1,)).on_spark("number long").map(where, schema="place string").rows()
    assert [row.place for row in rows.blocking()] == [f"1 {pyspark.__file__}"]


def test_the_jvm_asks_it_for_sources_of_data_as_well(spark: SparkSession) -> None:
    system = spark.sparkContext._jvm.java.lang.System
    given = vars(session)["worker_python"]()  # which the tests may have replaced
    assert system.getenv("PYSPARK_DRIVER_PYTHON") == given


@pytest.mark.usefixtures("spark")
def test_the_program_does_not_hand_it_on() -> None:
    assert os.environ.get("PYSPARK_PYTHON") != worker_python()


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (f"{ZIPS}:/spark/core.jar:/own", "/spark/core.jar:/own"),
        (f"{ZIPS}:/core.jar:{ZIPS}:/core.jar:/o w*n", "/core.jar:/core.jar:/o w*n"),
        (ZIPS, ""),
        (":/own::/other:", ":/own::/other:"),
        ("/own:/other", "/own:/other"),
        ("", ""),
    ],
)
@pytest.mark.usefixtures("cache")
def test_it_is_this_python_without_the_zips(given: str, left: str) -> None:
    command = [worker_python(), "-c", SHOW]
    said = subprocess.check_output(
        command, env={**os.environ, "PYTHONPATH": given}, encoding="utf-8"
    )
    assert said.removesuffix("\n") == f"{sys.executable} {left}"


@pytest.mark.parametrize("module", ["transform_with_state_driver_worker", "other"])
def test_what_the_process_prints_that_asks_for_state_is_dropped_and_its_errors_are_not(
    cache: Path, module: str
) -> None:
    folder = cache / "pyspark" / "sql" / "streaming"
    folder.mkdir(parents=True)
    for package in (folder, *folder.parents[:2]):
        (package / "__init__.py").touch()
    (folder / f"{module}.py").write_text("import sys\nprint('chatter')\nsys.exit('an error')")
    command = [worker_python(), "-m", f"pyspark.sql.streaming.{module}"]
    said = subprocess.run(
        command,
        check=False,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(cache)},
        encoding="utf-8",
    )
    assert (said.returncode, said.stderr) == (1, "an error\n")
    assert said.stdout == ("chatter\n" if module == "other" else "")


def test_it_is_made_once_for_this_user_alone(cache: Path) -> None:
    first = worker_python()
    made = Path(first).stat()
    assert Path(first).is_relative_to(cache)
    assert made.st_mode & 0o777 == 0o700
    assert worker_python() == first
    assert Path(first).stat() == made


def test_a_spark_of_ones_own_keeps_its_own_pyspark(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(cache))
    assert worker_python() == sys.executable


def test_without_a_cache_it_is_this_python_itself(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = cache / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    assert worker_python() == sys.executable
