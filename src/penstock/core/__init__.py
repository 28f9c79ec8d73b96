"""What every publisher and subscriber here is built on: demand, the drain loop, base classes.

``checks.py``              the checks of what a foreign party hands in, in the words of the rule
                           that it concerns
``demand.py``              the demand counter
``buffer.py``              a buffer with a bound
``drain.py``               the drain loop: how signals stay serial without recursion and without a
                           lock held outside
``base_subscriber.py``     the subscriber's end of one subscription
``base_subscription.py``   the publisher's end of one subscription, and how a subscriber is turned
                           away
``subscribers.py``         base classes for subscribers: the user writes one method that takes an
                           element
``identity_processor.py``  a processor that passes on what it receives
``protocol_monitor.py``    which rule the next signal of a publisher breaks: the one judge of guard,
                           kit and test tools
``signals.py``             the signals of a publisher as values: what came, and what a test or an
                           operator makes of it
``timeline.py``            the signals that led to a failure, in a form that a person can read
``traceback.py``           stack traces that begin with the user's code
"""

from penstock.core.base_subscriber import BaseSubscriber
from penstock.core.base_subscription import CANCELLED, COMPLETED, BaseSubscription, Rejection
from penstock.core.buffer import BoundedBuffer
from penstock.core.checks import (
    illegal_request,
    is_identifier,
    require_element,
    require_error,
    require_subscriber,
    require_subscription,
)
from penstock.core.demand import Demand
from penstock.core.drain import Drain
from penstock.core.identity_processor import IdentityProcessor
from penstock.core.subscribers import AsyncSubscriber, SyncSubscriber
from penstock.core.timeline import Timeline
from penstock.core.traceback import without_own_frames

__all__ = [
    "CANCELLED",
    "COMPLETED",
    "AsyncSubscriber",
    "BaseSubscriber",
    "BaseSubscription",
    "BoundedBuffer",
    "Demand",
    "Drain",
    "IdentityProcessor",
    "Rejection",
    "SyncSubscriber",
    "Timeline",
    "illegal_request",
    "is_identifier",
    "require_element",
    "require_error",
    "require_subscriber",
    "require_subscription",
    "without_own_frames",
]
