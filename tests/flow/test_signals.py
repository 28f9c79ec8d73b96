"""Operators with several inputs against models of signals: what comes, and at which signal.

A model on lists knows neither when something comes nor errors. Here signals come one at a time, in
any order, from publishers that a test controls. After each of them the stream has to be where its
model is: with the same elements, ended in the same way, and with the same publishers still open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNBOUNDED, CallingThread, Flow, Publisher
from penstock.testing import ManualPublisher, ManualSubscriber

Event: TypeAlias = tuple[int, str]
"""The number of a publisher, and its signal."""

KINDS: dict[str, Callable[[Publisher[Any]], Publisher[Any]]] = {
    "publishers": lambda publisher: publisher,
    "flows": Flow.from_publisher,
    "flows with a loop": lambda publisher: Flow.from_publisher(publisher).map(lambda x: x),
    "flows that prefetch": lambda publisher: Flow.from_publisher(publisher).publish_on(
        CallingThread()
    ),
}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


class Model:
    """What an operator makes of signals, each of which is handled before the next one comes.

    ``live``  the publishers that are subscribed to and have not ended
    """

    def __init__(self, live: Iterable[int] = (0, 1)) -> None:
        self.elements: list[Any] = []
        self.ending = ""
        self.live = set(live)

    def signal(self, number: int, signal: str, element: Any) -> None:
        """A publisher signals; an error of any of them ends the stream."""
        if signal == "error":
            self.end(f"error of {number}")
        elif signal == "complete":
            self.live.discard(number)
            self.completed(number)
        else:
            self.came(number, element)

    def end(self, ending: str = "complete") -> None:
        self.ending = ending
        self.live = set()

    def came(self, number: int, element: Any) -> None:
        self.elements.append(element)

    def completed(self, number: int) -> None:
        if not self.live:
            self.end()


class ConcatModel(Model):
    def __init__(self) -> None:
        super().__init__([0])

    def completed(self, number: int) -> None:
        if number == 0:
            self.live = {1}
        else:
            self.end()


class ThenModel(ConcatModel):
    def came(self, number: int, element: Any) -> None:
        if number == 1:
            self.elements.append(element)


class ZipModel(Model):
    def __init__(self) -> None:
        super().__init__()
        self.waiting: list[list[Any]] = [[], []]

    def came(self, number: int, element: Any) -> None:
        self.waiting[number].append(element)
        if all(self.waiting):
            self.elements.append(tuple(each.pop(0) for each in self.waiting))
        self.completed(number)

    def completed(self, number: int) -> None:
        if any(not self.waiting[each] for each in {0, 1} - self.live):
            self.end()


class CombineLatestModel(Model):
    def __init__(self) -> None:
        super().__init__()
        self.latest: dict[int, Any] = {}

    def came(self, number: int, element: Any) -> None:
        self.latest[number] = element
        if len(self.latest) == 2:
            self.elements.append((self.latest[0], self.latest[1]))

    def completed(self, number: int) -> None:
        if number not in self.latest or not self.live:
            self.end()


class WithLatestFromModel(CombineLatestModel):
    def came(self, number: int, element: Any) -> None:
        self.latest[number] = element
        if number == 0 and 1 in self.latest:
            self.elements.append((element, self.latest[1]))

    def completed(self, number: int) -> None:
        if number == 0 or number not in self.latest:
            self.end()


class TakeUntilModel(Model):
    def came(self, number: int, element: Any) -> None:
        if number == 0:
            self.elements.append(element)
        else:
            self.end()

    def completed(self, number: int) -> None:
        self.end()


class RaceModel(Model):
    def came(self, number: int, element: Any) -> None:
        self.live = {number}
        self.elements.append(element)

    def completed(self, number: int) -> None:
        self.end()


COMBINED: dict[str, tuple[Callable[[Any, Any], Flow[Any]], Callable[[], Model]]] = {
    "merge": (Flow.merge, Model),
    "concat": (Flow.concat, ConcatModel),
    "zip": (Flow.zip, ZipModel),
    "combine_latest": (Flow.combine_latest, CombineLatestModel),
    "race": (Flow.race, RaceModel),
    "with_latest_from": (
        lambda one, other: Flow.from_publisher(one).with_latest_from(other),
        WithLatestFromModel,
    ),
    "take_until": (
        lambda one, other: Flow.from_publisher(one).take_until(other),
        TakeUntilModel,
    ),
    "then": (lambda one, other: Flow.from_publisher(one).then(other), ThenModel),
}


class Compared:
    """A stream of publishers that the test controls, and its model."""

    def __init__(self, model: Model, size: int) -> None:
        self.publishers = [ManualPublisher[Any]() for _ in range(size)]
        self.subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
        self._model = model
        self._ended: set[int] = set()

    @property
    def live(self) -> set[int]:
        """The publishers that may signal."""
        return {
            number
            for number, publisher in enumerate(self.publishers)
            if publisher.subscribed and not publisher.cancelled and number not in self._ended
        }

    def signal(self, number: int, signal: str, element: Any) -> None:
        """Let a publisher signal, if it may."""
        if number not in self.live:
            return
        self._model.signal(number, signal, element)
        publisher = self.publishers[number]
        if signal == "next":
            publisher.next(element)
        elif signal == "complete":
            self._ended.add(number)
            publisher.complete()
        else:
            self._ended.add(number)
            publisher.error(OSError(f"error of {number}"))
        self.agree()

    def agree(self) -> None:
        """The stream is where its model is."""
        error = self.subscriber.error
        ending = str(error) if error else "complete" if self.subscriber.completed else ""
        came = (self.subscriber.elements, ending, self.live)
        assert came == (self._model.elements, self._model.ending, self._model.live)


SIGNALS = st.sampled_from(["next"] * 6 + ["complete", "error"])


@EVERY_KIND
@pytest.mark.parametrize("name", COMBINED)
@given(events=st.lists(st.tuples(st.integers(0, 1), SIGNALS), max_size=16))
def test_publishers_are_combined_as_they_signal(name: str, kind: str, events: list[Event]) -> None:
    combine, model = COMBINED[name]
    compared = Compared(model(), 2)
    combine(*map(KINDS[kind], compared.publishers)).subscribe(compared.subscriber)
    compared.agree()
    for element, (number, signal) in enumerate(events):
        compared.signal(number, signal, element)
