"""For users' own tests of publishers, subscribers and operators. Needs no test framework.

``step_verifier.py``      the step verifier: what a publisher should do, written down as a script
``script.py``             the steps of a step verifier, and how they are performed against the
                          signals that come
``manual_publisher.py``   a publisher that a test drives by hand, and its subscriptions
``manual_subscriber.py``  a subscriber that a test drives by hand
``recording.py``          what a publisher signalled, as values, judged signal by signal, and the
                          means to wait for it
``marbles.py``            the notation of marble diagrams: a stream as a line of text
``marble_publisher.py``   a publisher that does what a marble diagram shows
``marble_recording.py``   from signals to a marble diagram
``expectation.py``        what a test expects of an error, and the form of every failure message
``options.py``            how long the waits of a test take, and the time that it may own
"""

from penstock.runtime import VirtualTime, collect_undelivered
from penstock.testing.manual_publisher import ManualPublisher, ManualSubscription
from penstock.testing.manual_subscriber import ManualSubscriber
from penstock.testing.marble_publisher import MarblePublisher, marble
from penstock.testing.marble_recording import record, to_marble
from penstock.testing.recording import OnComplete, OnError, OnNext, OnSubscribe, Signal
from penstock.testing.step_verifier import StepVerifier

__all__ = [
    "ManualPublisher",
    "ManualSubscriber",
    "ManualSubscription",
    "MarblePublisher",
    "OnComplete",
    "OnError",
    "OnNext",
    "OnSubscribe",
    "Signal",
    "StepVerifier",
    "VirtualTime",
    "collect_undelivered",
    "marble",
    "record",
    "to_marble",
]
