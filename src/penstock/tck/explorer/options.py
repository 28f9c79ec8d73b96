"""The options of an exploration, checked before anything starts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from penstock.tck.explorer.tracing import Level

__all__ = ["ExplorationOptions", "checked_options"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class ExplorationOptions:
    """How to explore."""

    subject: tuple[ModuleType, ...]
    level: Level
    bound: int
    seeds: Sequence[int]
    max_steps: int
    budget: float
    race_timers: bool = False


def checked_options(
    scenario: object,
    *,
    subject: ModuleType | Iterable[ModuleType],
    level: str | Level,
    bound: int,
    seeds: Iterable[int],
    max_steps: int,
    budget: float,
    race_timers: bool = False,
) -> ExplorationOptions:
    """Return the options, or raise an error that names the wrong value and what is allowed."""
    if not callable(scenario):
        raise TypeError(f"scenario must be a function of one argument, not {scenario!r}")
    return ExplorationOptions(
        subject=_checked_subject(scenario, subject),
        level=_checked_level(level),
        bound=_checked_count("bound", bound, least=0),
        seeds=_checked_seeds(seeds),
        max_steps=_checked_count("max_steps", max_steps, least=1),
        budget=_checked_budget(budget),
        race_timers=_checked_flag("race_timers", race_timers),
    )


def _checked_subject(
    scenario: object, subject: ModuleType | Iterable[ModuleType]
) -> tuple[ModuleType, ...]:
    modules = [subject] if isinstance(subject, ModuleType) else _listed("subject", subject)
    for module in modules:
        if not isinstance(module, ModuleType):
            raise TypeError(f"subject must be a module or several, not {module!r}")
    if not modules:
        own = sys.modules.get(getattr(scenario, "__module__", None) or "")
        modules = [own] if own is not None else []
    return tuple(dict.fromkeys(part for module in modules for part in _with_submodules(module)))


def _with_submodules(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    if hasattr(module, "__path__"):
        for name, loaded in list(sys.modules.items()):
            if name.startswith(module.__name__ + ".") and isinstance(loaded, ModuleType):
                yield loaded


def _checked_level(level: str | Level) -> Level:
    allowed = [known.value for known in Level]
    if not isinstance(level, Level) and level not in allowed:
        raise ValueError(f"level must be one of {allowed}, not {level!r}")
    return Level(level)


def _checked_count(name: str, value: int, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return value


def _checked_flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def _checked_seeds(seeds: Iterable[int]) -> Sequence[int]:
    if isinstance(seeds, range):
        return seeds
    return [_checked_count("seeds", seed, least=0) for seed in _listed("seeds", seeds)]


def _listed(name: str, values: Iterable[_T]) -> list[_T]:
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} must be iterable, not {values!r}") from None


def _checked_budget(budget: float) -> float:
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(f"budget must be a number of seconds, not {budget!r}")
    if not 0 < budget < float("inf"):
        raise ValueError(f"budget must be a positive number of seconds, not {budget!r}")
    return float(budget)
