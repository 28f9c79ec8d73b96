"""The end of a pipeline: functions as sinks, and one stream for several sinks.

Nothing is kept here: when a signal returns, the sink is done with the element. So Spark, which
commits a batch when all of it was given away, never commits what a sink has not seen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from penstock.api import UNBOUNDED, Subscriber, Subscription
from penstock.core import (
    SyncSubscriber,
    illegal_request,
    require_element,
    require_error,
    require_subscription,
)
from penstock.delivery.contract import as_error
from penstock.runtime import shorten

__all__ = ["EndListener", "FunctionSink", "SinkFanOut"]


class FunctionSink(SyncSubscriber[Any]):
    """A function that takes one element at a time; an error of it ends the pipeline.

    It is called on the thread that brings the element.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Any], object],
        on_failure: Callable[[Exception], object],
    ) -> None:
        super().__init__()
        self._name = name
        self._function = function
        self._on_failure = on_failure

    def receive(self, element: Any) -> bool:
        """Call the function."""
        try:
            self._function(element)
        except BaseException as raised:
            error = as_error(raised)
            error.add_note(f"in the sink {self._name}, for {shorten(element)}")
            self._on_failure(error)  # before the sink cancels, which else looks like an end
            raise error from error.__cause__
        return True

    def failed(self, error: Exception) -> None:
        """Say so; the error of the stream itself comes here as well."""
        self._on_failure(error)

    def completed(self) -> None:
        """Close what can be closed, as a file can."""
        close = getattr(self._function, "close", None)
        if close is not None:
            try:
                close()
            except BaseException as raised:
                error = as_error(raised)
                error.add_note(f"in the sink {self._name}, when it was closed")
                self._on_failure(error)


class EndListener(SyncSubscriber[Any]):
    """Waits for the end of a flow of which nobody here wants elements."""

    def receive(self, element: Any) -> bool:
        """Nothing comes."""
        return True

    def failed(self, error: Exception) -> None:
        """The part that failed has told it already."""


class SinkFanOut:
    """Gives each element to all sinks, once all of them want one, on the thread that brings it."""

    def __init__(self, sinks: Sequence[Subscriber[Any]]) -> None:
        self._lock = threading.RLock()
        self._branches = [SinkSubscription(sink, self) for sink in sinks]
        self._upstream: Subscription | None = None
        self._asked = 0

    def on_subscribe(self, subscription: Subscription) -> None:
        """Subscribe all sinks."""
        require_subscription(subscription)
        if self._upstream is not None:
            subscription.cancel()  # 2.5
            return
        self._upstream = subscription
        for branch in tuple(self._branches):
            branch.sink.on_subscribe(branch)
        self.ask()

    def on_next(self, element: Any) -> None:
        """Give it to each."""
        require_element(element)
        for branch in tuple(self._branches):
            branch.sink.on_next(element)

    def on_error(self, error: Exception) -> None:
        """Tell each."""
        require_error(error)
        for branch in self._leave():
            branch.sink.on_error(error)

    def on_complete(self) -> None:
        """Tell each."""
        for branch in self._leave():
            branch.sink.on_complete()

    def cancel(self) -> None:
        """None of them wants anything any more."""
        self._leave()
        if self._upstream is not None:
            self._upstream.cancel()

    def want(self, branch: SinkSubscription, n: int) -> None:
        """A sink wants ``n`` more."""
        with self._lock:
            branch.requested = min(branch.requested + n, UNBOUNDED)
        self.ask()

    def ask(self) -> None:
        """Ask for what all want."""
        with self._lock:
            wanted = min((branch.requested for branch in self._branches), default=0)
            missing = wanted - self._asked
            if missing > 0:
                self._asked = wanted
        if missing > 0 and self._upstream is not None:
            self._upstream.request(missing)

    def leave(self, branch: SinkSubscription) -> None:
        """A sink wants nothing more; without any the stream is cancelled."""
        with self._lock:
            if branch not in self._branches:
                return
            self._branches.remove(branch)
            last = not self._branches
        if last and self._upstream is not None:
            self._upstream.cancel()
        else:
            self.ask()

    def _leave(self) -> list[SinkSubscription]:
        with self._lock:
            branches, self._branches = self._branches, []
        return branches


class SinkSubscription:
    """The subscription of one of the sinks; an illegal request is answered on its thread."""

    def __init__(self, sink: Subscriber[Any], fan: SinkFanOut) -> None:
        self.sink = sink
        self.requested = 0
        self._fan = fan

    def request(self, n: int) -> None:
        """Want ``n`` more."""
        if illegal := illegal_request(n):
            self._fan.leave(self)
            self.sink.on_error(illegal)  # 3.9
        else:
            self._fan.want(self, n)

    def cancel(self) -> None:
        """Want nothing more."""
        self._fan.leave(self)
