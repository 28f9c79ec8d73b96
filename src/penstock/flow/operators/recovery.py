"""Stages that turn an error into something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import Publisher
from penstock.demand import shorten, without_own_frames
from penstock.flow.arguments import ErrorKinds, require_publisher
from penstock.flow.elements import Elements, Host, unclosed
from penstock.flow.fluent import opened
from penstock.flow.site import with_note
from penstock.flow.stage import EACH_ALONE, Stage

__all__ = ["OnErrorMap", "OnErrorResume", "caught"]


class OnErrorResume(Stage):
    """In place of an error, the elements of another publisher."""

    waits = True

    def __init__(
        self, name: str, function: Callable[[Exception], Publisher[Any]], only: ErrorKinds
    ) -> None:
        super().__init__(name)
        self._function = function
        self._only = only

    def run(self, elements: Elements, host: Host) -> Elements:
        """Within the handling of the error only the function is called, not what it returns."""
        try:
            yield from unclosed(elements)
            return
        except self._only as error:
            publisher = require_publisher(self.name, self._function(caught(error)))
        yield from opened(publisher, host)


class OnErrorMap(Stage):
    """In place of an error, another one."""

    rerun = EACH_ALONE

    def __init__(self, function: Callable[[Exception], Exception], only: ErrorKinds) -> None:
        super().__init__("on_error_map")
        self._function = function
        self._only = only

    def run(self, elements: Elements, host: Host) -> Elements:
        """The first error is the cause of the other one."""
        try:
            yield from unclosed(elements)
        except self._only as error:
            replacement = self._function(caught(error))
            try:
                if replacement is error:
                    raise
                if not isinstance(replacement, Exception):
                    raise TypeError(
                        f"on_error_map: the function must return an exception, "
                        f"not {shorten(replacement)}"
                    ) from error
                raise replacement from error
            finally:
                del replacement  # which leads to this frame, be it by its cause


def caught(error: Exception) -> Exception:
    """``error``, as a function of the user gets to see it."""
    return without_own_frames(with_note(error))
