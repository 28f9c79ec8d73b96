"""What flows between the stages of a flow: elements, pulled one at a time.

A stage is an iterator over the elements of the stage in front of it. One that has nothing to give
*now*, because its elements come from another thread or at another time, yields ``PENDING``, and
wakes its host when that changes. So a stage is plain, single-threaded code, whoever runs it: it
is pulled only when an element is wanted, ends by returning, fails by raising, and is cancelled by
``close``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import chain
from operator import length_hint
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from weakref import ref

from penstock.rules import cite
from penstock.runtime import report_undelivered

if TYPE_CHECKING:
    from asyncio import Future

    from penstock.flow.plan import Plan

__all__ = [
    "PENDING",
    "SATISFIED",
    "Discarded",
    "Elements",
    "Host",
    "Pause",
    "PlainHost",
    "Receiver",
    "close",
    "close_quietly",
    "discard",
    "failing",
    "is_used_up",
    "listen",
    "started",
    "taken_out",
    "unclosed",
]


class Pause(Enum):
    """What a stage yields instead of an element."""

    PENDING = "nothing to give now; the host will be woken"
    SATISFIED = "all that was wanted has been delivered"


PENDING: Final = Pause.PENDING
SATISFIED: Final = Pause.SATISFIED

Elements: TypeAlias = Iterator[Any]
"""Elements and ``PENDING``, in any mixture."""

Discarded: TypeAlias = Callable[[Any], object]
"""What is told of an element that will not be delivered."""


class Host(Protocol):
    """Whoever pulls the last stage, as all stages of one run see it."""

    @property
    def wanted(self) -> int:
        """How many elements are wanted at the end of the flow, the one being pulled included."""

    over: bool
    """Nobody wants anything any more; a stage that loops without yielding should return."""

    ended: set[object]
    """Those whose input has ended while they still hold elements.

    As long as there are any, the host looks for the end of the flow without waiting for demand.
    """

    discards: dict[Discarded, None]
    """What ``do_on_discard`` asked to be called for elements that will not be delivered.

    Those of a run and of all that takes part in it, each of them once.
    """

    prepared: Any
    """What the origin prepared on the thread that subscribed."""

    sized: object
    """An iterator in front that may know how many elements it has left."""

    def wake(self) -> None:
        """Pull again, soon: what was pending may be there. May be called from any thread."""


class Receiver(ABC):
    """Takes the elements of another flow without a call for each of them.

    They are appended to ``arrived``; while it is ``waiting``, ``notify`` follows.
    """

    __slots__ = ()

    arrived: deque[Any]
    waiting: bool

    @abstractmethod
    def notify(self) -> None:
        """Something has come."""

    @abstractmethod
    def sweep(self) -> None:
        """Let go of what came although the stream was over."""


class PlainHost(ABC):
    """The state of a host that is no subscription, and can wait when its run is over.

    ``taker``        who takes the elements, in words
    ``may_pause``    whether the taker may do something else between two elements
    ``waits_since``  when it began to wait, if it does
    """

    __slots__ = (
        "__weakref__", "_source", "discards", "ended", "may_pause", "over", "plan", "prepared",
        "sized", "taker", "tasks", "waits_since", "wanted",
    )  # fmt: skip

    def __init__(self, wanted: int, taker: str, *, may_pause: bool) -> None:
        self.wanted = wanted
        self.taker = taker
        self.may_pause = may_pause
        self.plan: Plan | None = None
        self.waits_since: float | None = None
        self._source: Callable[[], Elements | None] = lambda: None
        self.over = False
        self.ended: set[object] = set()
        self.discards: dict[Discarded, None] = {}
        self.prepared: Any = None
        self.sized: object = None
        self.tasks: set[Future[Any]] = set()

    @property
    def source(self) -> Elements | None:
        """What it pulls, for ``explain``."""
        return self._source()

    def pulls(self, elements: Elements, plan: Plan) -> None:
        """``elements`` are what it pulls, those of ``plan``; it does not keep them alive."""
        self.plan = plan
        plan.runs.add(ref(self, plan.runs.discard))
        if isinstance(elements, GeneratorType):
            self._source = ref(elements)

    @abstractmethod
    def wake(self) -> None:
        """Pull again, soon."""

    def leave_after(self, task: Future[Any]) -> None:
        """The run is not over before ``task``, on an asyncio loop, is done."""
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def listen(host: Host, listeners: Iterable[Discarded]) -> None:
    """Tell ``listeners`` of what will be discarded; one that is known is not told twice."""
    host.discards.update(dict.fromkeys(listeners))


def discard(host: Host, elements: Iterable[Any]) -> None:
    """Say that ``elements``, which a stage had taken, will not be delivered."""
    listeners = tuple(host.discards)  # another thread may add one
    for element in elements:  # also if nobody is told: an iterator may take them out of a place
        for tell in listeners:
            tell(element)


def taken_out(elements: deque[Any]) -> Iterator[Any]:
    """Take out all elements, be it while another thread does the same."""
    while elements:
        try:
            yield elements.popleft()
        except IndexError:
            return


def close(elements: object) -> None:
    """Cancel a stage; a plain iterator needs nothing."""
    closing = getattr(elements, "close", None)
    if closing is not None:
        closing()


def close_quietly(elements: object) -> None:
    """Cancel a stage for somebody who must not suffer from one that cannot be closed (3.15)."""
    try:
        close(elements)
    except Exception as error:
        report_undelivered(error, cite("3.15", "closing the source of a stream raised"))


def is_used_up(sized: object) -> bool:
    """Whether something that may know how many elements it has left knows that it has none."""
    try:
        return sized is not None and length_hint(sized, 1) == 0
    except OverflowError:  # more than there are numbers for
        return False


def unclosed(elements: Elements) -> Elements:
    """``elements`` for a ``yield from`` that must not close them.

    Whoever handles their errors has to leave alone what closing them raises.
    """
    return chain(elements)


def started(generator: Elements) -> Elements:
    """``generator``, advanced to its first ``yield``, which gives nothing.

    A generator that was never started does not run its ``finally`` when it is closed.
    """
    next(generator, None)
    return generator


def failing(host: Host, error: Exception) -> Elements:
    """No elements but an error, which needs no demand."""
    return started(_failing(host, error))


def _failing(host: Host, error: Exception) -> Elements:
    mark = object()
    host.ended.add(mark)
    try:
        yield None
        raise error
    finally:
        host.ended.discard(mark)
        del error  # whose traceback has this frame
