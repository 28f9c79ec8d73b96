"""Transforming: other elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from penstock.core.signals import OnComplete, OnError, OnNext
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable, require_combination, require_function
from penstock.flow.operators.filtering import Filter
from penstock.flow.operators.materialize import Dematerialize, Materialize
from penstock.flow.operators.transforming import (
    Enumerate,
    FlatMapIterable,
    Map,
    MapNotNone,
    Pairwise,
    Scan,
)
from penstock.runtime.arguments import require_integers

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Transforming"]

T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")
R = TypeVar("R")
P = ParamSpec("P")


class Transforming(BaseFlow[T_co]):
    """What makes other elements of the elements."""

    __slots__ = ()

    def map(self, function: Callable[[T_co], R]) -> Flow[R]:
        """What ``function`` returns for each element.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``function`` raises.

        Demand: passes through as it is.

        Errors: what ``function`` raises. ``TypeError`` if it returns ``None``.

        Example:
            >>> Flow.range(3).map(lambda x: x * 10).to_list().run_sync()
            [0, 10, 20]

        Marble:
            a-b--c|
            flow.map(str.upper)
            A-B--C|
        """
        return self._then(Map("map", require_function("map", function)))

    def map_not_none(self, function: Callable[[T_co], R | None]) -> Flow[R]:
        """What ``function`` returns for each element; where that is ``None``, nothing.

        Emits when: an element comes for which ``function`` returns something.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``function`` raises.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: what ``function`` raises.

        Example:
            >>> Flow.of("a", "z").map_not_none({"a": 1, "b": 2}.get).to_list().run_sync()
            [1]

        Marble:
            a-z-b|
            flow.map_not_none({"a": 1, "b": 2}.get)
            1---2|
        """
        return self._then(MapNotNone("map_not_none", require_function("map_not_none", function)))

    def filter(self, condition: Callable[[T_co], object]) -> Flow[T_co]:
        """The elements for which ``condition`` holds.

        Emits when: an element comes for which it holds.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``condition`` raises.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: what ``condition`` raises.

        Example:
            >>> Flow.range(6).filter(lambda x: x % 2 == 0).to_list().run_sync()
            [0, 2, 4]

        Marble:
            1-2-3-4|
            flow.filter(lambda x: int(x) % 2 == 0)
            --2---4|
        """
        return self._then(Filter("filter", require_function("filter", condition)))

    def flat_map_iterable(self, function: Callable[[T_co], Iterable[R]]) -> Flow[R]:
        """All elements of the iterable that ``function`` returns for each element.

        An iterable is advanced only when an element is wanted; it is gone through before the next
        one is made. For publishers in place of iterables there is ``flat_map``.

        Emits when: an iterable has an element.
        Backpressures when: nothing is wanted; the iterable is not advanced.
        Completes when: upstream completes and the last iterable has ended.
        Cancels when: the subscriber does, or ``function`` or an iterable raises.

        Demand: asks for the next element when an iterable has ended and more is wanted.

        Errors: what ``function`` or an iterable raises. ``TypeError`` if an iterable has ``None``.

        Example:
            >>> Flow.of("to be", "or not").flat_map_iterable(str.split).to_list().run_sync()
            ['to', 'be', 'or', 'not']

        Marble:
            2--1-3|
            flow.flat_map_iterable(lambda x: x * int(x))
            (22)--1-(333)|
        """
        stage = FlatMapIterable(
            "flat_map_iterable", require_function("flat_map_iterable", function)
        )
        return self._then(stage)

    @overload
    def scan(self, seed: Callable[[T_co, T_co], T_co]) -> Flow[T_co]: ...

    @overload
    def scan(self, seed: A, function: Callable[[A, T_co], A]) -> Flow[A]: ...

    def scan(self, seed: Any, function: Callable[[Any, T_co], Any] | None = None) -> Flow[Any]:
        """Each value that ``function(accumulated, element)`` returns, beginning from ``seed``.

        The seed itself is no element of the result. All runs begin from the same object, so it
        should not be changed in place. ``scan(function)`` has no seed: the first element comes as
        it is, and is what the next one is combined with.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``function`` raises.

        Demand: passes through as it is.

        Errors: what ``function`` raises. ``TypeError`` if it returns ``None``.

        Example:
            >>> Flow.of(1, 2, 3).scan(0, lambda total, x: total + x).to_list().run_sync()
            [1, 3, 6]
            >>> Flow.of(3, 1, 4).scan(max).to_list().run_sync()
            [3, 3, 4]

        Marble:
            a-b--c|
            flow.scan("", lambda word, x: word + x)
            a-{ab}--{abc}|
        """
        return self._then(Scan("scan", *require_combination("scan", seed, function)))

    def enumerate(self, start: int = 0) -> Flow[tuple[int, T_co]]:
        """Pairs of a number and an element, counted from ``start``, as the builtin has them.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream. ``TypeError`` at once if ``start`` is no whole number.

        Example:
            >>> Flow.of("a", "b").enumerate(start=1).to_list().run_sync()
            [(1, 'a'), (2, 'b')]

        Marble:
            a-b--c|
            flow.enumerate()
            {0a}-{1b}--{2c}|
        """
        (number,) = require_integers("enumerate", (start,))
        return self._then(Enumerate("enumerate", number))

    def materialize(self) -> Flow[OnNext[T_co] | OnError | OnComplete]:
        """Each signal as an element: ``OnNext(element)``, and ``OnError`` or ``OnComplete`` last.

        So an error, too, can be sent, stored or looked at; then the flow completes. Signals have
        an ``element`` or an ``error``; put ``timestamp`` upstream if their time matters.

        Emits when: an element comes, or upstream ends.
        Backpressures when: nothing is wanted; the last signal needs demand, too.
        Completes when: upstream ends, and that signal is delivered.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: none; those from upstream are elements.

        Example:
            >>> Flow.of("2", "x").map(int).materialize().to_list().run_sync()
            [OnNext(element=2), OnError(error=ValueError("invalid literal for int() ...'x'"))]
            >>> Flow.empty().materialize().to_list().run_sync()
            [OnComplete()]

        Marble:
            a-b-#
            flow.materialize().map(lambda signal: str(signal)[3])
            n-n-(e|)
        """
        return self._then(Materialize())

    def dematerialize(self: BaseFlow[OnNext[R] | OnError | OnComplete]) -> Flow[R]:
        """The stream whose signals the elements are, as ``materialize`` gives them.

        Emits when: an ``OnNext`` comes.
        Backpressures when: nothing is wanted.
        Completes when: an ``OnComplete`` comes, or upstream completes without one.
        Cancels when: the subscriber does, or an ``OnComplete`` or ``OnError`` comes.

        Demand: passes through as it is; so the end comes when one more element would be wanted.

        Errors: that of an ``OnError``; those from upstream. ``TypeError`` for any other element.

        Example:
            >>> from penstock.flow import OnComplete, OnNext
            >>> signals = Flow.of(OnNext(1), OnNext(2), OnComplete(), OnNext(3))
            >>> signals.dematerialize().to_list().run_sync()
            [1, 2]

        Marble:
            a-b-#
            flow.materialize().dematerialize()
            a-b-#
        """
        return self._then(Dematerialize())

    def pairwise(self) -> Flow[tuple[T_co, T_co]]:
        """Pairs of an element and the one after it, as ``itertools`` has them.

        A flow of fewer than two elements gives none.

        Emits when: an element comes that is not the first.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through, and one more for the first element.

        Errors: those from upstream.

        Example:
            >>> Flow.of(1, 4, 9).pairwise().map(lambda pair: pair[1] - pair[0]).to_list().run_sync()
            [3, 5]

        Marble:
            a-b--c|
            flow.pairwise()
            --{ab}--{bc}|
        """
        return self._then(Pairwise("pairwise"))

    def pipe(
        self,
        function: Callable[Concatenate[Flow[T_co], P], R],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> R:
        """What ``function`` makes of this flow: an operator of your own, within a chain of others.

        ``flow.pipe(function, *arguments)`` is ``function(flow, *arguments)``, called at once. An
        error in one of its operators names the line of ``function`` that made it.

        Emits when: what ``function`` returned does.
        Backpressures when: what ``function`` returned does.
        Completes when: what ``function`` returned does.
        Cancels when: what ``function`` returned does.

        Demand: that of the operators which ``function`` uses.

        Errors: what ``function`` raises, at once; those of the operators that it uses.

        Example:
            >>> def differences(flow):
            ...     return flow.pairwise().map(lambda pair: pair[1] - pair[0])
            >>> Flow.of(1, 4, 9).pipe(differences).filter(X > 3).to_list().run_sync()
            [5]

        Marble:
            a-b--c|
            flow.pipe(lambda flow, count: flow.skip(count).map(str.upper), 1)
            --B--C|
        """
        assert isinstance(self, BaseFlow.flow)
        return require_callable("pipe", function)(self, *arguments, **options)
