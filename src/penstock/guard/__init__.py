"""Wraps a foreign party and reports every rule that it breaks; nobody else is harmed by it.

``wrapping.py``        finds out what a party is and puts the right guard around it
``publisher.py``       a guard around a publisher
``subscriber.py``      a guard around a subscriber
``processor.py``       a guard around a processor
``stream.py``          what a publisher signals, passed on as far as it keeps the rules
``conduct.py``         what a subscriber does with its subscription
``strict_monitor.py``  what a publisher did in one stream, judged also by who called whom, and from
                       where
``faults.py``          each fault in words: what the party did, which rule it breaks, how to fix it
``reports.py``         what all guarded parties tell
"""

from penstock.guard.processor import GuardedProcessor
from penstock.guard.publisher import GuardedPublisher
from penstock.guard.reports import ExplainedViolation
from penstock.guard.subscriber import GuardedSubscriber
from penstock.guard.wrapping import guard

__all__ = [
    "ExplainedViolation",
    "GuardedProcessor",
    "GuardedPublisher",
    "GuardedSubscriber",
    "guard",
]
