"""The machinery that every publisher here stands on, and the only place with locks.

``counter.py``    ``Demand``: how much was asked for and not yet delivered
``drain.py``      ``Drain``: one worker at a time, no recursion, no lock held while calling out
``buffer.py``     ``BoundedBuffer``: elements between two threads, handed over in chunks
``outlet.py``     ``Outlet``: the publisher's end of one subscription, built from the above
``inlet.py``      ``Inlet``: the subscriber's end of one subscription
``rejection.py``  ``Rejection``: a stream that is over at once
``endings.py``    the marks of an end that is no error
``arguments.py``  the checks of what a foreign party hands in
``timeline.py``   ``Timeline``: the signals that led to a failure, in words
``traceback.py``  stack traces that begin with the user's code
"""

from penstock.demand.arguments import (
    illegal_request,
    is_identifier,
    require_element,
    require_error,
    require_subscriber,
    require_subscription,
)
from penstock.demand.buffer import BoundedBuffer
from penstock.demand.counter import Demand
from penstock.demand.drain import Drain
from penstock.demand.endings import CANCELLED, COMPLETED
from penstock.demand.inlet import Inlet
from penstock.demand.outlet import Outlet
from penstock.demand.rejection import Rejection
from penstock.demand.timeline import Timeline, shorten
from penstock.demand.traceback import without_own_frames

__all__ = [
    "CANCELLED",
    "COMPLETED",
    "BoundedBuffer",
    "Demand",
    "Drain",
    "Inlet",
    "Outlet",
    "Rejection",
    "Timeline",
    "illegal_request",
    "is_identifier",
    "require_element",
    "require_error",
    "require_subscriber",
    "require_subscription",
    "shorten",
    "without_own_frames",
]
