"""Reactive Streams for Python.

``on_demand``   the names of a package, each loaded when somebody uses it
``java``        the Java of this machine, for those who need one
``api``         the standard on one page
``rules``       its 43 rules as data; they feed error messages, the kit, the docs, ``penstock spec``
``runtime``     executors, clocks and the hook for errors with nowhere to go
``arrow``       values of Python in columns of Arrow, with none changed on the way
``core``        demand counter, drain loop, bounded buffers, base classes for both ends of a stream
``examples``    the standard's own examples, conformant and small
``guard``       reports every rule that a foreign party breaks
``delivery``    what a sink promises of its rows, and how it knows a batch again
``flow``        ``Flow``, the fluent publisher with operators
``bridges``     other runtimes: streams to and from the JVM
``spark``       Apache Spark as a stage, with demand all the way
``connectors``  other systems: websockets, server-sent events, files, topics of Kafka, standard
                streams
``observe``     what a running pipeline does: readings, the live page, metrics
``pipeline``    sources, a way between and sinks as one thing, which is run, watched and drained
``demo``        the blizzard, a pipeline to look at
``testing``     for users' own tests
``tck``         the conformance kit
``cli``         the command line

Each imports only what comes before it in this list, and ``cli`` sees all. ``testing`` and ``tck``
judge strangers as well as us, so they know nothing of ``examples``.
"""

from typing import TYPE_CHECKING

from penstock.guard import guard  # at once, or the package would stand in its place
from penstock.on_demand import loader

if TYPE_CHECKING:
    from penstock.api import UNBOUNDED, Processor, Publisher, Subscriber, Subscription
    from penstock.core import AsyncSubscriber, IdentityProcessor, SyncSubscriber
    from penstock.examples import ExecutorPublisher, IterablePublisher
    from penstock.flow import Flow, Retry, X
    from penstock.flow.multicast.broadcast import Broadcast, BroadcastState
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

__getattr__ = loader(
    __name__,
    {
        "AsyncSubscriber": "core",
        "AsyncioLoop": "runtime",
        "Broadcast": "flow.multicast.broadcast",
        "BroadcastState": "flow.multicast.broadcast",
        "CallingThread": "runtime",
        "ExecutorPublisher": "examples",
        "Flow": "flow",
        "IdentityProcessor": "core",
        "IterablePublisher": "examples",
        "Processor": "api",
        "Publisher": "api",
        "Retry": "flow",
        "RuleViolation": "rules",
        "Subscriber": "api",
        "Subscription": "api",
        "SyncSubscriber": "core",
        "ThreadPool": "runtime",
        "UNBOUNDED": "api",
        "VirtualTime": "runtime",
        "X": "flow",
        "collect_undelivered": "runtime",
        "set_undelivered_hook": "runtime",
    },
)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
