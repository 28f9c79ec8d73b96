"""What each product has sold in each minute: from a topic of Kafka into a table of PostgreSQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock import Flow
from penstock.connectors import KafkaMessage, Writer, read_kafka, read_postgres, write_postgres
from penstock.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SCHEMA = "at timestamp, product string, quantity long, amount double"


@dataclass(frozen=True)
class Settings:
    """What penstock.toml and --set can change. The password is in PGPASSWORD, or in ~/.pgpass."""

    servers: str = "localhost:9092"
    topic: str = "orders"
    database: str = "host=localhost dbname=shop"
    until_end: bool = False


class Prices:
    """The table of products, read when the first order comes."""

    def __init__(self, database: str) -> None:
        self._database = database

    @cached_property
    def of_products(self) -> dict[str, float]:
        """What each product costs."""
        products = read_postgres(self._database, "SELECT product, price FROM products")
        rows = products.to_list().run_sync() or []
        return {row["product"]: float(row["price"]) for row in rows}


def orders(settings: Settings) -> Flow[dict[str, Any]]:
    """The orders with their prices. One of a product that nobody knows costs nothing."""
    prices = Prices(settings.database)
    messages = read_kafka(
        settings.servers, settings.topic, decode=order_of, until_end=settings.until_end
    )
    return messages.map(lambda message: as_row(message, prices.of_products))


def order_of(value: bytes) -> dict[str, Any]:
    """What a message says; if it is no order, the error has its topic, partition and offset."""
    order = json.loads(value)
    return {
        "at": datetime.fromisoformat(order["at"]),
        "product": str(order["product"]),
        "quantity": int(order["quantity"]),
    }


def as_row(message: KafkaMessage, prices: dict[str, float]) -> dict[str, Any]:
    """What Spark needs of an order."""
    order = message.value
    return {**order, "amount": order["quantity"] * prices.get(order["product"], 0.0)}


def on_spark(orders: Flow[dict[str, Any]]) -> Any:
    """What happens on Spark; the mode "update" gives a total again when it has changed."""
    return orders.on_spark(SCHEMA, output_mode="update").frame(totals).rows()


def totals(rows: DataFrame) -> DataFrame:
    """Spark's own data frames: the total of each product in each minute.

    An order that comes more than an hour late is left out, and counted as such.
    """
    from pyspark.sql import functions

    minutes = functions.window("at", "1 minute")
    found = rows.withWatermark("at", "1 hour").groupBy(minutes, "product")
    sums = found.agg(
        functions.sum("quantity").alias("quantity"), functions.sum("amount").alias("amount")
    )
    return sums.select("window.start", "product", "quantity", "amount").withColumnRenamed(
        "start", "minute"
    )


def sales(settings: Settings) -> Writer:
    """A table in which a total takes the place of the one before; each batch is there once."""
    return write_postgres(settings.database, "sales", key=["minute", "product"])


pipeline = Pipeline(
    "shop",
    sources={"orders": orders},
    transform=on_spark,
    sinks={"sales": sales},
    settings=Settings,
)
