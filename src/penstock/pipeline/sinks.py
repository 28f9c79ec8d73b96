"""The end of a pipeline: one stream for several sinks, and the batches of Spark for each.

Nothing is kept here: when a signal returns, the sink is done with the element. So Spark, which
commits a batch when all of it was given away, never commits what a sink has not seen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from inspect import isroutine
from typing import Any, Final

from penstock.api import UNBOUNDED, Subscriber, Subscription
from penstock.core import (
    AsyncSubscriber,
    SyncSubscriber,
    illegal_request,
    require_element,
    require_error,
    require_subscription,
)
from penstock.delivery import BatchesLost, BatchSink, Epoch
from penstock.delivery.contract import as_error
from penstock.flow.engine.call_site import note
from penstock.runtime import shown_element
from penstock.spark.failures import Stopped

__all__ = [
    "BatchedSink",
    "EndListener",
    "FunctionSink",
    "SinkBatches",
    "SinkFanOut",
]

CLOSING_SECONDS: Final = 5.0
LARGEST: Final = 256
"""How many elements a sink may ask for at once, as long as it is done with them in milliseconds."""


class SinkFanOut:
    """Gives each element to all sinks, once all of them want one, on the thread that brings it."""

    def __init__(self, sinks: Sequence[Subscriber[Any]]) -> None:
        self._lock = threading.RLock()
        self._branches = tuple(SinkSubscription(sink, self) for sink in sinks)
        """Replaced when one leaves, so that nobody who goes through them is disturbed."""
        self._upstream: Subscription | None = None
        self._asked = 0

    def on_subscribe(self, subscription: Subscription) -> None:
        """Subscribe all sinks."""
        require_subscription(subscription)
        if self._upstream is not None:
            subscription.cancel()  # 2.5
            return
        self._upstream = subscription
        for branch in self._branches:
            branch.sink.on_subscribe(branch)
        self.ask()

    def on_next(self, element: Any) -> None:
        """Give it to each."""
        if element is None:  # asked here, so that no element costs a call
            require_element(element)  # 2.13
        for branch in self._branches:
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
            self._branches = tuple(other for other in self._branches if other is not branch)
            last = not self._branches
        if last and self._upstream is not None:
            self._upstream.cancel()
        else:
            self.ask()

    def _leave(self) -> tuple[SinkSubscription, ...]:
        with self._lock:
            branches, self._branches = self._branches, ()
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
        super().__init__(largest=LARGEST)
        self._name = name
        self._function = function
        self._call = routine(function)
        self._on_failure = on_failure

    def receive(self, element: Any) -> bool:
        """Call the function."""
        try:
            self._call(element)
        except BaseException as raised:
            error = as_error(raised)
            error.add_note(f"in the sink {self._name}, for {shown_element(element)}")
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


def routine(function: Any) -> Callable[[Any], object]:
    """The same as a function or a bound method, which are called faster than an object."""
    called: Callable[[Any], object] = function if isroutine(function) else function.__call__
    return called


class BatchedSink:
    """A sink that knows batches, as one function for all that comes.

    It is given elements on the thread that pulls the flow, and told of batches on that of Spark's
    call, never on two at once; only ``close`` may overtake one that is stuck.

    ``skipped``  elements of batches that it had already
    """

    def __init__(self, name: str, sink: BatchSink) -> None:
        self._name = name
        self._sink = sink
        self._give = sink.__call__  # a bound method, which is called faster than an object
        self._lock = threading.Lock()  # ``close`` may come from another thread than elements
        self._skips = False
        self._closed = False
        self.skipped = 0

    def __call__(self, element: Any) -> None:
        """Give it the element, unless it has the batch."""
        with self._lock:
            if self._skips:
                self.skipped += 1
            elif not self._closed:
                self._give(element)

    def open(self, epoch: Epoch | None) -> None:
        """The pipeline is whole."""
        self._closed = False
        self._tell("when it was opened", self._sink.open, epoch)

    def check(self, epoch: Epoch | None) -> None:
        """Let it refuse what it would refuse, if it can say so without touching anything."""
        check = getattr(self._sink, "check", None)
        if callable(check):
            self._tell("when it was opened", check, epoch)

    def begin(self, batch: int) -> None:
        """The elements of a batch follow."""
        with self._lock:
            self._skips = not self._tell(f"for batch {batch}", self._sink.begin, batch)

    def commit(self, batch: int) -> None:
        """Let it store the batch."""
        with self._lock:
            if not self._skips and not self._closed:
                self._tell(f"for batch {batch}", self._sink.commit, batch)
                self._skips = True  # Spark may give the batch once more

    def close(self) -> None:
        """Nothing more will come; what is not committed is given up."""
        self._closed = True
        # A run that is stopped does not wait for a sink that is stuck in an element.
        if self._lock.acquire(timeout=CLOSING_SECONDS):
            try:
                self._tell("when it was closed", self._sink.close)
            finally:
                self._lock.release()

    def _tell(self, when: str, told: Callable[..., Any], *arguments: object) -> Any:
        try:
            return told(*arguments)
        except BaseException as raised:
            error = as_error(raised)
            error.add_note(f"in the sink {self._name}, {when}")
            raise error from error.__cause__


class SinkBatches:
    """Tells all sinks of a pipeline that know batches where one begins and ends.

    ``committed``  how many batches all sinks have got in this run
    ``had``        the last batch of which each has had rows in earlier runs, as far as is known
    ``on_lost``    is told which sink has lost some of them, if that is accepted; on the thread that
                   opens them
    """

    def __init__(self, made: Mapping[str, Any]) -> None:
        self.committed = 0
        self.had: dict[str, int] = {}
        self.on_lost: Callable[[str, BatchesLost], object] | None = None
        self._last = -1
        # Those that are called are done with an element when the call returns.
        self._subscribers = {
            name: sink
            for name, sink in made.items()
            if isinstance(sink, AsyncSubscriber) and not callable(sink)
        }
        self._lock = threading.Lock()
        self._stopped = False
        self._taken = threading.Event()
        self._sinks = {
            name: BatchedSink(name, sink)
            for name, sink in made.items()
            if isinstance(sink, BatchSink)
        }

    def function_of(self, name: str, made: Any) -> Callable[[Any], object]:
        """What takes the elements of a sink that can be called."""
        batched = self._sinks.get(name)
        taking: Callable[[Any], object] = made if batched is None else batched
        return taking

    def skipped(self, name: str) -> int:
        """The elements that a sink had already."""
        batched = self._sinks.get(name)
        return 0 if batched is None else batched.skipped

    def check(self, epoch: Epoch | None) -> None:
        """Let each refuse what it would refuse, if it can say so without touching anything."""
        for name, sink in self._sinks.items():
            self._ask(name, sink.check, epoch)

    def open(self, epoch: Epoch | None) -> None:
        """Open all, once none of them refuses; if one does even so, those before are closed."""
        self.check(epoch)
        opened: list[BatchedSink] = []
        for name, sink in self._sinks.items():
            try:
                self._ask(name, sink.open, epoch)
            except Exception:
                for other in opened:
                    other.close()
                raise
            opened.append(sink)

    def _ask(self, name: str, asked: Callable[[Epoch | None], object], epoch: Epoch | None) -> None:
        """Ask a sink whether it belongs to the epoch, and has all that it has had."""
        known = epoch if epoch is None else epoch.for_sink(self.had.get(name, epoch.had))
        try:
            asked(known)
        except BatchesLost as lost:
            if self.on_lost is None:
                raise
            self.on_lost(name, lost)
            del self.had[name]
            asked(epoch)

    def begin(self, batch: int) -> None:
        """Each says whether it wants the batch."""
        for sink in self._sinks.values():
            sink.begin(batch)

    def commit(self, batch: int) -> None:
        """Each stores the batch; a crash between two of them is what the numbers are for.

        Subscribers on threads of their own have taken all of it before; ``Stopped`` if the
        pipeline is stopped while they are still at it.
        """
        for name, subscriber in self._subscribers.items():
            self._wait_for(name, subscriber)
        for sink in self._sinks.values():
            sink.commit(batch)
        if batch != self._last:  # Spark may give the batch once more
            self.committed, self._last = self.committed + 1, batch

    def stop(self) -> None:
        """Nothing more will be committed; who waits until it can be is told so. From any thread."""
        with self._lock:
            self._stopped = True
            self._taken.set()

    def _wait_for(self, name: str, subscriber: AsyncSubscriber[Any]) -> None:
        with self._lock:
            taken = self._taken = threading.Event()
            if self._stopped:
                taken.set()
        subscriber.flush(taken.set)
        taken.wait()
        if self._stopped:
            raise Stopped("the pipeline was stopped before its sinks had the batch")
        if subscriber.failure is not None:
            note(subscriber.failure, f"in the sink {name}")
            raise subscriber.failure

    def close(self) -> None:
        """Close all."""
        for sink in self._sinks.values():
            sink.close()


class EndListener(SyncSubscriber[Any]):
    """Waits for the end of a flow of which nobody here wants elements."""

    def receive(self, element: Any) -> bool:
        """Nothing comes."""
        return True

    def failed(self, error: Exception) -> None:
        """The part that failed has told it already."""
