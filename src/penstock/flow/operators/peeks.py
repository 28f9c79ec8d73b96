"""Stages that look at what goes by, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from penstock.flow.elements import Elements, Host, close, started, unclosed
from penstock.flow.operators.each import Applied
from penstock.flow.operators.names import Label
from penstock.flow.operators.recovery import caught
from penstock.flow.placed import plain
from penstock.flow.site import Site
from penstock.flow.stage import EACH_ALONE, Stage
from penstock.flow.weaving import Loop
from penstock.runtime import report_undelivered

__all__ = ["DoFinally", "DoOnDiscard", "DoOnError", "DoOnNext", "RunEnd"]

RunEnd: TypeAlias = Literal["completed", "failed", "cancelled"]
"""How a run ended."""


class DoOnNext(Applied):
    """The function is called, and ``x`` goes on as it is."""

    rerun = EACH_ALONE
    level = True

    def weave(self, loop: Loop, *values: str) -> None:
        """One call."""
        loop.line(self.result(*values))


class DoOnError(Stage):
    """The function is told of an error, which goes on."""

    rerun = EACH_ALONE

    def __init__(self, function: Callable[[Exception], object]) -> None:
        super().__init__("do_on_error")
        self._function = function

    def run(self, elements: Elements, host: Host) -> Elements:
        """Let elements pass."""
        try:
            yield from unclosed(elements)
        except Exception as error:
            self._function(caught(error))
            raise


class DoFinally(Stage):
    """The function is told how the run ended."""

    rerun = EACH_ALONE

    def __init__(self, function: Callable[[RunEnd], object]) -> None:
        super().__init__("do_finally")
        self._function = function

    def apply(self, elements: Elements, host: Host) -> Elements:
        """Begin at once: a run also ends if nothing was ever asked of it."""
        return started(self.run(elements, host))

    def run(self, elements: Elements, host: Host) -> Elements:
        """Let elements pass; what stands in front is closed before the function is told."""
        end: RunEnd = "cancelled"
        try:
            yield None
            yield from unclosed(elements)
            if not host.over:  # else it ended because nobody wants anything any more
                end = "completed"
        except Exception as error:
            caught(error)
            end = "failed"
            raise
        finally:
            try:
                close(elements)
            except Exception:
                if not host.over:  # then this error is the end of the stream
                    end = "failed"
                raise
            finally:
                self._function(end)


class DoOnDiscard(Label):
    """The function is told of elements that will not be delivered."""

    def __init__(self, function: Callable[[Any], object], only: type | tuple[type, ...]) -> None:
        super().__init__("do_on_discard")
        self.on_discard = DiscardListener(function, only, self.name, self.site)


@dataclass(frozen=True)
class DiscardListener:
    """Tells a function of elements of some kinds; two that tell the same are equal."""

    function: Callable[[Any], object]
    only: type | tuple[type, ...]
    name: str = field(compare=False)  # for notes: what fails in here fails in that operator
    site: Site | None = field(compare=False)

    def __hash__(self) -> int:
        try:
            return hash(self.function)
        except TypeError:  # such an object may still be called
            return hash(type(self.function))

    def __call__(self, element: Any) -> None:
        """Tell the function of an element; others that are discarded do not suffer from it."""
        element = plain(element)
        if isinstance(element, self.only):
            try:
                self.function(element)
            except Exception as error:
                report_undelivered(caught(error), "the function of do_on_discard raised")
