"""Reactive Streams for Python.

``java``        the Java of this machine, for those who need one
``api``         the standard on one page
``rules``       its 43 rules as data; they feed error messages, the kit, the docs, ``penstock spec``
``runtime``     executors, clocks and the hook for errors with nowhere to go
``core``        demand counter, drain loop, bounded buffers, base classes for both ends of a stream
``examples``    the standard's own examples, conformant and small
``guard``       reports every rule that a foreign party breaks
``delivery``    what a sink promises of its rows, and how it knows a batch again
``flow``        ``Flow``, the fluent publisher with operators
``bridges``     other runtimes: streams to and from the JVM
``spark``       Apache Spark as a stage, with demand all the way
``connectors``  other systems: websockets, server-sent events, files, standard streams
``observe``     what a running pipeline does: readings, the live page, metrics
``pipeline``    sources, a way between and sinks as one thing, which is run, watched and drained
``demo``        the blizzard, a pipeline to look at
``testing``     for users' own tests
``tck``         the conformance kit
``cli``         the command line

Each imports only what comes before it in this list, and ``cli`` sees all. ``testing`` and ``tck``
judge strangers as well as us, so they know nothing of ``examples``.
"""

from penstock.api import UNBOUNDED, Processor, Publisher, Subscriber, Subscription
from penstock.core import AsyncSubscriber, IdentityProcessor, SyncSubscriber
from penstock.examples import ExecutorPublisher, IterablePublisher
from penstock.flow import Flow, Retry, X
from penstock.flow.multicast.broadcast import Broadcast, BroadcastState
from penstock.guard import guard
from penstock.rules import RuleViolation
from penstock.runtime import (
    AsyncioLoop,
    CallingThread,
    ThreadPool,
    VirtualTime,
    collect_undelivered,
    set_undelivered_hook,
)

__all__ = [
    "UNBOUNDED",
    "AsyncSubscriber",
    "AsyncioLoop",
    "Broadcast",
    "BroadcastState",
    "CallingThread",
    "ExecutorPublisher",
    "Flow",
    "IdentityProcessor",
    "IterablePublisher",
    "Processor",
    "Publisher",
    "Retry",
    "RuleViolation",
    "Subscriber",
    "Subscription",
    "SyncSubscriber",
    "ThreadPool",
    "VirtualTime",
    "X",
    "collect_undelivered",
    "guard",
    "set_undelivered_hook",
]
