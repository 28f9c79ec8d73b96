"""Long chains of stages, pulled in sections, so that none of them is deep on the stack.

A stage pulls the one upstream from within its own frame: a thousand of them would be two thousand
frames. So a long chain is cut into sections with a buffer between each two. A section that finds
the buffer upstream of it empty is pending, which leads out of all its frames; then the trampoline
pulls the section upstream, and puts what that gives into the buffer.
"""

from __future__ import annotations

from contextlib import ExitStack
from operator import length_hint
from typing import Any, Final

from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, discard, started

__all__ = ["SECTION", "Trampoline"]

SECTION: Final = 64
"""The most parts of a section: at two frames each, far from Python's limit of 1,000."""

NOTHING: Final = object()
END: Final = object()


class SectionBuffer:
    """What lies between two sections: one element at most, or the end.

    ``section``  the section upstream, which brings elements here
    ``asked``    whether the section downstream, when it was last entered, found nothing here
    """

    __slots__ = (
        "_ended", "_error", "_held", "_left", "_run", "_sized", "_upstream", "asked", "section",
    )  # fmt: skip

    def __init__(
        self, section: Elements, upstream: tuple[SectionBuffer, ...], run: RunContext
    ) -> None:
        self.section = section
        self.asked = False
        self._upstream = upstream
        self._run = run
        self._sized = run.sized
        self._left = 1
        self._held: Any = NOTHING
        self._ended = False
        self._error: Exception | None = None

    def put(self, element: Any) -> None:
        """Keep what the section upstream gave: an element, or ``END``."""
        if element is END:
            self._ended = True
        else:
            self._held = element

    def fail(self, error: Exception) -> None:
        """The section upstream has failed."""
        self._ended = True
        self._error = error

    def __length_hint__(self) -> int:
        """About how many elements are left, as of the last count; 0 only if none is."""
        return self._left

    def count(self) -> None:
        """Count what is left, given that the buffers upstream have done so."""
        coming = 0 if self._ended else 1 if self._sized is None else length_hint(self._sized, 1)
        self._left = coming + (self._held is not NOTHING)

    def elements(self) -> Elements:
        """What the section downstream pulls."""
        return started(self._elements())

    def _elements(self) -> Elements:
        try:
            yield None
            while self._held is not NOTHING or not self._ended:
                if self._held is NOTHING:
                    self.asked = True
                    yield PENDING
                else:
                    element, self._held = self._held, NOTHING
                    yield element
            if self._error is not None:
                raise self._error
        finally:
            self._error = None  # whose traceback has this frame
            self._close()

    def _close(self) -> None:
        """Close what is upstream, the origin first: then none has much to close itself."""
        with ExitStack() as closing:
            if self._held is not NOTHING:
                closing.callback(discard, self._run, (self._held,))
            closing.callback(close, self.section)
            for buffer in reversed(self._upstream):
                closing.callback(close, buffer.section)


class Trampoline:
    """The sections of one run, from the origin on."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._buffers: list[SectionBuffer] = []
        self._sized: object = None

    def end_section(self, section: Elements) -> Elements:
        """End a section; the next one begins with what this returns."""
        buffer = SectionBuffer(section, tuple(self._buffers), self._run)
        self._buffers.append(buffer)
        if self._run.sized is not None:
            self._run.sized = buffer
        return buffer.elements()

    def run_through(self, last: Elements) -> Elements:
        """What the last section gives."""
        if not self._buffers:
            return last
        if self._run.sized is not None:
            self._sized, self._run.sized = self._run.sized, self
        return started(self._given_by(last))

    def __length_hint__(self) -> int:
        """About how many elements are left; 0 only if none is."""
        for buffer in self._buffers:  # from the origin on: none has to ask farther than one section
            buffer.count()
        return length_hint(self._sized, 1)

    def _given_by(self, last: Elements) -> Elements:
        try:
            yield None
            while not self._run.over:
                given = self._enter(last, len(self._buffers))
                if given is END:
                    return
                if given is not PENDING or not self._fill():
                    yield given
        finally:
            close(last)

    def _fill(self) -> bool:
        """Bring something to the last buffer, if it was asked for and is there now."""
        last = waiting = len(self._buffers)
        while waiting and self._buffers[waiting - 1].asked:
            buffer = self._buffers[waiting - 1]
            try:
                given = self._enter(buffer.section, waiting - 1)
            except Exception as error:
                buffer.fail(error)
            else:
                if given is PENDING:
                    waiting -= 1
                    continue
                buffer.put(given)
            if waiting == last:
                return True
            waiting += 1
        return False

    def _enter(self, section: Elements, number: int) -> Any:
        """Pull a section, which may then ask the buffer upstream of it."""
        if number:
            self._buffers[number - 1].asked = False
        return next(section, END)
