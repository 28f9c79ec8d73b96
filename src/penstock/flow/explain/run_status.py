"""From a run to those upstream of it, and which of them waits for whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from types import GeneratorType
from typing import Any, Final

from penstock.core import Drain
from penstock.flow.engine.plan import Plan
from penstock.flow.engine.run_context import PullingContext
from penstock.flow.engine.subscription import FlowSubscription
from penstock.flow.explain.counting import delivered_by
from penstock.flow.explain.explanation import ExplainedEdge, ExplainedRun
from penstock.flow.explain.upstreams import UpstreamState, names_in, supplies_of, work_of
from penstock.flow.multicast.broadcast_subscription import BroadcastSubscription
from penstock.flow.multicast.shared_run import SharedRun
from penstock.flow.operators.substream_router import SubstreamRouter

__all__ = ["run_of"]

DEMAND: Final = "waits for demand from "
SHARED_RUN: Final = "the shared run"


@dataclass(frozen=True, slots=True)
class RunStatus:
    """What a run does.

    ``first``    the operator at its beginning
    ``last``     the operator at its end
    ``because``  what it does, or waits for; empty if that is one of its supplies
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
    for supply in supplies_of(run):
        operator = supply.operator or status.first
        giver = supply.giver or ("its source" if supply.ended else "its publisher")
        waiting = status.seconds
        upstream: RunStatus | None = None
        if supply.run is not None:
            upstream = status_of(supply.run, operator)
            giver, waiting = upstream.last, upstream.seconds
        if supply.capacity is not None:
            yield ExplainedEdge(
                giver,
                operator,
                supply.requested,
                supply.delivered,
                supply.buffered,
                supply.capacity,
                waiting,
                supply.handed_on,
            )
        if upstream is not None and id(supply.run) not in known:
            known.add(id(supply.run))
            yield from edges_upstream(supply.run, upstream, known)


def reason(run: Any, taker: str) -> tuple[list[str], str, float | None]:
    """Operators of which each waits for the next one, what the last one does, for how long."""
    status = status_of(run, taker)
    if status.lacks_demand:
        held_up = held_up_by(run, status)
        last = status.first if held_up else status.last
        return [*held_up, last], status.because, status.seconds
    if status.because:
        return [status.last], status.because, status.seconds
    for supply in supplies_of(run):
        if not supply.buffered and not supply.ended and not supply.handed_on:
            return because_of(supply, status)
    return [status.first], "waits to be woken", status.seconds


def because_of(supply: UpstreamState, status: RunStatus) -> tuple[list[str], str, float | None]:
    """The reason of a run that has nothing to go on with."""
    operator = supply.operator or status.first
    if supply.run is None:
        return [operator], supply.because, status.seconds
    chain, because, seconds = reason(supply.run, f"`{operator}`")
    if chain[0] != operator:
        chain.insert(0, operator)
    return chain, because, status.seconds if seconds is None else seconds


def held_up_by(run: Any, status: RunStatus) -> list[str]:
    """Those upstream of a run that wait for it, the farthest first."""
    for supply in supplies_of(run):
        if supply.run is not None:
            upstream = status_of(supply.run, supply.operator or status.first)
            if upstream.lacks_demand:
                farther = held_up_by(supply.run, upstream)
                return [*farther, upstream.first if farther else upstream.last]
        if supply.handed_on:
            return [supply.giver]
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
    first, last = names_in(run.plan)
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
    return RunStatus(first, last, because, seconds, wants, requested, delivered)


def status_of_puller(run: PullingContext) -> RunStatus:
    """What a run does that a thread, or a task, pulls."""
    source = run.source
    first, last = (run.taker, run.taker) if run.plan is None else names_in(run.plan)
    if run.waits_since is not None:
        return RunStatus(first, last, "", monotonic() - run.waits_since, wants=True)
    if run.may_pause and isinstance(source, GeneratorType) and not source.gi_running:
        return RunStatus(first, last, DEMAND + run.taker, None, wants=False)
    return RunStatus(first, last, "is at work", None, wants=True)


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
