"""The checks for subscribers, in the order of the rules.

Most of them watch from outside what a subscriber calls, when, and from where. Those that need a
``puppet`` or ``received`` open the box; see `SubscriberClaims`.
"""

from penstock.tck.checks import (
    subscriber_cancelling,
    subscriber_demand,
    subscriber_endings,
    subscriber_reentrance,
    subscriber_signals,
    subscriber_threads,
)
from penstock.tck.checks.suites import SUBSCRIBER

__all__ = ["SUBSCRIBER"]

# They add themselves to the suite when they are imported.
MODULES = (
    subscriber_cancelling,
    subscriber_demand,
    subscriber_endings,
    subscriber_reentrance,
    subscriber_signals,
    subscriber_threads,
)
