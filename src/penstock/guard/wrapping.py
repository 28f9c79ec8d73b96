"""Finds out what a party is and puts the right guard around it, around a processor both."""

from __future__ import annotations

from typing import TypedDict, TypeVar, Unpack, cast, overload

from penstock.api import Processor, Publisher, Subscriber
from penstock.guard.publisher import GuardedPublisher
from penstock.guard.reports import OnViolation, PartyReports
from penstock.guard.subscriber import GuardedSubscriber
from penstock.rules import Party, RuleViolation
from penstock.runtime import NewLock
from penstock.runtime.arguments import require_int
from penstock.runtime.executor import ReentrantLock

__all__ = [
    "GuardedProcessor",
    "guard",
]

T = TypeVar("T")
R = TypeVar("R")

SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")


class GuardOptions(TypedDict, total=False):
    """The keyword arguments of ``guard``."""

    name: str | None
    on_violation: OnViolation | None
    ends_stream: bool
    recursion_limit: int
    new_lock: NewLock


@overload
def guard(party: Processor[T, R], **options: Unpack[GuardOptions]) -> GuardedProcessor[T, R]: ...


@overload
def guard(party: Publisher[T], **options: Unpack[GuardOptions]) -> GuardedPublisher[T]: ...


@overload
def guard(party: Subscriber[T], **options: Unpack[GuardOptions]) -> GuardedSubscriber[T]: ...


def guard(
    party: object,
    *,
    name: str | None = None,
    on_violation: OnViolation | None = None,
    ends_stream: bool = True,
    recursion_limit: int = 32,
    new_lock: NewLock = ReentrantLock,
) -> object:
    """Put a guard around a foreign publisher, subscriber or processor, to be used in its place.

    Each rule that the party breaks is reported once per stream, as a ``RuleViolation`` with the
    signals that led to it, and kept in ``violations``. What cannot be decided without waiting is
    not reported.

    ``name``             how reports call the party; the name of its class by default
    ``on_violation``     called with each violation, on the thread where it was seen; by default
                         violations go to the hook for undelivered errors
    ``ends_stream``      when a publisher breaks a rule towards its subscriber, cancel it and send
                         the violation by ``on_error``; otherwise leave the broken signal out and
                         let the stream go on, if it can
    ``recursion_limit``  how many levels deep signals may nest through ``request`` (rule 3.3)

    >>> from penstock import IterablePublisher
    >>> from penstock.guard import guard
    >>> guard(IterablePublisher([1, 2, 3]), name="numbers")
    guard(publisher numbers)
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a str or None, not {name!r}")
    if on_violation is not None and not callable(on_violation):
        raise TypeError(f"on_violation must be callable or None, not {on_violation!r}")
    require_int("guard", "recursion_limit", recursion_limit)
    kind = kind_of(party)
    reports = PartyReports(f"{kind} {name or type(party).__name__}", on_violation, new_lock)
    if kind is Party.SUBSCRIBER:
        return GuardedSubscriber(cast("Subscriber[object]", party), reports)
    guarded = GuardedProcessor if kind is Party.PROCESSOR else GuardedPublisher
    return guarded(
        cast("Processor[object, object]", party),
        reports,
        ends_stream=ends_stream,
        recursion_limit=recursion_limit,
    )


def kind_of(party: object) -> Party:
    """What ``party`` is, by its methods. ``TypeError`` says what it lacks to be anything."""
    lacking = [method for method in SIGNALS if not callable(getattr(party, method, None))]
    if callable(getattr(party, "subscribe", None)):
        return Party.PUBLISHER if lacking else Party.PROCESSOR
    if not lacking:
        return Party.SUBSCRIBER
    raise TypeError(
        f"{type(party).__name__} is neither a publisher nor a subscriber: a publisher has the "
        f"method subscribe, and to be a subscriber it lacks {', '.join(lacking)}"
    )


class GuardedProcessor(GuardedSubscriber[T], GuardedPublisher[R]):
    """Takes the place of a processor that may break the rules; made by ``guard``.

    Both sides are guarded (rule 4.1). A processor that raises in a signal is cancelled upstream,
    and its subscribers get the violation by ``on_error``.
    """

    def __init__(
        self,
        party: Processor[T, R],
        reports: PartyReports,
        *,
        ends_stream: bool,
        recursion_limit: int,
    ) -> None:
        GuardedSubscriber.__init__(self, party, reports)
        GuardedPublisher.__init__(
            self, party, reports, ends_stream=ends_stream, recursion_limit=recursion_limit
        )

    def _broke(self, violation: RuleViolation) -> None:
        self._fail_streams(violation)
        super()._broke(violation)
