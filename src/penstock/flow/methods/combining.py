"""Combining several publishers."""

from __future__ import annotations

from types import MethodType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_element, require_publisher
from penstock.flow.operators.combining import CombineLatest, WithLatestFrom, Zip
from penstock.flow.operators.inputs import FlattenPortions
from penstock.flow.operators.merge import (
    Merge,
    Race,
    SkipUntil,
    StartWith,
    TakeUntil,
    Then,
    one_after_the_other,
)
from penstock.runtime.arguments import require_flag, require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Combining"]

T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


if TYPE_CHECKING:
    of_publishers = staticmethod
else:

    class of_publishers(staticmethod):  # noqa: N801 - a decorator
        """``Flow.merge(flow, other)`` may also be written ``flow.merge(other)``."""

        def __get__(self, flow, owner=None):
            return self.__func__ if flow is None else MethodType(self.__func__, flow)


class Combining(BaseFlow[T_co]):
    """What makes one flow of several publishers.

    Called on a flow, that flow is the first of them.
    """

    __slots__ = ()

    @of_publishers
    def merge(
        *publishers: Publisher[A], concurrency: int | None = None, delay_errors: bool = False
    ) -> Flow[A]:
        """The elements of all publishers, as they come.

        Publishers that never wait take turns of 256 elements, so an endless one lets the others
        through. With ``concurrency``, only that many are subscribed to at a time.

        ``flow.merge(other)`` is the same as ``Flow.merge(flow, other)``.

        Emits when: one of the publishers does.
        Backpressures when: nothing is wanted.
        Completes when: all publishers do.
        Cancels when: the subscriber does, or a publisher fails: all others.

        Demand: asks each publisher for as many elements as are wanted, at most 256 at a time.

        Errors: the first one, at once. With ``delay_errors`` the other publishers go on, and the
        error comes at the end; if there are several, they come as an ``ExceptionGroup``.

        Example:
            >>> Flow.merge(Flow.of(1, 2), Flow.of(3)).to_list().run_sync()
            [1, 2, 3]

        Marble:
            a--b--c|
            -x--y---z|
            Flow.merge(flow, other)
            ax-by-c-z|
        """
        inputs = _required("merge", publishers)
        size = len(inputs) or 1
        if concurrency is not None:
            size = require_int("merge", "concurrency", concurrency)
        delays = require_flag("merge", "delay_errors", delay_errors)
        origin = Merge("merge", inputs, size, delay_errors=delays)
        return BaseFlow._from(origin)._then(FlattenPortions("merge"))

    @of_publishers
    def concat(*publishers: Publisher[A]) -> Flow[A]:
        """The elements of all publishers, one publisher after the other.

        ``flow.concat(other)`` is the same as ``Flow.concat(flow, other)``.

        Emits when: the current publisher does.
        Backpressures when: nothing is wanted; the next publisher is subscribed to when the current
        one has completed.
        Completes when: the last publisher does.
        Cancels when: the subscriber does: the current publisher.

        Demand: asks the current publisher for as many as are wanted, at most 256 at a time.

        Errors: those of the current publisher; the others are not subscribed to then.

        Example:
            >>> Flow.concat(Flow.of(1, 2), Flow.of(3)).to_list().run_sync()
            [1, 2, 3]

        Marble:
            a-b|
            x-y|
            Flow.concat(flow, other)
            a-bx-y|
        """
        inputs = tuple(one_after_the_other(_required("concat", publishers)))
        origin = Merge("concat", inputs, 1)
        return BaseFlow._from(origin)._then(FlattenPortions("concat"))

    @overload
    @of_publishers
    def zip(a: Publisher[A], b: Publisher[B], /) -> Flow[tuple[A, B]]: ...
    @overload
    @of_publishers
    def zip(a: Publisher[A], b: Publisher[B], c: Publisher[C], /) -> Flow[tuple[A, B, C]]: ...
    @overload
    @of_publishers
    def zip(
        a: Publisher[A], b: Publisher[B], c: Publisher[C], d: Publisher[D], /
    ) -> Flow[tuple[A, B, C, D]]: ...
    @overload
    @of_publishers
    def zip(*publishers: Publisher[Any]) -> Flow[tuple[Any, ...]]: ...
    @of_publishers
    def zip(*publishers: Publisher[Any]) -> Flow[Any]:
        """Tuples of the first elements of all publishers, of the second ones, and so on.

        An element that finds no partner, since another publisher has ended, is discarded.

        ``flow.zip(other)`` is the same as ``Flow.zip(flow, other)``.

        Emits when: each publisher has given one more element.
        Backpressures when: nothing is wanted, or an element waits for its partners.
        Completes when: one of the publishers does and its elements are used up.
        Cancels when: the subscriber does; one of the publishers ends or fails: all others.

        Demand: asks each publisher for as many elements as are wanted, at most 256 at a time.

        Errors: the first one, at once, be it that elements before it still wait for their partners.

        Example:
            >>> Flow.zip(Flow.range(100), Flow.of("a", "b")).to_list().run_sync()
            [(0, 'a'), (1, 'b')]

        Marble:
            a-b-c|
            -x---y---z-
            Flow.zip(flow, other)
            -{ax}---{by}---({cz}|)
        """
        return BaseFlow._from(Zip("zip", _required("zip", publishers)))

    @overload
    @of_publishers
    def combine_latest(a: Publisher[A], b: Publisher[B], /) -> Flow[tuple[A, B]]: ...
    @overload
    @of_publishers
    def combine_latest(
        a: Publisher[A], b: Publisher[B], c: Publisher[C], /
    ) -> Flow[tuple[A, B, C]]: ...
    @overload
    @of_publishers
    def combine_latest(
        a: Publisher[A], b: Publisher[B], c: Publisher[C], d: Publisher[D], /
    ) -> Flow[tuple[A, B, C, D]]: ...
    @overload
    @of_publishers
    def combine_latest(*publishers: Publisher[Any]) -> Flow[tuple[Any, ...]]: ...
    @of_publishers
    def combine_latest(*publishers: Publisher[Any]) -> Flow[Any]:
        """Tuples of the latest element of each publisher, one for each element that comes.

        Where several have an element they take turns, one element each, in the order in which
        they were given. Until all have given one, a publisher that waits goes on, and only its
        latest element counts; one that never waits stays at its first element.

        ``flow.combine_latest(other)`` is the same as ``Flow.combine_latest(flow, other)``.

        Emits when: a publisher gives an element and all others have given one before.
        Backpressures when: nothing is wanted.
        Completes when: all publishers do, or one does without an element; at once without any.
        Cancels when: the subscriber does; one of the publishers fails, or ends without an element:
        all others.

        Demand: asks each publisher for as many elements as are wanted, at most 256 at a time.

        Errors: the first one, at once.

        Example:
            >>> Flow.combine_latest(Flow.of(1, 2), Flow.of("a", "b")).to_list().run_sync()
            [(1, 'a'), (2, 'a'), (2, 'b')]

        Marble:
            a--b---c|
            -x--y|
            Flow.combine_latest(flow, other)
            -{ax}-{bx}{by}--{cy}|
        """
        inputs = _required("combine_latest", publishers)
        return BaseFlow._from(CombineLatest("combine_latest", inputs))

    @of_publishers
    def race(*publishers: Publisher[A]) -> Flow[A]:
        """The elements of the publisher that is the first to give anything, even if only its end.

        ``flow.race(other)`` is the same as ``Flow.race(flow, other)``.

        Emits when: the winner does. If several have something at once, the first of them wins.
        Backpressures when: nothing is wanted.
        Completes when: the winner does; at once without any publisher.
        Cancels when: the subscriber does; one has won: all others.

        Demand: asks each publisher for as many elements as are wanted until one has won, at most
        256 at a time, and then only that one.

        Errors: those of the winner; a publisher that fails first has won.

        Example:
            >>> Flow.race(Flow.never(), Flow.of(1, 2)).to_list().run_sync()
            [1, 2]

        Marble:
            ---a-b|
            -x-y-z|
            Flow.race(flow, other)
            -x-y-z|
        """
        return BaseFlow._from(Race("race", _required("race", publishers)))

    def with_latest_from(self, publisher: Publisher[A]) -> Flow[tuple[T_co, A]]:
        """Pairs of an element and the latest one of ``publisher``.

        Elements that come before ``publisher`` has given one are discarded. A publisher that never
        waits is run to its end first, so its last element counts.

        Emits when: an element comes and ``publisher`` has given one.
        Backpressures when: nothing is wanted; ``publisher`` goes on.
        Completes when: upstream completes, or ``publisher`` does without an element.
        Cancels when: the subscriber does, or either of the two ends it.

        Demand: passes through; each element that is discarded is replaced by another one.
        ``publisher`` is asked for all its elements, 256 at a time.

        Errors: those of both, at once.

        Example:
            >>> Flow.of(1, 2).with_latest_from(Flow.of("a", "b")).to_list().run_sync()
            [(1, 'b'), (2, 'b')]

        Marble:
            a-b-c-d|
            -x--y---
            flow.with_latest_from(other)
            --{bx}-{cx}-{dy}|
        """
        return self._then(WithLatestFrom(require_publisher("with_latest_from", publisher)))

    def take_until(self, publisher: Publisher[Any]) -> Flow[T_co]:
        """The elements that come before ``publisher`` gives anything, even if only its end.

        Emits when: an element comes and ``publisher`` has given nothing.
        Backpressures when: nothing is wanted.
        Completes when: ``publisher`` gives an element or completes, also while nothing is wanted;
        upstream completes.
        Cancels when: the subscriber does, or either of the two ends it.

        Demand: passes through as it is. ``publisher`` is asked for one element.

        Errors: those of both, at once.

        Example:
            >>> Flow.of(1, 2).take_until(Flow.never()).to_list().run_sync()
            [1, 2]

        Marble:
            a-b-c-d|
            ---x
            flow.take_until(other)
            a-b|
        """
        return self._then(TakeUntil("take_until", require_publisher("take_until", publisher)))

    def skip_until(self, publisher: Publisher[Any]) -> Flow[T_co]:
        """The elements that come once ``publisher`` has given anything, even if only its end.

        Those that come before are discarded.

        Emits when: an element comes and ``publisher`` has given something.
        Backpressures when: nothing is wanted.
        Completes when: upstream does.
        Cancels when: the subscriber does, or either of the two fails. ``publisher`` is cancelled
        when it has given an element.

        Demand: passes through; each element that is discarded is replaced by another one.
        ``publisher`` is asked for one element.

        Errors: those from upstream. Those of ``publisher``, at once, unless it has given something.

        Example:
            >>> Flow.of(1, 2).skip_until(Flow.of("go")).to_list().run_sync()
            [1, 2]

        Marble:
            a-b-c-d|
            ---x
            flow.skip_until(other)
            ----c-d|
        """
        return self._then(SkipUntil("skip_until", require_publisher("skip_until", publisher)))

    def then(self, publisher: Publisher[A]) -> Flow[A]:
        """No elements, and then those of ``publisher``.

        Emits when: ``publisher`` does, which is subscribed to when upstream has completed.
        Backpressures when: nothing is wanted.
        Completes when: ``publisher`` does.
        Cancels when: the subscriber does: whichever of the two is running.

        Demand: once something is wanted, asks upstream for all its elements, and then
        ``publisher`` for as many as are wanted.

        Errors: those of upstream, in place of all that follows; those of ``publisher``.

        Example:
            >>> Flow.of(1, 2).then(Flow.of("done")).to_list().run_sync()
            ['done']

        Marble:
            a-b-c|
            x-y|
            flow.then(other)
            -----x-y|
        """
        return self._then(Then(require_publisher("then", publisher)))

    def start_with(self, *elements: A) -> Flow[T_co | A]:
        """The given elements, and then those of the flow.

        Emits when: one is wanted and one of ``elements`` is left; then when an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes and all elements are delivered.
        Cancels when: the subscriber does.

        Demand: passes through as it is; ``elements`` are not asked of upstream.

        Errors: those from upstream, after ``elements``. ``TypeError`` at once for ``None``, which
        is no element.

        Example:
            >>> Flow.of(1, 2).start_with(0).to_list().run_sync()
            [0, 1, 2]

        Marble:
            --a-b|
            flow.start_with("x", "y")
            (xy)-a-b|
        """
        for element in elements:
            require_element("start_with", element)
        return self._then(StartWith(elements))


def _required(name: str, publishers: tuple[Publisher[Any], ...]) -> tuple[Publisher[Any], ...]:
    return tuple([require_publisher(name, each) for each in publishers])
