"""What crosses the bridge arrives as it should, whatever the other side does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.bridges.jvm.peers import Elsewhere, machine_of_its_own

pytestmark = [pytest.mark.java_peers, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Elsewhere]:
    with machine_of_its_own("tests.bridges.jvm.crossings") as call:
        yield call


def test_values_of_python_come_back_as_they_were(elsewhere: Elsewhere) -> None:
    values, back = elsewhere("values_of_python")
    assert back == values
    assert elsewhere("values_of_one_kind")


def test_other_objects_of_python_come_back_as_the_same_objects(elsewhere: Elsewhere) -> None:
    assert elsewhere("objects_of_python") == [True] * 6


def test_java_sees_its_own_classes_where_it_has_them(elsewhere: Elsewhere) -> None:
    assert elsewhere("classes_in_java") == [
        "Long", "Double", "Boolean", "String", "byte[]", "Opaque", "Date",
    ]  # fmt: skip


def test_values_of_java_become_those_of_python_and_objects_stay_what_they_are(
    elsewhere: Elsewhere,
) -> None:
    assert elsewhere("values_of_java") == [
        ("int", "1"),
        ("int", "2"),
        ("float", "0.5"),
        ("bool", "True"),
        ("str", "text"),
        ("str", ""),
        ("bytes", r"b'\x01\xff'"),
        ("java.lang.Character", "c"),
        ("java.lang.StringBuilder", "b"),
    ]


def test_an_object_of_python_is_equal_to_itself_in_java(elsewhere: Elsewhere) -> None:
    assert elsewhere("distinct_objects") == 2


def test_objects_that_java_needs_no_more_are_let_go(elsewhere: Elsewhere) -> None:
    assert elsewhere("objects_left") <= 10


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("throws in subscribe", "java.lang.UnsupportedOperationException: it is closed"),
        ("fails before onSubscribe", "java.lang.IllegalStateException: the source is broken"),
        ("throws in request", "java.lang.IllegalStateException: the source is broken"),
        ("sends null", "java.lang.NullPointerException: the element is null (rule 2.13)"),
        (
            "sends one too many",
            "java.lang.IllegalStateException: onNext came without demand (rule 1.1)",
        ),
    ],
)
def test_a_publisher_of_java_that_breaks_a_rule_ends_its_stream(
    elsewhere: Elsewhere, how: str, text: str
) -> None:
    assert elsewhere("how_it_ends", how) == ("JavaError", text, text)


def test_a_second_subscription_of_java_is_cancelled(elsewhere: Elsewhere) -> None:
    assert elsewhere("a_second_subscription") == ["only"]


def test_elements_arrive_while_a_publisher_of_java_is_at_work(elsewhere: Elsewhere) -> None:
    assert elsewhere("a_slow_publisher_of_java") == [["first"], ["first", "second"]]


def test_elements_arrive_while_a_publisher_of_python_is_at_work(elsewhere: Elsewhere) -> None:
    assert elsewhere("a_slow_publisher_of_python") == [1, 2]


def test_a_subscriber_of_java_that_throws_counts_as_cancelled(elsewhere: Elsewhere) -> None:
    (told,), cancelled = elsewhere("a_subscriber_of_java_that_throws")
    assert cancelled
    assert "2.13" in told
    assert "no elements, please" in told


def test_an_error_of_java_that_python_passes_on_is_the_same_for_java(elsewhere: Elsewhere) -> None:
    assert elsewhere("an_error_of_java_on_its_way_back")


def test_a_publisher_of_python_that_raises_in_subscribe_ends_the_stream(
    elsewhere: Elsewhere,
) -> None:
    text, has_cause = elsewhere("a_publisher_of_python_that_raises")
    assert "1.9" in text
    assert "the market is closed" in text
    assert has_cause


def test_a_stream_that_is_over_leaves_no_thread_behind(elsewhere: Elsewhere) -> None:
    names, more_in_java = elsewhere("threads_left")
    assert names == ["penstock bridge events"]
    assert more_in_java < 10  # threads of its own come and go


@pytest.mark.parametrize("standard", ["flow", "reactive-streams"])
def test_java_is_told_that_a_subscriber_is_missing(elsewhere: Elsewhere, standard: str) -> None:
    (message,) = elsewhere("what_java_is_told", standard)
    assert "null" in message
