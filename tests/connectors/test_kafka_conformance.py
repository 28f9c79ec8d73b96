"""The connectors of Kafka before the conformance kit, with a real broker."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.connectors import Writer, read_kafka, write_kafka
from penstock.tck import verify_publisher, verify_subscriber
from tests.connectors.test_conformance import OVER_THE_NETWORK, Writers
from tests.servers.kafka import Kafka

pytestmark = [
    pytest.mark.full,
    pytest.mark.kafka,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("search_briefly"),
]


class Topics:
    """Topics of n messages, made once."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._made: dict[int, str] = {}

    def of(self, n: int) -> str:
        if n not in self._made:
            self._made[n] = self._kafka.create()
            self._kafka.produce(self._made[n], (b"%d" % number for number in range(n)))
        return self._made[n]


def test_a_topic_keeps_all_rules(kafka: Kafka) -> None:
    topics = Topics(kafka)

    def numbers(n: int) -> Flow[Any]:
        return read_kafka(kafka.servers, topics.of(n), until_end=True)

    verify_publisher(
        numbers, failed=lambda: read_kafka(kafka.servers, "nowhere"), **OVER_THE_NETWORK
    ).raise_if_failed()


def test_a_writer_of_messages_keeps_all_rules(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create()

    def write(path: Path) -> Writer:
        return write_kafka(kafka.servers, topic)

    with closing(Writers(tmp_path, write)) as writers:
        verify_subscriber(writers).raise_if_failed()
