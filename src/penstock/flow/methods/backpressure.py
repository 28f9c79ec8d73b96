"""Backpressure: elements that come without demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.operators.backpressure import (
    Conflate,
    LimitRate,
    OnBackpressureBuffer,
    OnBackpressureDrop,
    Policy,
    require_policy,
)
from penstock.flow.sources.create import Create, Emitter
from penstock.runtime.arguments import require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Backpressure"]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Backpressure(BaseFlow[T_co]):
    """What happens to elements that come without demand."""

    __slots__ = ()

    @staticmethod
    def create(
        function: Callable[[Emitter[T]], object],
        *,
        overflow: Policy | Literal["latest"],
        capacity: int = PREFETCH,
    ) -> Flow[T]:
        """The elements that ``function`` hands to its emitter, then or later, from any thread.

        ``function`` is called for each subscriber, at once, and gets its own emitter. It
        registers a callback or starts a thread, and returns; the emitter may be used until the
        stream is over. Elements that are not wanted yet wait. When ``capacity`` of them do and one
        more comes, ``overflow`` decides: "error" ends the stream with ``Overflow``, "drop_oldest"
        makes room, "drop_newest" drops what came, and "latest" never keeps more than one.

        Emits when: an element was handed in and is wanted.
        Backpressures when: nothing is wanted; the code that emits can read ``emitter.wanted``.
        Completes when: ``emitter.complete()`` was called and what waited is delivered.
        Cancels when: the subscriber does; then what was given to ``emitter.on_cancel`` is called.

        Demand: exact on the way out; the emitter may ignore it, and pays by the overflow policy.

        Errors: those given to ``emitter.fail``; what ``function`` raises; ``Overflow``; each of
        them after the elements that wait. ``ValueError`` at once for an unknown policy.

        Example:
            >>> def ticker(emitter):
            ...     for price in (10, 11, 12):
            ...         emitter.emit(price)
            ...     emitter.complete()
            >>> Flow.create(ticker, overflow="drop_oldest", capacity=2).to_list().run_sync()
            [11, 12]

        Marble:
            Flow.create(lambda to: time.call_later(2, lambda: to.emit("a")), overflow="error")
            --a---
        """
        require_callable("create", function)
        policy = require_policy("create", overflow, "latest")
        size = require_int("create", "capacity", capacity)
        if policy == "latest":
            policy, size = "drop_oldest", 1
        return BaseFlow._from(Create(function, policy, size))

    def on_backpressure_buffer(self, capacity: int, overflow: Policy = "error") -> Flow[T_co]:
        """The same elements; up to ``capacity`` of them wait until they are wanted.

        When one more comes, ``overflow`` decides: "error" ends the stream with ``Overflow``,
        "drop_oldest" makes room, "drop_newest" drops what came.

        Emits when: an element waits and is wanted.
        Backpressures when: never; upstream runs at its own pace.
        Completes when: upstream completes and what waited is delivered.
        Cancels when: the subscriber does, or there is no room and the policy is "error".

        Demand: asks for all elements at once, when the flow is subscribed to.

        Errors: ``Overflow``, which cancels upstream; those from upstream; both after the
        elements that wait. ``ValueError`` at once for an unknown policy.

        Example:
            >>> Flow.range(9).on_backpressure_buffer(3, "drop_oldest").to_list().run_sync()
            [6, 7, 8]

        Marble:
            abcd-ef---|
            --x-y-----z
            Flow.zip(flow.on_backpressure_buffer(2), other)
            --{ax}-{by}-#
        """
        size = require_int("on_backpressure_buffer", "capacity", capacity)
        policy = require_policy("on_backpressure_buffer", overflow)
        return BaseFlow._from(OnBackpressureBuffer(self, size, policy))

    def on_backpressure_drop(self, on_drop: Callable[[T_co], object] | None = None) -> Flow[T_co]:
        """The elements that are wanted at the moment when they come; the others are dropped.

        ``on_drop`` is called with each of the others, on the thread that brought it. At most 256
        elements wait for a subscriber that wants them but is busy.

        Emits when: an element comes that is wanted.
        Backpressures when: never; upstream runs at its own pace.
        Completes when: upstream completes and what waited is delivered.
        Cancels when: the subscriber does, or ``on_drop`` raises.

        Demand: asks for all elements at once, when the flow is subscribed to.

        Errors: what ``on_drop`` raises; those from upstream, after the elements that wait.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> dropped, subscriber = [], ManualSubscriber(request=2)
            >>> Flow.range(5).on_backpressure_drop(dropped.append).subscribe(subscriber)
            >>> subscriber.elements, dropped
            ([0, 1], [2, 3, 4])

        Marble:
            abcd-ef---|
            ----x--y--z
            Flow.zip(flow.on_backpressure_drop().limit_rate(1), other)
            ----{ax}--{ey}--|
        """
        if on_drop is not None:
            require_callable("on_backpressure_drop", on_drop)
        return BaseFlow._from(OnBackpressureDrop(self, on_drop))

    def on_backpressure_latest(self) -> Flow[T_co]:
        """The latest element whenever one is wanted; one that waits is replaced by a newer one.

        Emits when: an element waits and is wanted.
        Backpressures when: never; upstream runs at its own pace.
        Completes when: upstream completes and the last element is delivered.
        Cancels when: the subscriber does.

        Demand: asks for all elements at once, when the flow is subscribed to.

        Errors: those from upstream, after an element that waits.

        Example:
            >>> Flow.range(5).on_backpressure_latest().to_list().run_sync()
            [4]

        Marble:
            abcd-ef---|
            ----x--y--z
            Flow.zip(flow.on_backpressure_latest(), other)
            ----{ax}--{dy}--({fz}|)
        """
        return BaseFlow._from(Conflate("on_backpressure_latest", self, None))

    def conflate(self, combine: Callable[[T_co, T_co], T_co]) -> Flow[T_co]:
        """The same elements; those that wait together become one, ``combine(waiting, newer)``.

        ``combine`` runs on the thread that brings the newer element.

        Emits when: an element waits and is wanted.
        Backpressures when: never; upstream runs at its own pace.
        Completes when: upstream completes and the last element is delivered.
        Cancels when: the subscriber does, or ``combine`` raises.

        Demand: asks for all elements at once, when the flow is subscribed to.

        Errors: what ``combine`` raises; ``TypeError`` if it returns ``None``; those from upstream,
        after an element that waits.

        Example:
            >>> Flow.of(1, 2, 3).conflate(lambda waiting, newer: waiting + newer).run_sync()
            6

        Marble:
            abcd-ef---|
            ----x--y--z
            Flow.zip(flow.conflate(lambda a, b: a + b), other)
            ----{ax}--{bcdy}--({efz}|)
        """
        return BaseFlow._from(Conflate("conflate", self, require_callable("conflate", combine)))

    def limit_rate(self, high: int, low: int | None = None) -> Flow[T_co]:
        """The same elements; upstream is asked for at most ``high`` at a time.

        It is asked again when ``low`` of those are left, which are a quarter unless given.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through up to ``high``; beyond that in portions of ``high - low``.

        Errors: those from upstream. ``ValueError`` at once unless ``low`` is below ``high``.

        Example:
            >>> Flow.range(5).limit_rate(2).to_list().run_sync()
            [0, 1, 2, 3, 4]

        Marble:
            a-b-c|
            flow.limit_rate(2)
            a-b-c|
        """
        most = require_int("limit_rate", "high", high)
        least = most // 4 if low is None else require_int("limit_rate", "low", low, least=0)
        if least >= most:
            raise ValueError(f"limit_rate: low must be below high, which is {most}, not {least}")
        return BaseFlow._from(LimitRate(self, most, least))
