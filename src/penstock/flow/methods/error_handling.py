"""Error handling, and empty flows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable, require_element, require_publisher
from penstock.flow.operators.error_handling import (
    OnErrorMap,
    OnErrorResume,
    Repeat,
    Retry,
    RetryOnError,
    SwitchIfEmpty,
    require_retry,
)
from penstock.flow.operators.on_error_continue import OnErrorContinue, require_covered
from penstock.runtime import Clock
from penstock.runtime.arguments import ErrorKinds, require_clock, require_error_kinds, require_int

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["ErrorHandling"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class ErrorHandling(BaseFlow[T_co]):
    """What to do about a flow that fails, or that has no elements."""

    __slots__ = ()

    def retry(self, policy: int | Retry = 3, clock: Clock | None = None) -> Flow[T_co]:
        """The same elements; after an error, upstream is run again from its start.

        A number is how often to do so, at once. A ``Retry`` also says how long to wait and after
        which errors. Elements that were delivered before an error are not taken back.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, also while it waits.

        Demand: passes through as it is; what a failed run left undelivered is asked of the next.

        Errors: the last one, when no run is left, and one that the policy does not cover, with a
        note that says how often it was tried. What the policy's predicate raises.

        Example:
            >>> calls = iter([ConnectionError("down"), ConnectionError("down"), "up"])
            >>> def call():
            ...     result = next(calls)
            ...     if isinstance(result, Exception):
            ...         raise result
            ...     return result
            >>> policy = Retry(backoff=0.001, only=ConnectionError)
            >>> Flow.from_callable(call).retry(policy).run_sync()
            'up'

        Marble:
            a-#
            flow.retry(Retry(1, backoff=3, jitter=0), clock=time)
            a----a-#
        """
        return BaseFlow._from(
            RetryOnError(self, require_retry(policy), require_clock("retry", clock))
        )

    def repeat(self, times: int | None = None) -> Flow[T_co]:
        """The elements from upstream, which is run ``times`` times, or without end.

        Emits when: an element comes.
        Backpressures when: nothing is wanted; no new run begins.
        Completes when: the last run does.
        Cancels when: the subscriber does.

        Demand: passes through as it is; what a run did not deliver is asked of the next.

        Errors: those from upstream, which end it. ``ValueError`` at once for fewer than 1 run.

        Example:
            >>> Flow.of(1, 2).repeat(2).to_list().run_sync()
            [1, 2, 1, 2]

        Marble:
            a-b-|
            flow.repeat(2)
            a-b-a-b-|
        """
        if times is not None:
            require_int("repeat", "times", times)
        return BaseFlow._from(Repeat(self, times))

    def on_error_resume(
        self, function: Callable[[Exception], Publisher[R]], *, only: ErrorKinds = Exception
    ) -> Flow[T_co | R]:
        """The same elements; in place of an error, those of the publisher ``function(error)``.

        ``only`` is the kind of error, or kinds, to which it applies.

        Emits when: an element comes, from upstream or from the publisher.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes, or the publisher that took its place does.
        Cancels when: the subscriber does.

        Demand: passes through; what is left of it at the error is asked of the publisher.

        Errors: those that are not of the kind ``only``; what ``function`` raises, with the first
        error as its context; those of the publisher.

        Example:
            >>> flow = Flow.of(4, 0).map(lambda x: 8 / x)
            >>> flow.on_error_resume(lambda error: Flow.of(str(error))).to_list().run_sync()
            [2.0, 'division by zero']

        Marble:
            a-b-#
            x-y|
            flow.on_error_resume(lambda error: other)
            a-b-x-y|
        """
        return self._then(
            OnErrorResume(
                "on_error_resume",
                require_callable("on_error_resume", function),
                require_error_kinds("on_error_resume", only),
            )
        )

    def on_error_return(self, element: R, *, only: ErrorKinds = Exception) -> Flow[T_co | R]:
        """The same elements; in place of an error, ``element``.

        ``only`` is the kind of error, or kinds, to which it applies.

        Emits when: an element comes, or upstream fails.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes, or ``element`` is delivered.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those that are not of the kind ``only``.

        Example:
            >>> Flow.of(4, 0).map(lambda x: 8 / x).on_error_return(0.0).to_list().run_sync()
            [2.0, 0.0]

        Marble:
            a-b-#
            flow.on_error_return("x")
            a-b-(x|)
        """
        instead = BaseFlow.flow.of(require_element("on_error_return", element))
        return self._then(
            OnErrorResume(
                "on_error_return",
                lambda error: instead,
                require_error_kinds("on_error_return", only),
            )
        )

    def on_error_map(
        self, function: Callable[[Exception], Exception], *, only: ErrorKinds = Exception
    ) -> Flow[T_co]:
        """The same elements; in place of an error, the one that ``function(error)`` returns.

        ``only`` is the kind of error, or kinds, to which it applies.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: what ``function`` returns, with the first error as its cause; what it raises, with
        the first error as its context; ``TypeError`` if it returns no exception.

        Example:
            >>> flow = Flow.of(0).map(lambda x: 8 / x)
            >>> flow.on_error_map(lambda error: ValueError("no data")).run_sync()
            Traceback (most recent call last):
            ...
            ValueError: no data
            ...

        Marble:
            a-b-#
            flow.on_error_map(lambda error: ValueError("no data"))
            a-b-#
        """
        return self._then(
            OnErrorMap(
                require_callable("on_error_map", function),
                require_error_kinds("on_error_map", only),
            )
        )

    def on_error_continue(
        self, report: Callable[[Any, Exception], object], *, only: ErrorKinds = Exception
    ) -> Flow[T_co]:
        """The same without the elements at which a function upstream fails; they are reported.

        It covers the functions of ``map``, ``map_not_none``, ``filter`` and ``do_on_next`` that
        stand directly upstream, one after the other; ``named``, ``annotate_errors`` and
        ``do_on_discard`` may stand between them. That ends at any other operator, be it another
        ``on_error_continue``: its errors, and all from farther upstream, end the flow as ever.

        ``report(element, error)`` gets the element as it was upstream of the first of these
        functions, so that it can be kept and tried again; a note of the error says which one
        failed. ``only`` is the kind of error, or kinds, to which it applies. For a function that
        remembers, ``scan`` for instance, or one that is awaited, catch the error within the
        function; for ``flat_map``, end the inner flows with ``on_error_resume``.

        Emits when: an element has passed all these functions.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``report`` raises.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: those that it does not cover, and what ``report`` raises, with the error that was
        to be reported as its context. ``ValueError`` at once if none of these operators stands
        directly upstream.

        Example:
            >>> flow = Flow.of("4", "x", "0", "2").map(int).map(lambda x: 8 / x)
            >>> kept = flow.on_error_continue(lambda text, error: print(f"{text}: {error}"))
            >>> kept.to_list().run_sync()
            x: invalid literal for int() with base 10: 'x'
            0: division by zero
            [2.0, 4.0]

        Marble:
            4-x-2-|
            flow.map(int).on_error_continue(print)
            4---2-|
        """
        return self._then(
            OnErrorContinue(
                require_callable("on_error_continue", report),
                require_error_kinds("on_error_continue", only),
                require_covered(self),
            )
        )

    def default_if_empty(self, element: R) -> Flow[T_co | R]:
        """The same elements, or ``element`` if there are none.

        Emits when: an element comes, or upstream completes without any.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes and something is delivered.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream. ``TypeError`` at once for ``None``, which is no element.

        Example:
            >>> Flow.empty().default_if_empty("nothing").to_list().run_sync()
            ['nothing']

        Marble:
            ---|
            flow.default_if_empty("x")
            ---(x|)
        """
        instead = BaseFlow.flow.of(require_element("default_if_empty", element))
        return self._then(SwitchIfEmpty("default_if_empty", instead))

    def switch_if_empty(self, publisher: Publisher[R]) -> Flow[T_co | R]:
        """The same elements, or those of ``publisher`` if there are none.

        Emits when: an element comes, from upstream or from ``publisher``.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes after an element, or else ``publisher`` does.
        Cancels when: the subscriber does.

        Demand: passes through as it is; ``publisher`` is subscribed to only if it is needed.

        Errors: those from upstream; those of ``publisher``, if it is needed.

        Example:
            >>> Flow.empty().switch_if_empty(Flow.range(3)).to_list().run_sync()
            [0, 1, 2]

        Marble:
            ---|
            x-y|
            flow.switch_if_empty(other)
            ---x-y|
        """
        return self._then(
            SwitchIfEmpty("switch_if_empty", require_publisher("switch_if_empty", publisher))
        )
