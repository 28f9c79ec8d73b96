"""Topics of Kafka over TLS: whom the client trusts, whom the broker lets in, and what is told."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from penstock import Flow, Retry
from penstock.connectors import read_kafka, write_kafka
from penstock.connectors.kafka.client import ClientTrouble
from penstock.delivery import Epoch
from tests.connectors.authority import Authority
from tests.servers.kafka import PASSWORD, USER, Kafka

pytestmark = [pytest.mark.kafka, pytest.mark.openssl]

WRONG = "not-it-at-all"
ONCE = Retry(times=0)


def tls(kafka: Kafka, **more: str) -> dict[str, Any]:
    """The options of a client that trusts the authority of the broker."""
    assert kafka.authority is not None
    trust = {"security.protocol": "SSL", "ssl.ca.location": str(kafka.authority.file)}
    return {**trust, **{name.replace("_", "."): value for name, value in more.items()}}


def scram(kafka: Kafka, password: str = PASSWORD) -> dict[str, Any]:
    """The options of a user whose password is sent over TLS."""
    return tls(
        kafka,
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username=USER,
        sasl_password=password,
    )


def refusals(servers: str, topic: str, options: dict[str, Any]) -> list[str]:
    """What a source and a sink say, each in one line."""
    flow = read_kafka(servers, topic, until_end=True, options=options, reconnect=ONCE)
    sink = write_kafka(servers, topic, options=options).sink
    words: list[str] = []
    for begin in (flow.to_list().run_sync, lambda: sink.check(None)):
        with pytest.raises(ConnectionError) as raised:
            begin()
        words.append(str(raised.value))
        shown = f"{raised.value!r} {flow!r} {sink!r} {flow.explain()}"
        assert "\n" not in words[-1]
        assert WRONG not in shown
        assert PASSWORD not in shown
    return words


@pytest.mark.parametrize("kind", ["tls", "sasl_tls"])
def test_a_topic_is_written_and_read_over_tls(
    kafka: Kafka, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    topic = kafka.create()
    servers, options = (kafka.tls, tls(kafka)) if kind == "tls" else (kafka.sasl_tls, scram(kafka))
    Flow.range(100).subscribe(writer := write_kafka(servers, topic, options=options))
    assert writer.wait(60)
    assert writer.error is None
    sink = write_kafka(servers, topic, options=options).sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink(100)
    sink.commit(0)
    sink.close()
    messages = read_kafka(servers, topic, until_end=True, options=options).to_list().run_sync()
    found = [message.value for message in messages or ()]
    assert found == [*range(101)]
    assert kafka.values(topic) == [b"%d" % number for number in found]  # unencrypted
    assert PASSWORD not in caplog.text


def test_a_broker_of_another_authority_is_not_trusted(kafka: Kafka, tmp_path: Path) -> None:
    stranger = Authority(tmp_path / "stranger")
    for words in refusals(kafka.tls, "orders", tls(kafka, ssl_ca_location=str(stranger.file))):
        assert "certificate verify failed" in words
        assert "signed by that authority, for the name in servers; there is no other" in words


def test_of_errors_of_a_client_that_which_stays_is_told() -> None:
    """A certificate is refused by a code of its own, or by that of any connection."""
    trouble = ClientTrouble("read_kafka", "a:1", {})
    for code, words in (
        (KafkaError._ALL_BROKERS_DOWN, "1/1 brokers are down"),
        (KafkaError._TRANSPORT, "error:0A000086:SSL routines::certificate verify failed"),
        (KafkaError._TRANSPORT, "Disconnected"),
    ):
        trouble(KafkaError(code, words))
    with pytest.raises(ConnectionError, match="verify failed; .*there is no other attempt"):
        trouble.raise_it()


def test_a_broker_under_another_name_is_not_trusted(kafka: Kafka) -> None:
    """The certificate has the name localhost, and no address."""
    address = kafka.tls.replace("localhost", "127.0.0.1")
    for words in refusals(address, "orders", tls(kafka)):
        assert f"{address}: ssl://" in words
        assert "for the name in servers; there is no other attempt" in words


def test_a_wrong_password_is_one_line_that_does_not_have_it(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for words in refusals(kafka.sasl_tls, "orders", scram(kafka, WRONG)):
        assert "invalid credentials with SASL mechanism SCRAM-SHA-512" in words
        assert words.endswith("there is no other attempt")
    assert WRONG not in caplog.text


@pytest.mark.parametrize("port", ["tls", "sasl_tls", "servers"])
def test_a_client_with_another_protocol_than_the_port_is_asked_about_it(
    kafka: Kafka, port: str
) -> None:
    options = {} if port == "tls" else tls(kafka)
    protocol = options.get("security.protocol", "plaintext")
    for words in refusals(getattr(kafka, port), "orders", options):
        assert words.endswith(
            "connections are closed without an answer; is this port for "
            f"security.protocol={protocol}, as options say?"
        )
