"""Flattening: a publisher for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.operators.expand import Expand, RememberPortions
from penstock.flow.operators.flat_map_sequential import FlatMapSequential
from penstock.flow.operators.flattening import ExhaustMap, FlatMap, SwitchMap
from penstock.flow.operators.inputs import CONCURRENCY, FlattenPortions
from penstock.runtime.arguments import require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Flattening"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")

AHEAD: Final = 32
"""How many elements a publisher gives ahead of its turn, unless the user says otherwise."""
UNEXPANDED: Final = 100_000
"""The most elements that ``expand`` remembers, unless the user says otherwise."""


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
        endless one lets the others through. ``flat_map_sequential`` and ``concat_map`` keep their
        order.

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

    def flat_map_sequential(
        self,
        function: Callable[[T_co], Publisher[R]],
        concurrency: int = CONCURRENCY,
        prefetch: int = AHEAD,
    ) -> Flow[R]:
        """The elements of the publishers that ``function`` makes, in order, while several run.

        The elements of the first publisher come first, as with ``concat_map``. Meanwhile up to
        ``concurrency`` publishers run, and what those give ahead of their turn is held: at most
        ``prefetch`` elements of each. A flow that never waits is run at its turn, and as long as
        that lasts, no other publisher is made.

        Emits when: the publisher whose turn it is does.
        Backpressures when: nothing is wanted; ``concurrency`` publishers are open. Publishers that
        are open go on until ``prefetch`` elements of theirs are held.
        Completes when: upstream and all publishers do.
        Cancels when: the subscriber does, or something fails: upstream and all publishers.

        Demand: asks upstream for as many elements as are wanted, and each publisher for
        ``prefetch``, which is filled up again as elements go on.

        Errors: the first one, at once: of ``function``, of upstream or of a publisher, also while
        elements before it wait for their turn, which are discarded then. That of the publisher
        whose turn it is follows its elements. ``TypeError`` if ``function`` returns no publisher.

        Example:
            >>> def answer(name):
            ...     return Flow.of(name).delay(0.02 if name == "slow" else 0.01)
            >>> Flow.of("slow", "fast").flat_map_sequential(answer).to_list().run_sync()
            ['slow', 'fast']

        Marble:
            a-b-----|
            x-y-z|
            flow.flat_map_sequential(lambda x: other.map(x + X))
            {ax}-{ay}-{az}({bx}{by}){bz}-|
        """
        name = "flat_map_sequential"
        stage = FlatMapSequential(
            require_callable(name, function),
            require_int(name, "concurrency", concurrency),
            require_int(name, "prefetch", prefetch),
        )
        return self._then(stage)._then(FlattenPortions(name))

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
        return self._then(SwitchMap("switch_map", require_callable("switch_map", function)))

    def exhaust_map(self, function: Callable[[T_co], Publisher[R]]) -> Flow[R]:
        """The elements of a publisher that ``function`` made; meanwhile others are ignored.

        An element that comes while a publisher is open is discarded, also while nothing is wanted,
        and ``function`` is not called for it. An upstream that never waits has all its elements
        there at once: only the publisher of the first one is heard, and of those after it if it
        was empty.

        Emits when: the publisher that is open does.
        Backpressures when: nothing is wanted; upstream goes on.
        Completes when: upstream and the publisher that is open do.
        Cancels when: the subscriber does, or something fails: upstream and the publisher.

        Demand: once something was wanted, asks upstream for all elements, 256 at a time, and the
        publisher that is open for as many as are wanted.

        Errors: the first one, at once: of ``function``, of upstream or of the publisher.
        ``TypeError`` if ``function`` returns no publisher.

        Example:
            >>> clicks = Flow.of("save", "save", "save")
            >>> clicks.exhaust_map(lambda click: Flow.of("saving", "saved")).to_list().run_sync()
            ['saving', 'saved']

        Marble:
            a--b---c--|
            x-y-z|
            flow.exhaust_map(lambda x: other.map(x + X))
            {ax}-{ay}-{az}--{cx}-{cy}-{cz}|
        """
        return self._then(ExhaustMap("exhaust_map", require_callable("exhaust_map", function)))

    def expand(
        self,
        function: Callable[[T_co], Publisher[T_co]],
        concurrency: int = 1,
        *,
        capacity: int = UNEXPANDED,
    ) -> Flow[T_co]:
        """The elements, then what ``function`` makes of them, then what it makes of those ...

        For what leads to more of its kind: the pages of an API, folders in folders. All elements of
        upstream come first, then the publishers of these elements in their order, then those of
        the elements that these gave: breadth first. It ends where publishers are empty. With a
        larger ``concurrency`` that many are taken from at a time, upstream among them, and their
        elements go on as they come.

        An element is remembered from when it goes on until it is expanded, at most ``capacity`` of
        them: a whole level of a tree, but only one page where each leads to the next.

        Emits when: upstream does, or the publisher whose turn it is.
        Backpressures when: nothing is wanted; then ``function`` is not called either.
        Completes when: all publishers do and no element is left to expand. So it takes demand to
        see that none follows.
        Cancels when: the subscriber does, or something fails: upstream and all publishers.

        Demand: asks upstream, and each publisher, for as many as are wanted, at most 256 at a time.

        Errors: the first one: of upstream, of ``function`` or of a publisher; elements that are
        still to be expanded are not. ``OverflowError`` if these are more than ``capacity``.
        ``TypeError`` if ``function`` returns no publisher.

        Example:
            >>> pages = {1: 2, 2: 3, 3: None}
            >>> def next_page(page):
            ...     return Flow.of(pages[page]) if pages[page] else Flow.empty()
            >>> Flow.of(1).expand(next_page).to_list().run_sync()
            [1, 2, 3]

        Marble:
            a-b|
            -x-y|
            flow.expand(lambda x: other.map(x + X) if len(x) == 1 else Flow.empty())
            a-b-{ax}-{ay}-{bx}-{by}|
        """
        stage = Expand(
            require_callable("expand", function),
            require_int("expand", "concurrency", concurrency),
            require_int("expand", "capacity", capacity),
        )
        return self._then(stage)._then(RememberPortions("expand"))
