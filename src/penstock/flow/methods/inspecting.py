"""Inspecting without changing anything."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable, require_function, require_listener
from penstock.flow.operators.inspecting import (
    HEARD,
    AnnotateErrors,
    DoFinally,
    DoOnDiscard,
    DoOnError,
    DoOnNext,
    Log,
    Named,
    RunEnd,
    Tap,
)
from penstock.runtime import Clock
from penstock.runtime.arguments import (
    require_clock,
    require_int,
    require_kinds,
    require_seconds,
    require_text,
)
from penstock.runtime.drawing import figure

if TYPE_CHECKING:
    from penstock.flow.explain.explanation import ExplainedRun, Explanation
    from penstock.flow.flow import Flow

__all__ = ["Inspecting"]

T_co = TypeVar("T_co", covariant=True)


class Inspecting(BaseFlow[T_co]):
    """Inspecting without changing, and names."""

    __slots__ = ()

    def do_on_next(self, function: Callable[[T_co], object]) -> Flow[T_co]:
        """The same elements; ``function`` is called with each of them before it goes on.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``function`` raises.

        Demand: passes through as it is.

        Errors: what ``function`` raises.

        Example:
            >>> Flow.of("a", "b").do_on_next(print).count().run_sync()
            a
            b
            2

        Marble:
            a-b--|
            flow.do_on_next(print)
            a-b--|
        """
        return self._then(DoOnNext("do_on_next", require_function("do_on_next", function)))

    def do_on_error(self, function: Callable[[Exception], object]) -> Flow[T_co]:
        """The same elements; ``function`` is called with an error before that goes on.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream. What ``function`` raises takes the place of the error that it
        was told of, which is its context.

        Example:
            >>> flow = Flow.of("2", "x").map(int).do_on_error(print)
            >>> flow.on_error_return(-1).to_list().run_sync()
            invalid literal for int() with base 10: 'x'
            [2, -1]

        Marble:
            a-b--#
            flow.do_on_error(print)
            a-b--#
        """
        return self._then(DoOnError(require_callable("do_on_error", function)))

    def do_finally(self, function: Callable[[RunEnd], object]) -> Flow[T_co]:
        """The same elements; ``function`` is called once for each run, however that ends.

        It is called with ``"completed"``, ``"failed"`` or ``"cancelled"``, when upstream is
        closed, and before the end goes on. A downstream operator that has enough, such as
        ``take``, cancels too. A run begins when the subscriber has its
        subscription: one that it cancels within ``on_subscribe`` has never begun.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream. What ``function`` raises at the end takes the place of the
        end; what it raises when the run is cancelled goes to the hook for undelivered errors.

        Example:
            >>> Flow.range(3).do_finally(print).count().run_sync()
            completed
            3
            >>> Flow.range(3).do_finally(print).take(1).count().run_sync()
            cancelled
            1

        Marble:
            a-b--|
            flow.do_finally(print)
            a-b--|
        """
        return self._then(DoFinally(require_callable("do_finally", function)))

    def do_on_discard(
        self, function: Callable[[Any], object], *, only: type | tuple[type, ...] = object
    ) -> Flow[T_co]:
        """The same elements; ``function`` is called with those of a run that get lost on their way.

        Those are elements that an operator had taken, and will not deliver, since the run was
        cancelled or failed, or because they were dropped. It hears of all operators of the run,
        upstream and downstream of it, on whatever thread they run. So their elements may be of
        several kinds, of which ``only`` selects some. A function that is used in several places
        of a run is told of each element once; one that is made again for each inner flow is one
        more to tell, until the run ends. Elements that a ``filter`` leaves out, or ``take`` does
        not need, are not lost.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream. What ``function`` raises goes to the hook for undelivered
        errors.

        Example:
            >>> from penstock.testing import ManualPublisher, ManualSubscriber
            >>> source, subscriber = ManualPublisher(), ManualSubscriber(request=1)
            >>> flow = Flow.from_publisher(source).buffer(3).do_on_discard(print)
            >>> flow.subscribe(subscriber)
            >>> source.next("a", "b")
            >>> subscriber.cancel()
            a
            b

        Marble:
            a-b-c#
            flow.buffer(2).do_on_discard(print)
            --{ab}--(c#)
        """
        kinds = require_kinds("do_on_discard", only)
        return self._then(DoOnDiscard(require_callable("do_on_discard", function), kinds))

    def tap(self, listener: object) -> Flow[T_co]:
        """The same elements; ``listener`` hears all signals at this place, and has no say.

        It is an object with any of the methods of a subscriber: ``on_subscribe(subscription)``,
        whose ``request`` and ``cancel`` do nothing, ``on_next(element)``, ``on_error(error)``,
        ``on_complete()``; or with ``on_request(n)`` and ``on_cancel()`` for what goes the other
        way. It hears a signal before it goes on. All runs of the flow have the same listener.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does, or ``listener`` raises.

        Demand: passes through as it is.

        Errors: those from upstream, and what ``listener`` raises. ``TypeError`` at once if it has
        none of the methods.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> listener = ManualSubscriber()
            >>> Flow.range(3).tap(listener).map(X * 10).to_list().run_sync()
            [0, 10, 20]
            >>> listener.elements
            [0, 1, 2]

        Marble:
            a-b--|
            flow.tap(ManualSubscriber())
            a-b--|
        """
        return self._then(Tap("tap", require_listener("tap", listener, HEARD)))

    def log(self, name: str | None = None, *, level: int = logging.INFO) -> Flow[T_co]:
        """The same elements; each signal at this place is one line in the log.

        The logger is ``penstock.flow``. A line has the ``name``, or else what ``named`` upstream
        says, or else the line of code; and one of ``subscribe``, ``request 3``, ``next 'a'``,
        ``error ...``, ``complete``, ``cancel``.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream.

        Example:
            >>> import logging, sys
            >>> logger = logging.getLogger("penstock.flow")
            >>> handler = logging.StreamHandler(sys.stdout)
            >>> logger.addHandler(handler); logger.setLevel(logging.INFO)
            >>> Flow.of("a").log("letters").count().run_sync()
            letters: subscribe
            letters: request unbounded
            letters: next 'a'
            letters: complete
            1
            >>> logger.removeHandler(handler); logger.setLevel(logging.NOTSET)

        Marble:
            a-b--|
            flow.log("letters")
            a-b--|
        """
        title = self.plan.title if name is None else require_text("log", "name", name)
        return self._then(
            Log(title, require_int("log", "level (such as logging.INFO)", level, least=0))
        )

    def named(self, name: str, **tags: object) -> Flow[T_co]:
        """The same flow with a name, for ``explain``, for ``log``, and in the notes of errors.

        ``tags`` are more facts about it, such as ``topic="orders"``.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream, with a note that has the name.

        Example:
            >>> flow = Flow.of(1, 0).map(lambda x: 1 // x).named("shares", customer=7)
            >>> try:
            ...     flow.run_sync()
            ... except ZeroDivisionError as error:
            ...     print(error.__notes__[-1])
            in the flow shares (customer=7)

        Marble:
            a-b--#
            flow.named("letters")
            a-b--#
        """
        return self._then(Named(require_text("named", "name", name), tags))

    def explain(self) -> Explanation:
        """What the flow is made of, and what each of its runs waits for at this moment.

        The answer is data, and ``str`` of it says the same in words. For each run: the edges with
        what was requested, delivered and buffered, and one sentence about what waits for what.
        It is read off the runs when you ask; nothing is recorded while elements flow. So for a
        subscriber that asked for all, what was delivered is known only if no operator leaves out
        or adds elements and the source has a length or is another run; else it is not counted.
        Runs upstream of a boundary are part of those downstream. May be called from any thread.

        Emits when: it does not emit, it returns.
        Backpressures when: never.
        Completes when: it returns at once.
        Cancels when: never.

        Demand: asks for nothing.

        Errors: none.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> flow = Flow.range(100).filter(X % 2 == 0).map(X + 1).named("odd")
            >>> subscriber = ManualSubscriber(request=3)
            >>> flow.subscribe(subscriber)
            >>> print(flow.explain())
            the flow odd: range | filter map
            run 1: `map` waits for demand from your subscriber, for ... s
              map -> your subscriber: requested 3, delivered 3, waiting for ... s
            >>> subscriber.cancel()
        """
        from penstock.flow.explain.explain import explain

        return explain(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: the operators, those that run in one loop together."""
        explanation = self.explain()
        return figure(explanation.title, explanation.drawn_plan())

    def watch_stalls(
        self,
        after: float | timedelta,
        *,
        clock: Clock | None = None,
        report: Callable[[ExplainedRun], object] | None = None,
    ) -> Flow[T_co]:
        """The same elements; if none comes for long although some are wanted, the log says why.

        It checks every ``after`` seconds. If nothing has come since the last check it calls
        ``report`` with what ``explain`` knows of this run, once for each stall. Without ``report``
        its sentence is a warning to the logger ``penstock.flow``.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream. What ``report`` raises goes to the hook for undelivered
        errors.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> time, subscriber = VirtualTime(), ManualSubscriber(request=1)
            >>> flow = Flow.never().watch_stalls(10, clock=time, report=print)
            >>> flow.subscribe(subscriber)
            >>> time.advance(10)
            `never` waits to be woken, for ... s
            ...
            >>> subscriber.cancel()

        Marble:
            a------b-|
            flow.watch_stalls(3, clock=time, report=print)
            a------b-|
        """
        from penstock.flow.explain.watch_stalls import WatchStalls

        seconds = require_seconds("watch_stalls", "after", after)
        if report is not None:
            require_callable("watch_stalls", report)
        return self._then(WatchStalls(seconds, require_clock("watch_stalls", clock), report))

    def annotate_errors(self, text: str) -> Flow[T_co]:
        """The same elements; ``text`` is added to the notes of errors that pass.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream, with a note that has ``text`` and the line of this call.

        Example:
            >>> flow = Flow.of(1, 0).map(lambda x: 1 // x).annotate_errors("shares are known")
            >>> try:
            ...     flow.run_sync()
            ... except ZeroDivisionError as error:
            ...     print(error.__notes__[-1])
            passed annotate_errors('shares are known'), assembled at ...

        Marble:
            a-b--#
            flow.annotate_errors("letters are read")
            a-b--#
        """
        return self._then(AnnotateErrors(require_text("annotate_errors", "text", text)))
