"""What a flow is made of, what its runs do, which of them waits for whom, and what came by.

Nothing is counted for this. Where demand has a bound, a loop counts its elements to keep to it.
Otherwise an iterator over something with a length knows where it stands, and a place where elements
arrive knows how many came. Downstream of stages that leave out or add elements, that says nothing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sized
from dataclasses import dataclass
from operator import length_hint
from time import monotonic
from types import FrameType, GeneratorType
from typing import Any, Final

from penstock.api import UNBOUNDED
from penstock.core import Drain
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.call_site import CallSite, is_own, parts_at
from penstock.flow.engine.fusion import FusedSegment
from penstock.flow.engine.plan import Plan
from penstock.flow.engine.run_context import PullingContext, RunContext, WaitState
from penstock.flow.engine.subscription import FlowSubscription
from penstock.flow.explain.explanation import (
    ExplainedEdge,
    ExplainedRun,
    ExplainedSegment,
    Explanation,
)
from penstock.flow.multicast.broadcast_subscription import BroadcastSubscription
from penstock.flow.multicast.shared_flow import FromSharing, SharedFlow
from penstock.flow.multicast.shared_run import SharedRun
from penstock.flow.operators.substream_router import SubstreamRouter
from penstock.flow.operators.threads import ThreadHandover
from penstock.flow.sources.creating import FromIterable

__all__ = ["explain", "run_of"]

DEMAND: Final = "waits for demand from "
SHARED_RUN: Final = "the shared run"


def explain(flow: BaseFlow[Any]) -> Explanation:
    """What ``flow`` is made of, and what its runs wait for now."""
    plan = flow.plan
    runs = tuple(map(run_of, runs_of(flow)))
    return Explanation(plan.title, tuple(segments_of(plan)), runs, tuple(inputs_of(plan)))


def runs_of(flow: BaseFlow[Any]) -> Iterator[Any]:
    """Those who run ``flow`` now; subscribers of a shared flow have one run together."""
    origin = flow.plan.origin
    if isinstance(flow, SharedFlow) and isinstance(origin, FromSharing):
        shared = origin.sharing.shared_run
        if shared.subscriptions or shared.source is not None:
            yield shared
    for reference in flow.plan.runs.copy():
        run = reference()
        if run is not None and not run.over:
            yield run


def inputs_of(plan: Plan) -> Iterator[Explanation]:
    """The plans of those that are combined where a plan begins, upstream of its boundaries."""
    origin = plan.origin
    if isinstance(origin.upstream, BaseFlow):
        yield from inputs_of(origin.upstream.plan)
    elif len(origin.inputs) > 1:
        for each in origin.inputs:
            if isinstance(each, BaseFlow):
                segments, inputs = tuple(segments_of(each.plan)), tuple(inputs_of(each.plan))
                yield Explanation(each.plan.title, segments, (), inputs)
            else:
                yield Explanation("", (ExplainedSegment((type(each).__name__,)),), ())


def segments_of(plan: Plan) -> Iterator[ExplainedSegment]:
    """The parts of a plan, those upstream of its boundaries included."""
    origin = plan.origin
    if isinstance(origin.upstream, BaseFlow):
        yield from segments_of(origin.upstream.plan)
    executor = "" if origin.executor is None else type(origin.executor).__name__
    yield ExplainedSegment((origin.name,), executor)
    for names in plan.operators:
        yield ExplainedSegment(names)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What a run does.

    ``first``    the operator at its beginning
    ``last``     the operator at its end
    ``because``  what it does, or waits for; empty if that is one of its wait points
    ``wants``    whether it wants elements
    """

    first: str
    last: str
    because: str
    seconds: float | None
    wants: bool
    requested: int = 0
    delivered: int | None = 0

    @property
    def lacks_demand(self) -> bool:
        """Whether it would go on if somebody asked it for elements."""
        return self.because.startswith(DEMAND)


def run_of(run: Any) -> ExplainedRun:
    """What is to be said about the run of ``run``."""
    plan: Plan | None = getattr(run, "plan", None)
    title, taker = "" if plan is None else plan.title, taker_of(run)
    chain, because, seconds = reason(run, taker)
    wants = status_of(run, taker).wants
    return ExplainedRun(title, tuple(edges_to(run, taker)), tuple(chain), because, seconds, wants)


