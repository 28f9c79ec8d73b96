"""The client of Kafka: its settings, those of the user among them, and its errors in words."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from penstock.connectors.shared.connection_errors import quiet
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.runtime import printable, shorten
from penstock.runtime.arguments import require_text, require_texts

__all__ = [
    "ANSWER",
    "ANSWERS",
    "ClientTrouble",
    "Settings",
    "asked",
    "checked_options",
    "client_log",
    "identity_of",
    "in_words",
    "of_all_clients",
    "partitions_of",
    "require_servers",
    "require_topic",
]

Settings = dict[str, Any]
"""What the client is made with, by the names that Kafka has for it."""

LONGEST_TOPIC: Final = 249
SOME_BITS: Final = 0x7FFF_FFFF
CHANGING: Final = re.compile(r", [0-9]+ identical error\(s\) suppressed|[0-9]+")
"""What differs between lines of the client that say the same."""
HUNG_UP: Final = re.compile(r"Disconnected|Send failed")
"""What the client says of a connection that was made, and was closed by the other end."""
UNTRUSTED: Final = "certificate verify failed"
PAUSE: Final = 30.0
"""The seconds for which the log does not say the same again."""
ANSWER: Final = 1.0
"""The seconds for which a broker is given to answer, before it is looked what else it has said."""
ANSWERS: Final = 10
OURS: Final = {
    "bootstrap.servers": "the servers are an argument of their own",
    "metadata.broker.list": "the servers are an argument of their own",
    "logger": "what the client logs goes to logging",
    "log_cb": "what the client logs goes to logging",
    "error_cb": "errors of the connection are told by penstock",
}
"""Options that no connector takes, and why."""

OF_ALL_CLIENTS: Final = (
    "api.", "broker.", "client.", "enable.sasl", "enable.ssl", "oauth", "reconnect.", "sasl.",
    "security.", "socket.", "ssl.",
)  # fmt: skip
"""The beginnings of options that are about the connection, and not about messages."""

REFUSALS: Final = (
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
"""Errors that another attempt does not mend."""


def require_servers(connector: str, servers: str | Iterable[str]) -> str:
    """``servers`` as the client takes them, when each is a host and a port."""
    given = servers.split(",") if isinstance(servers, str) else servers
    if not isinstance(given, Iterable):
        raise TypeError(f"{connector}: servers must be a str or several, not {shorten(servers)}")
    texts = [text.strip() for text in require_texts(connector, "servers", given)]
    for text in texts:
        host, _, port = text.rpartition(":")
        if not host or not port.isdigit() or "@" in text or "//" in text:
            raise ValueError(
                f"{connector}: servers must be like 'localhost:9092', several with commas; not so "
                f"{shorten(text.rpartition('@')[2])}"
            )
    if not texts:
        raise ValueError(f"{connector}: servers must name at least one")
    return ",".join(texts)


def require_topic(connector: str, topic: str) -> str:
    """``topic``, when Kafka can have one of that name."""
    text = require_text(connector, "topic", topic)
    plain = text.replace(".", "").replace("_", "").replace("-", "")
    is_plain = not plain or (plain.isascii() and plain.isalnum())
    if not is_plain or len(text) > LONGEST_TOPIC or text in (".", ".."):
        raise ValueError(
            f"{connector}: the name of a topic has at most {LONGEST_TOPIC} letters, digits, full "
            f"stops, _ and -; not so {shorten(text)}"
        )
    return text


def checked_options(
    connector: str,
    options: Mapping[str, Any] | None,
    refused: Mapping[str, str],
    make: Callable[[Settings], Any],
) -> Settings:
    """Options of the user, when the client knows them and none is against the connector.

    A client is made of them to ask it. It is told of no server, so it connects to none.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"{connector}: options must be a mapping, not a {type(options).__name__}")
    against = {**OURS, **refused}
    for name in require_texts(connector, "the names of options", options):
        if name in against:
            raise ValueError(f"{connector}: options: {name} cannot be set, {against[name]}")
    try:
        make({"group.id": "penstock", **options, "logger": client_log()})
    except KafkaException as error:
        raise ValueError(f"{connector}: options: {in_words(error)}") from None
    except (TypeError, ValueError) as error:
        raise TypeError(f"{connector}: options: {error}") from None
    return dict(options)


def of_all_clients(options: Settings) -> Settings:
    """Those of the connection, which any kind of client takes."""
    return {name: value for name, value in options.items() if name.startswith(OF_ALL_CLIENTS)}


def in_words(error: KafkaException | KafkaError) -> str:
    """What the client or the broker says, on one line."""
    found = error.args[0] if isinstance(error, KafkaException) else error
    return printable(str(found.str()) if isinstance(found, KafkaError) else str(found))


