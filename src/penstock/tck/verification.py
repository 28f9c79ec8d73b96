"""The kit as pytest classes: each check of a suite is one test of the subclass.

The tests are ordinary methods, made when a subclass is defined. ``penstock.tck.plugin`` adds the
option ``--tck-schedule`` and the list of what was not claimed; the tests work without it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.api import Processor, Publisher, Subscriber
from penstock.tck.checks.suites import Check
from penstock.tck.judge import Experience, Judge
from penstock.tck.outcome import PREFLIGHT, Failure, Outcome, RuleStatus, explain, sortable
from penstock.tck.verifying import KINDS, Kind

if TYPE_CHECKING:
    import pytest

__all__ = [
    "OperatorVerification",
    "ProcessorVerification",
    "PublisherVerification",
    "SubscriberBlackboxVerification",
    "SubscriberWhiteboxVerification",
    "Verification",
]


class Verification:
    """What the classes for the single kinds of party share.

    Claims are class attributes, or methods where a claim is a function. The methods of a subclass
    run on the thread of the check, which is not the one that runs pytest.
    """

    _kind: ClassVar[Kind]
    _claim_methods: ClassVar[Mapping[str, str]] = {}
    _experience: ClassVar[Experience]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # What one test learns of the subject, such as that it hangs, serves the next ones. The
        # judge itself is made for each test, whose fixtures the factory may use.
        cls._experience = Experience()
        if cls.__module__ != __name__:  # the classes of this module are no tests themselves
            for check in cls._kind.suite:
                _add_test(cls, check)

    def _factory(self) -> Callable[..., Any]:
        raise NotImplementedError

    def _claims(self) -> dict[str, Any]:
        names = [(field.name, field.name) for field in fields(self._kind.claims)]
        names += self._claim_methods.items()
        return {claim: getattr(self, name) for claim, name in names if hasattr(self, name)}

    def _judge(self) -> Judge:
        return self._kind.judge(self._factory(), self._claims(), self._experience)

    def _must_define(self, method: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__qualname__} must define {method}")


class PublisherVerification(Verification):
    """Verifies a publisher. Subclass it, and pytest runs every check as a test.

    Class attributes named as the fields of ``PublisherClaims`` are its claims, and a method
    ``create_failed_publisher(self)`` claims ``failed``. Methods run on the thread of the check.
    """

    _kind = KINDS["publisher"]
    _claim_methods: ClassVar[Mapping[str, str]] = {"failed": "create_failed_publisher"}

    def create_publisher(self, elements: int) -> Publisher[Any]:
        """Make a new publisher of so many elements."""
        raise self._must_define("create_publisher(self, elements)")

    def _factory(self) -> Callable[..., Any]:
        return self.create_publisher


class SubscriberBlackboxVerification(Verification):
    """Verifies a subscriber by what a publisher sees of it.

    Class attributes and methods named as the fields of ``SubscriberClaims`` are its claims, and a
    method ``create_element(self, number)`` claims ``element``. Methods run on the thread of the
    check.
    """

    _kind = KINDS["subscriber"]
    _claim_methods: ClassVar[Mapping[str, str]] = {"element": "create_element"}

    def create_subscriber(self) -> Subscriber[Any]:
        """Make a new subscriber."""
        raise self._must_define("create_subscriber(self)")

    def _factory(self) -> Callable[..., Any]:
        return self.create_subscriber


class SubscriberWhiteboxVerification(SubscriberBlackboxVerification):
    """Verifies a subscriber by what it shows as well, and lets it be steered.

    Methods ``completed(self, subscriber)`` and ``failed(self, subscriber)`` show still more. They
    run on the thread of the check; ``puppet`` may be used on others if it claims so.
    """

    def puppet(self, subscriber: Any) -> Any:
        """What steers the subscriber: something with ``request(n)`` and ``cancel()``."""
        raise self._must_define("puppet(self, subscriber)")

    def received(self, subscriber: Any) -> Any:
        """The elements that the subscriber has processed so far."""
        raise self._must_define("received(self, subscriber)")


class ProcessorVerification(Verification):
    """Verifies a processor: both its sides, and what passes through.

    Class attributes and methods named as the fields of ``ProcessorClaims`` are its claims, and a
    method ``create_element(self, number)`` claims ``element``. Methods run on the thread of the
    check.
    """

    _kind = KINDS["processor"]
    _claim_methods: ClassVar[Mapping[str, str]] = {"element": "create_element"}

    def create_processor(self) -> Processor[Any, Any]:
        """Make a new processor, which sends one element for each that it gets."""
        raise self._must_define("create_processor(self)")

    def _factory(self) -> Callable[..., Any]:
        return self.create_processor


class OperatorVerification(Verification):
    """Verifies an operator: what comes out of it, and what it takes from upstream for that.

    Class attributes and methods named as the fields of ``OperatorClaims`` are its claims, and a
    method ``create_element(self, number)`` claims ``element``. Methods run on the thread of the
    check.
    """

    _kind = KINDS["operator"]
    _claim_methods: ClassVar[Mapping[str, str]] = {"element": "create_element"}

    def apply_operator(self, publisher: Publisher[Any]) -> Publisher[Any]:
        """Apply the operator to ``publisher``."""
        raise self._must_define("apply_operator(self, publisher)")

    def _factory(self) -> Callable[..., Any]:
        return self.apply_operator


def _add_test(owner: type[Verification], check: Check) -> None:
    name = f"test_rule_{sortable(check.rule)}_{check.name}"
    if not _is_generated(getattr(owner, name, None)):
        return  # the subclass has a test of its own in its place

    def test(self: Verification, request: pytest.FixtureRequest) -> None:
        _verify(self._judge(), check, request)

    test.__name__, test.__qualname__ = name, f"{owner.__qualname__}.{name}"
    test.__doc__, test.__module__ = check.verifies, owner.__module__
    test.__dict__["place_as"] = owner  # pytest shows that class as the place of the test
    setattr(owner, name, test)


def _is_generated(test: object) -> bool:
    return test is None or (isinstance(test, FunctionType) and hasattr(test, "place_as"))


def _verify(judge: Judge, check: Check, request: pytest.FixtureRequest) -> None:
    import pytest

    schedule = request.config.getoption("tck_schedule", None)
    if schedule is not None and len(request.session.items) > 1:
        selected = len(request.session.items)
        pytest.fail(f"--tck-schedule replays one test, and {selected} are selected", pytrace=False)
    outcomes = judge.judge([check]) if schedule is None else judge.replay(check, schedule)
    (verdict,) = (outcome for outcome in outcomes if outcome.check == check.name)
    if verdict.status is RuleStatus.NOT_CLAIMED:
        request.node.user_properties.append((RuleStatus.NOT_CLAIMED.value, verdict.detail))
    elif verdict.status is not RuleStatus.VERIFIED:
        text = _complaint(outcomes, request.node.nodeid, trail=schedule is not None)
        pytest.fail(text, pytrace=False)


def _complaint(outcomes: Sequence[Outcome], node: str, trail: bool) -> str:
    verdict = outcomes[-1]
    for outcome in outcomes:
        if failure := outcome.failure:
            text = explain(failure, replay=_replay_command(node, failure), trail=trail)
            own = outcome.status is RuleStatus.FAILED
            return text if own else f"rule {verdict.rule} is undecided, since {text}"
    return f"rule {verdict.rule} is undecided: {verdict.detail}"


def _replay_command(node: str, failure: Failure) -> str:
    if failure.check == PREFLIGHT:
        return ""
    schedule = f" --tck-schedule={shlex.quote(failure.schedule)}" if failure.schedule else ""
    return f"pytest {shlex.quote(node)}{schedule}"