def edges_to(run: Any, taker: str) -> Iterator[ExplainedEdge]:
    """The edge at the end of a run, and all those upstream of it."""
    status = status_of(run, taker)
    if isinstance(run, FlowSubscription):
        yield ExplainedEdge(
            status.last, taker, status.requested, status.delivered, waiting=status.seconds
        )
    if isinstance(run, SharedRun):
        yield from (edge_to(each, run, taker) for each in run.subscriptions)
    yield from edges_upstream(run, status, {id(run)})


def edge_to(
    subscription: BroadcastSubscription[Any], run: SharedRun[Any], taker: str
) -> ExplainedEdge:
    """The edge to one of those who share a run."""
    demand, backlog = subscription.demand, run.backlog_of(subscription)
    return ExplainedEdge(run.name, taker, demand.requested, demand.delivered, backlog, run.capacity)


def edges_upstream(run: Any, status: RunStatus, known: set[int]) -> Iterator[ExplainedEdge]:
    """The edges upstream of a run; several may lead to one that is ``known`` then."""
    for state in wait_states(run):
        operator = state.operator or status.first
        giver = state.giver or ("its source" if state.ended else "its publisher")
        waiting = status.seconds
        status_upstream: RunStatus | None = None
        upstream = run_upstream(state)
        if upstream is not None:
            status_upstream = status_of(upstream, operator)
            giver, waiting = status_upstream.last, status_upstream.seconds
        if state.capacity is not None:
            yield ExplainedEdge(
                giver,
                operator,
                state.requested,
                state.delivered,
                state.buffered,
                state.capacity,
                waiting,
                state.handed_over,
            )
        if status_upstream is not None and id(upstream) not in known:
            known.add(id(upstream))
            yield from edges_upstream(upstream, status_upstream, known)


def reason(run: Any, taker: str) -> tuple[list[str], str, float | None]:
    """Operators of which each waits for the next one, what the last one does, for how long."""
    status = status_of(run, taker)
    if status.lacks_demand:
        held_up = held_up_by(run, status)
        last = status.first if held_up else status.last
        return [*held_up, last], status.because, status.seconds
    if status.because:
        return [status.last], status.because, status.seconds
    awaited = [state for state in wait_states(run) if state.is_awaited]
    if not awaited:
        return [status.first], "waits to be woken", status.seconds
    # Elements that are here and held come next, also if more of them were asked for.
    return because_of(max(awaited, key=lambda state: state.holds), status)


def because_of(state: WaitState, status: RunStatus) -> tuple[list[str], str, float | None]:
    """The reason of a run that has nothing to go on with."""
    operator = state.operator or status.first
    upstream = run_upstream(state)
    if upstream is None:
        because = work_of(state.thread) if state.thread else state.because
        return [operator], because, status.seconds
    chain, because, seconds = reason(upstream, f"`{operator}`")
    if chain[0] != operator:
        chain.insert(0, operator)
    return chain, because, status.seconds if seconds is None else seconds


def held_up_by(run: Any, status: RunStatus) -> list[str]:
    """Those upstream of a run that wait for it, the farthest first."""
    for state in wait_states(run):
        upstream = run_upstream(state)
        if upstream is not None:
            status_upstream = status_of(upstream, state.operator or status.first)
            if status_upstream.lacks_demand:
                farther = held_up_by(upstream, status_upstream)
                return [*farther, status_upstream.first if farther else status_upstream.last]
        if state.handed_over:
            return [state.giver]
    return []


def status_of(run: Any, taker: str) -> RunStatus:
    """What a run does."""
    if isinstance(run, FlowSubscription):
        return status_of_driver(run, taker)
    if isinstance(run, PullingContext):
        return status_of_puller(run)
    if isinstance(run, SubstreamRouter):
        wanted = 0 if run.held_up else run.wanted
        return shared_status(run, wanted, run.name, "those who read its flows")
    assert isinstance(run, SharedRun)
    if run.is_waited_for:
        because = "waits to be started, by connect() or by more subscribers"
        return RunStatus(SHARED_RUN, SHARED_RUN, because, None, wants=run.wanted > 0)
    return shared_status(run, run.wanted, SHARED_RUN, "the slowest of its subscribers")


def status_of_driver(run: FlowSubscription[Any], taker: str) -> RunStatus:
    """What a run does that works for a subscriber."""
    requested, delivered = run.asked, delivered_by(run)
    wants = delivered is None or requested > delivered
    seconds: float | None = None
    if run.thread:
        because = work_of(run.thread)
    elif not run.is_idle:
        because = "waits for its executor"
    else:
        because = "" if wants else DEMAND + taker
        seconds = monotonic() - run.rests_since
    return RunStatus(*ends_of(run.plan), because, seconds, wants, requested, delivered)


