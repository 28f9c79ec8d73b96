"""What an exploration found: its verdict, the violation if there is one, and both in words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.tck.explorer.tracing import Level

__all__ = ["Exploration", "Verdict", "Violation"]


class Verdict(Enum):
    """What can be said after an exploration."""

    VIOLATED = "violated"
    """A schedule breaks the scenario; the violation holds it."""
    HELD_EXHAUSTIVELY = "held exhaustively"
    """No schedule within the bound breaks it, and all of them were run.

    That speaks of this scenario, level, bound and version of Python; it is no proof for others."""
    HELD_SO_FAR = "held so far"
    """No schedule that was run breaks it, but not all of them were run."""
    NONDETERMINISTIC = "nondeterministic"
    """The same schedule took different ways, so nothing can be said."""
    UNCONTROLLED = "uncontrolled"
    """A thread blocked in something that the explorer does not own; nothing can be said."""
    LEAKED = "leaked"
    """A thread could not be ended; the exploration stopped there."""


@dataclass(frozen=True)
class Violation:
    """A broken scenario: what happened, the schedule that replays it, and the way to it."""

    message: str
    rule: str | None
    schedule: str
    trail: tuple[str, ...]

    def __str__(self) -> str:
        rule = f"rule {self.rule}: " if self.rule else ""
        lines = [f"{rule}{self.message}", f"schedule: {self.schedule}"]
        if self.trail:
            lines += ["trail:", *self.trail]
        return "\n".join(lines)


@dataclass(frozen=True)
class Exploration:
    """The result of `explore` or `replay`."""

    verdict: Verdict
    schedules: int
    level: Level
    bound: int
    violation: Violation | None = None
    detail: str = ""
    leaked: int = 0

    def explain(self) -> str:
        """Say in words what was found and what that means."""
        lines = [f"{self.verdict.value}: {self._meaning()}"]
        if self.violation is not None:
            lines.append(str(self.violation))
        if self.detail:
            lines.append(self.detail)
        if self.leaked:
            lines.append(f"{self.leaked} thread(s) could not be ended and stay parked")
        return "\n".join(lines)

    def _meaning(self) -> str:
        runs = f"{self.schedules} schedule(s) at level {self.level.value}"
        match self.verdict:
            case Verdict.VIOLATED:
                return f"found after {runs}"
            case Verdict.HELD_EXHAUSTIVELY:
                return f"{runs}, all with up to {self.bound} preemption(s) among them"
            case Verdict.HELD_SO_FAR:
                return f"{runs}; there are more"
            case _:
                return f"no judgement, after {runs}"
