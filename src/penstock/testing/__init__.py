"""For users' own tests of publishers, subscribers and operators. Needs no test framework.

``step_verifier.py``      the step verifier: what a publisher should do as a script, performed
                          against its signals
``manual_publisher.py``   a publisher that a test drives by hand, and its subscriptions
``manual_subscriber.py``  a subscriber that a test drives by hand
``recording.py``          what a publisher signalled, as values, judged signal by signal, and the
                          means to wait for it
``marbles.py``            the notation of marble diagrams: a stream as a line of text
``marble_streams.py``     from a marble diagram to a publisher that does what it shows, and from
                          signals to a diagram
``sink_series.py``        the fault series for a sink: second runs, kills, other checkpoints, rivals
``sink_program.py``       the program that is killed while a sink writes
``expectation.py``        what a test expects of an error, how long it waits, and the form of every
                          failure message
"""

from penstock.core.signals import OnComplete, OnError, OnNext, OnSubscribe, Signal
from penstock.runtime import VirtualTime, collect_undelivered
from penstock.testing.manual_publisher import ManualPublisher, ManualSubscription
from penstock.testing.manual_subscriber import ManualSubscriber
from penstock.testing.marble_streams import MarblePublisher, marble, record, to_marble
from penstock.testing.sink_program import SinkParty
from penstock.testing.sink_series import SinkReport, verify_sink
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
    "SinkParty",
    "SinkReport",
    "StepVerifier",
    "VirtualTime",
    "collect_undelivered",
    "marble",
    "record",
    "to_marble",
    "verify_sink",
]
