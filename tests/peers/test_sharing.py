"""Shared flows against a model of their documentation: who has subscribed when gets what.

A run of the source gives a number in the middle of each second. Subscribers with unbounded demand
come and leave at random seconds; in the same one, they come before others leave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNBOUNDED, Flow, VirtualTime
from penstock.flow.multicast.shared_flow import SharedFlow
from penstock.testing import ManualSubscriber, marble

Visit = tuple[int, int]
"""After how many seconds one comes, and after how many it leaves."""
Model = Callable[[int, list[Visit]], list[int]]
"""What the visit at an index gets."""

DIAGRAM: Final = "-0-1-2-3-4-5-6-(7|)"
LENGTH: Final = 8
CONNECTED_AT: Final = 3
LAST: Final = 30
VISITS = st.lists(
    st.tuples(st.integers(0, 14), st.integers(1, 12)).map(lambda pair: (pair[0], sum(pair))),
    min_size=1,
    max_size=6,
)


def numbers(begun: int, since: int, until: int) -> list[int]:
    """What a run gives between two moments."""
    return [number for number in range(LENGTH) if since <= begun + number < until]


def share_gives(index: int, visits: list[Visit]) -> list[int]:
    """The run that goes on when one comes, else a new one: it stops with its last subscriber."""
    came, left = visits[index]
    begun: int | None = None
    for second in range(came + 1):
        if begun is not None and second >= begun + LENGTH:
            begun = None
        if begun is not None and not any(begun <= each < second <= end for each, end in visits):
            begun = None
        if begun is None and any(each == second for each, _ in visits):
            begun = second
    assert begun is not None
    return numbers(begun, came, left)


def replay_gives(index: int, visits: list[Visit]) -> list[int]:
    """The last two of the one run, which begins with the first visit, and what comes then."""
    came, left = visits[index]
    begun = min(first for first, _ in visits)
    return numbers(begun, 0, came)[-2:] + numbers(begun, came, left)


def publish_gives(index: int, visits: list[Visit]) -> list[int]:
    """What comes while it is there, of the run that was connected."""
    return numbers(CONNECTED_AT, *visits[index])


SHARED: dict[str, tuple[Callable[[Flow[str]], SharedFlow[str]], Model]] = {
    "share": (lambda flow: flow.share(), share_gives),
    "replay": (lambda flow: flow.replay(2), replay_gives),
    "publish": (lambda flow: flow.publish(), publish_gives),
}


@pytest.mark.parametrize("name", SHARED)
@given(visits=VISITS)
def test_everybody_gets_what_the_documentation_says(name: str, visits: list[Visit]) -> None:
    apply, gives = SHARED[name]
    if name == "publish":
        visits = [(0, LAST), *visits]  # without any subscriber, what is published waits
    received = visited(apply, visits, connects=name == "publish")
    assert received == [gives(index, visits) for index in range(len(visits))]


def visited(
    apply: Callable[[Flow[str]], SharedFlow[str]], visits: list[Visit], *, connects: bool
) -> list[list[int]]:
    """What came to each of the visits."""
    time = VirtualTime()
    shared = apply(Flow.from_publisher(marble(DIAGRAM, time=time, frame=0.5)))
    subscribers: list[ManualSubscriber[Any]] = [
        ManualSubscriber(request=UNBOUNDED, time=time) for _ in visits
    ]
    for second in range(LAST):
        if second == CONNECTED_AT and connects:
            shared.connect()
        for subscriber, (came, _) in zip(subscribers, visits, strict=True):
            if came == second:
                shared.subscribe(subscriber)
        for subscriber, (_, left) in zip(subscribers, visits, strict=True):
            if left == second:
                subscriber.close()
        time.run(until=second + 1)
    for subscriber in subscribers:
        subscriber.assert_no_rule_broken()
    return [[int(element) for element in each.elements] for each in subscribers]
