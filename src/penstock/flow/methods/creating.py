"""Creating flows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar, overload

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable, require_iterable, require_publisher
from penstock.flow.sources.creating import (
    Defer,
    Error,
    FromCallable,
    FromIterable,
    FromPublisher,
    Generate,
    Never,
    Resumable,
    Using,
)
from penstock.runtime.arguments import require_error, require_integers

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Creating"]

T = TypeVar("T")
S = TypeVar("S")


class Creating:
    """Where flows begin."""

    __slots__ = ()

    @staticmethod
    def of(*elements: T) -> Flow[T]:
        """The given elements.

        Emits when: an element is wanted and one is left.
        Backpressures when: nothing is wanted; the elements wait.
        Completes when: the last element is delivered.
        Cancels when: never, there is nothing upstream.

        Demand: exact.

        Errors: ``TypeError`` at once for ``None``, which is no element.

        Example:
            >>> Flow.of(1, 2, 3).to_list().run_sync()
            [1, 2, 3]

        Marble:
            Flow.of("a", "b", "c")
            (abc|)
        """
        for number, element in enumerate(elements):
            if element is None:
                raise TypeError(f"of: element {number} is None, which is not an element")
        return BaseFlow._from(FromIterable("of", elements, checked=True))

    @staticmethod
    def from_iterable(iterable: Iterable[T]) -> Flow[T]:
        """The elements of an iterable, which is iterated again for each subscriber.

        A one-shot iterator, such as a generator, goes on where the last subscriber left it. None is
        pulled ahead of demand. So the end of one that does not know its length is seen with the
        request after its last element.

        Emits when: an element is wanted and the iterable has one.
        Backpressures when: nothing is wanted; the iterable is not advanced.
        Completes when: the iterable ends.
        Cancels when: the subscriber does; an iterator that was made here is closed, one that was
            given is left as it is.

        Demand: exact.

        Errors: what the iterable raises. ``TypeError`` for an element that is ``None``.

        Example:
            >>> Flow.from_iterable("abc").to_list().run_sync()
            ['a', 'b', 'c']

        Marble:
            Flow.from_iterable("abc")
            (abc|)
        """
        return BaseFlow._from(
            FromIterable("from_iterable", require_iterable("from_iterable", iterable))
        )

    @staticmethod
    def from_callable(function: Callable[[], T | None]) -> Flow[T]:
        """One element: what ``function`` returns; none if that is ``None``.

        Emits when: an element is wanted; ``function`` is called then, once for each subscriber.
        Backpressures when: nothing is wanted; ``function`` is not called.
        Completes when: the element is delivered, or ``function`` returned ``None``.
        Cancels when: never, there is nothing upstream.

        Demand: exact.

        Errors: what ``function`` raises.

        Example:
            >>> Flow.from_callable(lambda: 6 * 7).run_sync()
            42

        Marble:
            Flow.from_callable(lambda: "a")
            (a|)
        """
        return BaseFlow._from(FromCallable(require_callable("from_callable", function)))

    @staticmethod
    def from_publisher(publisher: Publisher[T]) -> Flow[T]:
        """The elements of any publisher; a flow is returned as it is.

        Emits when: the publisher does.
        Backpressures when: nothing is wanted; the publisher is asked for nothing.
        Completes when: the publisher does.
        Cancels when: the subscriber does.

        Demand: as much as is wanted, at most 256 at a time.

        Errors: those of the publisher, after the elements that came before.

        Example:
            >>> from penstock import IterablePublisher
            >>> Flow.from_publisher(IterablePublisher([1, 2])).to_list().run_sync()
            [1, 2]

        Marble:
            a-b-c|
            Flow.from_publisher(flow)
            a-b-c|
        """
        if isinstance(publisher, BaseFlow.flow):
            return publisher
        return BaseFlow._from(FromPublisher(require_publisher("from_publisher", publisher)))

    @staticmethod
    def resumable(
        factory: Callable[[Any], Publisher[T]], *, position: Callable[[T], object] | None = None
    ) -> Flow[T]:
        """The elements of ``factory(position)``: those after a position, all if it is ``None``.

        A position is anything that JSON has: an offset, a sequence number, the key of a row.
        ``position`` tells that of an element. Where a flow is recorded, as by ``on_spark``, it goes
        on after a restart from the last position that was recorded, alone or merged with others.
        Anywhere else it begins with ``None``.

        Emits when: the publisher does.
        Backpressures when: nothing is wanted.
        Completes when: the publisher does.
        Cancels when: the subscriber does.

        Demand: passes through as it is. ``factory`` is called without waiting for demand.

        Errors: what ``factory`` raises; ``TypeError`` if it returns no publisher; those of the
        publisher.

        Example:
            >>> lines = ["a", "b", "c"]
            >>> def after(position):
            ...     return Flow.range(0 if position is None else position + 1, len(lines))
            >>> flow = Flow.resumable(after, position=lambda number: number).map(lines.__getitem__)
            >>> flow.to_list().run_sync()
            ['a', 'b', 'c']

        Marble:
            --a-b|
            Flow.resumable(lambda position: flow)
            --a-b|
        """
        if position is not None:
            require_callable("resumable(position=)", position)
        return BaseFlow._from(
            Resumable("resumable", require_callable("resumable", factory), position)
        )

    @staticmethod
    def defer(factory: Callable[[], Publisher[T]]) -> Flow[T]:
        """The elements of the publisher that ``factory`` returns, called for each subscriber.

        Emits when: the publisher does.
        Backpressures when: nothing is wanted.
        Completes when: the publisher does.
        Cancels when: the subscriber does.

        Demand: passes through as it is. ``factory`` is called without waiting for demand.

        Errors: what ``factory`` raises; ``TypeError`` if it returns no publisher; those of the
        publisher.

        Example:
            >>> calls = []
            >>> flow = Flow.defer(lambda: calls.append("made") or Flow.of(len(calls)))
            >>> flow.run_sync(), flow.run_sync()
            (1, 2)

        Marble:
            --a-b|
            Flow.defer(lambda: flow)
            --a-b|
        """
        return BaseFlow._from(Defer(require_callable("defer", factory)))

    @staticmethod
    def empty() -> Flow[NoReturn]:
        """No elements.

        Emits when: never.
        Backpressures when: never.
        Completes when: it is subscribed to.
        Cancels when: never, there is nothing upstream.

        Demand: none is needed.

        Errors: none.

        Example:
            >>> Flow.empty().to_list().run_sync()
            []

        Marble:
            Flow.empty()
            |
        """
        return BaseFlow._from(FromIterable("empty", (), checked=True))

    @staticmethod
    def error(error: Exception) -> Flow[NoReturn]:
        """No elements but ``error``, the same one for each subscriber.

        Emits when: never.
        Backpressures when: never.
        Completes when: never.
        Cancels when: never, there is nothing upstream.

        Demand: none is needed.

        Errors: ``error``, when it is subscribed to. ``TypeError`` at once if it is no
        ``Exception``.

        Example:
            >>> Flow.error(ValueError("no")).on_error_return("yes").run_sync()
            'yes'

        Marble:
            Flow.error(ValueError("no"))
            #
        """
        return BaseFlow._from(Error(require_error("error", error)))

    @staticmethod
    def never() -> Flow[NoReturn]:
        """No elements and no end.

        Emits when: never.
        Backpressures when: never.
        Completes when: never.
        Cancels when: the subscriber does, which is its only end.

        Demand: any, to no effect.

        Errors: none.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> subscriber = ManualSubscriber(request=1)
            >>> Flow.never().subscribe(subscriber)
            >>> subscriber.assert_not_ended()

        Marble:
            Flow.never()
            ------
        """
        return BaseFlow._from(Never())

    @staticmethod
    @overload
    def range(stop: SupportsIndex, /) -> Flow[int]: ...

    @staticmethod
    @overload
    def range(
        start: SupportsIndex, stop: SupportsIndex, step: SupportsIndex = 1, /
    ) -> Flow[int]: ...

    @staticmethod
    def range(*bounds: SupportsIndex) -> Flow[int]:
        """Whole numbers, as the builtin ``range`` has them.

        Emits when: a number is wanted and one is left.
        Backpressures when: nothing is wanted.
        Completes when: the last number is delivered.
        Cancels when: never, there is nothing upstream.

        Demand: exact.

        Errors: ``TypeError`` at once for what is no ``int``, ``ValueError`` for a step of 0.

        Example:
            >>> Flow.range(2, 5).to_list().run_sync()
            [2, 3, 4]
            >>> Flow.range(5, 0, -2).to_list().run_sync()
            [5, 3, 1]

        Marble:
            Flow.range(2, 5)
            (234|)
        """
        return BaseFlow._from(
            FromIterable("range", range(*require_integers("range", bounds)), checked=True)
        )

    @staticmethod
    def generate(seed: S, step: Callable[[S], tuple[T, S] | None]) -> Flow[T]:
        """Elements made one after the other: ``step(state)`` gives an element and the next state.

        Each subscriber starts with the same ``seed``.

        Emits when: an element is wanted; ``step`` is called then.
        Backpressures when: nothing is wanted; ``step`` is not called.
        Completes when: ``step`` returns ``None`` in place of a pair.
        Cancels when: never, there is nothing upstream.

        Demand: exact. The end is seen with the request after the last element.

        Errors: what ``step`` raises; ``TypeError`` if it returns neither a pair nor ``None``.

        Example:
            >>> powers = Flow.generate(1, lambda n: (n, n * 2) if n < 20 else None)
            >>> powers.to_list().run_sync()
            [1, 2, 4, 8, 16]

        Marble:
            Flow.generate(1, lambda n: (n, n * 2) if n < 9 else None)
            (1248|)
        """
        return BaseFlow._from(Generate(seed, require_callable("generate", step)))

    @staticmethod
    def using(
        resource_factory: Callable[
            [], AbstractContextManager[S, Any] | AbstractAsyncContextManager[S, Any]
        ],
        flow_factory: Callable[[S], Publisher[T]],
    ) -> Flow[T]:
        """The elements of a publisher, with a context manager entered for as long as it runs.

        ``resource_factory`` makes a new context manager for each subscriber; ``flow_factory``
        gets what entering it gives, and returns the publisher. It is left before the end is
        signalled, and when the subscriber cancels, with ``GeneratorExit`` as after leaving a
        generator. As in a ``with`` block, it can keep an error to itself: then the flow completes.
        An asynchronous context manager is entered and left in a task on the asyncio loop of the
        subscriber, once something is wanted.

        Emits when: the publisher does.
        Backpressures when: nothing is wanted.
        Completes when: the publisher does, and the context manager is left.
        Cancels when: the subscriber does; then the context manager is left.

        Demand: passes through as it is. The resource is entered without waiting for demand.

        Errors: what either function or the context manager raises; those of the publisher. What
        leaving it raises after a cancel goes to the hook for undelivered errors.

        Example:
            >>> from io import StringIO
            >>> text = StringIO("a b")
            >>> Flow.using(lambda: text, lambda file: Flow.of(file.read())).run_sync()
            'a b'
            >>> text.closed
            True

        Marble:
            --a-b|
            Flow.using(ThreadPool, lambda threads: flow)
            --a-b|
        """
        return BaseFlow._from(
            Using(
                require_callable("using", resource_factory),
                require_callable("using", flow_factory),
            )
        )
