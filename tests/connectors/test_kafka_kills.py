"""``kill -9`` of a program that writes into Kafka, and of the broker: each row is there once."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.faults.kafka_sink_process import (
    BATCHES,
    CRASHES,
    command,
    end_in_a_crash,
    run_to_the_end,
)
from tests.faults.message_pipelines import ROWS, run_on, run_through_kills
from tests.faults.sink_process import ROOT, Logs, rows_of
from tests.servers.kafka import Kafka, broker, prepare_spark_reader

pytestmark = pytest.mark.kafka

KILLED = -9
LOOK = 0.01


def test_each_row_is_there_once_after_a_kill_at_each_step(kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create(3)
    for point in CRASHES:
        assert end_in_a_crash(tmp_path, kafka.servers, topic, point, 1) == KILLED, point
    run_to_the_end(tmp_path, kafka.servers, topic)
    require_each_row_once(kafka, topic)
    run_to_the_end(tmp_path, kafka.servers, topic)
    require_each_row_once(kafka, topic)


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_each_row_is_there_once_after_kills_at_any_moment(kafka: Kafka, tmp_path: Path) -> None:
    """They come from outside: soon after a batch was begun, wherever the program is by then.

    A machine may be quick or busy, so that no time after the start would do.
    """
    random = Random(7)
    kills = 0
    for series in range(4):
        folder = tmp_path / str(series)
        folder.mkdir()
        topic = kafka.create(3)
        for batch in range(5):
            kills += is_killed_in(folder, kafka, topic, batch, random.uniform(0.0, 0.05))
        run_to_the_end(folder, kafka.servers, topic)
        require_each_row_once(kafka, topic)
    assert kills > 10  # the others came to their end before


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_each_row_is_there_once_after_kills_of_the_broker(tmp_path: Path) -> None:
    random = Random(8)
    with broker(tmp_path) as kafka:
        for series in range(5):
            folder = tmp_path / str(series)
            folder.mkdir()
            topic = kafka.create(3)
            program = subprocess.Popen(command(folder, kafka.servers, topic), cwd=ROOT)
            for _ in range(2):
                try:
                    program.wait(random.uniform(0.5, 2.0))
                except subprocess.TimeoutExpired:
                    pass
                kafka.kill() if random.random() < 0.5 else kafka.stop()
                kafka.start()
            code = program.wait(300)
            if code:  # it may have started while there was no broker
                run_to_the_end(folder, kafka.servers, topic)
            require_each_row_once(kafka, topic)


@pytest.mark.full
@pytest.mark.timeout(1_800)
def test_a_pipeline_from_topic_to_topic_has_each_row_once_after_kills(
    kafka: Kafka, tmp_path: Path
) -> None:
    source, sink = kafka.create(3), kafka.create(2)
    kafka.produce(source, (json.dumps({"number": number}).encode() for number in range(ROWS)))
    settings = {"server": kafka.servers, "source": source, "sink": sink}
    run_through_kills(tmp_path, "kafka", **settings)
    assert numbers_in(kafka, sink) == [*range(ROWS)]
    more = range(ROWS, ROWS + 500)
    kafka.produce(source, (json.dumps({"number": number}).encode() for number in more))
    run_on(tmp_path, "kafka", **settings)
    assert numbers_in(kafka, sink) == [*range(ROWS + 500)]


@pytest.mark.full
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("pipeline", ["kafka_by_spark", "kafka_on_executors"])
def test_a_topic_that_executors_read_has_each_row_once_after_kills(
    kafka: Kafka, tmp_path: Path, pipeline: str
) -> None:
    source, sink = kafka.create(3), kafka.create(2)
    settings = {
        "server": kafka.servers, "source": source, "sink": sink, "jars": prepare_spark_reader(),
    }  # fmt: skip
    kafka.produce(source, (json.dumps({"number": number}).encode() for number in range(ROWS)))
    run_through_kills(tmp_path, pipeline, **settings)
    require_all_of(kafka, source, sink)
    kafka.produce(source, (json.dumps({"number": number}).encode() for number in range(500)))
    run_on(tmp_path, pipeline, **settings)
    require_all_of(kafka, source, sink)


def numbers_in(kafka: Kafka, topic: str) -> list[int]:
    values = kafka.values(topic)
    return sorted(json.loads(value)["number"] for value in values if value is not None)


def require_all_of(kafka: Kafka, source: str, sink: str) -> None:
    """What a plain client reads from one topic is in the other, each message once."""
    given = [
        {**json.loads(each.value()), "partition": each.partition(), "offset": each.offset()}
        for each in kafka.read(source)
    ]
    found = [json.loads(value) for value in kafka.values(sink) if value is not None]
    assert sorted(found, key=place_of) == sorted(given, key=place_of)


def place_of(row: dict[str, int]) -> tuple[int, int]:
    return row["partition"], row["offset"]


def is_killed_in(folder: Path, kafka: Kafka, topic: str, batch: int, seconds: float) -> bool:
    """Kill it so many seconds after it has begun a batch; whether it was not done by then."""
    begun = len(Logs(folder).starts)
    program = subprocess.Popen(command(folder, kafka.servers, topic), cwd=ROOT)
    while program.poll() is None and not has_begun(Logs(folder), begun, batch):
        leave(program, LOOK)
    leave(program, seconds)
    program.kill()
    return program.wait() == KILLED


def has_begun(logs: Logs, starts: int, batch: int) -> bool:
    """Whether this start has come to a batch; an earlier one may have planned it."""
    return len(logs.starts) > starts and logs.planned >= batch


def leave(program: subprocess.Popen[bytes], seconds: float) -> None:
    """Let it run for a while, or to its end."""
    try:
        program.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def require_each_row_once(kafka: Kafka, topic: str) -> None:
    """A plain client reads what is committed."""
    found = [json.loads(value) for value in kafka.values(topic) if value is not None]
    expected = [row for batch in range(BATCHES) for row in rows_of(batch)]
    assert sorted(found, key=lambda row: int(row["number"])) == expected
