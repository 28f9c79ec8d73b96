"""What the official kit judges: a kind of party, what makes one, and what it claims."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.api import UNBOUNDED
from penstock.rules import rule
from penstock.rules.catalogue import unknown
from penstock.tck.claims import SubscriberClaims, claims_of
from penstock.tck.jvm.official_kit import rule_of
from penstock.tck.kinds import KINDS

__all__ = ["Subject", "opens_the_box", "subject_of"]

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
