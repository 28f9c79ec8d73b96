"""``Flow``, the fluent publisher: its methods stand in ``methods/``, one module for each family."""

from __future__ import annotations

from typing import Generic, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.stage import Origin
from penstock.flow.methods.asynchronous import Asynchronous
from penstock.flow.methods.backpressure import Backpressure
from penstock.flow.methods.batching import Batching
from penstock.flow.methods.combining import Combining
from penstock.flow.methods.creating import Creating
from penstock.flow.methods.error_handling import ErrorHandling
from penstock.flow.methods.filtering import Filtering
from penstock.flow.methods.flattening import Flattening
from penstock.flow.methods.inspecting import Inspecting
from penstock.flow.methods.multicasting import Multicasting
from penstock.flow.methods.reducing import Reducing
from penstock.flow.methods.running import Running
from penstock.flow.methods.spark import OnSpark
from penstock.flow.methods.threads import Threads
from penstock.flow.methods.timing import Timing
from penstock.flow.methods.transforming import Transforming

__all__ = [
    "Flow",
    "GroupedFlow",
]

K = TypeVar("K")
T_co = TypeVar("T_co", covariant=True)


class Flow(
    Creating,
    Transforming[T_co],
    Filtering[T_co],
    Flattening[T_co],
    Combining[T_co],
    Batching[T_co],
    ErrorHandling[T_co],
    Backpressure[T_co],
    Timing[T_co],
    Threads[T_co],
    OnSpark[T_co],
    Asynchronous[T_co],
    Multicasting[T_co],
    Inspecting[T_co],
    Reducing[T_co],
    Running[T_co],
):
    """A typed, cold publisher with operators.

    Cold: each subscription starts a run of its own. Assembled as data: an operator returns a new
    flow and changes nothing. Planned when somebody subscribes: a run of simple stages becomes one
    loop, and only ``publish_on``, ``subscribe_on`` and their like move work to other threads.
    """

    __slots__ = ()


BaseFlow.flow = Flow


class GroupedFlow(Flow[T_co], Generic[K, T_co]):
    """The elements that share a ``key``, for one subscriber."""

    __slots__ = ("key",)

    def __init__(self, origin: Origin, key: K) -> None:
        super().__init__(origin)
        self.key = key
