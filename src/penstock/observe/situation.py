"""In which situation a pipeline is, and how to say so in a sentence that its figures bear out.

A stage is slow if those upstream wait until it wants something, while it does not wait itself for
those downstream. The shares are those of the looks at which that was so, in the present state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from penstock.observe.figures import seconds
from penstock.observe.ledger import figure
from penstock.observe.status import EdgeStatus, StageStatus, Status

__all__ = ["Situation", "situation_of"]

NOTICEABLE: Final = 0.3
"""The share of the time from which on a wait is worth a word."""
SETTLED: Final = 2.0
"""The seconds after which the looks at a state are enough to call somebody slow."""
LONG: Final = 10.0
"""The seconds from which on the wait of a row, or of all for a source, is worth a word."""

Name = Literal[
    "completed",
    "nothing left to do",
    "stopped",
    "failed",
    "trouble",
    "starting",
    "draining",
    "just begun",
    "catching up",
    "slow sink",
    "slow Spark",
    "not begun",
    "stalled source",
    "slow source",
    "steady",
]


@dataclass(frozen=True, slots=True)
class Situation:
    """Its name, the stage for which others wait without need, if there is one, and a sentence."""

    name: Name
    stage: str | None
    sentence: str


def situation_of(status: Status) -> Situation:
    """The first in the table that fits."""
    return next(found for fits in TABLE if (found := fits(status)) is not None)


def ended(status: Status) -> Situation | None:
    """Nothing moves any more."""
    if status.state == "completed":
        if status.ledger.restarts and not has_moved(status):
            return Situation("nothing left to do", None, NOTHING_LEFT)
        return Situation("completed", None, "All of it came through: the pipeline is done.")
    if status.state == "stopped":
        return Situation("stopped", None, STOPPED if goes_on(status) else STOPPED_FOR_GOOD)
    if status.state == "failed":
        return Situation("failed", None, "The pipeline has failed; see its last error.")
    return None


NOTHING_LEFT: Final = "Nothing was left to do: all of it had come through before."
STOPPED: Final = "The pipeline was stopped; it goes on from its checkpoint when it is run again."
STOPPED_FOR_GOOD: Final = "The pipeline was stopped; it has no checkpoint to go on from."


def goes_on(status: Status) -> bool:
    """Whether another run would go on where this one was."""
    return status.checkpoint not in ("", "none")


def has_moved(status: Status) -> bool:
    """Whether this run has taken or given anything: sources and sinks count from its start."""
    return any(stage.passed for stage in status.stages if stage.kind in ("source", "sink"))


def in_trouble(status: Status) -> Situation | None:
    """A stage says what keeps it from its work."""
    for stage in status.stages:
        if stage.trouble:
            sentence = f"Trouble at {named(stage.name)}: {stage.trouble}"
            return Situation("trouble", stage.name, sentence)
    return None


def starting(status: Status) -> Situation | None:
    """Nobody is slow who is not there yet."""
    if status.state != "starting":
        return None
    held_up = farthest_held_up(status.edges)
    if held_up is None:
        return Situation("starting", None, "The pipeline starts.")
    return Situation(
        "starting",
        None,
        f"{named(held_up.taker)} has not done its first batch yet: everything upstream waits, and "
        f"nothing is lost meanwhile.{for_lag(status)}",
    )


def draining(status: Status) -> Situation | None:
    """Nothing more is taken."""
    if status.state != "draining":
        return None
    left = status.ledger.in_flight
    rest = f", and {figure(status.ledger, 'in_flight')} are still on their way" if left else ""
    held_up = farthest_held_up(status.edges)
    slowest = "" if held_up is None else f" {named(held_up.taker)} is the slowest stage."
    stage = None if held_up is None else held_up.taker
    return Situation("draining", stage, f"Draining: nothing more is taken{rest}.{slowest}")


def just_begun(status: Status) -> Situation | None:
    """Who happens to wait at the first looks need not be slow."""
    if not any(stage.passed for stage in status.stages) or is_settled(status):
        return None
    return Situation("just begun", None, JUST_BEGUN)


JUST_BEGUN: Final = "It has just begun to run: which stage is slow shows in a moment."


def is_settled(status: Status) -> bool:
    """Whether it was in this state for long enough."""
    return status.state_for is None or status.state_for >= SETTLED


def catching_up(status: Status) -> Situation | None:
    """Rows came while Spark started: whether it keeps up shows when it is through with these."""
    if farthest_held_up(status.edges) is not None or not waits_since_the_start(status):
        return None
    assert status.lag is not None
    return Situation(
        "catching up",
        None,
        "Spark catches up with what came while it started: the oldest row has waited for "
        f"{seconds(status.lag)}.",
    )


def waits_since_the_start(status: Status) -> bool:
    """Whether the oldest row has waited for long, and came before Spark had begun to work."""
    return (
        status.lag is not None
        and status.state_for is not None
        and status.lag >= max(LONG, status.state_for)
    )


def slow_taker(status: Status) -> Situation | None:
    """Others wait until it wants something, or rows wait for Spark though nobody is held up."""
    held_up = farthest_held_up(status.edges)
    if held_up is not None:
        kind = kind_of(held_up.taker, status.stages)
        name: Name = "slow sink" if kind == "sink" else "slow Spark"
        # What has waited since the start has not waited for a sink.
        late = "" if kind == "sink" and waits_since_the_start(status) else for_lag(status)
        return Situation(name, held_up.taker, for_taker(held_up) + late)
    late = for_lag(status)
    spark = next((each.name for each in status.stages if each.kind == "spark"), None)
    if late and spark is not None:
        return Situation("slow Spark", spark, f"{named(spark)} does not keep up.{late}")
    return None


def for_taker(edge: EdgeStatus) -> str:
    """About a stage that cannot keep up."""
    asks = edge.requested - edge.delivered
    pace = " it asks for 1 at a time;" if asks <= 1 and edge.capacity == 1 else ""
    return (
        f"{named(edge.taker)} is the slowest stage:{pace} everything upstream waits for it "
        f"{edge.held_up_share:.0%} of the time."
    )


def for_lag(status: Status) -> str:
    """About a row that waits for long."""
    if status.lag is None or status.lag < LONG:
        return ""
    return f" The oldest row has waited for {seconds(status.lag)}."


def not_begun(status: Status) -> Situation | None:
    """No stage has seen anything."""
    if any(stage.passed for stage in status.stages):
        return None
    return Situation("not begun", None, "Nothing has moved yet.")


def slow_source(status: Status) -> Situation | None:
    """All wait for a source: it has its own pace, or has sent nothing for long."""
    idle = {
        stage: max(
            (edge.idle_share for edge in status.edges if edge.giver == stage.name), default=0
        )
        for stage in status.stages
        if stage.kind == "source"
    }
    slowest, share = max(idle.items(), key=lambda item: item[1], default=(None, 0.0))
    if slowest is None or share < NOTICEABLE:
        return None
    if slowest.still_for >= LONG:
        since = f"{named(slowest.name)} has sent nothing for {seconds(slowest.still_for)}"
        return Situation("stalled source", None, f"{since}: everything downstream waits for it.")
    pace = f"{named(slowest.name)} sets the pace: everything downstream waits for it"
    return Situation("slow source", None, f"{pace} {share:.0%} of the time.")


def steady(status: Status) -> Situation | None:
    """Whatever is left."""
    return Situation("steady", None, "Nobody has to wait long: all stages keep the same pace.")


TABLE: Final[Sequence[Callable[[Status], Situation | None]]] = (
    ended,
    in_trouble,
    starting,
    draining,
    just_begun,
    catching_up,
    slow_taker,
    not_begun,
    slow_source,
    steady,
)


def farthest_held_up(edges: Sequence[EdgeStatus]) -> EdgeStatus | None:
    """The edge farthest downstream whose giver waits: nobody downstream of its taker does."""
    for edge in reversed(edges):
        if edge.held_up_share >= NOTICEABLE:
            return edge
    return None


def kind_of(name: str, stages: Sequence[StageStatus]) -> str:
    """What kind of stage it is."""
    return next((stage.kind for stage in stages if stage.name == name), "")


def named(stage: str) -> str:
    """A stage in a sentence, which is right for any name: those of sources are often plural."""
    return "Spark" if stage == "spark" else f"'{stage}'"
