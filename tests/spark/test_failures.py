"""What a user is told of a failure of Spark."""

from __future__ import annotations

import pytest

from penstock.spark import failures
from penstock.spark.failures import explained

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
