"""Which stage is the slowest, and how to say so.

A stage is slow if those before it wait until it wants something, while it does not wait itself for
those behind it. The shares are those of the looks at which that was so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.observe.reading import Edge, Reading

__all__ = ["Shares", "Verdict", "slowest"]

NOTICEABLE: Final = 0.3
"""The share of the time from which on a wait is worth a word."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The parts of the time in which the giver, or the taker, of an edge had to wait."""

    held_up: float
    idle: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The slowest stage, if there is one, and a sentence about it."""

    stage: str | None
    sentence: str


def slowest(reading: Reading, shares: Mapping[tuple[str, str], Shares]) -> Verdict:
    """Find the stage for which the others wait."""
    if reading.state in ("completed", "stopped", "failed"):
        return Verdict(None, ENDINGS[reading.state])
    for stage in reading.stages:
        if stage.trouble:
            return Verdict(stage.name, f"Trouble at {named(stage.name)}: {stage.trouble}")
    edge = farthest_held_up(reading.edges, shares)
    if edge is not None:
        share = shares[edge.giver, edge.taker].held_up
        return Verdict(edge.taker, for_taker(edge, share, reading.state))
    return for_sources(reading, shares)


ENDINGS: Final = {
    "completed": "All of it came through: the pipeline is done.",
    "stopped": "The pipeline was stopped; it goes on from its checkpoint when it is run again.",
    "failed": "The pipeline has failed; its last error stands below.",
}


def farthest_held_up(
    edges: Sequence[Edge], shares: Mapping[tuple[str, str], Shares]
) -> Edge | None:
    """The last edge, on the way of an element, whose giver waits: nobody behind its taker does."""
    for edge in reversed(edges):
        seen = shares.get((edge.giver, edge.taker))
        if seen is not None and seen.held_up >= NOTICEABLE:
            return edge
    return None


def for_taker(edge: Edge, share: float, state: str) -> str:
    """About a stage that cannot keep up."""
    if state == "starting":
        return (
            f"{named(edge.taker)} has not started yet: everything before it waits, and nothing is "
            "lost meanwhile."
        )
    asks = edge.requested - edge.delivered
    pace = " it asks for 1 at a time;" if asks <= 1 and edge.capacity == 1 else ""
    return (
        f"{named(edge.taker)} is the slowest stage:{pace} everything before it waits for it "
        f"{share:.0%} of the time."
    )


def for_sources(reading: Reading, shares: Mapping[tuple[str, str], Shares]) -> Verdict:
    """Nobody holds anybody up: then the sources set the pace, or nothing has moved yet."""
    sources = [stage for stage in reading.stages if stage.kind == "source"]
    if not any(stage.passed for stage in reading.stages):
        return Verdict(None, "Nothing has moved yet.")
    waiting = {
        stage.name: max(
            (s.idle for (giver, _), s in shares.items() if giver == stage.name), default=0.0
        )
        for stage in sources
    }
    name, share = max(waiting.items(), key=lambda item: item[1], default=("", 0.0))
    if share < NOTICEABLE:
        return Verdict(None, "Nobody has to wait long: all stages keep the same pace.")
    return Verdict(
        name,
        f"{named(name)} sets the pace: everything behind it waits for it {share:.0%} of the time.",
    )


def named(stage: str) -> str:
    """A stage in a sentence, which is right for any name: those of sources are often plural."""
    return "Spark" if stage == "spark" else f"'{stage}'"
