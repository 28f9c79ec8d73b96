"""Boundaries between threads."""

from __future__ import annotations

from collections import deque
from itertools import islice
from threading import get_ident
from typing import Any, Self

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.prefetch_subscriber import (
    PREFETCH,
    PrefetchSubscriber,
    crossing_to,
    subscribe,
)
from penstock.flow.engine.run_context import (
    PENDING,
    Elements,
    RunContext,
    WaitState,
    close,
    discard,
    failing,
    started,
    taken_out,
)
from penstock.flow.engine.stage import IN_ORDER, Origin
from penstock.flow.sources.creating import FromPublisher
from penstock.runtime import Executor

__all__ = ["PublishOn", "SubscribeOn", "ThreadHandover"]


class PublishOn(Origin):
    """Elements that were made elsewhere, ahead of demand by a bounded number."""

    rerun = IN_ORDER
    carries = True
    checked = True

    def __init__(self, upstream: BaseFlow[Any], executor: Executor, prefetch: int | None) -> None:
        super().__init__("publish_on")
        self.upstream = upstream
        self.executor = executor
        self._prefetch = prefetch

    def prepare(self, run: RunContext) -> PrefetchSubscriber | ThreadHandover:
        """Make the place where elements cross over."""
        plan = self.upstream.plan
        crossing: PrefetchSubscriber | ThreadHandover
        if plan.waits or plan.origin.executor is not None:
            crossing = crossing_to(run, self._prefetch)
        else:
            crossing = ThreadHandover(self.upstream, run, self._prefetch or PREFETCH)
        run.waiting_at[crossing] = None  # also as long as the executor has not opened it
        return crossing

    def start(self, run: RunContext) -> None:
        """Subscribe to upstream, on the thread that subscribes."""
        crossing: PrefetchSubscriber | ThreadHandover = run.prepared
        if isinstance(crossing, PrefetchSubscriber):
            subscribe(crossing, unwrapped(self.upstream))
        else:
            crossing.run_ahead()

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Take what has crossed over."""
        crossing: PrefetchSubscriber | ThreadHandover = run.prepared
        return crossing.elements()


def unwrapped(flow: BaseFlow[Any]) -> Publisher[Any]:
    """The foreign publisher that a flow consists of, if there is nothing else to it."""
    origin = flow.plan.origin
    if isinstance(origin, FromPublisher) and not flow.plan.segments:
        return origin.publisher
    return flow


class ThreadHandover:
    """A synchronous flow that one thread begins and another one goes on with.

    The thread that subscribes runs it ahead of demand, up to ``capacity`` elements; from there on
    it is pulled by the thread that wants its elements, at the price of a loop. Two threads never
    pull it at the same time.

    ``plan``      that of the flow
    ``arrived``   elements that were made ahead and not taken yet
    """

    def __init__(self, flow: BaseFlow[Any], run: RunContext, capacity: int) -> None:
        self.plan = flow.plan
        self.arrived: deque[Any] = deque()
        self._run = run
        self._capacity = capacity
        self._thread = 0  # that runs it ahead
        self._made = 0
        self._rest: Elements | None = None
        self._to_close: deque[Elements] = deque()  # the thread that takes it out closes it
        self._closed = False

    def wait_state(self, operator: str | None) -> WaitState:
        """What was made ahead, and which thread makes more."""
        handed_over = self.handed_over
        return WaitState(
            operator,
            "is at work",
            requested=self._capacity,
            delivered=self._made,
            buffered=len(self.arrived),
            capacity=self._capacity,
            giver=self.plan.last_operator,
            thread=0 if handed_over else self._thread,
            handed_over=handed_over,
        )

    @property
    def handed_over(self) -> bool:
        """Whether nothing more is made ahead."""
        return self._rest is not None

    def run_ahead(self) -> None:
        """Make the first elements, and hand the rest over."""
        self._thread = get_ident()
        elements = self.plan.open(self._run)
        self._run.wake()  # 1.9: on_subscribe need not wait for the first element
        try:
            for element in islice(elements, self._capacity):
                self._made += 1
                self.arrived.append(element)
                self._run.wake()
                if self._closed:
                    break
        except Exception as error:
            elements = failing(self._run, error)
        finally:
            self._to_close.append(elements)  # also after an interrupt
        self._rest = elements
        if self._closed:
            self.close()
        else:
            self._run.wake()

    def elements(self) -> Elements:
        """What was made ahead, and then the rest."""
        return started(self._elements())

    def close(self) -> None:
        """Nobody will pull: drop everything."""
        self._closed = True
        self._run.waiting_at.pop(self, None)
        discard(self._run, taken_out(self.arrived))
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

    def __init__(self, upstream: BaseFlow[Any], executor: Executor) -> None:
        super().__init__("subscribe_on")
        self.upstream = upstream
        self.executor = executor
        self._wait_as_upstream()

    def over(self, *upstreams: Publisher[Any]) -> Self:
        """The same with another upstream."""
        moved = super().over(*upstreams)
        moved._wait_as_upstream()
        return moved

    def _wait_as_upstream(self) -> None:
        """All of the run is on the executor, so nothing but upstream can be pending there."""
        self.waits = self.upstream.plan.waits

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Run upstream within the run."""
        return opened(self.upstream, run, per_output)
