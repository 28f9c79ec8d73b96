"""Stages that change nothing: ``do_on_*``, ``named``, ``annotate_errors``, ``tap``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from penstock.api import UNBOUNDED
from penstock.flow.engine.call_site import CallSite
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started, unclosed
from penstock.flow.engine.stage import EACH_ALONE, FusedStage, Stage
from penstock.flow.operators.error_handling import caught
from penstock.flow.operators.transforming import FunctionStage
from penstock.flow.resume.resumption import plain
from penstock.runtime import report_undelivered, shorten, shown_element

__all__ = [
    "HEARD",
    "AnnotateErrors",
    "Annotation",
    "DoFinally",
    "DoOnDiscard",
    "DoOnError",
    "DoOnNext",
    "Log",
    "Named",
    "RunEnd",
    "Tap",
]

logger = logging.getLogger("penstock.flow")

HEARD: Final = ("on_subscribe", "on_request", "on_next", "on_error", "on_complete", "on_cancel")
"""What a listener may have: the methods of a subscriber, and what it calls in return."""


class IgnoredSubscription:
    """The subscription that a listener gets: it can neither request nor cancel."""

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        pass


UNHEARD: Final = IgnoredSubscription()


def silent(*arguments: object) -> None:
    """Do nothing, in place of a method that a listener does not have."""


class Tap(Stage):
    """Tells a listener of each signal before it goes on, on the thread that pulls the run."""

    rerun = EACH_ALONE
    waits = True  # so that a boundary gives it a run whose `wanted` says what was requested

    def __init__(self, name: str, listener: object) -> None:
        super().__init__(name)
        self.listener = listener

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Begin at once: the subscription is a signal, too."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Let elements pass."""
        heard = methods_of(self.listener)
        on_next = heard["on_next"]
        demand = TapDemand(run, heard["on_request"])
        end = "on_cancel"
        failure: tuple[Exception, ...] = ()
        try:
            heard["on_subscribe"](UNHEARD)
            yield None
            demand.report()
            for x in elements:
                if x is not PENDING:
                    demand.given += 1
                    on_next(x)
                yield x
                demand.report()
            if not run.over:  # else it ended because nobody wants anything any more
                end = "on_complete"
        except Exception as error:
            end, failure = "on_error", (caught(error),)
            raise
        finally:
            try:
                close(elements)
            finally:
                heard[end](*failure)
                del failure  # whose traceback has this frame


class TapDemand:
    """What was requested so far, as a stage sees it.

    The listener is told on the thread that pulls the run.
    """

    def __init__(self, run: RunContext, on_request: Callable[..., object]) -> None:
        self._run = run
        self._on_request = on_request
        self._told = 0
        self.given = 0

    def report(self) -> None:
        """Tell the listener how much more is wanted since the last time."""
        requested = min(self.given + self._run.wanted, UNBOUNDED)
        if requested > self._told and self._told < UNBOUNDED:
            more = UNBOUNDED if requested == UNBOUNDED else requested - self._told
            self._told = requested
            self._on_request(more)


def methods_of(listener: object) -> dict[str, Callable[..., object]]:
    """The methods of a listener, with ``silent`` for those that it does not have."""
    return {name: getattr(listener, name, None) or silent for name in HEARD}


class Log(Tap):
    """Writes one line for each signal to the log."""

    def __init__(self, title: str, level: int) -> None:
        super().__init__("log", None)
        self.listener = SignalLogger(title or str(self.site), level)


class SignalLogger:
    """A listener that writes one line for each signal."""

    def __init__(self, title: str, level: int) -> None:
        self._title = title
        self._level = level

    def on_subscribe(self, subscription: object) -> None:
        self._write("subscribe")

    def on_request(self, n: int) -> None:
        self._write("request unbounded" if n == UNBOUNDED else f"request {n}")

    def on_next(self, element: Any) -> None:
        if logger.isEnabledFor(self._level):
            self._write(f"next {shown_element(element)}")

    def on_error(self, error: Exception) -> None:
        self._write(f"error {shorten(error)}")

    def on_complete(self) -> None:
        self._write("complete")

    def on_cancel(self) -> None:
        self._write("cancel")

    def _write(self, signal: str) -> None:
        logger.log(self._level, "%s: %s", self._title, signal)


