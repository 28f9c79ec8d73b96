"""Sources that are asked for so many elements at a time: databases, brokers, anything with a fetch.

The other end gives nothing that it was not asked for, so demand goes there as it is.
"""

from __future__ import annotations

import atexit
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import repeat
from operator import is_not
from threading import Event
from typing import Any, Final, Generic, TypeVar
from weakref import WeakSet

from penstock.api import UNBOUNDED, Subscriber
from penstock.connectors.shared.readings import Readings
from penstock.connectors.shared.reconnecting import (
    FOREVER,
    ConnectionLost,
    Tell,
    require_reconnect,
    require_tell,
)
from penstock.core import CANCELLED, BaseSubscription
from penstock.flow import Flow, Retry
from penstock.flow.base_flow import opened
from penstock.flow.engine.run_context import Elements, QueueReceiver, RunContext
from penstock.flow.engine.stage import Origin
from penstock.rules import cite
from penstock.runtime import ThreadPool, report_undelivered
from penstock.runtime.arguments import require_int, require_text

__all__ = ["FETCH", "PulledSource", "from_pulled"]

T = TypeVar("T")

FETCH: Final = 1_000
"""How many elements are fetched at a time at most, unless the user says otherwise."""


class PulledSource(ABC, Generic[T]):
    """One reading of another system, which gives elements when it is asked for some.

    Each run has its own. One thread calls all methods but ``interrupt``, so they may block, and the
    client library of the system need not be safe for several::

        connect (fetch* disconnect connect)* fetch* disconnect

    ``connect`` and ``fetch`` raise ``ConnectionLost`` where another attempt may help. Then
    ``disconnect`` and, after a pause, ``connect`` follow, and ``fetch`` goes on after the last
    element that it returned: the reading remembers which one that was.
    """

    @abstractmethod
    def connect(self) -> None:
        """Connect; called when the first element is wanted, and again after ``ConnectionLost``."""

    @abstractmethod
    def fetch(self, most: int) -> Sequence[T] | None:
        """The next elements, from one to ``most``; ``None`` after the last one.

        Where no element has come within a moment, none: it is called again as long as one is
        wanted. So a cancelled run never waits for more than that moment.
        """

    def interrupt(self) -> None:
        """Nobody waits for ``fetch`` any more; it may raise whatever it likes. On any thread.

        For a system that cannot be asked to answer within a moment.
        """

    @abstractmethod
    def disconnect(self) -> None:
        """Close what is open, also if ``connect`` has failed."""


