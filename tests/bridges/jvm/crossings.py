"""What crosses the bridge, and how; runs in the process with the JVM."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from enum import IntEnum
from itertools import count
from typing import Any

import jpype

from penstock import Flow, RuleViolation, collect_undelivered
from penstock.bridges.jvm import JavaError, conversion, from_jvm, to_jvm
from penstock.testing import ManualSubscriber
from tests.bridges.jvm.scenarios import Counting, patient, peer


class Colour(IntEnum):
    """A number that is more than a number."""

    RED = 1


class Price:
    """An object of Python."""


def peers() -> Any:
    return jpype.JClass("penstock.peers.Peers")


def odd(how: str) -> Any:
    return jpype.JClass("penstock.peers.Peers$Odd")(how)


def returned(elements: list[Any]) -> list[Any]:
    """What comes back, in the order in which it came."""
    return list(from_jvm(to_jvm(Flow.from_iterable(elements))).blocking())


def values_of_python() -> tuple[list[Any], list[Any]]:
    values = [
        7,
        -(2**63),
        0.5,
        float("inf"),
        True,
        "text",
        "",
        "\U0001f600",
        "\ud83d",
        b"",
        b"\0\xff",
    ]
    back = returned(values)
    return list(map(repr, values)), list(map(repr, back))


def values_of_one_kind() -> bool:
    lists: list[list[Any]] = [["", ""], [b""], [0.0, -1.5], [True], [2**63, 1], ["x" * 2**20] * 3]
    return all(returned(values) == values for values in lists)


def objects_of_python() -> list[bool]:
    objects = [Price(), {"a": 1}, 2**63, Colour.RED, [None], Price]
    return [one is other for one, other in zip(objects, returned(objects), strict=True)]


def classes_in_java() -> list[Any]:
    values = Flow.of(1, 0.5, True, "text", b"bytes", Price(), jpype.java.util.Date(0))
    classes = peers().classesOf(to_jvm(values, "reactive-streams"))
    return list(from_jvm(classes).blocking())


def values_of_java() -> list[tuple[str, str]]:
    values = list(from_jvm(peers().values()).blocking())
    return [(type(value).__name__, str(value)) for value in values]


def distinct_objects() -> int:
    one, other = Price(), Price()
    objects = to_jvm(Flow.of(one, other, one, one), "reactive-streams")
    return len(list(from_jvm(peers().distinct(objects)).blocking()))


def objects_left() -> int:
    """How many objects Python keeps for Java after both have dropped them."""
    returned([Price() for _ in range(1000)])
    before = len(conversion._objects)
    left = threading.Event()
    for _ in range(200):
        gc.collect()
        jpype.java.lang.System.gc()
        if len(conversion._objects) < before - 990:
            break
        left.wait(0.05)
    return sum(isinstance(kept[0], Price) for kept in list(conversion._objects.values()))


def how_it_ends(how: str) -> tuple[str, str, str]:
    """The type of the error, its text and that of its cause."""
    subscriber = ManualSubscriber[Any](request=3)
    from_jvm(odd(how)).subscribe(subscriber)
    subscriber.await_end(30)
    error = subscriber.error
    return type(error).__name__, str(error), str(error.__cause__ if error else None)


def a_second_subscription() -> list[Any]:
    return list(from_jvm(odd("subscribes twice")).blocking())


def a_slow_publisher_of_java() -> list[Any]:
    """What has come while the publisher is still within ``request``, and all."""
    publisher = odd("is slow")
    subscriber = ManualSubscriber[Any](request=10)
    from_jvm(publisher).subscribe(subscriber)
    subscriber.await_elements(1, 30)
    first = list(subscriber.elements)
    publisher.goOn()
    subscriber.await_end(30)
    return [first, subscriber.elements]


def a_slow_publisher_of_python() -> list[int]:
    """What has come to Java while the publisher is still within ``request``, and all."""
    goes_on = threading.Event()

    def slowly() -> Iterator[int]:
        yield 1
        goes_on.wait()
        yield 2

    subscriber = patient(to_jvm(Flow.from_iterable(slowly())))
    subscriber.request(10)
    subscriber.awaitReceived(1)
    first = int(subscriber.received())
    goes_on.set()
    subscriber.awaitReceived(10)
    return [first, int(subscriber.received())]


def a_subscriber_of_java_that_throws() -> tuple[list[str], bool]:
    numbers = Counting(count())
    with collect_undelivered() as lost:
        to_jvm(numbers).subscribe(jpype.JClass("penstock.peers.Peers$Throwing")())
        cancelled = numbers.cancelled.wait(30)
    return list(map(str, lost)), cancelled


def an_error_of_java_on_its_way_back() -> bool:
    """Whether Java gets the throwable that it has thrown, when Python only passes it on."""
    broken = from_jvm(peer("Reactor").numbers(3, True))
    try:
        broken.run_sync()
    except JavaError as error:
        thrown: Any = error
    subscriber = patient(to_jvm(Flow.error(thrown)))
    subscriber.awaitReceived(1)
    return bool(subscriber.error().equals(thrown.__cause__))


def a_publisher_of_python_that_raises() -> tuple[str, bool]:
    class Closed:
        def subscribe(self, subscriber: Any) -> None:
            raise OSError("the market is closed")

    try:
        from_jvm(to_jvm(Closed())).run_sync()
    except RuleViolation as error:
        return str(error), isinstance(error.__cause__, OSError)
    raise AssertionError("it did not fail")


def threads_left() -> tuple[list[str], int]:
    """The threads that are left when all streams are over, and how many more the JVM knows."""
    run_some_streams()
    before = threads_in_java()
    for _ in range(20):
        run_some_streams()
    names = [thread.name for thread in threading.enumerate() if "penstock" in thread.name]
    return names, threads_in_java() - before


def run_some_streams() -> None:
    assert returned([1, 2, 3]) == [1, 2, 3]
    from_jvm(peer("Reactor").numbers(2**62, False)).take(3).run_sync()
    for thread in threading.enumerate():
        if thread.name.startswith("penstock bridge") and "events" not in thread.name:
            thread.join(30)


def threads_in_java() -> int:
    management = jpype.JClass("java.lang.management.ManagementFactory")
    return int(management.getThreadMXBean().getThreadCount())


def what_java_is_told(standard: str) -> list[str]:
    """The classes of the publisher, and what it answers to no subscriber."""
    publisher = to_jvm(Flow.range(3), standard)  # type: ignore[arg-type]
    try:
        publisher.subscribe(None)
    except jpype.JClass("java.lang.NullPointerException") as error:
        return [str(error.getMessage())]
    raise AssertionError("it took no subscriber for one")
