"""Which stage is the slowest, and how to say so.

A stage is slow if those upstream wait until it wants something, while it does not wait itself for
those downstream. The shares are those of the looks at which that was so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock.observe.status import EdgeStatus, Status

__all__ = ["Bottleneck", "bottleneck_of"]

NOTICEABLE: Final = 0.3
"""The share of the time from which on a wait is worth a word."""


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The slowest stage, if there is one, and a sentence about it."""

    stage: str | None
    sentence: str


def bottleneck_of(status: Status) -> Bottleneck:
    """Find the stage for which the others wait."""
    if status.state in ("completed", "stopped", "failed"):
        return Bottleneck(None, ENDINGS[status.state])
    for stage in status.stages:
        if stage.trouble:
            return Bottleneck(stage.name, f"Trouble at {named(stage.name)}: {stage.trouble}")
    edge = farthest_held_up(status.edges)
    if edge is not None:
        return Bottleneck(edge.taker, for_taker(edge, status.state))
    return for_sources(status)


ENDINGS: Final = {
    "completed": "All of it came through: the pipeline is done.",
    "stopped": "The pipeline was stopped; it goes on from its checkpoint when it is run again.",
    "failed": "The pipeline has failed; see its last error.",
}


def farthest_held_up(edges: Sequence[EdgeStatus]) -> EdgeStatus | None:
    """The edge farthest downstream whose giver waits: nobody downstream of its taker does."""
    for edge in reversed(edges):
        if edge.held_up_share >= NOTICEABLE:
            return edge
    return None


def for_taker(edge: EdgeStatus, state: str) -> str:
    """About a stage that cannot keep up."""
    if state == "starting":
        return (
            f"{named(edge.taker)} has not started yet: everything upstream waits, and nothing is "
            "lost meanwhile."
        )
    asks = edge.requested - edge.delivered
    pace = " it asks for 1 at a time;" if asks <= 1 and edge.capacity == 1 else ""
    return (
        f"{named(edge.taker)} is the slowest stage:{pace} everything upstream waits for it "
        f"{edge.held_up_share:.0%} of the time."
    )


def for_sources(status: Status) -> Bottleneck:
    """Nobody holds anybody up: then the sources set the pace, or nothing has moved yet."""
    sources = [stage for stage in status.stages if stage.kind == "source"]
    if not any(stage.passed for stage in status.stages):
        return Bottleneck(None, "Nothing has moved yet.")
    waiting = {
        stage.name: max(
            (edge.idle_share for edge in status.edges if edge.giver == stage.name), default=0.0
        )
        for stage in sources
    }
    name, share = max(waiting.items(), key=lambda item: item[1], default=("", 0.0))
    if share < NOTICEABLE:
        return Bottleneck(None, "Nobody has to wait long: all stages keep the same pace.")
    return Bottleneck(
        name,
        f"{named(name)} sets the pace: everything downstream waits for it {share:.0%} of the time.",
    )


def named(stage: str) -> str:
    """A stage in a sentence, which is right for any name: those of sources are often plural."""
    return "Spark" if stage == "spark" else f"'{stage}'"
