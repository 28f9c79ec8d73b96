"""A listener beside the stream: it hears every signal and has no say."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from penstock.api import UNBOUNDED
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started
from penstock.flow.engine.stage import EACH_ALONE, Stage
from penstock.flow.operators.error_handling import caught
from penstock.runtime import shorten

__all__ = ["HEARD", "Log", "Tap"]

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
            self._write(f"next {shorten(element)}")

    def on_error(self, error: Exception) -> None:
        self._write(f"error {shorten(error)}")

    def on_complete(self) -> None:
        self._write("complete")

    def on_cancel(self) -> None:
        self._write("cancel")

    def _write(self, signal: str) -> None:
        logger.log(self._level, "%s: %s", self._title, signal)
