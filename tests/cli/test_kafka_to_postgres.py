"""``penstock init --template kafka-to-postgres``: from a topic to a table, killed on the way.

A plain client of Kafka and ``psql`` say what has to be there.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from examples.kafka_to_postgres import as_row, order_of
from penstock.connectors import read_kafka
from tests.cli.processes import RunningCommand, penstock_command
from tests.cli.test_init import init, pytest_in
from tests.servers.kafka import Kafka
from tests.servers.postgres import Database

pytestmark = [pytest.mark.kafka, pytest.mark.postgres, pytest.mark.timeout(600)]

ORDERS = 1_500
PRICES = {"tea": 2.5, "coffee": 3.0, "milk": 1.25}
START = datetime(2026, 1, 15, 8, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "kafka_to_postgres.py"
PAGE = ROOT / "docs" / "kafka-to-postgres.md"
RUN = ("run", "pipeline:pipeline", "--config", "penstock.toml")


def filled(kafka: Kafka, random: Random) -> str:
    """A topic of two partitions, in the order of time."""
    topic = kafka.create(2)
    products = [*PRICES, "bread"]  # which has no price
    orders = [
        {
            "at": (START + timedelta(seconds=number / 10)).isoformat(),
            "product": random.choice(products),
            "quantity": random.randrange(1, 9),
        }
        for number in range(ORDERS)
    ]
    kafka.produce(topic, [json.dumps(order).encode() for order in orders])
    return topic


def configured(folder: Path, kafka: Kafka, topic: str, database: Database) -> None:
    (folder / "penstock.toml").write_text(
        f'[run]\ncheckpoint = "checkpoint"\n[settings]\nservers = "{kafka.servers}"\n'
        f'topic = "{topic}"\ndatabase = {json.dumps(database.conninfo)}\nuntil_end = true\n'
    )


def totals_of(kafka: Kafka, topic: str) -> dict[tuple[str, str], tuple[int, float]]:
    """What plain Python makes of what a plain client reads."""
    found: dict[tuple[str, str], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for value in kafka.values(topic):
        assert value is not None
        order = json.loads(value)
        minute = datetime.fromisoformat(order["at"]).replace(second=0, microsecond=0)
        key = (minute.strftime("%H:%M"), order["product"])
        quantity, amount = found[key]
        price = PRICES.get(order["product"], 0.0)
        found[key] = (quantity + order["quantity"], amount + price * order["quantity"])
    return dict(found)


def sold(database: Database) -> dict[tuple[str, str], tuple[int, float]]:
    """What ``psql`` finds."""
    rows = database.psql(
        "SELECT to_char(minute AT TIME ZONE 'UTC', 'HH24:MI'), product, quantity, amount FROM sales"
    )
    return {
        (minute, product): (int(quantity), float(amount))
        for minute, product, quantity, amount in rows
    }


def test_the_files_are_there_and_its_tests_pass(tmp_path: Path) -> None:
    done = init("shop", "--into", str(tmp_path), "--template", "kafka-to-postgres")
    assert done.exit_code == 0, done.output
    tested = pytest_in(tmp_path / "shop")
    assert "7 passed" in tested.stdout


def test_the_program_of_the_page_sends_orders_that_the_pipeline_reads(kafka: Kafka) -> None:
    topic = f"{kafka.create()}-orders"
    (program,) = re.findall(r"```python\n(import json\n.*?)```", PAGE.read_text(), re.DOTALL)
    program = program.replace("localhost:9092", kafka.servers).replace('"orders"', repr(topic))
    for times in (1, 2):  # the topic is made by the first
        exec(compile(program, PAGE, "exec"), {})
        flow = read_kafka(kafka.servers, topic, decode=order_of, until_end=True)
        messages = flow.to_list().run_sync() or []
        rows = [as_row(message, PRICES) for message in messages]
        assert len(rows) == len(kafka.values(topic)) == times * 1_000
        totals = {
            product: sum(row["amount"] for row in rows if row["product"] == product)
            for product in ("tea", "coffee")
        }
        assert totals == {"tea": times * 2_500, "coffee": times * 2_997}  # as the page says


def test_a_message_that_is_another_kind_of_order_is_named(kafka: Kafka) -> None:
    topic = kafka.create()
    sound = b'{"at": "2026-01-15T08:00:12Z", "product": "tea", "quantity": 2}'
    for changed in (b'{"product": "tea"}', sound.replace(b"2}", b'"two"}'), b"null"):
        kafka.produce(topic, [sound, changed])
    dead: list[int] = []
    settings: dict[str, Any] = {"decode": order_of, "until_end": True}
    with pytest.raises(ValueError, match=f"{topic}, partition 0, offset 1: KeyError: 'at'"):
        read_kafka(kafka.servers, topic, **settings).to_list().run_sync()
    flow = read_kafka(
        kafka.servers, topic, on_bad=lambda message, error: dead.append(message.offset), **settings
    )
    assert len(flow.to_list().run_sync() or []) == 3
    assert dead == [1, 3, 5]


def test_the_totals_are_those_of_psql_and_a_plain_consumer_over_a_kill(
    tmp_path: Path, kafka: Kafka, postgres_database: Database, pytestconfig: pytest.Config
) -> None:
    init("shop", "--into", str(tmp_path), "--template", "kafka-to-postgres")
    folder = tmp_path / "shop"
    assert (folder / "pipeline.py").read_text() == EXAMPLE.read_text()  # it is what runs here
    topic = filled(kafka, Random(5))
    configured(folder, kafka, topic, postgres_database)
    postgres_database.psql("CREATE TABLE products (product text PRIMARY KEY, price numeric)")
    for product, price in PRICES.items():
        postgres_database.psql(f"INSERT INTO products VALUES ('{product}', {price})")
    with RunningCommand(*RUN, folder=folder) as command:
        command.wait_for_processes(
            lambda: (
                not command.is_running
                or postgres_database.psql("SELECT to_regclass('sales')") != [("\\N",)]
            )
        )
        command.kill()
    ended = penstock_command(*RUN, folder=folder)
    assert ended.code == 0, ended.err
    assert "lost 0" in ended.out + ended.err
    assert sold(postgres_database) == totals_of(kafka, topic)
    if pytestconfig.getoption("full"):  # tests/pipeline/test_batches.py does so every time
        again = penstock_command(*RUN, folder=folder)
        assert again.code == 0, again.err
        assert sold(postgres_database) == totals_of(kafka, topic)
