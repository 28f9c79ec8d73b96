"""The conformance kit: verifies all 43 rules on implementations that it has never seen.

From code: ``verify_publisher(factory)`` and its like, each returning a `Report`. With pytest:
subclass `PublisherVerification` and its like. Without any code: ``penstock tck module:factory``.
`explore` is what stands beneath: it runs code that uses threads under all schedules that matter.

Names are loaded when they are used: pytest loads this package wherever Penstock is installed.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.tck.claims import PublisherClaims
    from penstock.tck.explorer import (
        Environment,
        Exploration,
        Level,
        Verdict,
        Violation,
        explore,
        replay,
    )
    from penstock.tck.operator_claims import OperatorClaims
    from penstock.tck.processor_claims import ProcessorClaims
    from penstock.tck.report import Failure, Outcome, Report, RuleResult, Status
    from penstock.tck.subscriber_claims import SubscriberClaims
    from penstock.tck.verification import (
        OperatorVerification,
        ProcessorVerification,
        PublisherVerification,
        SubscriberBlackboxVerification,
        SubscriberWhiteboxVerification,
    )
    from penstock.tck.verify import verify_publisher
    from penstock.tck.verify_operator import verify_operator
    from penstock.tck.verify_processor import verify_processor
    from penstock.tck.verify_subscriber import verify_subscriber

_HOMES = {
    "Environment": "explorer",
    "Exploration": "explorer",
    "Failure": "report",
    "Level": "explorer",
    "OperatorClaims": "operator_claims",
    "OperatorVerification": "verification",
    "Outcome": "report",
    "ProcessorClaims": "processor_claims",
    "ProcessorVerification": "verification",
    "PublisherClaims": "claims",
    "PublisherVerification": "verification",
    "Report": "report",
    "RuleResult": "report",
    "Status": "report",
    "SubscriberBlackboxVerification": "verification",
    "SubscriberClaims": "subscriber_claims",
    "SubscriberWhiteboxVerification": "verification",
    "Verdict": "explorer",
    "Violation": "explorer",
    "explore": "explorer",
    "replay": "explorer",
    "verify_operator": "verify_operator",
    "verify_processor": "verify_processor",
    "verify_publisher": "verify",
    "verify_subscriber": "verify_subscriber",
}

__all__ = [
    "Environment",
    "Exploration",
    "Failure",
    "Level",
    "OperatorClaims",
    "OperatorVerification",
    "Outcome",
    "ProcessorClaims",
    "ProcessorVerification",
    "PublisherClaims",
    "PublisherVerification",
    "Report",
    "RuleResult",
    "Status",
    "SubscriberBlackboxVerification",
    "SubscriberClaims",
    "SubscriberWhiteboxVerification",
    "Verdict",
    "Violation",
    "explore",
    "replay",
    "verify_operator",
    "verify_processor",
    "verify_publisher",
    "verify_subscriber",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps a submodule from hiding the function that it is named after."""

    def __setattr__(self, name: str, value: object) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
