"""For users' own tests of publishers, subscribers and operators. Needs no test framework.

``manual_publisher.py``     ``ManualPublisher``: a publisher that a test drives by hand
``manual_subscription.py``  ``ManualSubscription``: its end of one subscription
``manual_subscriber.py``    ``ManualSubscriber``: a subscriber that a test drives by hand
``recording.py``            what came to a subscriber, judged by the rules of signalling
``signals.py``              the four signals as values
``step_verifier.py``        ``StepVerifier``: a script of expectations for a publisher
``script.py``               the steps of such a script and how they are performed
``marbles.py``              the notation of marble diagrams, such as ``"a-(bc)|"``
``alphabet.py``             what the letters of a diagram stand for
``marble_publisher.py``     ``marble``: from a diagram to a publisher
``marble_recording.py``     ``record`` and ``to_marble``: from a publisher to a diagram
``expected_error.py``       what a test expects of an error
``report.py``               the form of failure messages
``options.py``              the checks of options

``VirtualTime`` and ``collect_undelivered`` come from ``penstock.runtime``.
"""

from penstock.runtime import VirtualTime, collect_undelivered
from penstock.testing.manual_publisher import ManualPublisher
from penstock.testing.manual_subscriber import ManualSubscriber
from penstock.testing.manual_subscription import ManualSubscription
from penstock.testing.marble_publisher import MarblePublisher, marble
from penstock.testing.marble_recording import record, to_marble
from penstock.testing.signals import OnComplete, OnError, OnNext, OnSubscribe, Signal
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
