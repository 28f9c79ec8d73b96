"""Wraps a foreign party and reports every rule that it breaks; nobody else is harmed by it.

``wrapping.py``     ``guard``: finds out what a party is and puts the right guard around it
``publisher.py``    ``GuardedPublisher``: one guarded stream for each subscriber
``stream.py``       what a publisher signals, passed on as far as it keeps the rules
``ledger.py``       what a publisher did in one stream, and which rule its next signal breaks
``turn.py``         whose turn it is to signal
``subscriber.py``   ``GuardedSubscriber``: what a subscriber does with its signals
``conduct.py``      what a subscriber does with its subscription
``processor.py``    ``GuardedProcessor``: both sides
``guarded.py``      what all three tell: violations and counts
``faults.py``       each fault in words: what was done, which rule it breaks, how to mend it
``reports.py``      violations on their way to whoever wants to know, each kind once per stream
``violation.py``    a violation that says how to mend it
"""

from penstock.guard.processor import GuardedProcessor
from penstock.guard.publisher import GuardedPublisher
from penstock.guard.subscriber import GuardedSubscriber
from penstock.guard.violation import ExplainedViolation
from penstock.guard.wrapping import guard

__all__ = [
    "ExplainedViolation",
    "GuardedProcessor",
    "GuardedPublisher",
    "GuardedSubscriber",
    "guard",
]
