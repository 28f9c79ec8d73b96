"""One Spark for all tests of a process: it takes seconds to start."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from penstock.spark.session.spark_session import SparkSettings, spark_session
from tests.spark.cluster import MASTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Embedded, unless the tests are run for a cluster, or ``SPARK_REMOTE`` names a server."""
    session = spark_session(
        SparkSettings(
            master=os.environ.get(MASTER),
            # As many as there are cores: Spark's 200 are for larger clusters.
            options={"spark.sql.shuffle.partitions": "2"},
        )
    )
    yield session
    session.stop()
