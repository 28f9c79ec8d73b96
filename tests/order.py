"""In which order the tests run: the fast ones first, so that a fault of most kinds is seen soon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

__all__ = ["in_shares"]

Item = TypeVar("Item")

# They wait for programs of their own, for a minute and more each: begun last, they would end last.
LONGEST: Final = (
    "tests/cli/test_kafka_to_postgres.py",
    "tests/cli/test_service.py",
    "tests/demo/test_story.py",
    "tests/faults/test_ends.py",
    "tests/faults/test_kills.py",
    "tests/faults/test_sinks.py",
    "tests/faults/test_survivors.py",
    "tests/tck/jvm/test_verdicts.py",
)
# They share the Spark of their process, whose start and first query take as long as dozens later.
ON_SPARK: Final = (
    "tests/cli/test_checkpoint.py",
    "tests/connectors/test_on_spark.py",
    "tests/faults/",
    "tests/pipeline/",
    "tests/spark/",
)
SLOW: Final = (
    "tests/attacks/",
    "tests/bridges/",
    "tests/browser/",
    "tests/connectors/test_conformance.py",
    "tests/connectors/test_kafka_avro.py",
    "tests/connectors/test_kafka_conformance.py",
    "tests/connectors/test_kafka_kills.py",
    "tests/connectors/test_kafka_sink.py",
    "tests/connectors/test_kafka_source.py",
    "tests/connectors/test_kafka_tls.py",
    "tests/connectors/test_nats_sink.py",
    "tests/connectors/test_nats_source.py",
    "tests/connectors/test_postgres_changes.py",
    "tests/connectors/test_postgres_sink.py",
    "tests/connectors/test_postgres_source.py",
    "tests/connectors/test_redis.py",
    "tests/examples/",
    "tests/flow/explored/",
    "tests/flow/test_conformance.py",
    "tests/style/test_tools.py",
    "tests/tck/jvm/",
    "tests/tck/mutants/",
    "tests/tck/unit/",
    "tests/testing/test_sink_series.py",
)


def in_shares(items: Sequence[Item], names: Sequence[str], processes: int) -> list[Item]:
    """``items``, which have these names: a share for each process, one share after another.

    Each begins with fast tests, but the first one with the longest. Every second one has tests on
    Spark, and the others have the rest of the slow ones.
    """
    longest, on_spark, slow, fast = by_kind(items, names)
    ordered: list[Item] = []
    for number in range(processes):
        first = [] if number else longest
        last = []
        if number % 2 == 1 or processes == 1:
            last += part(on_spark, number // 2, max(1, processes // 2))
        if number % 2 == 0:
            last += part(slow, number // 2, (processes + 1) // 2)
        # As many as xdist gives to the process at the start.
        size = (len(items) - len(ordered)) // (processes - number)
        room = max(0, size - len(first) - len(last))
        ordered += first + fast[:room] + last
        fast = fast[room:]
    return ordered


def by_kind(items: Sequence[Item], names: Sequence[str]) -> tuple[list[Item], ...]:
    """The longest, those on Spark, the slow ones, and all others."""
    kinds: dict[tuple[str, ...], list[Item]] = {LONGEST: [], ON_SPARK: [], SLOW: [], ("",): []}
    for name, item in zip(names, items, strict=True):
        kinds[next(kind for kind in kinds if name.startswith(kind))].append(item)
    return tuple(kinds.values())


def part(items: list[Item], number: int, parts: int) -> list[Item]:
    """One of so many parts that are about as long."""
    return items[len(items) * number // parts : len(items) * (number + 1) // parts]
