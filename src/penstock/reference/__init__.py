"""The standard's own examples: small, conformant, and meant to be read and started from.

``iterable_publisher.py``   ``IterablePublisher`` on the calling thread, ``ExecutorPublisher``
``subscribers.py``          ``SyncSubscriber`` and ``AsyncSubscriber``, base classes to fill in
``identity_processor.py``   ``IdentityProcessor``, one subscriber
``broadcast.py``            ``Broadcast``, many subscribers, all at the pace of the slowest
``kept_elements.py``        the elements of a broadcast that somebody still needs
"""

from penstock.reference.broadcast import Broadcast, BroadcastState
from penstock.reference.identity_processor import IdentityProcessor
from penstock.reference.iterable_publisher import ExecutorPublisher, IterablePublisher
from penstock.reference.subscribers import AsyncSubscriber, SyncSubscriber

__all__ = [
    "AsyncSubscriber",
    "Broadcast",
    "BroadcastState",
    "ExecutorPublisher",
    "IdentityProcessor",
    "IterablePublisher",
    "SyncSubscriber",
]
