"""A flow whose subscribers share one run."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeVar

from penstock.api import Subscriber
from penstock.flow.arguments import require_size
from penstock.flow.elements import Elements, Host
from penstock.flow.flow import Flow
from penstock.flow.intake import Intake, subscribe
from penstock.flow.sharing.grace import require_grace
from penstock.flow.sharing.hub import Hub
from penstock.flow.sharing.sharing import Recipe, Sharing
from penstock.flow.stage import Origin
from penstock.runtime import Clock

__all__ = ["Connection", "SharedFlow"]

T_co = TypeVar("T_co", covariant=True)


class Connection:
    """A shared run that was started; cancel it to stop it for all subscribers."""

    def __init__(self, hub: Hub[Any]) -> None:
        self._hub = hub

    def cancel(self) -> None:
        """Stop the run: upstream is cancelled, and its subscribers get a ``RuntimeError``."""
        self._hub.shut_down("the connection was cancelled")


class FromSharing(Origin):
    """The elements of the shared run."""

    def __init__(self, sharing: Sharing[Any]) -> None:
        super().__init__(sharing.recipe.name)
        self.sharing = sharing

    def open(self, host: Host, each: int) -> Elements:
        """Join the run."""
        intake = Intake(host, each)
        subscribe(intake, self.sharing)
        return intake.elements()


class SharedFlow(Flow[T_co]):
    """A flow whose subscribers share one run; the slowest of them sets the pace.

    A subscriber that must not hold up the others gets a policy of its own, by an operator in front
    of it: ``shared.on_backpressure_latest()``, ``shared.on_backpressure_drop()``, or
    ``shared.on_backpressure_buffer(1000)``, which fails, or drops, when its buffer is full.
    """

    __slots__ = ("_sharing",)

    def __init__(self, recipe: Recipe[T_co]) -> None:
        self._sharing = Sharing(recipe)
        super().__init__(FromSharing(self._sharing))

    def subscribe(self, subscriber: Subscriber[T_co]) -> None:
        """Join the shared run."""
        self._sharing.subscribe(subscriber)

    def connect(self) -> Connection:
        """Start the shared run, for the subscribers that are there and those who will come."""
        return Connection(self._sharing.connect())

    def auto_connect(self, subscribers: int = 1) -> SharedFlow[T_co]:
        """The same flow in a shared run of its own, which starts with so many subscribers."""
        count = require_size("auto_connect", "subscribers", subscribers)
        return SharedFlow(self._sharing.like(starts=count, grace=None))

    def ref_count(
        self,
        subscribers: int = 1,
        *,
        grace: float | timedelta = 0,
        clock: Clock | None = None,
    ) -> SharedFlow[T_co]:
        """The same in runs that start with so many subscribers and stop with the last of them.

        A run stops ``grace`` seconds after it has lost its last subscriber, unless another one has
        come by then. Whoever comes later starts a new run.
        """
        count = require_size("ref_count", "subscribers", subscribers)
        return SharedFlow(
            self._sharing.like(starts=count, grace=require_grace("ref_count", grace, clock))
        )
