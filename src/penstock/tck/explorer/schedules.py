"""Schedules as text, such as ``v1:py3.11:gil:12>2,15>1``: at decision 12 thread 2 goes on, ...

The level is followed by ``+timers`` if a deadline may come while a thread can run.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from penstock.tck.explorer.tracing import Level

__all__ = ["Schedule"]

_FORMAT = "v1"
_EXAMPLE = "v1:py3.11:gil:12>2,15>1"
_DEVIATION = re.compile(r"(\d+)>(\d+)", re.ASCII)
_NONE = "-"
_TIMERS = "+timers"


@dataclass(frozen=True)
class Schedule:
    """Where a run left the default, which is: stay, and when that is impossible, the lowest."""

    level: Level
    deviations: tuple[tuple[int, int], ...]
    race_timers: bool = False

    def __str__(self) -> str:
        steps = ",".join(f"{decision}>{thread}" for decision, thread in self.deviations)
        timers = _TIMERS if self.race_timers else ""
        return f"{_FORMAT}:{_this_python()}:{self.level.value}{timers}:{steps or _NONE}"

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read a schedule; raises `ValueError` that names what is wrong and what is allowed."""
        if not isinstance(text, str):
            raise TypeError(f"a schedule is a text like {_EXAMPLE!r}, not {text!r}")
        parts = text.strip().split(":")
        if len(parts) != 4:
            raise ValueError(f"schedule {text!r} does not have four parts as {_EXAMPLE!r} has")
        version, python, level, steps = parts
        if version != _FORMAT:
            raise ValueError(f"schedule {text!r} has format {version!r}; known is {_FORMAT!r}")
        if python != _this_python():
            raise ValueError(
                f"schedule {text!r} was recorded on {python!r} and fits only there; "
                f"this is {_this_python()!r}"
            )
        race_timers = level.endswith(_TIMERS)
        level = level.removesuffix(_TIMERS)
        levels = [known.value for known in Level]
        if level not in levels:
            raise ValueError(f"schedule {text!r} has level {level!r}; allowed are {levels}")
        return cls(Level(level), _parse_deviations(text, steps), race_timers)


def _parse_deviations(text: str, steps: str) -> tuple[tuple[int, int], ...]:
    if steps == _NONE:
        return ()
    deviations: list[tuple[int, int]] = []
    for step in steps.split(","):
        match = _DEVIATION.fullmatch(step)
        if match is None:
            raise ValueError(
                f"schedule {text!r} holds {step!r}; a step is 'decision>thread' like '12>2'"
            )
        decision, thread = int(match[1]), int(match[2])
        if deviations and decision <= deviations[-1][0]:
            raise ValueError(f"schedule {text!r} has decision {decision} out of order")
        deviations.append((decision, thread))
    return tuple(deviations)


def _this_python() -> str:
    return f"py{sys.version_info.major}.{sys.version_info.minor}"
