"""How fast rows get into tables of PostgreSQL, beside psycopg alone on the same server.

``python -m benchmarks.postgres`` starts a server for it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import psycopg
import pyarrow as pa

from penstock.connectors import write_postgres
from penstock.delivery import Epoch
from tests.servers.postgres import Database, running_postgres

__all__ = ["report"]

ROWS: Final = 200_000
BATCH_ROWS: Final = 10_000
ROUNDS: Final = 9
BARS: Final = {"write Arrow batches": 0.9}


def report() -> None:
    """Print rows per second of this program's CPU time, the best of some interleaved rounds.

    What the server does is the same for both.
    """
    with running_postgres() as server:
        pairs = cases(server.database())
        best = {name: [0.0, 0.0] for name in pairs}
        for _ in range(ROUNDS):
            for name, pair in pairs.items():
                for index, case in enumerate(pair):
                    best[name][index] = max(best[name][index], ROWS / timed(case))
    print(f"{'rows (long, string, double) and PostgreSQL':42} {'bare':>9} {'ours':>9} {'ratio':>7}")
    for name, (bare, ours) in best.items():
        print(f"{name:42} {bare:9,.0f} {ours:9,.0f} {ours / bare:7.2f}{verdict(name, ours / bare)}")
    print()


def verdict(name: str, ratio: float) -> str:
    """Whether the bar was met, where there is one."""
    bar = BARS.get(name)
    return "" if bar is None else f"  bar {bar:g}: {'met' if ratio >= bar else 'MISSED'}"


def timed(case: Callable[[], object]) -> float:
    """The seconds of CPU time that it takes."""
    began = time.process_time()
    case()
    return time.process_time() - began


def cases(database: Database) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """The same work by psycopg alone and by ours."""
    rows = [
        {"flight": number, "origin": f"airport {number % 100}", "delay": number / 7}
        for number in range(ROWS)
    ]
    batches = pa.Table.from_pylist(rows).to_batches(max_chunksize=BATCH_ROWS)
    database.psql("CREATE TABLE bare (flight bigint, origin text, delay double precision)")
    database.psql("CREATE TABLE ours (LIKE bare)")
    connection = psycopg.connect(database.conninfo, autocommit=True)
    sink = write_postgres(database.conninfo, "ours").sink
    sink.open(Epoch.begun())
    numbers = count()

    def bare(values: Callable[[], Any]) -> None:
        connection.execute("TRUNCATE bare")
        with (
            connection.transaction(),
            connection.cursor() as cursor,
            cursor.copy("COPY bare FROM STDIN") as copy,
        ):
            for row in values():
                copy.write_row(row)

    def ours(elements: list[Any]) -> None:
        connection.execute("TRUNCATE ours")
        batch = next(numbers)
        sink.begin(batch)
        for element in elements:
            sink(element)
        sink.commit(batch)

    def plain() -> Any:
        return ((row["flight"], row["origin"], row["delay"]) for row in rows)

    def columnar() -> Any:
        for batch in batches:
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    return {
        "write rows, one by one": (lambda: bare(plain), lambda: ours(rows)),
        "write Arrow batches": (lambda: bare(columnar), lambda: ours(batches)),
    }


if __name__ == "__main__":
    report()
