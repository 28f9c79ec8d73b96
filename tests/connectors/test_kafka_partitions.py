"""Some partitions of a topic: no message of others, and positions that say whose they are."""

from __future__ import annotations

import json
from itertools import chain
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Flow
from penstock.connectors import KafkaMessage, read_kafka
from penstock.connectors.kafka import reading as one_reading
from penstock.connectors.kafka.positions import TopicProgress, end_of_position
from tests.connectors.test_kafka_source import all_of, numbers, numbers_of, reading, topic_of
from tests.servers.kafka import Kafka

pytestmark = pytest.mark.kafka


def read(kafka: Kafka, topic: str, **options: Any) -> Flow[Any]:
    return read_kafka(kafka.servers, topic, until_end=True, **options)


def places_of(elements: list[Any]) -> list[tuple[int, int]]:
    """Partition and offset of messages, which may come in batches."""
    if elements and not isinstance(elements[0], KafkaMessage):
        messages = chain.from_iterable(each.messages for each in elements)
        return sorted((each.partition(), each.offset()) for each in messages)
    return sorted((each.partition, each.offset) for each in elements)


@pytest.mark.parametrize("batches", [False, True])
def test_programs_that_share_a_topic_have_each_message_once(kafka: Kafka, batches: bool) -> None:
    topic = topic_of(kafka, 300, 0, 500, 20)
    shares = [
        places_of(all_of(read(kafka, topic, partitions=each, batches=batches)))
        for each in ([2], (3, 1), range(1))
    ]
    assert [{partition for partition, _ in share} for share in shares] == [{2}, {3}, {0}]
    everything = [(each.partition(), each.offset()) for each in kafka.read(topic)]
    assert sorted(chain.from_iterable(shares)) == sorted(everything)


@pytest.mark.parametrize("partitions", [[2], [0, 2]])
def test_another_run_goes_on_after_the_position_of_any_message(
    kafka: Kafka, partitions: list[int]
) -> None:
    topic = topic_of(kafka, 4, 9, 5)
    everything = all_of(read(kafka, topic, partitions=partitions))
    for taken, message in enumerate(everything, 1):
        kept = json.loads(json.dumps(message.position))  # as a journal keeps it
        for batches in (False, True):
            rest = all_of(read(kafka, topic, partitions=partitions, after=kept, batches=batches))
            assert places_of(rest) == places_of(everything[taken:])
    (last,) = all_of(read(kafka, topic, partitions=partitions, batches=True))[-1:]
    assert last.position == everything[-1].position


def test_a_topic_that_was_read_whole_can_be_divided(kafka: Kafka) -> None:
    topic = topic_of(kafka, 6, 6)
    before = all_of(read(kafka, topic).take(5))
    kept = before[-1].position
    rest = [all_of(read(kafka, topic, partitions=[each], after=kept)) for each in (0, 1)]
    everything = [(partition, offset) for partition in (0, 1) for offset in range(6)]
    assert places_of([*before, *rest[0], *rest[1]]) == everything
    kafka.add_partitions(topic, 3)
    kafka.produce(topic, numbers(2, 2_000), partition=2)
    new = read(kafka, topic, partitions=[2], after=kept, start="latest")
    assert numbers_of(all_of(new)) == [2_000, 2_001]  # nobody has read it before


def test_a_position_says_nothing_of_other_partitions(kafka: Kafka) -> None:
    topic = topic_of(kafka, 3, 3, 3)
    kept = [*all_of(read(kafka, topic, partitions=[0, 2]))[-1].position]
    kafka.produce(topic, numbers(1, 2_003), partition=2)
    narrower = read(kafka, topic, partitions=[2], after=kept)
    assert places_of(all_of(narrower)) == [(2, 3)]
    for others in ([1], [0, 1], [0, 1, 2], None):
        with pytest.raises(LookupError) as refused:
            read_kafka(kafka.servers, topic, partitions=others, after=kept)
        assert str(refused.value) == (
            "read_kafka: the position is one of partitions=[0, 2], and says nothing of others; "
            "read these, or begin without that position"
        )


def test_a_partition_that_is_not_there_is_one_line(kafka: Kafka) -> None:
    topic = topic_of(kafka, 1, 1)
    for after in (None, [1, 1]):
        with pytest.raises(LookupError) as raised:
            all_of(read(kafka, topic, partitions=[0, 4], after=after))
        assert str(raised.value) == f"read_kafka: {topic} has no partition 4, it has 2 from 0 on"


def test_partitions_that_are_added_belong_to_others(kafka: Kafka) -> None:
    topic, connected = topic_of(kafka, 2, 2), Event()
    flow = read_kafka(
        kafka.servers, topic, partitions=[1], look_every=0.05,
        on_state=lambda words: connected.set(),
    )  # fmt: skip
    with reading(flow, request=100) as subscriber:
        assert connected.wait(60)
        subscriber.await_elements(2)
        kafka.add_partitions(topic, 3)
        kafka.produce(topic, numbers(5, 2_000), partition=2)
        kafka.produce(topic, numbers(1, 1_002), partition=1)
        subscriber.await_elements(3)
    assert numbers_of(subscriber.elements) == [1_000, 1_001, 1_002]


def test_a_topic_that_was_made_anew_is_noticed(kafka: Kafka) -> None:
    topic = topic_of(kafka, 1, 3)
    kept = all_of(read(kafka, topic, partitions=[1]))[-1].position
    kafka.make_anew(topic, partitions=2)
    kafka.produce(topic, numbers(9, 500), partition=1)
    with pytest.raises(LookupError, match=f"read_kafka: {topic} was deleted and made anew since"):
        all_of(read(kafka, topic, partitions=[1], after=kept))
    again = read(kafka, topic, partitions=[1], after=kept, on_missing="earliest")
    assert numbers_of(all_of(again)) == [*range(500, 509)]
    kafka.make_anew(topic)
    with pytest.raises(LookupError, match="has no partition 1, it has 1 from 0 on; it was made"):
        all_of(read(kafka, topic, partitions=[1], after=[0, 3]))


def test_brokers_that_do_not_tell_the_id_of_a_topic(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_reading, "identity_of", lambda *given: None)  # as before Kafka 2.8
    topic = topic_of(kafka, 1, 3)
    everything = all_of(read(kafka, topic, partitions=[1]))
    assert [each.position for each in everything] == [(1, -2, -1), (2, -2, -1), (3, -2, -1)]
    rest = read(kafka, topic, partitions=[1], after=everything[0].position)
    assert numbers_of(all_of(rest)) == [1_001, 1_002]
    assert all_of(read(kafka, topic))[-1].position == (1, 3)


@given(
    st.dictionaries(st.integers(0, 50), st.integers(0), min_size=1),
    st.none() | st.integers(max_value=-2),
)
def test_a_position_says_all_that_is_to_be_known(
    offsets: dict[int, int], identity: int | None
) -> None:
    some = dict(sorted(offsets.items()))
    position = (*some.values(), *end_of_position([*some], identity))
    assert TopicProgress.of("it", position) == TopicProgress(some, False, identity)
    whole = (*some.values(), *end_of_position(None, identity))
    in_order = dict(enumerate(some.values()))
    assert TopicProgress.of("it", whole) == TopicProgress(in_order, True, identity)
