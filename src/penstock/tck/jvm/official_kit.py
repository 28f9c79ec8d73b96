"""The official kit: its files, its tests with their rules, and what it can judge."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.api import UNBOUNDED
from penstock.java import Library, read_checksums
from penstock.rules import rule
from penstock.rules.catalogue import unknown
from penstock.tck.claims import ProcessorClaims, SubscriberClaims, claims_of
from penstock.tck.verifying import KINDS

__all__ = [
    "KIT",
    "VERSION",
    "Subject",
    "is_placeholder",
    "lacking",
    "opens_the_box",
    "rule_of",
    "subject_of",
]

VERSION: Final = "1.0.4"
KIT: Final = Library(
    name=f"the official kit {VERSION}",
    folder=f"kit-{VERSION}",
    artifacts=(f"org.reactivestreams:reactive-streams-tck:{VERSION}",),
    checksums=read_checksums(Path(__file__).with_suffix(".sha256")),
)


_UNNUMBERED: Final = {
    "required_createPublisher1MustProduceAStreamOfExactly1Element": "1.5",
    "required_createPublisher3MustProduceAStreamOfExactly3Elements": "1.5",
    "required_validate_maxElementsFromPublisher": "1.5",
    "required_validate_boundedDepthOfOnNextAndRequestRecursion": "3.3",
    "required_exerciseWhiteboxHappyPath": "2.1",
    "required_mustRequestFromUpstreamForElementsThatHaveBeenRequestedLongAgo": "4.1",
    "mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream": "4.2",
}
"""The rules of those whose names do not tell."""

_TAKEN_FOR_GRANTED: Final = {
    "optional_spec104": "failed",
    "required_spec109_mayReject": "failed",
    "optional_spec111": "multicast",
    "required_spec104_mustCallOnErrorOnAll": "multicast",
    "required_mustRequestFromUpstream": "multicast",
    "optional_spec309": "explains_illegal_requests",
}
"""Claims without which a test is about something that the subject need not do."""

_JUDGES: Final = {
    "publisher": "OfPublisher",
    "subscriber": "OfSubscriber",
    "processor": "OfProcessor",
}
_OPENS_THE_BOX: Final = ("puppet", "received", "completed", "failed")
_METHODS: Final = {
    "publisher": ("subscribe",),
    "subscriber": ("on_subscribe", "on_next", "on_error", "on_complete"),
    "processor": ("subscribe", "on_subscribe", "on_next", "on_error", "on_complete"),
}


def rule_of(test: str) -> str:
    """The number of the rule that a test is about."""
    found = re.search(r"_spec(\d)(\d\d)_", test)
    return f"{found[1]}.{int(found[2])}" if found else _UNNUMBERED[test]


def is_placeholder(test: str) -> bool:
    """Whether the kit only says by this test that it has none."""
    return test.startswith("untested_")


def lacking(test: str, claims: Any) -> str:
    """The claim that a test takes for granted and the subject does not make, if there is one."""
    for start, claim in _TAKEN_FOR_GRANTED.items():
        if test.startswith(start) and not getattr(claims, claim):
            # The source upstream of a processor can be made to fail.
            return "" if claim == "failed" and isinstance(claims, ProcessorClaims) else claim
    return ""


@dataclass(frozen=True)
class Subject:
    """What ``factory`` makes, to be judged as a ``kind`` that makes these ``claims``.

    The factory runs in the worker process, in which the JVM is.
    """

    kind: str
    factory: Callable[..., Any]
    claims: Any
    whitebox: bool = False
    rules: Collection[str] | None = None
    """The only rules to judge it by."""
    tests: Collection[str] | None = None
    """The only tests to judge it by."""

    @property
    def name(self) -> str:
        """What the report calls it."""
        return getattr(self.factory, "__qualname__", repr(self.factory))

    @property
    def judge(self) -> str:
        """The Java class that judges it."""
        return "OfWatchedSubscriber" if self.whitebox else _JUDGES[self.kind]

    @property
    def max_elements(self) -> int:
        """What the kit takes for the most elements; the largest number means: without an end."""
        return min(int(self.claims.max_elements), UNBOUNDED - bool(self.claims.completes))

    @property
    def is_limited(self) -> bool:
        """Whether it claims less than some tests need."""
        is_subscriber = isinstance(self.claims, SubscriberClaims)
        return not is_subscriber and self.max_elements != UNBOUNDED - 1

    def select(self, tests: Iterable[str]) -> tuple[str, ...]:
        """Those of the tests of its judge that were asked for."""
        names = list(tests)
        for test in self.tests or ():
            if test not in names:
                allowed = f"the {len(names)} for a {self.kind}"
                raise unknown("test", test, allowed=allowed, names=names)
        return tuple(
            test
            for test in names
            if (self.rules is None or rule_of(test) in self.rules)
            and (self.tests is None or test in self.tests)
        )

    def fault_of_factory(self) -> str:
        """Make one; what is wrong with it, if anything."""
        arguments = (min(3, self.claims.max_elements),) if self.kind == "publisher" else ()
        call = f"factory({', '.join(map(str, arguments))})"
        try:
            made = self.factory(*arguments)
        except Exception as error:
            return f"{call} raised {type(error).__name__}: {error}"
        missing = [name for name in _METHODS[self.kind] if not callable(getattr(made, name, None))]
        return f"{call} returned {made!r}, which has no {', '.join(missing)}" if missing else ""


def opens_the_box(claims: Mapping[str, Any]) -> bool:
    """Whether the kit can inspect a subscriber that claims this."""
    return all(claims.get(name) for name in _OPENS_THE_BOX)


def subject_of(
    kind: str,
    factory: Callable[..., Any],
    claims: Mapping[str, Any],
    *,
    whitebox: bool = False,
    rules: Collection[str] | None = None,
    tests: Collection[str] | None = None,
) -> Subject:
    """A subject; a ``TypeError`` or ``ValueError`` says what cannot be."""
    if kind not in _JUDGES:
        raise ValueError(f"the official kit judges {', '.join(_JUDGES)}, but no {kind}")
    missing = [name for name in _OPENS_THE_BOX if whitebox and not claims.get(name)]
    if missing:
        raise TypeError(f"to look into a subscriber, the kit needs the claim {', '.join(missing)}")
    claimed = claims_of(KINDS[kind].claims, dict(claims))
    asked = None if rules is None else [rule(number).number for number in rules]
    return Subject(kind, factory, claimed, whitebox, asked, tests)