def status_of_puller(run: PullingContext) -> RunStatus:
    """What a run does that a thread, or a task, pulls."""
    source = run.source
    first, last = (run.taker, run.taker) if run.plan is None else ends_of(run.plan)
    if run.waits_since is not None:
        return RunStatus(first, last, "", monotonic() - run.waits_since, wants=True)
    if run.may_pause and isinstance(source, GeneratorType) and not source.gi_running:
        return RunStatus(first, last, DEMAND + run.taker, None, wants=False)
    return RunStatus(first, last, "is at work", None, wants=True)


def ends_of(plan: Plan) -> tuple[str, str]:
    """The operators at the beginning and at the end of a plan."""
    return plan.origin.name, plan.last_operator


def shared_status(run: Drain, wanted: int, name: str, takers: str) -> RunStatus:
    """What a run does that works for several takers."""
    if not run.is_idle:
        return RunStatus(name, name, "is at work", None, wants=wanted > 0)
    return RunStatus(name, name, "" if wanted else DEMAND + takers, None, wants=wanted > 0)


def taker_of(run: Any) -> str:
    """Who takes the elements of a run, in words."""
    if isinstance(run, PullingContext):
        return run.taker
    whole = run.part_of if isinstance(run, FlowSubscription) else None
    if whole is None:
        return "your subscriber"
    return (
        taker_of(whole) if isinstance(whole, PullingContext) else f"`{status_of(whole, '').first}`"
    )


def delivered_by(driver: FlowSubscription[Any]) -> int | None:
    """What a run has delivered; ``None`` if nothing counts it."""
    if driver.requested >= UNBOUNDED:
        return passed(driver.plan, driver)
    return driver.delivered


def passed(plan: Plan, driver: FlowSubscription[Any]) -> int | None:
    """How many elements have come to the end of a plan, if as many as have left its origin."""
    for part in plan.segments:
        stages = part.stages if isinstance(part, FusedSegment) else (part,)
        if not all(stage.one_to_one for stage in stages):
            return None
    return left_origin(plan, driver)


def left_origin(plan: Plan, driver: FlowSubscription[Any]) -> int | None:
    """How many elements the stages downstream of the origin of a plan have taken."""
    if isinstance(plan.origin, FromIterable):
        return position(plan.origin.iterable, driver.sized)
    crossing = driver.prepared
    if isinstance(crossing, ThreadHandover) and crossing.handed_over:
        came = passed(crossing.plan, driver)
        return None if came is None else came - len(crossing.arrived)
    for state in wait_states(driver):
        if state.operator is None and state.delivered is not None:
            return state.delivered - state.buffered
    return None


def position(iterable: object, iterator: object) -> int | None:
    """How many elements an iterator has given, if it knows how many are left."""
    try:
        left = length_hint(iterator, -1)
        return len(iterable) - left if left >= 0 and isinstance(iterable, Sized) else None
    except OverflowError:  # a range may have more elements than a length can say
        return None


def wait_states(run: RunContext) -> Iterator[WaitState]:
    """What a run waits at, in the order in which that was opened."""
    for point, operator in run.waiting_at.copy().items():  # the run may go on meanwhile
        yield point.wait_state(operator)


def run_upstream(state: WaitState) -> RunContext | None:
    """The run that brings elements, if it is one of a flow."""
    giver = state.brought_by
    if isinstance(giver, BroadcastSubscription):
        giver = giver.broadcast
    return giver if isinstance(giver, RunContext) else None


def work_of(thread: int) -> str:
    """What the thread does, for a sentence about the run that it works for."""
    frame = frame_of(thread)
    called: FrameType | None = None
    while frame is not None:
        if is_own(frame):
            parts = parts_at(frame, frame.f_lineno)
            if parts:
                return work_in(parts[0].name, called)
        else:
            called = frame
        frame = frame.f_back
    return "is at work"


def frame_of(thread: int) -> FrameType | None:
    """What the thread executes now.

    Before Python 3.11.9 a garbage collection that begins within this call may never return: it
    frees what takes a lock of the interpreter that the call holds.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if collects:
            gc.enable()


def work_in(operator: str, called: FrameType | None) -> str:
    """The words for a stage that called the user's code, or did not."""
    if called is None:
        return f"is at work in `{operator}`"
    place = CallSite(called.f_code, called.f_lineno)
    if called.f_code.co_name == "on_next":
        return f"waits for on_next of your subscriber to return, which is at {place}"
    return f"waits for the function of `{operator}` to return, which is at {place}"
