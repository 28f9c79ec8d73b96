"""``Flow``, the fluent publisher. Its methods stand in ``surface/``, one file for each group."""

from __future__ import annotations

from typing import TypeVar

from penstock.flow.fluent import Fluent
from penstock.flow.surface.asynchronous import Asynchronous
from penstock.flow.surface.boundary import Boundary
from penstock.flow.surface.combine import Combine
from penstock.flow.surface.errors import Errors
from penstock.flow.surface.flatten import Flatten
from penstock.flow.surface.groups import Groups
from penstock.flow.surface.multicast import Multicast
from penstock.flow.surface.peek import Peek
from penstock.flow.surface.pressure import Pressure
from penstock.flow.surface.running import Running
from penstock.flow.surface.select import Select
from penstock.flow.surface.sources import Sources
from penstock.flow.surface.spark import OnSpark
from penstock.flow.surface.terminals import Terminals
from penstock.flow.surface.time import Time
from penstock.flow.surface.transform import Transform

__all__ = ["Flow"]

T_co = TypeVar("T_co", covariant=True)


class Flow(
    Sources,
    Transform[T_co],
    Select[T_co],
    Flatten[T_co],
    Combine[T_co],
    Groups[T_co],
    Errors[T_co],
    Pressure[T_co],
    Time[T_co],
    Boundary[T_co],
    OnSpark[T_co],
    Asynchronous[T_co],
    Multicast[T_co],
    Peek[T_co],
    Terminals[T_co],
    Running[T_co],
):
    """A typed, cold publisher with operators.

    Cold: each subscription starts a run of its own. Assembled as data: an operator returns a new
    flow and changes nothing. Planned when somebody subscribes: a run of simple stages becomes one
    loop, and only ``publish_on``, ``subscribe_on`` and their like move work to other threads.
    """

    __slots__ = ()


Fluent.flow = Flow
