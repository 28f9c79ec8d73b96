"""A real Kafka broker for tests, and what a plain client does there."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import IO, Any, Final

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from penstock.java import Java, Library, find_java, read_checksums
from tests.connectors.authority import Authority
from tests.held_port import held_port
from tests.servers.process import ServerProcess, running

__all__ = ["PASSWORD", "USER", "Kafka", "broker", "prepare_kafka", "prepare_spark_reader"]

USER: Final = "reader"
PASSWORD: Final = "s3cret-of-the-reader"
LIBRARY: Final = Library(
    name="the Kafka broker to test with",
    folder="kafka-4.3.0",
    artifacts=("org.apache.kafka:kafka_2.13:4.3.0",),
    checksums=read_checksums(Path(__file__).with_suffix(".sha256")),
)
# The newest of which the registry has a part that goes together with the newest Spark.
SPARK_READER: Final = Library(
    name="what Spark needs to read a topic",
    folder="spark-kafka-4.2.0",
    artifacts=(),
    alone=(
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.0",
        "org.apache.commons:commons-pool2:2.12.0",
    ),
    checksums=read_checksums(Path(__file__).with_name("spark_kafka.sha256")),
)
LISTENERS: Final = {
    "plain": "PLAINTEXT",
    "sasl": "SASL_PLAINTEXT",
    "tls": "SSL",
    "sasl_tls": "SASL_SSL",
}
OPTIONS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SILENT: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
"""A broker that cannot use the archive is slower, and that is all."""
CLUSTER: Final = "cGVuc3RvY2stdGVzdHMtMQ"
PATIENCE: Final = 60.0
# One of each, and of each topic one copy: it serves one program at a time.
PROPERTIES: Final = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL
listeners={listeners}
advertised.listeners={advertised}
listener.name.sasl_plaintext.sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=\
org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}";
log.dirs={folder}/data
auto.create.topics.enable=true
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
num.network.threads=1
num.io.threads=2
background.threads=1
log.initial.task.delay.ms=100
broker.session.timeout.ms=1000
broker.heartbeat.interval.ms=200
"""
# The certificate is that of localhost, and of no address.
ENCRYPTED: Final = """
ssl.keystore.type=PEM
ssl.keystore.location={certificate}
ssl.truststore.type=PEM
ssl.truststore.location={authority}
listener.name.sasl_ssl.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
"""
SCRAM: Final = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"


@cache
def kafka_and_its_java() -> tuple[Java, Path]:
    """The Java that runs it, and the folder of its files, fetched if they are not at hand."""
    java = find_java("a Kafka broker")
    return java, LIBRARY.jars(java)[0].parent


def prepare_kafka() -> list[str]:
    """See to it that the broker is at hand: how Java is called to run one of its programs."""
    java, folder = kafka_and_its_java()
    archive = class_archive()
    from_archive = [f"-XX:SharedArchiveFile={archive}", *SILENT] if archive.exists() else []
    return [str(java.command), *OPTIONS, *from_archive, "-classpath", f"{folder}/*"]


def class_archive() -> Path:
    """What the first broker that ends has loaded: others start in two thirds of the time by it."""
    java, folder = kafka_and_its_java()
    key = hashlib.sha256(" ".join((str(java.home), java.version, *OPTIONS)).encode()).hexdigest()
    return folder.with_name(f"{folder.name}-{key[:12]}.jsa")


def claimed(archive: Path) -> IO[str] | None:
    """Whether this process is the one to write it, as long as the file is open."""
    claim = archive.with_suffix(".lock").open("w")
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        claim.close()
        return None
    return claim


