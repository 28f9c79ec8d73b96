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
"""Which one of the publishers that may signal does so, and how."""

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


class SkipUntilModel(Model):
    def __init__(self) -> None:
        super().__init__()
        self._open = False

    def came(self, number: int, element: Any) -> None:
        if number == 1:
            self.live.discard(1)
            self._open = True
        elif self._open:
            self.elements.append(element)

    def completed(self, number: int) -> None:
        if number == 0:
            self.end()
        self._open = True


class DelaySubscriptionModel(ThenModel):
    """The first publisher is the one that is waited for."""

    def came(self, number: int, element: Any) -> None:
        super().came(number, element)
        self.live = {1}


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
    "skip_until": (
        lambda one, other: Flow.from_publisher(one).skip_until(other),
        SkipUntilModel,
    ),
    "delay_subscription": (
        lambda one, other: Flow.from_publisher(other).delay_subscription(one),
        DelaySubscriptionModel,
    ),
    "then": (lambda one, other: Flow.from_publisher(one).then(other), ThenModel),
}


class FlatMapModel(Model):
    """The outer publisher is number 0, and gives the numbers of those that are subscribed to."""

    def __init__(self, concurrency: int) -> None:
        super().__init__([0])
        self._concurrency = concurrency
        self._waiting: list[int] = []

    def came(self, number: int, element: Any) -> None:
        if number:
            self.elements.append(element)
        else:
            self._waiting.append(element)
            self._subscribe()

    def completed(self, number: int) -> None:
        self._subscribe()
        if not self.live:
            self.end()

    def _subscribe(self) -> None:
        while self._waiting and len(self.live - {0}) < self._concurrency:
            self.live.add(self._waiting.pop(0))


class SwitchMapModel(Model):
    """The same with one publisher at a time, the latest."""

    def __init__(self) -> None:
        super().__init__([0])

    def came(self, number: int, element: Any) -> None:
        if number:
            self.elements.append(element)
        else:
            self.live = {0, element}


class ExhaustMapModel(SwitchMapModel):
    """The same with the one that is open, as long as it is."""

    def came(self, number: int, element: Any) -> None:
        if number or self.live == {0}:
            super().came(number, element)


class FlatMapSequentialModel(FlatMapModel):
    """What comes ahead of its turn is kept, and counts as open."""

    def __init__(self, concurrency: int) -> None:
        super().__init__(concurrency)
        self._line: list[int] = []
        self._kept: dict[int, list[Any]] = {}

    def came(self, number: int, element: Any) -> None:
        if number:
            self._kept[number].append(element)
            self._give()
        else:
            super().came(number, element)

    def completed(self, number: int) -> None:
        self._give()
        if not self.live:
            self.end()

    def _subscribe(self) -> None:
        while self._waiting and len(self._line) < self._concurrency:
            number = self._waiting.pop(0)
            self._line.append(number)
            self._kept[number] = []
            self.live.add(number)

    def _give(self) -> None:
        while self._line:
            self.elements += self._kept[self._line[0]]
            self._kept[self._line[0]].clear()
            if self._line[0] in self.live:
                return
            self._line.pop(0)
            self._subscribe()


class ExpandModel(FlatMapModel):
    """Whatever comes is given, and its publisher subscribed to, if there is one, at its turn."""

    def came(self, number: int, element: Any) -> None:
        self.elements.append(element)
        self._waiting.append(element)
        self._subscribe()

    def _subscribe(self) -> None:
        while self._waiting and len(self.live) < self._concurrency:
            self.live.add(self._waiting.pop(0))


MOST_INNER = 16
"""As many as there are events: each of them may be an element of the outer publisher."""
FLATTENED: dict[str, tuple[Callable[..., Flow[Any]], Callable[[], Model]]] = {
    "flat_map": (Flow.flat_map, lambda: FlatMapModel(MOST_INNER)),
    "flat_map, two at a time": (
        lambda flow, function: flow.flat_map(function, concurrency=2),
        lambda: FlatMapModel(2),
    ),
    "concat_map": (Flow.concat_map, lambda: FlatMapModel(1)),
    "flat_map_sequential": (Flow.flat_map_sequential, lambda: FlatMapSequentialModel(MOST_INNER)),
    "flat_map_sequential, two at a time": (
        lambda flow, function: flow.flat_map_sequential(function, concurrency=2),
        lambda: FlatMapSequentialModel(2),
    ),
    "switch_map": (Flow.switch_map, SwitchMapModel),
    "exhaust_map": (Flow.exhaust_map, ExhaustMapModel),
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

    def play(self, events: list[Event], outer: Iterable[Any] = (), *, nested: bool = False) -> None:
        """Let publishers signal; the elements of the first one are those of ``outer``, if any.

        If they are ``nested``, those of all others are, too.
        """
        self.agree()
        numbers = iter(outer)
        for element, (which, signal) in enumerate(events):
            live = sorted(self.live)
            if live:
                number = live[which % len(live)]
                given = element if number and not nested else next(numbers, element)
                self._signal(number, signal, given)
                self.agree()

    def _signal(self, number: int, signal: str, element: Any) -> None:
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

    def agree(self) -> None:
        """The stream is where its model is."""
        error = self.subscriber.error
        ending = str(error) if error else "complete" if self.subscriber.completed else ""
        came = (self.subscriber.elements, ending, self.live)
        assert came == (self._model.elements, self._model.ending, self._model.live)


EVENTS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(["next"] * 3 + ["complete", "error"])),
    max_size=MOST_INNER,
)


@EVERY_KIND
@pytest.mark.parametrize("name", COMBINED)
@given(events=EVENTS)
def test_publishers_are_combined_as_they_signal(name: str, kind: str, events: list[Event]) -> None:
    combine, model = COMBINED[name]
    compared = Compared(model(), 2)
    combine(*map(KINDS[kind], compared.publishers)).subscribe(compared.subscriber)
    compared.play(events)


@EVERY_KIND
@pytest.mark.parametrize("name", FLATTENED)
@given(events=EVENTS)
def test_inner_publishers_are_flattened_as_they_signal(
    name: str, kind: str, events: list[Event]
) -> None:
    flatten, model = FLATTENED[name]
    compared = Compared(model(), 1 + MOST_INNER)
    outer, *inner = map(KINDS[kind], compared.publishers)
    flow = flatten(Flow.from_publisher(outer), lambda number: inner[number - 1])
    flow.subscribe(compared.subscriber)
    compared.play(events, outer=range(1, 1 + MOST_INNER))


@EVERY_KIND
@pytest.mark.parametrize("concurrency", [1, 2, MOST_INNER])
@given(events=EVENTS)
def test_publishers_are_expanded_as_they_signal(
    concurrency: int, kind: str, events: list[Event]
) -> None:
    compared = Compared(ExpandModel(concurrency), 1 + MOST_INNER)
    outer, *inner = map(KINDS[kind], compared.publishers)
    flow = Flow.from_publisher(outer).expand(lambda number: inner[number - 1], concurrency)
    flow.subscribe(compared.subscriber)
    compared.play(events, outer=range(1, 1 + MOST_INNER), nested=True)
