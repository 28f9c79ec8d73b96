"""Flows that go on on another thread."""

from __future__ import annotations

from penstock import ThreadPool
from tests.flow.case import Case

__all__ = ["CASES"]

CASES = [
    Case(
        "publish_on",
        lambda flow: flow.publish_on(ThreadPool(), prefetch=4),
        list,
        prefetch=4,
    ),
    Case(
        "publish_on twice",
        lambda flow: flow.publish_on(ThreadPool(), prefetch=1).publish_on(ThreadPool(), prefetch=1),
        list,
        prefetch=2,
    ),
    Case("subscribe_on", lambda flow: flow.subscribe_on(ThreadPool()), list),
]