def properties_of(folder: Path, ports: Mapping[str, int], authority: Authority | None) -> str:
    """What the broker is started with; encrypted listeners are there with an authority."""
    at = {LISTENERS[name]: port for name, port in ports.items() if name in LISTENERS}
    heard = {name: f"127.0.0.1:{port}" for name, port in at.items()}
    named = {name: f"localhost:{port}" for name, port in at.items() if name.endswith("SSL")}
    text = PROPERTIES.format(
        folder=folder,
        user=USER,
        password=PASSWORD,
        controller=ports["controller"],
        listeners=urls({**heard, "CONTROLLER": f"127.0.0.1:{ports['controller']}"}),
        advertised=urls({**heard, **named}),
    )
    if authority is None:
        return text
    made = authority.certificate("localhost", "DNS:localhost")
    together = folder / "broker.pem"
    together.write_bytes(made.key.read_bytes() + made.certificate.read_bytes())
    return text + ENCRYPTED.format(certificate=together, authority=authority.file)


def urls(places: Mapping[str, str]) -> str:
    """As the broker writes its listeners."""
    return ",".join(f"{name}://{place}" for name, place in places.items())


def prepare_spark_reader() -> str:
    """See to it that Spark can read topics: the files that it has to load."""
    return ",".join(map(str, SPARK_READER.jars(find_java("a Kafka broker"))))


