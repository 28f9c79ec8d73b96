"""What inspects and changes nothing."""

from __future__ import annotations

import logging

from penstock import VirtualTime
from penstock.flow import X
from tests.flow.case import Case


class Listener:
    """Hears all there is."""

    def on_subscribe(self, subscription: object) -> None: ...

    def on_request(self, n: int) -> None: ...

    def on_next(self, element: object) -> None: ...

    def on_error(self, error: Exception) -> None: ...

    def on_complete(self) -> None: ...

    def on_cancel(self) -> None: ...


class Heard:
    """Hears elements only."""

    def on_next(self, element: object) -> None: ...


def same(given: list[int]) -> list[int]:
    return given


CASES = [
    Case("do_on_next", lambda flow: flow.do_on_next(repr), same),
    Case("do_on_next with X", lambda flow: flow.do_on_next(X + 1), same),
    Case(
        "do_on_next between others",
        lambda flow: flow.filter(X % 2 == 0).do_on_next(repr).map(X + 1),
        lambda given: [x + 1 for x in given if x % 2 == 0],
    ),
    Case("do_on_error", lambda flow: flow.do_on_error(repr), same),
    Case("do_finally", lambda flow: flow.do_finally(repr), same),
    Case(
        "do_finally upstream of take",
        lambda flow: flow.do_finally(repr).take(2),
        lambda given: given[:2],
    ),
    Case("do_on_discard", lambda flow: flow.do_on_discard(repr), same),
    Case("tap", lambda flow: flow.tap(Listener()), same),
    Case("tap for elements only", lambda flow: flow.tap(Heard()).map(X + 0), same),
    Case(
        "tap upstream of filter",
        lambda flow: flow.tap(Listener()).filter(X % 2 == 0),
        lambda given: [x for x in given if x % 2 == 0],
    ),
    Case("log", lambda flow: flow.log("numbers", level=logging.DEBUG), same),
    Case("named", lambda flow: flow.named("numbers", kind="small"), same),
    Case(
        "named in the middle",
        lambda flow: flow.map(X + 1).named("numbers").map(X - 1),
        same,
    ),
    Case("watch_stalls", lambda flow: flow.watch_stalls(1, clock=VirtualTime()), same),
    Case("annotate_errors", lambda flow: flow.annotate_errors("here"), same),
]
