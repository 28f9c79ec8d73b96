"""What the official kit asks of a subject while it judges, answered in Python.

For use within a running JVM.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

import jpype

from penstock.api import Subscriber
from penstock.tck.claims import SubscriberClaims
from penstock.tck.jvm.crossing import (
    JUDGE,
    element_to_java,
    error_to_java,
    processor_to_java,
    publisher_to_java,
    subscriber_to_java,
)
from penstock.tck.jvm.official_kit import Subject

__all__ = ["Answers"]

_POLL: Final = 0.002
"""Seconds between two polls of a subscriber that works on threads of its own."""


class Answers:
    """Makes parties for the kit. What they signal by ``on_error`` is in ``errors``."""

    def __init__(self, subject: Subject) -> None:
        self.errors: list[str] = []
        self._subject = subject
        self._claims = subject.claims
        self._subscriber: Any = None
        self._watched: WatchedSubscriber | None = None

    def to_java(self) -> Any:
        """The same, for Java to ask."""
        methods = {
            "publisher": self.publisher,
            "failedPublisher": self.failed_publisher,
            "subscriber": self.subscriber,
            "watchedSubscriber": self.watched_subscriber,
            "triggerRequest": self.trigger_request,
            "processor": self.processor,
            "element": self.element,
            "maxElements": lambda: self._subject.max_elements,
            "maxSubscribers": lambda: 2**31 if self._claims.multicast else 1,
        }
        return jpype.JProxy(f"{JUDGE}$Subject", dict=methods)

    def publisher(self, elements: int) -> Any:
        """A publisher of so many elements."""
        return publisher_to_java(self._subject.factory(int(elements)), self.errors)

    def failed_publisher(self) -> Any:
        """A publisher whose stream fails, if there is one."""
        if self._claims.failed is not None:
            return publisher_to_java(self._claims.failed(), self.errors)
        if self._subject.kind == "processor":
            return publisher_to_java(FailedUpstream(self._subject.factory()), self.errors)
        return None

    def subscriber(self) -> Any:
        """A subscriber."""
        self._subscriber = self._subject.factory()
        return subscriber_to_java(self._subscriber)

    def watched_subscriber(self, probe: Any) -> Any:
        """A subscriber that tells a probe of the kit what it processes."""
        if self._watched is not None:
            self._watched.leave()
        self._watched = WatchedSubscriber(self._subject.factory(), self._claims, probe)
        return subscriber_to_java(self._watched)

    def trigger_request(self) -> None:
        """Have the latest subscriber ask for an element, if it needs to be told."""
        if self._claims.puppet is not None:
            self._claims.puppet(self._subscriber).request(1)

    def processor(self) -> Any:
        """A processor."""
        return processor_to_java(self._subject.factory(), self.errors)

    def element(self, number: int) -> Any:
        """The element of that number."""
        return element_to_java(self._claims.element(int(number)))


class FailedUpstream:
    """A processor whose source fails as soon as it has a subscriber, on the subscribing thread."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor

    def subscribe(self, subscriber: Any) -> None:
        self._processor.subscribe(subscriber)
        self._processor.on_subscribe(self)
        self._processor.on_error(LookupError("the source is broken"))

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        pass


class WatchedSubscriber:
    """Passes signals on to a subscriber, and tells a probe of the kit what that one shows.

    Signals stay on the thread of the kit. The functions of the claims run on a thread that polls,
    except for ``puppet``, which runs on the thread of the kit.
    """

    def __init__(self, subscriber: Subscriber[Any], claims: SubscriberClaims, probe: Any) -> None:
        self._subscriber = subscriber
        self._shows: Any = claims
        self._probe = probe
        self._greeted = False
        self._seen = 0
        self._over = False

    def on_subscribe(self, subscription: Any) -> None:
        self._subscriber.on_subscribe(subscription)
        if not self._greeted:
            self._greeted = True
            puppet = {"triggerRequest": self._request, "signalCancel": self._cancel}
            kind = "org.reactivestreams.tck.SubscriberWhiteboxVerification$SubscriberPuppet"
            self._probe.registerOnSubscribe(jpype.JProxy(kind, dict=puppet))
            threading.Thread(target=self._watch, daemon=True).start()

    def on_next(self, element: Any) -> None:
        self._subscriber.on_next(element)

    def on_error(self, error: Exception) -> None:
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._subscriber.on_complete()

    def leave(self) -> None:
        """Stop polling what it shows."""
        self._over = True

    def _request(self, n: int) -> None:
        self._shows.puppet(self._subscriber).request(int(n))

    def _cancel(self) -> None:
        self._shows.puppet(self._subscriber).cancel()

    def _watch(self) -> None:
        """Tell what has been processed, on whichever thread and however late."""
        while not self._over:
            self._poll()
            time.sleep(_POLL)

    def _poll(self) -> None:
        completed = self._shows.completed(self._subscriber)
        failed = self._shows.failed(self._subscriber)
        received = list(self._shows.received(self._subscriber))
        for element in received[self._seen :]:
            self._seen += 1
            self._probe.registerOnNext(element_to_java(element))
        if failed:
            self._over = True
            error = failed if isinstance(failed, BaseException) else LookupError("it has failed")
            self._probe.registerOnError(error_to_java(error))
        elif completed:
            self._over = True
            self._probe.registerOnComplete()
