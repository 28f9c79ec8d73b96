"""What an implementation says that it can do; what is not claimed is listed, never passed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Any

from penstock.api import UNBOUNDED, Publisher

__all__ = ["NotClaimed", "PublisherClaims"]


class NotClaimed(Exception):
    """A check needs something that was not claimed; the text says what."""


@dataclass(frozen=True, kw_only=True)
class PublisherClaims:
    """What a publisher can do beyond sending elements."""

    failed: Callable[[], Publisher[Any]] | None = None
    """Makes a publisher whose stream fails, at once or behind some elements."""
    max_elements: int = UNBOUNDED
    """The most elements that the factory can be asked for."""
    completes: bool = True
    """Streams of n elements end with on_complete. Without it they may be endless."""
    completes_eagerly: bool = False
    """They end without waiting for demand behind the last element."""
    repeatable: bool = False
    """Each publisher that the factory makes sends the same elements in the same sequence."""

    answers_within: float = 0.0
    """Seconds that an answer may take while no thread of this process moves, since the work is done
    by other processes. Such an implementation is judged in real time."""

    concurrent_requests: bool = False
    """request may be called by several threads at once, which subscribers must not do (2.7)."""
    strict_types: bool = False
    """request of something that is no int, or a bool, is answered by on_error(TypeError)."""
    explains_illegal_requests: bool = False
    """The error for an illegal request names rule 3.9."""
    passes_interrupts: bool = True
    """A KeyboardInterrupt in a signal that comes from within request passes through to its caller.
    One that runs signals as tasks, and keeps all that they raise, has to say that it does not."""
    reports_to_hook: bool = False
    """What a subscriber raises goes to the hook of ``penstock.runtime``, once."""
    closed: Callable[[Publisher[Any]], int] | None = None
    """How often a publisher has closed the source of a stream so far."""
    unclosable: Callable[[], Publisher[Any]] | None = None
    """Makes a publisher of at least two elements whose source raises on being closed."""

    multicast: bool = False
    """All subscribers of one publisher get the same elements in the same sequence."""
    keeps_for_newcomers: bool = False
    """A newcomer starts with the oldest element that another subscriber still has to get."""
    refuses_same_subscriber: bool = False
    """A subscriber that is subscribed gets on_error(RuntimeError) when it subscribes again."""
    stays_completed: bool = False
    """Once its stream has completed, newcomers get on_complete without a request."""
    stays_failed: bool = False
    """Once its stream has failed, newcomers get the same error without a request."""
    shuts_down_when_idle: bool = False
    """Once the last subscription is cancelled, newcomers get a terminal signal and nothing else."""
    keep_alive: Callable[[Publisher[Any]], AbstractContextManager[object]] | None = None
    """Keeps a publisher from shutting down for the time of a ``with`` block."""


def claims_of(kind: type[Any], options: dict[str, Any]) -> Any:
    """The claims, or a ``TypeError`` that names the unknown one and what is allowed."""
    allowed = [field.name for field in fields(kind)]
    for name in options:
        if name not in allowed:
            raise TypeError(f"there is no claim {name!r}; there are {', '.join(allowed)}")
    return kind(**options)
