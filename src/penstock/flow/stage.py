"""Operators as data: what a flow is made of before anybody subscribes.

An ``Origin`` is where elements come from, a ``Stage`` what happens to them. A stage that handles
one element after the other is ``Woven``: it writes its few lines into the loop of its segment,
see ``weaving.py``. Any other stage is a generator over the elements in front of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from penstock.api import UNBOUNDED
from penstock.flow.elements import Elements, Host, close, started
from penstock.flow.site import Site, caller
from penstock.runtime import Executor

if TYPE_CHECKING:
    from penstock.flow.weaving import Loop

__all__ = ["Origin", "Part", "Replay", "Stage", "Woven"]

Replay: TypeAlias = Literal["from_start", "position", "none"]
"""What a source can do after a restart: give the same again, go on behind a position, neither."""


class Part(ABC):
    """An origin or a stage, with its name and the line of the user's code that made it.

    ``checked``     whether ``None`` can never be among its elements; else the next loop looks
    ``title``       what the user calls the flow that ends here
    ``mark``        what errors that pass it are to say
    ``on_discard``  what is told of elements that will not be delivered
    """

    name: str
    site: Site | None
    checked: bool = False
    title: str = ""
    mark: str = ""
    on_discard: Callable[[Any], object] | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self.site = caller()

    @property
    def detail(self) -> str:
        """What ``explain`` says of it besides its name."""
        return ""


class Origin(Part):
    """Where the elements of a flow come from.

    ``waits``     whether it may yield ``PENDING``
    ``executor``  where all that follows it runs; ``None`` for whoever asks
    ``replay``    what it can do after a restart
    """

    waits: bool = True
    executor: Executor | None = None
    replay: Replay = "none"

    def prepare(self, host: Host) -> Any:
        """Make what ``start`` and ``open`` share; it is kept as ``host.prepared``."""
        return None

    def start(self, host: Host) -> None:
        """Do what is to be done on the thread that subscribes."""

    @abstractmethod
    def open(self, host: Host, each: int) -> Elements:
        """Start a stream of its own for ``host``. Runs where the flow runs.

        For one element at the end of the flow it takes about ``each`` of this origin.
        """

    def open_at_most(self, host: Host, each: int, most: int) -> Elements:
        """The same where no more than ``most`` elements will ever be taken."""
        return self.open(host, each)


class Stage(Part):
    """What happens to elements.

    ``each``   about how many elements it takes to make one; the demand in front is multiplied by it
    ``most``   how many elements it takes until it ends the stream
    ``level``  whether it gives one element for each, neither fewer nor more
    ``waits``  whether it may yield ``PENDING`` even if the stage in front never does
    """

    each: int = 1
    most: int = UNBOUNDED
    level: bool = False
    waits: bool = False

    @abstractmethod
    def run(self, elements: Elements, host: Host) -> Elements:
        """The elements behind this stage; a generator, mostly."""

    def apply(self, elements: Elements, host: Host) -> Elements:
        """``run``, in a frame that closes what stands in front, however it ends."""
        return started(self._closing(elements, host))

    def _closing(self, elements: Elements, host: Host) -> Elements:
        try:
            yield None
            yield from self.run(elements, host)
        finally:
            close(elements)


class Woven(Part):
    """A stage that is a few lines in the loop of its segment.

    ``closes``   it gives elements when its input ends, so it is the last one of its segment
    ``expands``  it makes a loop within the loop
    ``stops``    it may end the stream, which it can do from the outermost loop only
    """

    each: int = 1
    most: int = UNBOUNDED
    level: bool = False
    waits: bool = False
    closes: ClassVar[bool] = False
    expands: ClassVar[bool] = False
    stops: ClassVar[bool] = False

    def __init__(self, name: str, shape: str = "", values: tuple[object, ...] = ()) -> None:
        super().__init__(name)
        self.shape = (type(self), shape)
        self.values = values

    @abstractmethod
    def weave(self, loop: Loop, *values: str) -> None:
        """Write what happens to the element ``x``; ``values`` are the names of ``self.values``.

        Stages of the same ``shape`` write the same code, which is compiled once.
        """
