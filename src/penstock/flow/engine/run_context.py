"""What flows between the stages of a flow: elements, pulled one at a time.

A stage is an iterator over the elements of the stage upstream. One that has nothing to give
*now*, because its elements come from another thread or at another time, yields ``PENDING``, and
wakes its run when that changes. So a stage is plain, single-threaded code, whatever thread runs it:
it is pulled only when an element is wanted, ends by returning, fails by raising, and is cancelled
by ``close``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import chain
from operator import length_hint
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar
from weakref import ref

from penstock.core import COMPLETED
from penstock.flow.engine.event_loop import call_on
from penstock.rules import cite
from penstock.runtime import report_undelivered

if TYPE_CHECKING:
    from penstock.flow.engine.plan import Plan

__all__ = [
    "PENDING",
    "RUN_FIELDS",
    "SATISFIED",
    "ClosingTasks",
    "Discarded",
    "Elements",
    "Pause",
    "PullingContext",
    "QueueReceiver",
    "RunContext",
    "RunPart",
    "WaitPoint",
    "WaitState",
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

    PENDING = "nothing to give now; the run will be woken"
    SATISFIED = "all that was wanted has been delivered"


PENDING: Final = Pause.PENDING
SATISFIED: Final = Pause.SATISFIED

Elements: TypeAlias = Iterator[Any]
"""Elements and ``PENDING``, in any mixture."""

GivenElements = TypeVar("GivenElements", bound=Iterator[Any])

Discarded: TypeAlias = Callable[[Any], object]
"""What is told of an element that will not be delivered."""


RUN_FIELDS: Final = (
    "discards", "ended", "failed", "opening", "over", "prepared", "sized", "waiting_at",
)  # fmt: skip
"""For the slots of a class that is a run: a base beside another one can have none itself."""
NO_FIELDS: Final[tuple[str, ...]] = ()


class RunContext(ABC):
    """A run of a flow: what pulls its last stage, as all its stages see it.

    ``over``        nobody wants anything any more; a stage that loops without yielding should
                    return
    ``ended``       those whose input has ended while they still hold elements; as long as there are
                    any, the run looks for the end of the flow without waiting for demand
    ``failed``      those of them whose input has failed: an error follows what they hold
    ``discards``    what ``do_on_discard`` asked to be called for elements that will not be
                    delivered: those of a run and of all that takes part in it, each of them once
    ``prepared``    what the origin prepared on the thread that subscribed
    ``sized``       an iterator upstream that may know how many elements it has left
    ``waiting_at``  what its stages wait at, in the order in which it was opened, each with the
                    operator to which it belongs, ``None`` for the origin; what is closed leaves
    ``opening``     the operator that opens a flow, as the origin of that sees it; ``None`` for the
                    origin of the run
    """

    __slots__ = NO_FIELDS

    over: bool
    ended: set[object]
    failed: set[object]
    discards: dict[Discarded, None]
    prepared: Any
    sized: object
    waiting_at: dict[WaitPoint, str | None]
    opening: str | None

    def _begin_run(self, discards: dict[Discarded, None] | None = None) -> None:
        """Set the fields of a run; ``discards`` are those of the run that it takes part in."""
        self.over = False
        self.ended = set()
        self.failed = set()
        self.discards = {} if discards is None else discards
        self.prepared = None
        self.sized = None
        self.waiting_at = {}
        self.opening = None

    @property
    @abstractmethod
    def wanted(self) -> int:
        """How many elements are wanted at the end of the flow, the one being pulled included."""

    @abstractmethod
    def wake(self) -> None:
        """Pull again, soon: what was pending may be there. May be called from any thread."""

    @property
    def whole(self) -> RunContext:
        """The run itself, for one that is the context of an input."""
        return self

    def end_is_near(self, mark: object, ending: Exception) -> None:
        """Nothing more comes to ``mark``: pull for what it holds, and the end, without demand."""
        if ending is not COMPLETED:
            self.failed.add(mark)
        self.ended.add(mark)

    def end_is_seen(self, mark: object) -> None:
        """``mark`` holds nothing more, or nobody wants that."""
        self.ended.discard(mark)
        if self.failed:
            self.failed.discard(mark)

    @abstractmethod
    def leave_after(self, task: Future[Any]) -> None:
        """Let anybody who waits for the end of this run wait for ``task``, too.

        It closes a source on an asyncio loop, on the thread of which this is called.
        """


class WaitPoint(Protocol):
    """Something that wakes a run, and is in its ``waiting_at`` until it is closed."""

    def wait_state(self, operator: str | None) -> WaitState:
        """What is here now, for ``explain``; ``operator`` is the one to which it belongs."""


@dataclass(frozen=True, slots=True)
class WaitState:
    """What is at a wait point now.

    ``operator``     to which it belongs; ``None`` for the origin of the run
    ``because``      what it waits for, if nothing is there and no other run brings it
    ``brought_by``   the subscription, or the run, that brings elements here
    ``giver``        the operator that made elements here in advance
    ``thread``       the one that is making them
    ``handed_over``  nothing more is made in advance: the run itself goes on with what is upstream
    ``holds``        elements that have come are held until this wait is over
    """

    operator: str | None
    because: str
    requested: int = 0
    delivered: int | None = None
    buffered: int = 0
    capacity: int | None = None
    brought_by: object = None
    ended: bool = False
    giver: str = ""
    thread: int = 0
    handed_over: bool = False
    holds: bool = False

    @property
    def is_awaited(self) -> bool:
        """Whether it holds nothing, and more is to come of what was asked for."""
        all_came = self.delivered is not None and 0 < self.requested <= self.delivered
        return not (self.buffered or self.ended or self.handed_over or all_came)


class RunPart(ABC):
    """A subscription to a flow, which knows the run of which its subscriber is a part."""

    __slots__ = ()

    @abstractmethod
    def take_part_in(self, run: RunContext) -> None:
        """The subscriber is a part of ``run``."""


class ClosingTasks:
    """The tasks of a run that several others share, to be waited for by the one that ends it."""

    __slots__ = ("_tasks",)

    def __init__(self) -> None:
        self._tasks: set[Future[Any]] = set()

    def add(self, task: Future[Any]) -> None:
        """One more, until it is done."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def hand_over(self, run: RunContext) -> None:
        """``run`` is left, and the shared one with it. May be called from any thread."""
        for task in tuple(self._tasks):
            try:
                call_on(task.get_loop(), partial(run.leave_after, task))
            except RuntimeError:
                pass  # the loop is closed, and nothing goes on there