class Annotation(FusedStage):
    """A stage that elements pass as if it were not there."""

    rerun = EACH_ALONE
    one_to_one = True
    forgets = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """Add no code: there is nothing to do for an element."""


class Named(Annotation):
    """The name of the flow that ends here."""

    def __init__(self, title: str, tags: dict[str, object]) -> None:
        super().__init__("named")
        self.title = title + tags_in_words(tags)
        self.mark = f"in the flow {self.title}"


class AnnotateErrors(Annotation):
    """A text for the errors that pass it."""

    def __init__(self, text: str) -> None:
        super().__init__("annotate_errors")
        self.mark = f"passed annotate_errors({text!r}), assembled at {self.site}"


def tags_in_words(tags: dict[str, object]) -> str:
    """``(key=value, ...)``, or nothing."""
    if not tags:
        return ""
    return f" ({', '.join(f'{key}={shorten(value)}' for key, value in tags.items())})"


RunEnd: TypeAlias = Literal["completed", "failed", "cancelled"]
"""How a run ended."""


class DoOnNext(FunctionStage):
    """The function is called, and ``x`` goes on unchanged."""

    rerun = EACH_ALONE
    one_to_one = True
    forgets = True

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One call."""
        loop.line(self.result(*values))


class DoOnError(Stage):
    """The function is told of an error, which goes on; on the thread that pulls the run."""

    rerun = EACH_ALONE

    def __init__(self, function: Callable[[Exception], object]) -> None:
        super().__init__("do_on_error")
        self._function = function

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Let elements pass."""
        try:
            yield from unclosed(elements)
        except Exception as error:
            self._function(caught(error))
            raise


class DoFinally(Stage):
    """The function is told how the run ended.

    It is called on the thread that pulls the run, or closes it.
    """

    rerun = EACH_ALONE

    def __init__(self, function: Callable[[RunEnd], object]) -> None:
        super().__init__("do_finally")
        self._function = function

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Begin at once: a run also ends if nothing was ever asked of it."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Let elements pass; upstream is closed before the function is told."""
        end: RunEnd = "cancelled"
        try:
            yield None
            yield from unclosed(elements)
            if not run.over:  # else it ended because nobody wants anything any more
                end = "completed"
        except Exception as error:
            caught(error)
            end = "failed"
            raise
        finally:
            try:
                close(elements)
            except Exception:
                if not run.over:  # then this error is the end of the stream
                    end = "failed"
                raise
            finally:
                self._function(end)


class DoOnDiscard(Annotation):
    """The function is told of elements that will not be delivered, on the thread that discards."""

    def __init__(self, function: Callable[[Any], object], only: type | tuple[type, ...]) -> None:
        super().__init__("do_on_discard")
        self.on_discard = DiscardListener(function, only, self.name, self.site)


@dataclass(frozen=True)
class DiscardListener:
    """Tells a function of elements of some kinds, on the thread that discards them.

    Two that tell the same function are equal.
    """

    function: Callable[[Any], object]
    only: type | tuple[type, ...]
    name: str = field(compare=False)  # for notes: what fails in here fails in that operator
    site: CallSite | None = field(compare=False)

    def __hash__(self) -> int:
        try:
            return hash(self.function)
        except TypeError:  # such an object may still be called
            return hash(type(self.function))

    def __call__(self, element: Any) -> None:
        """Tell the function of an element; what it raises does not keep others from being told."""
        element = plain(element)
        if isinstance(element, self.only):
            try:
                self.function(element)
            except Exception as error:
                report_undelivered(caught(error), "the function of do_on_discard raised")
