"""What a user is told of a failure of Spark."""

from __future__ import annotations

import json

import pytest

from penstock.spark import failures
from penstock.spark.failures import UserError, explained
from penstock.spark.workers.functions import blaming

FAILED = """An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1, in main
  File "/srv/anna/penstock/late/rows.py", line 7, in minutes
  File "{own}", line 2, in call
ValueError: no number
"""


@pytest.mark.parametrize(
    "own",
    [
        f"{failures.PACKAGE}/spark/workers/functions.py",
        "/usr/lib/python3/dist-packages/penstock/spark/workers/functions.py",
        "/srv/venv/lib/python3.14/site-packages/penstock/spark/workers/functions.py",
        "/app/penstock/spark/workers/functions.py",
        "/srv/work/userFiles-1/penstock.zip/penstock/spark/workers/functions.py",
    ],
)
def test_the_line_that_is_named_is_the_users_also_in_a_folder_of_our_name(own: str) -> None:
    told = str(explained(RuntimeError(FAILED.format(own=own))))
    assert "ValueError: no number" in told
    assert "at /srv/anna/penstock/late/rows.py:7, in minutes" in told


INSTALLED = "/srv/venv/lib/python3.14/site-packages/{package}/rows.py"
DECODED = """An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 1, in main
  File "{users}", line 7, in minutes
  File "{library}", line 2, in decode
ValueError: no number
"""


@pytest.mark.parametrize("library", [json.__file__, INSTALLED.format(package="pandas")])
def test_the_line_that_is_named_is_the_users_also_if_a_library_raises(library: str) -> None:
    text = DECODED.format(users="/srv/anna/rows.py", library=library)
    assert "at /srv/anna/rows.py:7, in minutes" in str(explained(RuntimeError(text)))


def test_a_library_is_named_if_nothing_else_can_be() -> None:
    text = DECODED.format(users=INSTALLED.format(package="anna"), library="/pyspark/worker.py")
    error = explained(RuntimeError(text))
    assert isinstance(error, UserError)
    assert f"at {INSTALLED.format(package='anna')}:7, in minutes" in str(error)


def test_a_worker_names_the_line_that_called_the_library() -> None:
    with pytest.raises(UserError) as raised, blaming("map"):
        json.loads("no json")
    assert f"(in map, at {__file__}:" in str(raised.value)
