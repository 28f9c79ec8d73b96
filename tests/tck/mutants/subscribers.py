"""Deliberately broken subscribers; each opens with the rule that it breaks.

The modules ``subscribers_*`` hold them. Most are ``OneByOne`` with one thing changed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar

from tests.tck.mutants.gate import Mutant, rule_of

Factory = TypeVar("Factory", bound=Callable[[], Any])

CHAPTERS: Final = ("cancelling", "demand", "endings", "signals", "threads")
SEEN: dict[str, Any] = {"received": lambda subscriber: subscriber.elements}
ITSELF: dict[str, Any] = {"puppet": lambda subscriber: subscriber}

_mutants: dict[str, Mutant] = {}


def mutants() -> list[Mutant]:
    """All of them."""
    for chapter in CHAPTERS:
        import_module(f"tests.tck.mutants.subscribers_{chapter}")
    return list(_mutants.values())


def mutant(**claims: Any) -> Callable[[Factory], Factory]:
    """Add the decorated class or function, which makes one, to the mutants."""

    def add(factory: Factory) -> Factory:
        name, rule = factory.__name__, rule_of(factory)
        assert rule, f"{name} does not open with its rule"
        assert name not in _mutants, f"there are two mutants named {name}"
        _mutants[name] = Mutant(name, rule, factory, claims)
        return factory

    return add