class WithoutRepetition(logging.Filter):
    """Leaves out a line that says what one has said a while ago, with other numbers.

    The client has a line for each attempt to connect, and makes several in a second. It is asked on
    the thread that uses the client.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._now = now
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is news."""
        now = self._now()
        self._said = {text: said for text, said in self._said.items() if now - said < PAUSE}
        text = CHANGING.sub("", record.getMessage())
        is_news = text not in self._said
        self._said.setdefault(text, now)
        return is_news


def client_log() -> logging.Logger:
    """Where the client logs."""
    logger = quiet("kafka")
    if not any(isinstance(each, WithoutRepetition) for each in logger.filters):
        logger.filters.insert(0, WithoutRepetition())
    return logger


class ClientTrouble:
    """What the client tells of its connections, on the thread that uses it.

    It connects again by itself, and says little of it. So who finds nothing to read asks here.

    ``has_answered``  whether a broker did, so that the settings of the connection are right
    """

    def __init__(self, connector: str, servers: str, options: Settings) -> None:
        self._connector = connector
        self._servers = servers
        self._protocol = str(options.get("security.protocol", "plaintext"))
        self._reason: KafkaError | None = None
        self._is_away = False
        self.has_answered = False

    def __call__(self, error: KafkaError) -> None:
        """Note an error; the client calls it."""
        is_away = error.code() == KafkaError._ALL_BROKERS_DOWN
        self._is_away = self._is_away or is_away
        says_more = not is_away and (self._reason is None or not is_refusal(self._reason))
        if self._reason is None or says_more:
            self._reason = error

    def raise_it(self) -> None:
        """``ConnectionError`` for credentials that are refused, ``ConnectionLost`` for silence."""
        self.raise_refusal()
        if self._is_away and self._reason is not None:
            raise ConnectionLost(self._words(self._reason))

    def raise_refusal(self) -> None:
        """``ConnectionError`` for what stays as it is."""
        reason = self._reason
        if reason is not None and (reason.fatal() or is_refusal(reason)):
            raise self.refusal(reason)

    def explained(self, error: KafkaException) -> Exception:
        """The error to raise for one of a call, which says less than what was told meanwhile."""
        try:
            self.raise_it()
        except (ConnectionLost, ConnectionError) as told:
            return told
        found = error.args[0]
        if isinstance(found, KafkaError) and is_refusal(found):
            return self.refusal(found)
        if isinstance(found, KafkaError) and not found.fatal():
            return ConnectionLost(self._words(self._reason or found))
        return ConnectionError(f"{self._connector}: {self._servers}: {in_words(error)}")

    def refusal(self, error: KafkaError) -> ConnectionError:
        """An error that stays."""
        return ConnectionError(
            f"{self._connector}: {self._servers}: {self._words(error)}; there is no other attempt"
        )

    def _words(self, error: KafkaError) -> str:
        """What the client says, and what it leaves to be guessed."""
        words = in_words(error)
        if UNTRUSTED in words:
            return f"{words}; it has to be signed by that authority, for the name in servers"
        is_hung_up = error.code() == KafkaError._ALL_BROKERS_DOWN or HUNG_UP.search(words)
        if is_hung_up and not self.has_answered:
            return (
                f"{words}: connections are closed without an answer; is this port for "
                f"security.protocol={self._protocol}, as options say?"
            )
        return words


def is_refusal(error: KafkaError) -> bool:
    """Whether another attempt does not mend it; of certificates it is told by several codes."""
    return error.code() in REFUSALS or UNTRUSTED in str(error.str())


def asked(consumer: Any, topic: str, trouble: ClientTrouble, goes_on: Callable[[], bool]) -> Any:
    """What the brokers say of a topic; in between they may say that we are not welcome.

    A consumer asks, since a producer would make the topic; if it reads already, ``goes_on`` must be
    false, since it may take a message when it is asked again. ``KafkaException`` if none answers.
    """
    attempts = ANSWERS
    while True:
        attempts -= 1
        try:
            found = consumer.list_topics(topic, ANSWER).topics[topic]
        except KafkaException:
            if not attempts or not goes_on():
                raise
            consumer.poll(0)  # where the client tells its troubles
            trouble.raise_it()
        else:
            trouble.has_answered = True
            return found


def identity_of(servers: str, topic: str, options: Settings, patience: float) -> int | None:
    """A number below zero that tells the topic from another of its name; none if it has no id.

    Half of the id will do, since it goes along with each message. Brokers before 2.8 have none, and
    some do not tell.
    """
    settings = {**of_all_clients(options), "bootstrap.servers": servers, "logger": client_log()}
    admin = AdminClient(settings)  # without this name it would be gone before the answer
    try:
        described = admin.describe_topics(TopicCollection([topic]))
        found = described[topic].result(patience).topic_id
    except (KafkaException, TimeoutError):
        return None
    bits = found.get_most_significant_bits() ^ found.get_least_significant_bits()
    return -(bits & SOME_BITS) or None


def partitions_of(found: Any) -> int:
    """How many partitions a topic has, of which the brokers have told; 0 if there is none."""
    if found.error is None:
        return len(found.partitions)
    if found.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return 0
    raise KafkaException(found.error)
