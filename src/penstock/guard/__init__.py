"""Wraps a foreign party and reports every rule that it breaks; nobody else is harmed by it.

``wrapping.py``        finds out what a party is and puts the right guard around it, around a
                       processor both
``publisher.py``       a guard around a publisher: its signals are passed on as far as they keep the
                       rules
``subscriber.py``      a guard around a subscriber: what it does with its subscription is watched
``strict_monitor.py``  what a publisher did in one stream, judged also by who called whom, and from
                       where
``faults.py``          each fault in words: what the party did, which rule it breaks, how to fix it
``reports.py``         what all guarded parties tell
"""

from penstock.guard.publisher import GuardedPublisher
from penstock.guard.reports import ExplainedViolation
from penstock.guard.subscriber import GuardedSubscriber
from penstock.guard.wrapping import GuardedProcessor, guard

__all__ = [
    "ExplainedViolation",
    "GuardedProcessor",
    "GuardedPublisher",
    "GuardedSubscriber",
    "guard",
]
