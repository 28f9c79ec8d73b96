"""The conformance kit: verifies all 43 rules on implementations that it has never seen.

From code: ``verify_publisher(factory)`` and its like, each returning a `Report`. With pytest:
subclass `PublisherVerification` and its like. Without any code: ``penstock tck module:factory``.
`explore` is underneath: it runs code that uses threads under all schedules that matter.

Names are loaded when they are used: pytest loads this package wherever Penstock is installed.

``verifying.py``           the kit from code, ``verify_publisher(factory)`` and its like, and the
                           kinds of party
``verification.py``        the kit as pytest classes: each check of a suite is one test of the
                           subclass
``claims.py``              what an implementation claims to do; what is not claimed is listed, never
                           passed
``plugin.py``              the pytest plugin of the kit: replays schedules, and shows what was not
                           claimed
``judge.py``               runs checks: under the schedule explorer, and where it cannot hold the
                           subject, in real time
``checks/``                the checks: one function for each thing that a rule demands, by kind of
                           party
``publisher_fixture.py``   what a check works with: the subject, new in each run, and the kit's own
                           parties
``subscriber_fixture.py``  what a check of a subscriber works with: the subject, new in each run,
                           and its streams
``processor_fixture.py``   what a check of a processor works with: the processor, and the kit's
                           parties on both sides
``operator_fixture.py``    what a check of an operator works with: the operator, and the kit's
                           parties on both sides
``operator_sides.py``      the two sides of an operator, as the checks of publishers and of
                           subscribers work with them
``check_environment.py``   where a check runs: who owns the threads and the time of the subject, and
                           how a fault ends it
``real_environment.py``    real threads in real time, for subjects that cannot be controlled, and
                           how their threads end
``preflight.py``           before the checks: does the subject work at all, and can the explorer
                           hold it?
``probe.py``               the subscriber of the kit: does what a check says, and watches what is
                           done to it
``spy.py``                 the kit's subscription: counts the demand, and watches who calls it,
                           when, and out of what
``stream.py``              the publisher's side of a stream to a subscriber under test
``upstream.py``            the kit's publisher, upstream of a processor or an operator under test
``holders.py``             what still refers to an object that should be gone
``outcome.py``             what a single check found, and the words to understand it, fix it and see
                           it again
``report.py``              what a verification found: 43 rows, and all of it as text of 80 columns,
                           nothing but ASCII
``junit.py``               the report as JUnit XML, which continuous integration shows: one test
                           case for each check
``explorer/``              the schedule explorer: runs code that uses `threading` under all
                           schedules that matter
``jvm/``                   the outside judge: the official Java kit of Reactive Streams, unmodified,
                           on Python objects
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.tck.claims import (
        OperatorClaims,
        ProcessorClaims,
        PublisherClaims,
        SubscriberClaims,
    )
    from penstock.tck.explorer import (
        Environment,
        Exploration,
        Level,
        Verdict,
        Violation,
        explore,
        replay,
    )
    from penstock.tck.report import Failure, Outcome, Report, RuleResult, RuleStatus
    from penstock.tck.verification import (
        OperatorVerification,
        ProcessorVerification,
        PublisherVerification,
        SubscriberBlackboxVerification,
        SubscriberWhiteboxVerification,
    )
    from penstock.tck.verifying import (
        verify_operator,
        verify_processor,
        verify_publisher,
        verify_subscriber,
    )

_HOMES = {
    "Environment": "explorer",
    "Exploration": "explorer",
    "Failure": "report",
    "Level": "explorer",
    "OperatorClaims": "claims",
    "OperatorVerification": "verification",
    "Outcome": "report",
    "ProcessorClaims": "claims",
    "ProcessorVerification": "verification",
    "PublisherClaims": "claims",
    "PublisherVerification": "verification",
    "Report": "report",
    "RuleResult": "report",
    "RuleStatus": "report",
    "SubscriberBlackboxVerification": "verification",
    "SubscriberClaims": "claims",
    "SubscriberWhiteboxVerification": "verification",
    "Verdict": "explorer",
    "Violation": "explorer",
    "explore": "explorer",
    "replay": "explorer",
    "verify_operator": "verifying",
    "verify_processor": "verifying",
    "verify_publisher": "verifying",
    "verify_subscriber": "verifying",
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
    "RuleStatus",
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
