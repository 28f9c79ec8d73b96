"""The kit from code, ``verify_publisher(factory)`` and its like, and the kinds of party."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from penstock.core.timeline import Timeline
from penstock.rules.catalogue import unknown
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.checks.all_checks import OPERATOR, PROCESSOR, PUBLISHER, SUBSCRIBER
from penstock.tck.checks.suites import Check, Suite
from penstock.tck.claims import (
    OperatorClaims,
    ProcessorClaims,
    PublisherClaims,
    SubscriberClaims,
    claims_of,
)
from penstock.tck.judge import Experience, Judge, modules_of
from penstock.tck.operator_fixture import OperatorFixture
from penstock.tck.processor_fixture import ProcessorFixture
from penstock.tck.publisher_fixture import PublisherFixture
from penstock.tck.report import FACTORY, Report
from penstock.tck.subscriber_fixture import SubscriberFixture

__all__ = [
    "KINDS",
    "Kind",
    "verify_operator",
    "verify_processor",
    "verify_publisher",
    "verify_subscriber",
]


def verify_publisher(
    factory: Callable[[int], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify publishers: ``factory(n)`` returns one of ``n`` elements.

    ``claims`` are the fields of ``PublisherClaims``. With ``rules`` only those are verified.
    """
    return KINDS["publisher"].verify(factory, claims, rules=rules)


def verify_subscriber(
    factory: Callable[[], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify subscribers: ``factory()`` returns a new one.

    ``claims`` are the fields of `SubscriberClaims`. With ``rules`` only those are verified.

    Without claims the kit sees what a publisher sees. These open the box, so that it can steer the
    subscriber and see what it has processed::

        verify_subscriber(
            Printer,
            puppet=lambda printer: printer.controls,  # has request(n) and cancel()
            received=lambda printer: printer.lines,
            completed=lambda printer: printer.is_done,
            failed=lambda printer: printer.error,
        )
    """
    return KINDS["subscriber"].verify(factory, claims, rules=rules)


def verify_processor(
    factory: Callable[[], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify processors: ``factory()`` returns a new one, which sends one element for each it gets.

    The checks of publishers judge its downstream side, those of subscribers its upstream side, and
    those of rules 4.1 and 4.2 what passes through. ``claims`` are the fields of `ProcessorClaims`.
    With ``rules`` only those are verified.
    """
    return KINDS["processor"].verify(factory, claims, rules=rules)


def verify_operator(
    apply: Callable[[Any], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify an operator: ``apply(publisher)`` returns what is downstream of it, a publisher.

    The checks of publishers judge its downstream side, those of subscribers the subscriber that it
    hands to its source, and its own what goes through. ``claims`` are the fields of
    `OperatorClaims`; without ``expected`` what comes out is what went in. With ``rules`` only those
    are verified::

        verify_operator(
            lambda source: Chunks(source, size=3),
            expected=lambda elements: [elements[at : at + 3] for at in range(0, len(elements), 3)],
            prefetch=3,
        )
    """
    return KINDS["operator"].verify(apply, claims, rules=rules)


class CheckFixture(Protocol):
    """What checks of one kind work with; it calls the subject on the threads of a check."""

    timeline: Timeline

    def exercise(self) -> set[int]:
        """Use the subject for a moment; the threads from which it called."""


@dataclass(frozen=True)
class Kind:
    """A kind of party, which its checks make and call on threads of their own."""

    suite: Suite
    claims: type[Any]
    """The dataclass whose fields are what such a party can claim."""
    fixture: Callable[[CheckEnvironment, Callable[..., Any], Any, str], CheckFixture]

    @property
    def name(self) -> str:
        """What such a party is called."""
        return self.suite.kind

    def judge(
        self,
        factory: Callable[..., Any],
        claims: Mapping[str, Any],
        experience: Experience | None = None,
    ) -> Judge:
        """A judge of the parties that ``factory`` makes."""
        claimed = claims_of(self.claims, dict(claims))
        known = experience or Experience()

        def remembering_factory(*arguments: Any) -> Any:
            party = factory(*arguments)
            known.parties.update(type(party).__mro__)  # inherited code is explored as well
            return party

        def exercise(environment: CheckEnvironment) -> set[int]:
            try:
                return self.fixture(environment, remembering_factory, claimed, FACTORY).exercise()
            finally:
                # The code to explore is that of the parties, which may be far from their factory.
                judge.subject = modules_of(factory, *known.parties)

        judge = Judge(
            lambda environment, rule: self.fixture(environment, factory, claimed, rule),
            subject=modules_of(factory, *known.parties),
            claims=claimed,
            exercise=exercise,
            experience=known,
        )
        return judge

    def verify(
        self,
        factory: Callable[..., Any],
        claims: Mapping[str, Any],
        *,
        rules: Collection[str] | None = None,
        checks: Collection[str] | None = None,
        schedule: str | None = None,
        command: str = "",
    ) -> Report:
        """Verify what ``factory`` makes.

        ``rules`` and ``checks`` pick some by their numbers and names. With a ``schedule`` each of
        them runs exactly once, under that schedule. ``command`` does the same on the command line.
        """
        selected = self.select(rules, checks)
        judge = self.judge(factory, claims)
        started = time.perf_counter()
        if schedule is None:
            outcomes = judge.judge(selected)
        else:
            outcomes = tuple(found for check in selected for found in judge.replay(check, schedule))
        return Report(
            kind=self.name,
            subject=getattr(factory, "__qualname__", repr(factory)),
            outcomes=outcomes,
            seconds=time.perf_counter() - started,
            asked=self._asked(selected, rules, checks),
            command=command,
            controlled=judge.experience.controlled,
        )

    def select(
        self, rules: Collection[str] | None, checks: Collection[str] | None
    ) -> tuple[Check, ...]:
        """The checks of these rules that have these names."""
        names = [check.name for check in self.suite]
        for name in checks or ():
            if name not in names:
                allowed = f"the {len(names)} for a {self.name}"
                raise unknown("check", name, allowed=allowed, names=names)
        about = self.suite.about(rules)
        if checks is None:
            return about
        selected = tuple(check for check in about if check.name in checks)
        if not selected:
            raise ValueError(f"{', '.join(checks)} is not about {', '.join(rules or ())}")
        return selected

    def _asked(
        self,
        selected: Collection[Check],
        rules: Collection[str] | None,
        checks: Collection[str] | None,
    ) -> tuple[str, ...] | None:
        if checks is not None:
            return tuple(check.rule for check in selected)
        return None if rules is None else tuple(rules)


KINDS: Final = {
    kind.name: kind
    for kind in (
        Kind(PUBLISHER, PublisherClaims, PublisherFixture),
        Kind(SUBSCRIBER, SubscriberClaims, SubscriberFixture),
        Kind(PROCESSOR, ProcessorClaims, ProcessorFixture),
        Kind(OPERATOR, OperatorClaims, OperatorFixture),
    )
}
"""All kinds by name."""
