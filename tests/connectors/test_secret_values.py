"""What sinks and sources say of rows when fields are secret: never a value of such a field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from penstock import Flow
from penstock.connectors import (
    read_csv,
    read_sqlite,
    write_csv,
    write_delta,
    write_duckdb,
    write_jetstream,
    write_json_lines,
    write_parquet,
    write_postgres,
    write_sqlite,
)
from penstock.connectors.kafka.sink import key_function
from penstock.connectors.redis.sink import plain_fields
from penstock.runtime.secret_fields import hide_only
from tests.servers.postgres import Database

CARD = "4111-1111"
NUMBERS = pyarrow.schema([("id", pyarrow.int64()), ("card", pyarrow.int64())])
PATIENCE = 60


@pytest.fixture(autouse=True)
def secret_card() -> Iterator[None]:
    hide_only(["card"])
    yield
    hide_only([])


class Unknown:
    """What no store knows."""

    def __repr__(self) -> str:
        return f"Unknown({CARD})"


def words_of(writer: Any, *elements: Any) -> str:
    """The error of a sink, in words."""
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is not None
    return str(writer.error)


def in_a_list(element: Any) -> Any:
    """What is no message."""
    return [element]


Made = Callable[[Path], tuple[Any, ...]]
REFUSED: dict[str, Made] = {
    "sqlite, no names": lambda at: (write_sqlite(at / "a.db", "t"), (1, CARD)),
    "sqlite, a value": lambda at: (write_sqlite(at / "a.db", "t"), {"id": 1, "card": Unknown()}),
    "sqlite, a number": lambda at: (write_sqlite(at / "a.db", "t"), {"card": 4111 << 64}),
    "sqlite, no text": lambda at: (write_sqlite(at / "a.db", "t"), {"card": f"{CARD}\ud800"}),
    "duckdb, no names": lambda at: (write_duckdb(at / "a.duckdb", "t"), (1, CARD)),
    "duckdb, a value": lambda at: (
        write_duckdb(at / "a.duckdb", "t", columns={"id": "BIGINT", "card": "BIGINT"}),
        {"id": 1, "card": CARD},
    ),
    "parquet, no names": lambda at: (write_parquet(at / "p"), (1, CARD)),
    "parquet, a value": lambda at: (write_parquet(at / "p", schema=NUMBERS), (1, CARD)),
    "delta, a value": lambda at: (write_delta(at / "d", schema=NUMBERS), (1, CARD)),
    "json lines, no form": lambda at: (write_json_lines(at / "a.jsonl"), [Unknown()]),
    "csv, no names": lambda at: (write_csv(at / "a.csv", ["id", "card", "place"]), (1, CARD)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_sink_says_what_is_wrong_without_the_secret(case: str, tmp_path: Path) -> None:
    writer, *elements = REFUSED[case](tmp_path)
    words = words_of(writer, *elements)
    assert "4111" not in words
    assert "\n" not in words


def test_sinks_of_messages_do_not_either() -> None:
    with pytest.raises(ValueError, match="has no fields by name") as refused:
        plain_fields((1, CARD))
    assert CARD not in str(refused.value)
    with pytest.raises(TypeError, match=r"card is \*\*\*, and a field of Redis") as unfit:
        plain_fields({"card": [CARD]})
    assert CARD not in str(unfit.value)
    with pytest.raises(ValueError, match="has no id, which is the key") as keyless:
        key_function("id")((1, CARD))
    assert CARD not in str(keyless.value)
    sink: Any = write_jetstream("nats://127.0.0.1:4222", "s", "s.a", encode=in_a_list).sink
    with pytest.raises(TypeError, match="a message is bytes or a text") as message:
        sink.row_of(CARD)
    assert CARD not in str(message.value)


@pytest.mark.postgres
def test_a_table_of_postgres_does_not_either(postgres_database: Database) -> None:
    postgres_database.psql("CREATE TABLE t (id bigint, card text CHECK (card < '1'))")
    postgres_database.psql("CREATE TABLE numbers (id bigint, card bigint)")
    for table, element in (("t", {"id": 1, "card": CARD}), ("numbers", {"id": 1, "card": CARD})):
        words = words_of(write_postgres(postgres_database.conninfo, table), element)
        assert CARD not in words
        assert "refuses a row: " in words
    assert CARD not in words_of(write_postgres(postgres_database.conninfo, "t"), (1, CARD))


def test_sources_do_not_either(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"id,card\n1,{CARD}\n")
    with pytest.raises(ValueError, match=r"card is \*\*\*: ValueError, whose words may") as bad:
        read_csv(tmp_path / "a.csv", types={"card": int}).to_list().run_sync()
    assert CARD not in str(bad.value)
    rows = Flow.of({"card": CARD}, {"card": CARD})
    rows.subscribe(writer := write_sqlite(tmp_path / "a.db", "t"))
    assert writer.wait(PATIENCE)
    with pytest.raises(ValueError, match=r"more than one row has card = \*\*\*") as twice:
        read_sqlite(tmp_path / "a.db", "SELECT * FROM t", key="card").to_list().run_sync()
    assert CARD not in str(twice.value)
