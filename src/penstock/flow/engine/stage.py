"""Operators as data: what a flow is made of before anybody subscribes.

An ``Origin`` is where elements come from, a ``Stage`` what happens to them. A stage that handles
one element after the other is ``FusedStage``: it writes its few lines into the loop of its segment,
see ``fusion.py``. Any other stage is a generator over the elements of the one upstream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, Self, TypeAlias

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.engine.call_site import CallSite, caller
from penstock.flow.engine.run_context import Elements, RunContext, close, started
from penstock.runtime import Executor

if TYPE_CHECKING:
    from penstock.flow.engine.fusion import LoopCode

__all__ = [
    "BY_TIME",
    "EACH_ALONE",
    "FROM_START",
    "IN_ORDER",
    "UNKNOWN",
    "FlowNode",
    "FusedStage",
    "Origin",
    "Replay",
    "Rerun",
    "Stage",
]

Replay: TypeAlias = Literal["from_start", "position", "none"]
"""What a source can do after a restart: give the same again, go on after a position, neither."""


class Rerun(NamedTuple):
    """What a new run of an operator gives, after a restart.

    ``repeats``    whether it gives the same again for the same elements from the first one on,
                   whatever the timing; ``None`` if that depends on what nobody here knows
    ``severable``  whether a new run can take over downstream of any element that it gave
    ``holds``      whether it may still keep something of the elements that came when it gives one
    ``keeps``      the same when it asks for the next one: what came is not delivered then, or is
                   remembered
    """

    repeats: bool | None
    severable: bool = False
    holds: bool = True
    keeps: bool = True


UNKNOWN: Final = Rerun(repeats=None)
EACH_ALONE: Final = Rerun(repeats=True, severable=True, holds=False, keeps=False)
"""What becomes of an element depends on nothing else, and it is one element at most."""
IN_ORDER: Final = Rerun(repeats=True, severable=True)
FROM_START: Final = Rerun(repeats=True)
"""It remembers what came before."""
BY_TIME: Final = Rerun(repeats=False)


class FlowNode(ABC):
    """An origin or a stage, with its name and the line of the user's code that made it.

    ``checked``     whether ``None`` can never be among its elements; else the next loop looks
    ``title``       what the user calls the flow that ends here
    ``mark``        what errors that pass it are to say
    ``on_discard``  what is told of elements that will not be delivered
    ``rerun``       what a new run of it gives
    ``inputs``      the publishers that it subscribes to
    """

    name: str
    site: CallSite | None
    checked: bool = False
    title: str = ""
    mark: str = ""
    on_discard: Callable[[Any], object] | None = None
    rerun: Rerun = UNKNOWN
    inputs: tuple[Publisher[Any], ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.site = caller()

    @property
    def detail(self) -> str:
        """What ``explain`` says of it besides its name."""
        return ""


class Origin(FlowNode):
    """Where the elements of a flow come from.

    ``waits``     whether it may yield ``PENDING``
    ``executor``  where all that follows it runs; ``None`` for the thread that asks
    ``replay``    what it can do after a restart
    ``carries``   whether it gives the elements of its one upstream as they are and in order
    ``upstreams`` those of its inputs whose elements it gives; none if it makes them itself
    ``on_spark``  whether its elements come from Spark
    """

    waits: bool = True
    executor: Executor | None = None
    replay: Replay = "none"
    carries: bool = False
    upstreams: tuple[Publisher[Any], ...] = ()
    on_spark: bool = False

    @property
    def upstream(self) -> Any:
        """The flow whose elements it gives, if it is one flow."""
        return self.upstreams[0] if len(self.upstreams) == 1 else None

    @upstream.setter
    def upstream(self, flow: Publisher[Any]) -> None:
        self.upstreams = self.inputs = (flow,)

    def over(self, *upstreams: Publisher[Any]) -> Self:
        """The same with other upstreams, as many as it has."""
        moved = copy(self)
        moved.inputs = (*upstreams, *self.inputs[len(upstreams) :])
        moved.upstreams = upstreams
        return moved

    def prepare(self, run: RunContext) -> Any:
        """Make what ``start`` and ``open`` share; it is kept as ``run.prepared``."""
        return None

    def subscribed_to(self, flow: Publisher[Any]) -> None:
        """Told of ``flow``, which begins here, whenever somebody subscribes to that."""

    def start(self, run: RunContext) -> None:
        """Do what is to be done on the thread that subscribes."""

    @abstractmethod
    def open(self, run: RunContext, per_output: int) -> Elements:
        """Start a stream of its own for ``run``. Runs where the flow runs.

        For one element at the end of the flow it takes about ``per_output`` of this origin.
        """

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """The same where no more than ``most`` elements will ever be taken."""
        return self.open(run, per_output)


class Stage(FlowNode):
    """What happens to elements.

    ``inputs_per_output``  about how many elements it takes to make one; demand is multiplied by it
    ``max_inputs``         how many elements it takes until it ends the stream
    ``one_to_one``         whether it gives one element for each, neither fewer nor more
    ``waits``              whether it may yield ``PENDING`` even if the stage upstream never does
    ``takes_all``          whether it takes what comes also while nothing is wanted of it
    """

    inputs_per_output: int = 1
    max_inputs: int = UNBOUNDED
    one_to_one: bool = False
    waits: bool = False
    takes_all: bool = False

    @abstractmethod
    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """The elements downstream of this stage; a generator, mostly."""

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """``run``, in a frame that closes what is upstream, however it ends."""
        return started(self._closing(elements, run))

    def _closing(self, elements: Elements, run: RunContext) -> Elements:
        try:
            yield None
            yield from self.transform(elements, run)
        finally:
            close(elements)


class FusedStage(FlowNode):
    """A stage that is a few lines in the loop of its segment.

    ``closes``   it gives elements when its input ends, so it is the last one of its segment
    ``expands``  it makes a loop within the loop
    ``stops``    it may end the stream, which it can do from the outermost loop only
    ``forgets``  an element that goes no further leaves no trace in it: neither did it give another
                 one, nor does it remember any
    ``covers``   so many stages directly upstream, which forget, are within its ``try``
    """

    inputs_per_output: int = 1
    max_inputs: int = UNBOUNDED
    one_to_one: bool = False
    waits: bool = False
    closes: ClassVar[bool] = False
    expands: ClassVar[bool] = False
    stops: ClassVar[bool] = False
    forgets: ClassVar[bool] = False
    covers: int = 0

    def __init__(self, name: str, shape: str = "", values: tuple[object, ...] = ()) -> None:
        super().__init__(name)
        self.shape = (type(self), shape)
        self.values = values

    @abstractmethod
    def generate(self, loop: LoopCode, *values: str) -> None:
        """Write what happens to the element ``x``; ``values`` are the names of ``self.values``.

        Stages of the same ``shape`` write the same code, which is compiled once.
        """
