"""From a run to those in front of it, and which of them waits for whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic
from types import GeneratorType
from typing import Any, Final

from penstock.demand import Drain
from penstock.flow.diagnosis.counting import delivered_by
from penstock.flow.diagnosis.explanation import Edge, Run
from penstock.flow.diagnosis.supplies import Supply, names_in, supplies_of
from penstock.flow.diagnosis.work import work_of
from penstock.flow.driver import Driver
from penstock.flow.elements import PlainHost
from penstock.flow.operators.branches import Router
from penstock.flow.plan import Plan
from penstock.flow.sharing.hub import Hub
from penstock.reference.member import Member

__all__ = ["run_of"]

DEMAND: Final = "waits for demand from "
SHARED_RUN: Final = "the shared run"


@dataclass(frozen=True, slots=True)
class Status:
    """What a host does.

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


def run_of(host: Any) -> Run:
    """What is to be said about the run of ``host``."""
    plan: Plan | None = getattr(host, "plan", None)
    title, taker = "" if plan is None else plan.title, taker_of(host)
    chain, because, seconds = reason(host, taker)
    wants = status_of(host, taker).wants
    return Run(title, tuple(edges_to(host, taker)), tuple(chain), because, seconds, wants)


def edges_to(host: Any, taker: str) -> Iterator[Edge]:
    """The edge at the end of a run, and all those in front of it."""
    status = status_of(host, taker)
    if isinstance(host, Driver):
        yield Edge(status.last, taker, status.requested, status.delivered, waiting=status.seconds)
    if isinstance(host, Hub):
        yield from (edge_to(member, host, taker) for member in host.members)
    yield from edges_in_front(host, status, {id(host)})


def edge_to(member: Member[Any], hub: Hub[Any], taker: str) -> Edge:
    """The edge to one of those who share a run."""
    demand, backlog = member.demand, hub.backlog_of(member)
    return Edge(hub.name, taker, demand.requested, demand.delivered, backlog, hub.capacity)


def edges_in_front(host: Any, status: Status, known: set[int]) -> Iterator[Edge]:
    """The edges in front of a run; several may lead to one that is ``known`` then."""
    for supply in supplies_of(host):
        operator = supply.operator or status.first
        giver = supply.giver or ("its source" if supply.ended else "its publisher")
        waiting = status.seconds
        in_front: Status | None = None
        if supply.host is not None:
            in_front = status_of(supply.host, operator)
            giver, waiting = in_front.last, in_front.seconds
        if supply.capacity is not None:
            yield Edge(
                giver,
                operator,
                supply.requested,
                supply.delivered,
                supply.buffered,
                supply.capacity,
                waiting,
                supply.handed_on,
            )
        if in_front is not None and id(supply.host) not in known:
            known.add(id(supply.host))
            yield from edges_in_front(supply.host, in_front, known)


def reason(host: Any, taker: str) -> tuple[list[str], str, float | None]:
    """Operators of which each waits for the next one, what the last one does, for how long."""
    status = status_of(host, taker)
    if status.lacks_demand:
        held_up = held_up_by(host, status)
        last = status.first if held_up else status.last
        return [*held_up, last], status.because, status.seconds
    if status.because:
        return [status.last], status.because, status.seconds
    for supply in supplies_of(host):
        if not supply.buffered and not supply.ended and not supply.handed_on:
            return because_of(supply, status)
    return [status.first], "waits to be woken", status.seconds


def because_of(supply: Supply, status: Status) -> tuple[list[str], str, float | None]:
    """The reason of a run that has nothing to go on with."""
    operator = supply.operator or status.first
    if supply.host is None:
        return [operator], supply.because, status.seconds
    chain, because, seconds = reason(supply.host, f"`{operator}`")
    if chain[0] != operator:
        chain.insert(0, operator)
    return chain, because, status.seconds if seconds is None else seconds


def held_up_by(host: Any, status: Status) -> list[str]:
    """Those in front of a run that wait for it, the farthest first."""
    for supply in supplies_of(host):
        if supply.host is not None:
            in_front = status_of(supply.host, supply.operator or status.first)
            if in_front.lacks_demand:
                farther = held_up_by(supply.host, in_front)
                return [*farther, in_front.first if farther else in_front.last]
        if supply.handed_on:
            return [supply.giver]
    return []


def status_of(host: Any, taker: str) -> Status:
    """What a host does."""
    if isinstance(host, Driver):
        return status_of_driver(host, taker)
    if isinstance(host, PlainHost):
        return status_of_puller(host)
    if isinstance(host, Router):
        wanted = 0 if host.held_up else host.wanted
        return shared_status(host, wanted, host.name, "those who read its flows")
    assert isinstance(host, Hub)
    if host.is_waited_for:
        because = "waits to be started, by connect() or by more subscribers"
        return Status(SHARED_RUN, SHARED_RUN, because, None, wants=host.wanted > 0)
    return shared_status(host, host.wanted, SHARED_RUN, "the slowest of its subscribers")


def status_of_driver(host: Driver[Any], taker: str) -> Status:
    """What a run does that works for a subscriber."""
    first, last = names_in(host.plan)
    requested, delivered = host.asked, delivered_by(host)
    wants = delivered is None or requested > delivered
    seconds: float | None = None
    if host.thread:
        because = work_of(host.thread)
    elif not host.is_idle:
        because = "waits for its executor"
    else:
        because = "" if wants else DEMAND + taker
        seconds = monotonic() - host.rests_since
    return Status(first, last, because, seconds, wants, requested, delivered)


def status_of_puller(host: PlainHost) -> Status:
    """What a run does that a thread, or a task, pulls."""
    source = host.source
    first, last = (host.taker, host.taker) if host.plan is None else names_in(host.plan)
    if host.waits_since is not None:
        return Status(first, last, "", monotonic() - host.waits_since, wants=True)
    if host.may_pause and isinstance(source, GeneratorType) and not source.gi_running:
        return Status(first, last, DEMAND + host.taker, None, wants=False)
    return Status(first, last, "is at work", None, wants=True)


def shared_status(host: Drain, wanted: int, name: str, takers: str) -> Status:
    """What a run does that works for several takers."""
    if not host.is_idle:
        return Status(name, name, "is at work", None, wants=wanted > 0)
    return Status(name, name, "" if wanted else DEMAND + takers, None, wants=wanted > 0)


def taker_of(host: Any) -> str:
    """Who takes the elements of a run, in words."""
    if isinstance(host, PlainHost):
        return host.taker
    run = host.part_of if isinstance(host, Driver) else None
    if run is None:
        return "your subscriber"
    return taker_of(run) if isinstance(run, PlainHost) else f"`{status_of(run, '').first}`"
