"""Flattening: a publisher for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.operators.flattening import FlatMap, SwitchMap
from penstock.flow.operators.inputs import CONCURRENCY, FlattenPortions
from penstock.runtime.arguments import require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Flattening"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Flattening(BaseFlow[T_co]):
    """What makes a publisher of each element, and one flow of all of them."""

    __slots__ = ()

    def flat_map(
        self,
        function: Callable[[T_co], Publisher[R]],
        concurrency: int = CONCURRENCY,
        prefetch: int = PREFETCH,
    ) -> Flow[R]:
        """The elements of the publishers that ``function`` makes, several of them at a time.

        Elements go on as they come. Publishers that never wait take turns of 256 elements, so an
        endless one lets the others through. To keep their order, use ``concat_map``.

        Emits when: one of the publishers does.
        Backpressures when: nothing is wanted; ``concurrency`` publishers are being taken from. Then
        at most one element is pulled, and what counts time upstream stands still, as for
        ``concat_map``.
        Completes when: upstream and all publishers do.
        Cancels when: the subscriber does, or something fails: upstream and all publishers.

        Demand: asks upstream for as many elements as are wanted, and each publisher for as many,
        at most ``prefetch`` at a time.

        Errors: the first one, at once: of ``function``, of upstream or of a publisher. One of
        upstream cancels all publishers, also while elements before it wait for their turn.
        ``TypeError`` if ``function`` returns no publisher.

        Example:
            >>> Flow.of(1, 2).flat_map(lambda x: Flow.of(x, x * 10)).to_list().run_sync()
            [1, 10, 2, 20]

        Marble:
            a-b-----|
            x-y-z|
            flow.flat_map(lambda x: other.map(x + X))
            {ax}-({ay}{bx})-({az}{by})-{bz}-|
        """
        stage = FlatMap(
            "flat_map",
            require_callable("flat_map", function),
            require_int("flat_map", "concurrency", concurrency),
            require_int("flat_map", "prefetch", prefetch),
        )
        return self._then(stage)._then(FlattenPortions("flat_map"))

    def concat_map(self, function: Callable[[T_co], Publisher[R]]) -> Flow[R]:
        """The elements of the publishers that ``function`` makes, one publisher after the other.

        ``function`` is called for an element when the publisher before has completed.

        Upstream of ``on_spark`` with a checkpoint, a restart goes on with the publisher that was
        under way, at its position. For that, ``function`` has to make the same flow for the same
        element each time, and the flow has to be one that can go on or gives the same again.

        Emits when: the current publisher does.
        Backpressures when: nothing is wanted; the next publisher waits for the current one. Then
        at most one element is pulled, and what counts time upstream, such as ``debounce``, stands
        still; ``on_backpressure_buffer(n)`` in between lets it go on.
        Completes when: upstream and the last publisher do.
        Cancels when: the subscriber does, or something fails: upstream and the current publisher.

        Demand: asks upstream, and the current publisher, for as many as are wanted, at most 256
        at a time.

        Errors: the first one, at once: of ``function``, of upstream or of a publisher. One of
        upstream cancels all publishers, also while elements before it wait for their turn.
        ``TypeError`` if ``function`` returns no publisher.

        Example:
            >>> Flow.of(1, 2).concat_map(lambda x: Flow.of(x, x * 10)).to_list().run_sync()
            [1, 10, 2, 20]

        Marble:
            a-b-----|
            x-y-z|
            flow.concat_map(lambda x: other.map(x + X))
            {ax}-{ay}-{az}{bx}-{by}-{bz}|
        """
        stage = FlatMap("concat_map", require_callable("concat_map", function), 1, PREFETCH)
        return self._then(stage)._then(FlattenPortions("concat_map"))

    def switch_map(self, function: Callable[[T_co], Publisher[R]]) -> Flow[R]:
        """The elements of the latest publisher that ``function`` made.

        A new element cancels the publisher of the one before, also while nothing is wanted. An
        upstream that never waits has all its elements there at once: only the publisher of the
        last one is heard.

        Emits when: the latest publisher does and no newer element is there.
        Backpressures when: nothing is wanted; upstream goes on.
        Completes when: upstream and the latest publisher do.
        Cancels when: a newer element comes: the publisher before; the subscriber does, or something
        fails: upstream and the latest publisher.

        Demand: once something was wanted, asks upstream for all elements, 256 at a time, and the
        latest publisher for as many as are wanted.

        Errors: the first one, at once: of ``function``, of upstream or of the latest publisher.
        ``TypeError`` if ``function`` returns no publisher.

        Example:
            >>> Flow.of(1, 2).switch_map(lambda x: Flow.of(x, x * 10)).to_list().run_sync()
            [2, 20]

        Marble:
            a--b-----|
            x-y-z|
            flow.switch_map(lambda x: other.map(x + X))
            {ax}-{ay}{bx}-{by}-{bz}-|
        """
        return self._then(SwitchMap(require_callable("switch_map", function)))
