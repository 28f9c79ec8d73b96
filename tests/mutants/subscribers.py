"""Deliberately broken subscribers; each opens with the rule that it breaks.

The modules ``subscribers_*`` hold them. Most are ``OneByOne`` with one thing changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

Factory = TypeVar("Factory", bound=Callable[[], Any])

RULE = re.compile(r"(\d\.\d+): ")


@dataclass(frozen=True)
class Mutant:
    """A broken implementation, what it claims, and the rule that it breaks."""

    name: str
    rule: str
    factory: Callable[[], Any]
    claims: dict[str, Any]


SUBSCRIBER_MUTANTS: dict[str, Mutant] = {}

SEEN: dict[str, Any] = {"received": lambda subscriber: subscriber.elements}
ITSELF: dict[str, Any] = {"puppet": lambda subscriber: subscriber}


def mutant(**claims: Any) -> Callable[[Factory], Factory]:
    """Add the decorated class or function, which makes one, to the mutants."""

    def add(factory: Factory) -> Factory:
        rule = RULE.match(factory.__doc__ or "")
        assert rule is not None, f"{factory.__name__} does not open with its rule"
        name = factory.__name__
        assert name not in SUBSCRIBER_MUTANTS, f"there are two mutants named {name}"
        SUBSCRIBER_MUTANTS[name] = Mutant(name, rule[1], factory, claims)
        return factory

    return add