def from_pulled(
    connector: str,
    source_factory: Callable[[Any], PulledSource[T]],
    *,
    address: str,
    after: object = None,
    position_of: Callable[[T], object] | None = None,
    fetch: int = FETCH,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[T]:
    """The elements of a system that is asked for them, as a cold flow.

    ``source_factory`` makes the reading of one run, which begins after a position, at first
    ``after``. With ``position_of``, which tells the position of an element, a pipeline goes on
    after a restart where it was. ``connector`` and ``address`` are what messages call it; no
    secrets there.

    Emits when: an element is wanted and the other system has one.
    Backpressures when: nothing is wanted; nothing is fetched.
    Completes when: ``fetch`` returns ``None``.
    Cancels when: the subscriber does; the reading is disconnected, on its thread.

    Demand: exact. At most ``fetch`` elements are asked for at a time, and held.

    Replay: position with ``position_of``; else none.

    Errors: what the reading raises; ``ConnectionError`` when ``reconnect`` gives up. At once:
    ``TypeError`` and ``ValueError`` for arguments that cannot be used.

    Example:
        >>> from penstock.connectors import PulledSource, from_pulled
        >>> class Countdown(PulledSource[int]):
        ...     def __init__(self, after):
        ...         self.number = after
        ...     def connect(self): pass
        ...     def fetch(self, most):
        ...         numbers = list(range(self.number - 1, max(0, self.number - 1 - most), -1))
        ...         self.number -= len(numbers)
        ...         return numbers or None
        ...     def disconnect(self): pass
        >>> numbers = from_pulled("countdown", Countdown, address="here", after=4)
        >>> numbers.to_list().run_sync()
        [3, 2, 1]
    """
    readings: Readings[PulledSource[T]] = Readings(
        PulledSource,
        require_text("from_pulled", "connector", connector),
        address,
        source_factory,
        require_int(connector, "fetch", fetch),
        require_reconnect(connector, reconnect),
        require_tell(connector, on_state),
    )
    return readings.flow(FromPulled, after, position_of)


class FromPulled(Origin):
    """The elements of a reading, which is made for each run."""

    checked = True

    def __init__(self, readings: Readings[Any], after: object) -> None:
        super().__init__(readings.connector)
        self._readings = readings
        self._after = after

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Nothing is connected before the first request."""
        return self.open_at_most(run, per_output, UNBOUNDED)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """The same, and fetch no more than ``most`` in all."""
        fetched = Fetched(self._readings, self._readings.after(self._after))
        return opened(fetched, run, per_output, self._readings.ahead, most)


class Fetched(Generic[T]):
    """A reading as a publisher, for one subscriber."""

    def __init__(self, readings: Readings[PulledSource[T]], reading: PulledSource[T]) -> None:
        self._readings = readings
        self._reading = reading

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Nothing is connected before the first request."""
        FetchSubscription(subscriber, self._reading, self._readings).wake()


class FetchSubscription(BaseSubscription[T]):
    """The subscription to a reading: fetches what is wanted, on a thread of its own."""

    __slots__ = ("_connected", "_gone", "_most", "_pool", "_reading", "_reconnecting")

    def __init__(
        self,
        subscriber: Subscriber[T],
        reading: PulledSource[T],
        readings: Readings[PulledSource[T]],
    ) -> None:
        self._pool = ThreadPool(name=f"penstock-{readings.connector}")
        super().__init__(subscriber, self._pool)
        self._reading = reading
        self._reconnecting = readings.reconnecting()
        self._most = readings.ahead
        self._connected = False
        self._gone = Event()
        OPEN.add(self)

    def cancel(self) -> None:
        """Stop the stream, be it while ``fetch`` waits."""
        if self._leave(CANCELLED):  # 3.7: only the first one
            self._gone.set()
            self._interrupt()
            self.wake()

    def _serve(self) -> None:
        try:
            while self._wanted and (wanted := self.demand.outstanding):
                elements = self._fetched(min(wanted, self._most))
                if elements is None:
                    self._complete()
                    return
                self._pass_on(elements)
        except Exception as error:
            if self._wanted:  # else it was interrupted
                self._fail(error)

    def _pass_on(self, elements: Sequence[T]) -> None:
        """Signal all of them; a flow takes them without a call for each."""
        receiver: Any = self._subscriber
        if isinstance(receiver, QueueReceiver) and all(map(is_not, elements, repeat(None))):
            receiver.arrived.extend(elements)
            self.demand.consume(len(elements))
            if receiver.waiting:
                receiver.notify()
            if not self._wanted:
                receiver.sweep()  # 2.8: cancelled meanwhile
        else:
            self._emit(elements)

    def _fetched(self, most: int) -> Sequence[T] | None:
        """What came, also if a connection was lost before it came."""
        while self._wanted:
            try:
                if not self._connected:
                    self._connected = True  # from here on there may be something to disconnect
                    self._reading.connect()
                    self._reconnecting.connected()
                elements = self._reading.fetch(most)
            except ConnectionLost as loss:
                self._disconnect()
                self._gone.wait(self._reconnecting.next_delay(loss))
            else:
                return self._came(elements, most)
        return ()

    def _came(self, elements: Sequence[T] | None, most: int) -> Sequence[T] | None:
        if elements:
            self._reconnecting.progressed()
            if len(elements) > most:
                message = f"{self._reading!r}: fetch({most}) returned {len(elements)} elements"
                raise ValueError(cite("1.1", message))
        return elements

    def _interrupt(self) -> None:
        """The one who cancels must not suffer from a reading that cannot be interrupted (3.15)."""
        try:
            self._reading.interrupt()
        except Exception as error:
            report_undelivered(error, cite("3.15", "interrupting the source of a stream raised"))

    def _disconnect(self) -> None:
        if self._connected:
            self._connected = False
            self._reading.disconnect()

    def _release(self) -> None:
        try:
            self._disconnect()
        finally:
            self._pool.close(wait=False)


OPEN: Final[WeakSet[FetchSubscription[Any]]] = WeakSet()


@atexit.register
def cancel_all() -> None:
    """The program ends: what nobody has cancelled would be waited for, and may never end."""
    for subscription in list(OPEN):
        subscription.cancel()