class Kafka(ServerProcess):
    """A broker that can be stopped and started again, and what a plain client reads from it.

    ``servers``  its address
    ``sasl``     its address for those who show who they are, by ``USER`` and ``PASSWORD``
    ``tls``, ``sasl_tls``  the same, encrypted, with an ``authority``
    """

    def __init__(
        self, folder: Path, ports: Mapping[str, int], authority: Authority | None = None
    ) -> None:
        java = prepare_kafka()
        self._archive, self._classes = class_archive(), folder / "classes.jsa"
        self._claim = None if self._archive.exists() else claimed(self._archive)
        writing = [f"-XX:ArchiveClassesAtExit={self._classes}", *SILENT] if self._claim else []
        command = [java[0], *writing, *java[1:]]
        properties = folder / "server.properties"
        properties.write_text(properties_of(folder, ports, authority))
        super().__init__([*command, "kafka.Kafka", str(properties)], folder, self._answers_clients)
        formatting = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-S", SCRAM]
        done = subprocess.run(
            [*formatting, "-c", str(properties)], check=False, capture_output=True, text=True
        )
        assert not done.returncode, done.stdout + done.stderr
        self._port = ports["plain"]
        self._numbers = count(1)
        self.authority = authority
        self.servers = f"127.0.0.1:{ports['plain']}"
        self.sasl = f"127.0.0.1:{ports['sasl']}"
        if authority is not None:
            self.tls = f"localhost:{ports['tls']}"
            self.sasl_tls = f"localhost:{ports['sasl_tls']}"

    def stop(self) -> None:
        """Let it end, and keep what it has loaded for others."""
        super().stop()
        if self._classes.exists() and not self._archive.exists():
            unfinished = self._archive.with_suffix(f".{os.getpid()}")
            shutil.move(self._classes, unfinished)
            unfinished.replace(self._archive)
        if self._claim is not None:
            self._claim.close()

    def create(self, partitions: int = 1, **config: str) -> str:
        """A new topic; in the names of its settings, ``_`` stands for a full stop."""
        return self._create(f"topic-{next(self._numbers)}", partitions, config)

    def make_anew(self, topic: str, partitions: int = 1) -> None:
        """Delete a topic, and create another one of that name."""
        self.delete(topic)
        while topic in self.topics():
            pass
        self._create(topic, partitions, {})

    def _create(self, topic: str, partitions: int, config: Mapping[str, str]) -> str:
        settings = {name.replace("_", "."): value for name, value in config.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=settings)
        self._done(self._admin.create_topics([new]))
        while not self._serves(topic, partitions):
            pass  # created in its log, and not yet known to those who ask
        return topic

    def _serves(self, topic: str, partitions: int) -> bool:
        known = self._admin.list_topics(topic, PATIENCE).topics[topic].partitions.values()
        return len(known) == partitions and all(each.leader >= 0 for each in known)

    def add_partitions(self, topic: str, partitions: int) -> None:
        """Let the topic have so many."""
        self._done(self._admin.create_partitions([NewPartitions(topic, partitions)]))
        while not self._serves(topic, partitions):
            pass

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """As retention does."""
        first = TopicPartition(topic, partition, offset)
        self._done(self._admin.delete_records([first]))

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._done(self._admin.delete_topics([topic]))

    def set_topic(self, topic: str, setting: str, value: str) -> None:
        """Change a setting of a topic."""
        entry = ConfigEntry(setting, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
        self._done(self._admin.incremental_alter_configs([resource]))

    def topics(self) -> set[str]:
        """All that there are."""
        return {*self._admin.list_topics(timeout=PATIENCE).topics}

    def produce(self, topic: str, values: Iterable[bytes | None], **options: Any) -> None:
        """Each of them is there when this returns."""
        refused: list[KafkaError] = []
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 1})
        for value in values:
            producer.produce(
                topic,
                value,
                on_delivery=lambda error, _: refused.append(error) if error else None,
                **options,
            )
            producer.poll(0)
        producer.flush(PATIENCE)
        assert not refused, refused[0]

    def read(self, topic: str, *, amid: bool = False) -> list[Message]:
        """All messages that count, partition by partition, as a plain client reads them.

        A commit is answered before its end is in all partitions, which is waited for, unless it is
        read ``amid`` a transaction.
        """
        settings = {
            "bootstrap.servers": self.servers,
            "group.id": "judge",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,  # the end is told after that
        }
        found: list[Message] = []
        with closing(Consumer(settings)) as consumer:
            partitions = consumer.list_topics(topic, PATIENCE).topics[topic].partitions
            if not amid:
                self.await_ends(topic)
            for partition in sorted(partitions):
                consumer.assign([TopicPartition(topic, partition, 0)])
                found += until_the_end(consumer)
        return found

    def await_ends(self, topic: str) -> None:
        """Wait until no transaction is open there."""
        partitions = self._admin.list_topics(topic, PATIENCE).topics[topic].partitions
        committed = IsolationLevel.READ_COMMITTED
        while self._ends(topic, partitions) != self._ends(topic, partitions, committed):
            pass

    def _ends(
        self,
        topic: str,
        partitions: Iterable[int],
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> list[int]:
        """Up to where each partition can be read."""
        latest = {TopicPartition(topic, each): OffsetSpec.latest() for each in partitions}
        asked = self._admin.list_offsets(latest, isolation_level=isolation)
        return [each.result(PATIENCE).offset for each in asked.values()]

    def values(self, topic: str, *, amid: bool = False) -> list[bytes | None]:
        """Those of all messages."""
        return [message.value() for message in self.read(topic, amid=amid)]

    @cached_property
    def _admin(self) -> AdminClient:
        at_once = {"reconnect.backoff.max.ms": 100, "log_level": 0}
        return AdminClient({"bootstrap.servers": self.servers, **at_once})

    def _done(self, begun: Mapping[Any, Any]) -> None:
        for each in begun.values():
            each.result(PATIENCE)

    def _answers_clients(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self._port), PATIENCE).close()
            self._admin.list_topics(timeout=1)
        except (OSError, KafkaException):
            return False
        return True


def until_the_end(consumer: Consumer) -> Iterator[Message]:
    """The messages of the one partition that the consumer has."""
    while True:
        message = consumer.poll(PATIENCE)
        assert message is not None, "the broker does not answer"
        error = message.error()
        if error is None:
            yield message
        elif error.code() == KafkaError._PARTITION_EOF:
            return
        else:
            raise KafkaException(error)


@contextmanager
def broker(folder: Path, *, encrypted: bool = False) -> Iterator[Kafka]:
    """A broker that keeps its files in ``folder``, until the end of the block."""
    with ExitStack() as leaving:
        names = ["plain", "sasl", "controller", *(("tls", "sasl_tls") if encrypted else ())]
        ports = {name: leaving.enter_context(held_port()) for name in names}
        server = Kafka(folder, ports, Authority(folder / "authority") if encrypted else None)
        leaving.enter_context(running(server))
        yield server
