"""Boundaries between threads."""

from __future__ import annotations

from collections import deque
from itertools import islice
from threading import get_ident
from typing import Any

from penstock.api import Publisher
from penstock.flow.elements import (
    PENDING,
    Elements,
    Host,
    close,
    discard,
    failing,
    started,
    taken_out,
)
from penstock.flow.fluent import Fluent, opened
from penstock.flow.intake import Intake, subscribe
from penstock.flow.sources.publishers import FromPublisher
from penstock.flow.stage import IN_ORDER, Origin
from penstock.runtime import Executor

__all__ = ["HandedOn", "PublishOn", "SubscribeOn"]


class PublishOn(Origin):
    """Elements that were made elsewhere, ahead of demand by a bounded number."""

    rerun = IN_ORDER
    carries = True
    checked = True

    def __init__(self, upstream: Fluent[Any], executor: Executor, prefetch: int) -> None:
        super().__init__("publish_on")
        self.upstream = upstream
        self.executor = executor
        self._prefetch = prefetch

    def prepare(self, host: Host) -> Intake | HandedOn:
        """Make the place where elements cross over."""
        plan = self.upstream.plan
        if plan.waits or plan.origin.executor is not None:
            return Intake(host, prefetch=self._prefetch, eager=True)
        return HandedOn(self.upstream, host, self._prefetch)

    def start(self, host: Host) -> None:
        """What stands in front is subscribed to by the thread that subscribes."""
        crossing: Intake | HandedOn = host.prepared
        if isinstance(crossing, Intake):
            subscribe(crossing, unwrapped(self.upstream))
        else:
            crossing.run_ahead()

    def open(self, host: Host, each: int) -> Elements:
        """Take what has crossed over."""
        crossing: Intake | HandedOn = host.prepared
        return crossing.elements()


def unwrapped(flow: Fluent[Any]) -> Publisher[Any]:
    """The foreign publisher that a flow consists of, if there is nothing else to it."""
    origin = flow.plan.origin
    if isinstance(origin, FromPublisher) and not flow.plan.segments:
        return origin.publisher
    return flow


class HandedOn:
    """A synchronous flow that one thread begins and another one goes on with.

    The thread that subscribes runs it ahead of demand; from there on it is pulled by whoever wants
    its elements, at the price of a loop. At no time do two threads pull it.

    ``thread``   which one runs it ahead
    ``made``     how many elements were made ahead
    ``arrived``  those of them that were not taken yet
    """

    def __init__(self, flow: Fluent[Any], host: Host, capacity: int) -> None:
        self.plan = flow.plan
        self.capacity = capacity
        self.thread = 0
        self.made = 0
        self.arrived: deque[Any] = deque()
        self._host = host
        self._rest: Elements | None = None
        self._to_close: deque[Elements] = deque()  # whoever takes it out closes it
        self._closed = False

    @property
    def handed_on(self) -> bool:
        """Whether nothing more is made ahead."""
        return self._rest is not None

    def run_ahead(self) -> None:
        """Make the first elements, and hand the rest on."""
        self.thread = get_ident()
        elements = self.plan.open(self._host)
        self._host.wake()  # 1.9: on_subscribe need not wait for the first element
        try:
            for element in islice(elements, self.capacity):
                self.made += 1
                self.arrived.append(element)
                self._host.wake()
                if self._closed:
                    break
        except Exception as error:
            elements = failing(self._host, error)
        finally:
            self._to_close.append(elements)  # also after an interrupt
        self._rest = elements
        if self._closed:
            self.close()
        else:
            self._host.wake()

    def elements(self) -> Elements:
        """What was made ahead, and then the rest."""
        return started(self._elements())

    def close(self) -> None:
        """Nobody will pull: let go of all."""
        self._closed = True
        discard(self._host, taken_out(self.arrived))
        for elements in taken_out(self._to_close):
            close(elements)

    def _elements(self) -> Elements:
        arrived = self.arrived
        try:
            yield None
            while self._rest is None or arrived:
                if arrived:
                    yield arrived.popleft()
                else:
                    yield PENDING
            yield from self._rest
        finally:
            self.close()


class SubscribeOn(Origin):
    """Elements that are made where they are wanted, which is on the executor."""

    rerun = IN_ORDER._replace(keeps=False)
    carries = True
    checked = True

    def __init__(self, upstream: Fluent[Any], executor: Executor) -> None:
        super().__init__("subscribe_on")
        self.upstream = upstream
        self.executor = executor

    def open(self, host: Host, each: int) -> Elements:
        """Run what stands in front within the host."""
        return opened(self.upstream, host, each)