class QueueReceiver(ABC):
    """Takes the elements of a flow without a call for each of them.

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


class PullingContext(RunContext):
    """A run that is no subscription: the one who wants the elements pulls them, and can wait.

    ``taker``        who takes the elements, in words
    ``may_pause``    whether the taker may do something else between two elements
    ``waits_since``  when it began to wait, if it does
    """

    __slots__ = (
        "__weakref__", "_loop", "_source", "may_pause", "plan", "taker", "tasks", "waits_since",
        "wanted",
        *RUN_FIELDS,
    )  # fmt: skip

    wanted: int

    def __init__(self, wanted: int, taker: str, *, may_pause: bool) -> None:
        self._begin_run()
        self.wanted = wanted
        self.taker = taker
        self.may_pause = may_pause
        self.plan: Plan | None = None
        self.waits_since: float | None = None
        self._source: Callable[[], Elements | None] = lambda: None
        self._loop: AbstractEventLoop | None = None
        self.tasks: set[Future[Any]] = set()

    @property
    def source(self) -> Elements | None:
        """What it pulls, for ``explain``."""
        return self._source()

    def pulls(self, elements: Elements) -> None:
        """``elements`` are what it pulls, those of its plan; it does not keep them alive."""
        assert self.plan is not None
        self.plan.runs.add(ref(self, self.plan.runs.discard))
        if isinstance(elements, GeneratorType):
            self._source = ref(elements)

    def leave_after(self, task: Future[Any]) -> None:
        """The run is not over before ``task`` is done, unless another loop cares for it."""
        if task.get_loop() is self._loop:
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)


def listen(run: RunContext, listeners: Iterable[Discarded]) -> None:
    """Tell ``listeners`` of what will be discarded; one that is known is not told twice."""
    run.discards.update(dict.fromkeys(listeners))


def discard(run: RunContext, elements: Iterable[Any]) -> None:
    """Say that ``elements``, which a stage had taken, will not be delivered."""
    listeners = tuple(run.discards)  # another thread may add one
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

    For a stage that handles their errors: what closing them raises is none of its business.
    """
    return chain(elements)


def started(generator: GivenElements) -> GivenElements:
    """``generator``, advanced to its first ``yield``, which gives nothing.

    A generator that was never started does not run its ``finally`` when it is closed.
    """
    next(generator, None)
    return generator


def failing(run: RunContext, error: Exception) -> Elements:
    """No elements but an error, which needs no demand."""
    return started(_failing(run, error))


def _failing(run: RunContext, error: Exception) -> Elements:
    mark = object()
    run.ended.add(mark)
    try:
        yield None
        raise error
    finally:
        run.ended.discard(mark)
        del error  # whose traceback has this frame
