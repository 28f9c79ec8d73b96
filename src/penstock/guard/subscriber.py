"""A guard around a subscriber."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.api import Subscriber, Subscription
from penstock.guard import faults
from penstock.guard.conduct import Conduct, WatchedSubscription
from penstock.guard.reports import Guarded, PartyReports
from penstock.rules import RuleViolation, cite

__all__ = ["GuardedSubscriber"]

T = TypeVar("T")


class GuardedSubscriber(Guarded, Generic[T]):
    """Takes the place of a subscriber that may break the rules; made by ``guard``.

    Signals are passed on as they come, on the thread of the publisher. A subscriber that raises in
    one of them is cancelled, and the publisher does not notice anything else. The publisher itself
    is not judged.
    """

    def __init__(self, party: Subscriber[T], reports: PartyReports) -> None:
        self._reports = reports
        self._conduct = Conduct(reports)
        self._subscriber: Subscriber[T] | None = party
        self._subscription: WatchedSubscription | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        """Hand the subscriber a subscription that is watched."""
        self._conduct.timeline.note(f"on_subscribe({type(subscription).__name__})")
        if subscription is None:
            raise self._refusal_of_none("on_subscribe")
        watched = self._watch(subscription)
        subscriber = self._subscriber
        if subscriber is None:
            watched.withdraw()
        elif self._signal("on_subscribe", subscriber.on_subscribe, watched):
            watched.on_subscribe_returned()
        elif watched.is_active:
            watched.withdraw()

    def on_next(self, element: T) -> None:
        """Pass the element on."""
        self._conduct.timeline.record("on_next", element)
        if element is None:
            raise self._refusal_of_none("on_next")
        subscriber = self._subscriber
        if subscriber is not None:
            self._signal("on_next", subscriber.on_next, element)

    def on_error(self, error: Exception) -> None:
        """Pass the error on and drop the subscriber."""
        self._conduct.timeline.record("on_error", error)
        if error is None:
            raise self._refusal_of_none("on_error")
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self._signal("on_error", subscriber.on_error, error)

    def on_complete(self) -> None:
        """Pass the completion on and drop the subscriber."""
        self._conduct.timeline.record("on_complete")
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self._signal("on_complete", subscriber.on_complete)

    def _watch(self, subscription: Subscription) -> WatchedSubscription:
        first = self._subscription
        if first is not None and first.is_active:
            return WatchedSubscription(subscription, self._conduct, first)
        self._subscription = WatchedSubscription(subscription, self._conduct, None)
        return self._subscription

    def _signal(self, signal: str, method: Callable[..., None], *arguments: object) -> bool:
        """Pass a signal on; whether the subscriber returned normally."""
        self._conduct.begin_signal(signal)
        try:
            method(*arguments)
            return True
        except Exception as error:
            self._subscriber = None
            self._broke(self._conduct.reports.report(faults.signal_raised(signal, error)))
            return False
        finally:
            self._conduct.end_signal()

    def _broke(self, violation: RuleViolation) -> None:
        """The subscriber raised ``violation``: it counts as cancelled (rule 2.13)."""
        # 2.3: after a terminal signal there is nothing to cancel.
        if self._subscription is not None and self._subscription.is_active:
            self._subscription.withdraw()

    def _refusal_of_none(self, signal: str) -> TypeError:
        """What the publisher gets for ``None``, after the subscriber had its chance to refuse."""
        subscriber = self._subscriber
        if subscriber is not None:
            method: Callable[[None], None] = getattr(subscriber, signal)
            try:
                method(None)
            except TypeError as error:
                return error
            except Exception as error:
                fault = faults.refused_none_oddly(signal, error)
            else:
                fault = faults.took_none(signal)
            self._conduct.reports.report(fault)
        return TypeError(cite("2.13", f"{signal} got None"))
