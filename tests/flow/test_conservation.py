"""No operator loses an element: what a flow has received was delivered or discarded, in the end."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import VirtualTime
from penstock.api import Subscriber, Subscription
from penstock.flow import Flow
from tests.flow.all_cases import ALL_CASES
from tests.flow.case import Case
from tests.rules.parties import PATIENCE

NUMBERS = list(range(30, 42))
ACTIONS = st.lists(st.tuples(st.sampled_from(["request", "push"]), st.integers(1, 4)), max_size=10)
ENDS = st.sampled_from(["cancel", "complete", "fail"])
FEWER_EXAMPLES = settings(max_examples=settings().max_examples // 2)


def numbers_in(element: object) -> Iterator[int]:
    """The numbers that an element consists of."""
    if isinstance(element, list | tuple):
        for each in element:
            yield from numbers_in(each)
    elif isinstance(element, int):
        yield element


def passes_all_on(case: Case) -> bool:
    """Whether each element that goes in comes out, alone or with others."""
    came_out = [x for element in case.model(NUMBERS) for x in numbers_in(element)]
    return Counter(came_out) == Counter(NUMBERS)


LOSSY = [
    Case(
        "on_backpressure_buffer that overflows", lambda flow: flow.on_backpressure_buffer(2), list
    ),
    Case(
        "on_backpressure_buffer that drops the oldest",
        lambda flow: flow.on_backpressure_buffer(2, "drop_oldest"),
        list,
    ),
    Case(
        "on_backpressure_buffer that drops the newest",
        lambda flow: flow.on_backpressure_buffer(2, "drop_newest"),
        list,
    ),
    Case("on_backpressure_drop", lambda flow: flow.on_backpressure_drop(), list),
    Case("on_backpressure_latest", lambda flow: flow.on_backpressure_latest(), list),
    Case("debounce", lambda flow: flow.debounce(1, clock=VirtualTime()), list),
    Case("throttle", lambda flow: flow.throttle(1, clock=VirtualTime()), list),
    Case("sample", lambda flow: flow.sample(1, clock=VirtualTime()), list),
    Case(
        "throttle to the last", lambda flow: flow.throttle(1, last=True, clock=VirtualTime()), list
    ),
]
"""What they lose depends on when elements come; they discard all of it."""
CONSERVING = [
    *LOSSY,
    *(
        case
        for case in ALL_CASES
        # One that keeps elements for subscribers still to come cannot discard them. And one that
        # iterates over a flow, as from_async_iterable does, has another run.
        if passes_all_on(case) and not case.keeps and case.name != "from_async_iterable"
    ),
]


class Stream(Subscription):
    """What one subscriber gets."""

    def __init__(self, subscriber: Subscriber[int], sent: list[int]) -> None:
        self._subscriber = subscriber
        self._sent = sent
        self._left = deque(NUMBERS)
        self._lock = threading.Lock()
        self._demand = 0
        self._over = False

    def request(self, n: int) -> None:
        with self._lock:
            self._demand += n

    def cancel(self) -> None:
        self._over = True

    def push(self, n: int) -> None:
        """Send up to so many elements, as far as they were requested."""
        for _ in range(n):
            if self._over or not self._left or not self._may_send():
                return
            element = self._left.popleft()
            self._sent.append(element)
            self._subscriber.on_next(element)

    def end(self, how: str) -> None:
        """Send the last signal, unless the stream is cancelled."""
        if not self._over:
            self._over = True
            if how == "fail":
                self._subscriber.on_error(ValueError("as announced"))
            else:
                self._subscriber.on_complete()

    def _may_send(self) -> bool:
        with self._lock:
            wanted = self._demand > 0
            self._demand -= wanted
            return wanted


class Source:
    """A publisher whose streams send when the test says so."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.streams: list[Stream] = []

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        stream = Stream(subscriber, self.sent)
        self.streams.append(stream)
        subscriber.on_subscribe(stream)


class Account:
    """A subscriber that knows which elements were delivered, and which were discarded."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._subscriptions: SimpleQueue[Subscription] = SimpleQueue()
        self.known: Counter[int] = Counter()

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscriptions.put(subscription)

    def on_next(self, element: object) -> None:
        self.note(element)

    def on_error(self, error: Exception) -> None: ...

    def on_complete(self) -> None: ...

    def await_subscription(self) -> Subscription:
        """Some flows begin on other threads."""
        return self._subscriptions.get(timeout=PATIENCE)

    def note(self, element: object) -> None:
        """An element was delivered, or discarded."""
        with self._changed:
            self.known.update(x for x in numbers_in(element) if x in NUMBERS)
            self._changed.notify_all()

    def await_all(self, sent: list[int]) -> None:
        """Some flows discard on other threads."""
        with self._changed:
            self._changed.wait_for(lambda: self.known == Counter(sent), PATIENCE)


@pytest.mark.parametrize("case", CONSERVING, ids=lambda case: case.name)
@FEWER_EXAMPLES
@given(actions=ACTIONS, end=ENDS)
def test_what_went_in_was_delivered_or_discarded(
    case: Case, actions: list[tuple[str, int]], end: str
) -> None:
    source, account = Source(), Account()
    flow: Flow[Any] = case.apply(Flow.from_publisher(source))
    flow.do_on_discard(account.note).subscribe(account)
    subscription = account.await_subscription()
    for action, n in actions:
        if action == "request":
            subscription.request(n)
        else:
            for stream in list(source.streams):
                stream.push(n)
    if end != "cancel":
        for stream in list(source.streams):
            stream.end(end)
    subscription.cancel()
    account.await_all(source.sent)
    assert account.known == Counter(source.sent)
