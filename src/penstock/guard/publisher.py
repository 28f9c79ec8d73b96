"""A guard around a publisher."""

from __future__ import annotations

from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from penstock.api import Publisher, Subscriber
from penstock.core import require_subscriber
from penstock.guard import faults
from penstock.guard.reports import Guarded, PartyReports, StreamReports
from penstock.guard.stream import GuardedStream
from penstock.rules import RuleViolation, cite

__all__ = ["GuardedPublisher"]

T = TypeVar("T")


class GuardedPublisher(Guarded, Generic[T]):
    """Takes the place of a publisher that may break the rules; made by ``guard``.

    Whatever the publisher does, each subscriber sees a conformant stream. One that breaks a rule
    towards its subscriber is cancelled, and the subscriber gets the violation by ``on_error``.
    Signals stay on the thread on which the publisher makes them.
    """

    def __init__(
        self,
        party: Publisher[T],
        reports: PartyReports,
        *,
        ends_stream: bool,
        recursion_limit: int,
    ) -> None:
        self._publisher = party
        self._reports = reports
        self._ends_stream = ends_stream
        self._recursion_limit = recursion_limit
        # By the id of the subscriber. The publisher or the subscriber keeps a stream alive.
        self._streams: WeakValueDictionary[int, GuardedStream[T]] = WeakValueDictionary()
        self._streams_lock = reports.new_lock()

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Start a guarded stream to ``subscriber``."""
        if subscriber is None:
            raise self._refusal_of_nobody(subscriber)
        require_subscriber(subscriber)  # 1.9
        stream = GuardedStream(
            subscriber,
            self._reports,
            ends_stream=self._ends_stream,
            recursion_limit=self._recursion_limit,
        )
        with self._streams_lock:
            twin = self._streams.get(id(subscriber))
            again = twin is not None and twin.serves(subscriber)
            if not again:
                self._streams[id(subscriber)] = stream
        if again:
            # Passed on, it would end in two streams for one subscriber, each unaware of the other.
            StreamReports(self._reports).report(faults.subscribed_twice(type(subscriber).__name__))
        else:
            stream.subscribe_to(self._publisher)

    def _fail_streams(self, violation: RuleViolation) -> None:
        with self._streams_lock:
            streams = list(self._streams.values())
        for stream in streams:
            stream.fail(violation)

    def _refusal_of_nobody(self, nobody: Subscriber[T]) -> TypeError:
        """What the caller gets for ``None``, after the publisher had its chance to refuse it."""
        try:
            self._publisher.subscribe(nobody)
        except TypeError as error:
            return error
        except Exception as error:
            fault = faults.refused_nobody_oddly(error)
        else:
            fault = faults.took_nobody()
        StreamReports(self._reports).report(fault)
        return TypeError(cite("1.9", "the subscriber is None"))
