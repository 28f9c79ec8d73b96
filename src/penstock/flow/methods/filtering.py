"""Filtering: fewer elements."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from operator import eq
from typing import TYPE_CHECKING, Any, Final, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_function
from penstock.flow.expression import X
from penstock.flow.operators.filtering import (
    Distinct,
    DistinctUntilChanged,
    Filter,
    Single,
    Skip,
    SkipLast,
    SkipWhile,
    Take,
    TakeLast,
    TakeThrough,
    TakeWhile,
)
from penstock.flow.operators.reducing import Last
from penstock.flow.sources.creating import FromIterable
from penstock.runtime.arguments import require_flag, require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Filtering"]

T_co = TypeVar("T_co", covariant=True)

DISTINCT_KEYS: Final = 1_000_000
"""The most keys that ``distinct`` remembers, unless the user says otherwise."""


class Filtering(BaseFlow[T_co]):
    """What leaves elements out, by their place or by what was before."""

    __slots__ = ()

    def take(self, count: int) -> Flow[T_co]:
        """The first ``count`` elements. For ``count=0`` upstream is never run.

        Emits when: an element comes and fewer than ``count`` came before.
        Backpressures when: nothing is wanted.
        Completes when: ``count`` elements are delivered, or upstream completes.
        Cancels when: ``count`` elements are delivered, or the subscriber does.

        Demand: passes through, never more than what is left of ``count``.

        Errors: ``ValueError`` at once for a negative ``count``.

        Example:
            >>> Flow.range(100).take(3).to_list().run_sync()
            [0, 1, 2]

        Marble:
            a-b-c-d|
            flow.take(2)
            a-(b|)
        """
        if require_int("take", "count", count, least=0) == 0:
            return BaseFlow._from(FromIterable("take", ()))
        return self._then(Take("take", count))

    def take_while(
        self, condition: Callable[[T_co], object], *, inclusive: bool = False
    ) -> Flow[T_co]:
        """The elements before the first one for which ``condition`` does not hold.

        With ``inclusive`` that one comes as well, as the last.

        Emits when: an element comes for which it holds; with ``inclusive``, for the last one, too.
        Backpressures when: nothing is wanted.
        Completes when: an element comes for which it does not hold, or upstream completes.
        Cancels when: an element comes for which it does not hold, or the subscriber does, or
            ``condition`` raises.

        Demand: passes through as it is.

        Errors: what ``condition`` raises.

        Example:
            >>> Flow.of(1, 2, 9, 3).take_while(lambda x: x < 5).to_list().run_sync()
            [1, 2]
            >>> Flow.of(1, 2, 9, 3).take_while(X < 5, inclusive=True).to_list().run_sync()
            [1, 2, 9]

        Marble:
            1-2-9-3|
            flow.take_while(X < "5")
            1-2-|
        """
        kind = TakeThrough if require_flag("take_while", "inclusive", inclusive) else TakeWhile
        return self._then(kind("take_while", require_function("take_while", condition)))

    def take_last(self, count: int) -> Flow[T_co]:
        """The last ``count`` elements, or all if there are fewer. It holds as many.

        Emits when: upstream has completed, one element for each that is wanted.
        Backpressures when: nothing is wanted.
        Completes when: upstream has completed and the last element is delivered.
        Cancels when: the subscriber does. The elements that it holds are discarded then.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: those from upstream, in place of the elements that it holds. ``ValueError`` at once
        for a negative ``count``.

        Example:
            >>> Flow.range(100).take_last(3).to_list().run_sync()
            [97, 98, 99]

        Marble:
            a-b-c--|
            flow.take_last(2)
            -------(bc|)
        """
        return self._then(TakeLast("take_last", require_int("take_last", "count", count, least=0)))

    def skip(self, count: int) -> Flow[T_co]:
        """All elements but the first ``count``.

        Emits when: an element comes and ``count`` came before.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: ``ValueError`` at once for a negative ``count``.

        Example:
            >>> Flow.range(5).skip(3).to_list().run_sync()
            [3, 4]

        Marble:
            a-b-c-d|
            flow.skip(2)
            ----c-d|
        """
        return self._then(Skip("skip", require_int("skip", "count", count, least=0)))

    def skip_last(self, count: int) -> Flow[T_co]:
        """All elements but the last ``count``. It holds as many.

        Emits when: an element comes and ``count`` are held: the oldest of them.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes. The elements that it holds are discarded then.
        Cancels when: the subscriber does.

        Demand: passes through, and ``count`` more for those that it holds.

        Errors: those from upstream. ``ValueError`` at once for a negative ``count``.

        Example:
            >>> Flow.range(5).skip_last(3).to_list().run_sync()
            [0, 1]

        Marble:
            a-b-c-d|
            flow.skip_last(2)
            ----a-b|
        """
        return self._then(SkipLast("skip_last", require_int("skip_last", "count", count, least=0)))

    def skip_while(self, condition: Callable[[T_co], object]) -> Flow[T_co]:
        """The first element for which ``condition`` does not hold, and all after it.

        Emits when: an element comes and ``condition`` did not hold for it or for one before.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``condition`` raises.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: what ``condition`` raises.

        Example:
            >>> Flow.of(1, 2, 9, 3).skip_while(lambda x: x < 5).to_list().run_sync()
            [9, 3]

        Marble:
            1-2-9-3|
            flow.skip_while(X < "5")
            ----9-3|
        """
        return self._then(SkipWhile("skip_while", require_function("skip_while", condition)))

    def first(self, condition: Callable[[T_co], object] | None = None) -> Flow[T_co]:
        """The first element, or the first one for which ``condition`` holds; none if there is none.

        Where there has to be one, ``single`` says so, or ``switch_if_empty(Flow.error(...))``.

        Emits when: that element comes.
        Backpressures when: nothing is wanted.
        Completes when: the element is delivered, or upstream completes.
        Cancels when: the element is delivered, or the subscriber does, or ``condition`` raises.

        Demand: one element; with a condition, one after the other until it holds.

        Errors: what ``condition`` raises.

        Example:
            >>> Flow.of(1, 2, 9, 3).first(lambda x: x > 5).run_sync()
            9

        Marble:
            1-2-9-3|
            flow.first(X > "5")
            ----(9|)
        """
        if condition is None:
            return self._then(Take("first", 1))
        matching = self._then(Filter("first", require_function("first", condition)))
        return matching._then(Take("first", 1))

    def single(self) -> Flow[T_co]:
        """The only element; an error if there is none, or more than one.

        Emits when: upstream completes after one element.
        Backpressures when: the element is not wanted yet.
        Completes when: the element is delivered.
        Cancels when: a second element comes, or the subscriber does.

        Demand: two elements, to see whether there is a second.

        Errors: ``ValueError`` if upstream completes without an element, or as soon as a second one
        comes. Those from upstream.

        Example:
            >>> Flow.of("only").single().run_sync()
            'only'
            >>> Flow.of("first", "second").single().run_sync()
            Traceback (most recent call last):
            ...
            ValueError: single needs exactly one element, and two came, 'first' and 'second'; ...

        Marble:
            --a-|
            flow.single()
            ----(a|)
        """
        return self._then(Single("single"))

    def last(self) -> Flow[T_co]:
        """The last element; none if there is none.

        Emits when: upstream completes.
        Backpressures when: the element is not wanted yet.
        Completes when: the element is delivered, or upstream completes without one.
        Cancels when: the subscriber does.

        Demand: asks for all elements, within the bounds of the boundaries upstream.

        Errors: those from upstream.

        Example:
            >>> Flow.range(5).last().run_sync()
            4

        Marble:
            a-b-c--|
            flow.last()
            -------(c|)
        """
        return self._then(Last("last"))

    def distinct(
        self,
        key: Callable[[T_co], Hashable] | None = None,
        *,
        capacity: int = DISTINCT_KEYS,
    ) -> Flow[T_co]:
        """The elements that are equal to none before, or whose ``key`` is.

        It remembers up to ``capacity`` keys, which are the elements themselves without ``key``.

        Emits when: an element comes with a new key.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or a key has no hash, or there are too many keys, or
            ``key`` raises.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: ``OverflowError`` if there are more than ``capacity`` different keys. ``TypeError``
        if a key has no hash. What ``key`` raises.

        Example:
            >>> Flow.of("a", "B", "A", "b").distinct(str.lower).to_list().run_sync()
            ['a', 'B']

        Marble:
            a-b-a-c-b|
            flow.distinct()
            a-b---c--|
        """
        function = require_function("distinct", X if key is None else key)
        most = require_int("distinct", "capacity", capacity)
        return self._then(Distinct("distinct", function, most))

    def distinct_until_changed(
        self,
        key: Callable[[T_co], Any] | None = None,
        *,
        equal: Callable[[Any, Any], object] | None = None,
    ) -> Flow[T_co]:
        """The elements that are not equal to the one before them, or whose ``key`` is not.

        With ``equal``, that says whether they are: ``equal(previous, current)`` is called with the
        keys, or with the elements if there is no ``key``. The previous one is the last that was
        not left out, so elements that change little by little come from time to time.

        Emits when: the first element comes, or one with another key than the one before it.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``key`` or ``equal`` raises.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: what ``key``, ``equal``, or a comparison, raises.

        Example:
            >>> Flow.of(1, 1, 2, 2, 1).distinct_until_changed().to_list().run_sync()
            [1, 2, 1]
            >>> readings = Flow.of(20.0, 20.1, 20.3, 20.6, 20.5)
            >>> readings.distinct_until_changed(
            ...     equal=lambda previous, current: abs(current - previous) < 0.5
            ... ).to_list().run_sync()
            [20.0, 20.6]

        Marble:
            a-a-b-b-a|
            flow.distinct_until_changed()
            a---b---a|
        """
        operator = "distinct_until_changed"
        function = require_function(operator, X if key is None else key)
        compare = require_function(
            operator, eq if equal is None else equal, arguments=("{a}", "{x}")
        )
        return self._then(DistinctUntilChanged(operator, function, compare))
