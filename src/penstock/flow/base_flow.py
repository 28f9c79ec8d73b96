"""What every flow is: an origin, the stages downstream, and how to run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from penstock.api import UNBOUNDED, Publisher, Subscriber
from penstock.core import require_subscriber
from penstock.flow.engine.plan import AnyStage, Plan
from penstock.flow.engine.prefetch_subscriber import (
    PREFETCH,
    PrefetchSubscriber,
    UpstreamSubscriber,
    subscribe,
)
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin
from penstock.flow.engine.subscription import FlowSubscription

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = [
    "BaseFlow",
    "announce",
    "extended",
    "opened",
    "origins_of",
    "rewritten",
    "stages_of",
    "uses_spark",
    "with_origin",
]

T_co = TypeVar("T_co", covariant=True)

MOST_NAMES: Final = 9
"""So many operators ``repr`` names, of a longer flow those at both ends."""


class BaseFlow(Generic[T_co]):
    """A cold publisher, assembled as data: nothing happens before somebody subscribes.

    Each operator makes a new flow that refers to the one it was called on, so flows can be shared
    and extended in several ways. The first subscription plans it; the plan is kept.
    """

    __slots__ = ("__weakref__", "_origin", "_plan", "_previous", "_stage")

    flow: ClassVar[type[Flow[Any]]]

    def __init__(
        self,
        origin: Origin,
        previous: BaseFlow[Any] | None = None,
        stage: AnyStage | None = None,
    ) -> None:
        self._origin = origin
        self._previous = previous
        self._stage = stage
        self._plan: Plan | None = None

    def subscribe(self, subscriber: Subscriber[T_co]) -> None:
        """Start a run of this flow for ``subscriber``.

        Emits when: the last operator does.
        Backpressures when: ``subscriber`` has requested nothing more.
        Completes when: the last operator does.
        Cancels when: ``subscriber`` cancels its subscription, or raises.

        Demand: that of ``subscriber``, exactly.

        Errors: ``TypeError`` at once if ``subscriber`` is none. All others are signalled.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> subscriber = ManualSubscriber()
            >>> Flow.range(100).subscribe(subscriber)
            >>> subscriber.request(2)
            >>> subscriber.elements
            [0, 1]
        """
        require_subscriber(subscriber)  # 1.9
        plan = self.plan
        announce(self)
        driver = FlowSubscription(plan, subscriber)
        if isinstance(subscriber, UpstreamSubscriber):
            driver.take_part_in(subscriber.run)  # at once: an executor may be late to open it
        del subscriber  # 3.13: an error that somebody keeps also keeps this frame
        try:
            plan.origin.start(driver)
        except BaseException:  # an interrupt: the one it reaches gets no elements any more
            driver.cancel()
            raise
        driver.wake()

    def __repr__(self) -> str:
        parts = [*(flow._stage for flow in self._lineage() if flow._stage), self._origin][::-1]
        # Some operators are made of two stages, which have one name and one site.
        names = [name for (name, _), _ in groupby((part.name, part.site) for part in parts)]
        shown = names if len(names) <= MOST_NAMES else [*names[:3], "...", *names[-3:]]
        return f"<Flow: {' '.join(shown)}>"

    @property
    def plan(self) -> Plan:
        """How this flow runs."""
        if self._plan is None:
            self._plan = Plan(self._origin, stages_of(self))
        return self._plan

    def _lineage(self) -> Iterator[BaseFlow[Any]]:
        """This flow, the one that it extends, and so on."""
        flow: BaseFlow[Any] | None = self
        while flow is not None:
            yield flow
            flow = flow._previous

    def _then(self, stage: AnyStage) -> Flow[Any]:
        """This flow with one more stage."""
        return BaseFlow.flow(self._origin, self, stage)

    @staticmethod
    def _from(origin: Origin) -> Flow[Any]:
        """A flow that starts with ``origin``."""
        return BaseFlow.flow(origin)


def announce(flow: BaseFlow[Any]) -> None:
    """Tell the origins of ``flow`` that want to know it that somebody subscribes to it."""
    plan = flow._plan or flow.plan
    origins = plan.announced_to
    if origins is None:
        unheard = Origin.subscribed_to
        origins = [each for each in origins_of(flow) if type(each).subscribed_to is not unheard]
        plan.announced_to = origins
    for each in origins:
        each.subscribed_to(flow)


def opened(
    publisher: Publisher[Any],
    run: RunContext,
    per_output: int = 1,
    prefetch: int = PREFETCH,
    most: int = UNBOUNDED,
    *,
    operator: str | None = None,
) -> Elements:
    """The elements of any publisher, for the stages of ``run``.

    A flow runs within the run, unless it has an executor of its own; any other publisher is
    subscribed to, holds at most ``prefetch`` elements, and is asked for ``most`` in all.

    ``operator`` is the one that opens it. An origin that is just being opened itself, and gives
    these elements as its own, leaves that to the one that opens the origin.
    """
    if operator is not None:
        run.opening = operator
    if isinstance(publisher, BaseFlow):
        plan = publisher.plan
        if plan.origin.executor is None:
            return plan.open(run, per_output)
    intake = PrefetchSubscriber(run, per_output, prefetch, most)
    subscribe(intake, publisher)
    return intake.elements()


def with_origin(flow: BaseFlow[Any], origin: Origin) -> Flow[Any]:
    """The stages of ``flow`` downstream of another origin."""
    return extended(BaseFlow.flow(origin), stages_of(flow))


def rewritten(flow: BaseFlow[Any], change: Callable[[Origin], Origin | None]) -> Flow[Any]:
    """``flow`` with other origins, at its beginning and upstream of all its boundaries.

    ``change`` is given each of them, those farthest downstream first. It returns what takes the
    place of one, or ``None`` to leave it and go on with its upstreams.
    """
    origin = flow.plan.origin
    changed = change(origin)
    if changed is None:
        changed = origin.over(
            *(
                rewritten(each, change) if isinstance(each, BaseFlow) else each
                for each in origin.upstreams
            )
        )
    return with_origin(flow, changed)


def uses_spark(publisher: Publisher[Any]) -> bool:
    """Whether anything that ``publisher`` subscribes to comes from Spark."""
    if not isinstance(publisher, BaseFlow):
        return getattr(publisher, "on_spark", False) is True
    nodes = (publisher.plan.origin, *stages_of(publisher))
    return publisher.plan.origin.on_spark or any(
        uses_spark(each) for node in nodes for each in node.inputs
    )


def origins_of(publisher: Publisher[Any]) -> Iterator[Origin]:
    """All origins that ``rewritten`` would come to."""
    if isinstance(publisher, BaseFlow):
        origin = publisher.plan.origin
        yield origin
        for each in origin.upstreams:
            yield from origins_of(each)


def extended(flow: BaseFlow[Any], stages: Iterable[AnyStage] = ()) -> Flow[Any]:
    """``flow`` with more stages."""
    for stage in stages:
        flow = flow._then(stage)
    return flow if isinstance(flow, BaseFlow.flow) else with_origin(flow, flow._origin)


def stages_of(flow: BaseFlow[Any]) -> list[AnyStage]:
    """Its stages, in the order in which an element meets them."""
    return [each._stage for each in flow._lineage() if each._stage is not None][::-1]
