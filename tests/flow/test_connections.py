"""Shared runs that outlive their subscribers, and cancel upstream by their connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from penstock.api import Publisher, Subscriber, Subscription
from penstock.flow import Flow
from penstock.flow.multicast.shared_flow import SharedFlow
from penstock.tck import RuleStatus, verify_operator
from tests.flow.cases.multicasting import ABOUT_LEAVING

Share: TypeAlias = Callable[[Flow[int]], SharedFlow[int]]

SHARES: dict[str, Share] = {
    "publish and auto_connect": lambda flow: flow.publish().auto_connect(),
    "replay": lambda flow: flow.replay(3),
    "cache": lambda flow: flow.cache(),
}

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]


class Leaver:
    """Passes a stream on; when that is cancelled, it cancels the connection of the run, too."""

    def __init__(self, subscriber: Subscriber[int], shared: SharedFlow[int]) -> None:
        self._subscriber = subscriber
        self._shared = shared
        self._subscription: Subscription | None = None
        self._left = False

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._subscriber.on_subscribe(self)

    def on_next(self, element: int) -> None:
        self._subscriber.on_next(element)

    def on_error(self, error: Exception) -> None:
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._subscriber.on_complete()

    def request(self, n: int) -> None:
        assert self._subscription is not None
        self._subscription.request(n)

    def cancel(self) -> None:
        assert self._subscription is not None
        self._subscription.cancel()
        if not self._left:  # it would connect another run, and cancel that
            self._left = True
            self._shared.connect().cancel()


class LeftByAll:
    """A shared flow whose only subscriber takes the run with it."""

    def __init__(self, shared: SharedFlow[int]) -> None:
        self._shared = shared

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self._shared.subscribe(Leaver(subscriber, self._shared))


@pytest.mark.parametrize("share", SHARES.values(), ids=SHARES.keys())
def test_a_connection_leaves_the_stream_upstream_by_the_rules(share: Share) -> None:
    def apply(source: Publisher[int]) -> Publisher[int]:
        return LeftByAll(share(Flow.from_publisher(source)))

    report = verify_operator(
        apply, rules=ABOUT_LEAVING, shares=True, prefetch=0, calls_nothing_cancelled=True
    )
    report.raise_if_failed()
    assert report.counts[RuleStatus.VERIFIED] == len(ABOUT_LEAVING)
