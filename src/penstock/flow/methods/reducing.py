"""Reducing: one result of all elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Never, TypeVar, overload

from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import (
    require_callable,
    require_combination,
    require_element,
    require_function,
)
from penstock.flow.expression import Expression
from penstock.flow.operators.reducing import AllMatch, AnyMatch, Collect, Fold, ForEach

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Reducing"]

T_co = TypeVar("T_co", covariant=True)
A = TypeVar("A")
R = TypeVar("R")


class Reducing(BaseFlow[T_co]):
    """What makes one result of all elements."""

    __slots__ = ()

    @overload
    def reduce(self, seed: Callable[[T_co, T_co], T_co]) -> Flow[T_co]: ...

    @overload
    def reduce(self, seed: A, function: Callable[[A, T_co], A]) -> Flow[A]: ...

    def reduce(self, seed: Any, function: Callable[[Any, T_co], Any] | None = None) -> Flow[Any]:
        """One element: ``seed`` and all elements, combined by ``function(accumulated, element)``.

        An empty flow gives the seed. All runs begin from the same object, so it should not be
        changed in place; ``collect`` makes a new container for each run. ``reduce(function)`` has
        no seed: it begins with the first element, and an empty flow gives nothing.

        Emits when: upstream completes.
        Backpressures when: the result is not wanted yet.
        Completes when: the result is delivered, or upstream completes and there is none.
        Cancels when: the subscriber does, or ``function`` raises.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: what ``function`` raises. ``TypeError`` if the result is ``None``.

        Example:
            >>> Flow.range(5).reduce(0, lambda total, x: total + x).run_sync()
            10
            >>> Flow.of(3, 1, 4).reduce(max).run_sync()
            4

        Marble:
            1-2-3--|
            flow.reduce(0, lambda total, x: total + int(x))
            -------(6|)
        """
        return self._then(Fold("reduce", *require_combination("reduce", seed, function)))

    def count(self) -> Flow[int]:
        """One element: how many elements there are.

        Emits when: upstream completes.
        Backpressures when: the number is not wanted yet.
        Completes when: the number is delivered.
        Cancels when: the subscriber does.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: those from upstream.

        Example:
            >>> Flow.of("a", "b").count().run_sync()
            2

        Marble:
            a-b-c--|
            flow.count()
            -------(3|)
        """
        return self._then(Fold("count", 0, Expression("({a} + 1)")))

    def any(self, condition: Callable[[T_co], object]) -> Flow[bool]:
        """One element: whether ``condition`` holds for any element. It does not for an empty flow.

        Emits when: an element comes for which it holds, or upstream completes.
        Backpressures when: the answer is not wanted yet.
        Completes when: the answer is delivered.
        Cancels when: an element comes for which it holds, or the subscriber does, or ``condition``
        raises.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: what ``condition`` raises.

        Example:
            >>> Flow.range(1_000_000).any(lambda x: x > 2).run_sync()
            True

        Marble:
            1-2-9-3|
            flow.any(X > "5")
            ----({True}|)
        """
        return self._then(AnyMatch("any", require_function("any", condition)))

    def all(self, condition: Callable[[T_co], object]) -> Flow[bool]:
        """One element: whether ``condition`` holds for all elements. It does for an empty flow.

        Emits when: an element comes for which it does not hold, or upstream completes.
        Backpressures when: the answer is not wanted yet.
        Completes when: the answer is delivered.
        Cancels when: an element comes for which it does not hold, or the subscriber does, or
        ``condition`` raises.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: what ``condition`` raises.

        Example:
            >>> Flow.of("a", "b").all(str.islower).run_sync()
            True

        Marble:
            1-2-9-3|
            flow.all(X < "5")
            ----({False}|)
        """
        return self._then(AllMatch("all", require_function("all", condition)))

    def contains(self, element: object) -> Flow[bool]:
        """One element: whether there is ``element``, or one that is equal to it, as ``in`` has it.

        Emits when: such an element comes, or upstream completes.
        Backpressures when: the answer is not wanted yet.
        Completes when: the answer is delivered.
        Cancels when: such an element comes, or the subscriber does, or a comparison raises.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: what a comparison raises. ``TypeError`` at once for ``None``, which is no element.

        Example:
            >>> Flow.of("to", "be").contains("be").run_sync()
            True

        Marble:
            a-b-c-d|
            flow.contains("b")
            --({True}|)
        """
        if isinstance(element, Expression):
            raise TypeError("contains needs an element, and takes no expression; any does")
        sought = require_element("contains", element)
        return self._then(AnyMatch("contains", Expression("({x} is {0} or {x} == {0})", (sought,))))

    def collect(self, container: Callable[[list[T_co]], R]) -> Flow[R]:
        """One element: what ``container`` makes of the list of all elements.

        That may be ``set``, ``tuple``, ``sorted``, ``", ".join``, and ``dict`` for pairs.

        Emits when: upstream completes.
        Backpressures when: the result is not wanted yet.
        Completes when: the result is delivered.
        Cancels when: the subscriber does, or ``container`` raises.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: what ``container`` raises. ``TypeError`` if it returns ``None``.

        Example:
            >>> Flow.of(("a", 1), ("b", 2)).collect(dict).run_sync()
            {'a': 1, 'b': 2}

        Marble:
            c-a-b--|
            flow.collect(sorted)
            -------({abc}|)
        """
        return self._then(Collect("collect", require_callable("collect", container)))

    def to_list(self) -> Flow[list[T_co]]:
        """One element: the list of all elements.

        Emits when: upstream completes.
        Backpressures when: the list is not wanted yet.
        Completes when: the list is delivered.
        Cancels when: the subscriber does.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: those from upstream.

        Example:
            >>> Flow.of("a", "b").to_list().run_sync()
            ['a', 'b']

        Marble:
            a-b-c--|
            flow.to_list()
            -------({abc}|)
        """
        return self._then(Collect("to_list"))

    def for_each(self, function: Callable[[T_co], object]) -> Flow[Never]:
        """No elements: ``function`` is called for each of them, once the flow is run.

        Emits when: never.
        Backpressures when: nothing is wanted; one request is enough for all elements.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``function`` raises.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: what ``function`` raises.

        Example:
            >>> Flow.range(2).for_each(print).run_sync()
            0
            1

        Marble:
            a-b-c--|
            flow.for_each(print)
            -------|
        """
        return self._then(ForEach("for_each", require_function("for_each", function)))
