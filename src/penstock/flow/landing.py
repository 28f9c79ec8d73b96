"""Long chains of stages, pulled in sections, so that none of them stands deep on the stack.

A stage pulls the one in front of it from within its own frame: a thousand of them would be two
thousand frames. So a long chain is cut by landings, as a long staircase is. A section that finds
the landing below it empty is pending, which leads out of all its frames; then the section below
is pulled, and what it gives is laid down there.
"""

from __future__ import annotations

from contextlib import ExitStack
from operator import length_hint
from typing import Any, Final

from penstock.flow.elements import PENDING, Elements, Host, close, discard, started

__all__ = ["SECTION", "Staircase"]

SECTION: Final = 64
"""The most parts of a section: at two frames each, far from Python's limit of 1,000."""

NOTHING: Final = object()
END: Final = object()


class Landing:
    """What lies between two sections: one element at most, or the end.

    ``below``  the section that brings elements here
    ``asked``  whether the section above, when it was last entered, found nothing here
    """

    __slots__ = (
        "_ended", "_error", "_held", "_host", "_left", "_lower", "_sized", "asked", "below",
    )  # fmt: skip

    def __init__(self, below: Elements, lower: tuple[Landing, ...], host: Host) -> None:
        self.below = below
        self.asked = False
        self._lower = lower
        self._host = host
        self._sized = host.sized
        self._left = 1
        self._held: Any = NOTHING
        self._ended = False
        self._error: Exception | None = None

    def put(self, element: Any) -> None:
        """Lay down what the section below gave: an element, or ``END``."""
        if element is END:
            self._ended = True
        else:
            self._held = element

    def fail(self, error: Exception) -> None:
        """The section below has failed."""
        self._ended = True
        self._error = error

    def __length_hint__(self) -> int:
        """About how many elements are left, as of the last count; 0 only if none is."""
        return self._left

    def count(self) -> None:
        """Count what is left, given that the landings below have done so."""
        coming = 0 if self._ended else 1 if self._sized is None else length_hint(self._sized, 1)
        self._left = coming + (self._held is not NOTHING)

    def elements(self) -> Elements:
        """What the section above pulls."""
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
        """Close what stands in front, from the origin up: then none has much to close itself."""
        with ExitStack() as closing:
            if self._held is not NOTHING:
                closing.callback(discard, self._host, (self._held,))
            closing.callback(close, self.below)
            for landing in reversed(self._lower):
                closing.callback(close, landing.below)


class Staircase:
    """The sections of one run, from the origin up."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._landings: list[Landing] = []
        self._sized: object = None

    def land(self, section: Elements) -> Elements:
        """End a section; the next one begins with what this returns."""
        landing = Landing(section, tuple(self._landings), self._host)
        self._landings.append(landing)
        if self._host.sized is not None:
            self._host.sized = landing
        return landing.elements()

    def up_to(self, last: Elements) -> Elements:
        """What the uppermost section gives."""
        if not self._landings:
            return last
        if self._host.sized is not None:
            self._sized, self._host.sized = self._host.sized, self
        return started(self._given_by(last))

    def __length_hint__(self) -> int:
        """About how many elements are left; 0 only if none is."""
        for landing in self._landings:  # from below: none of them looks farther than one section
            landing.count()
        return length_hint(self._sized, 1)

    def _given_by(self, last: Elements) -> Elements:
        try:
            yield None
            while not self._host.over:
                given = self._enter(last, len(self._landings))
                if given is END:
                    return
                if given is not PENDING or not self._bring_up():
                    yield given
        finally:
            close(last)

    def _bring_up(self) -> bool:
        """Bring something to the uppermost landing, if it was asked for and is to be had now."""
        top = waiting = len(self._landings)
        while waiting and self._landings[waiting - 1].asked:
            landing = self._landings[waiting - 1]
            try:
                given = self._enter(landing.below, waiting - 1)
            except Exception as error:
                landing.fail(error)
            else:
                if given is PENDING:
                    waiting -= 1
                    continue
                landing.put(given)
            if waiting == top:
                return True
            waiting += 1
        return False

    def _enter(self, section: Elements, number: int) -> Any:
        """Pull a section, which may then ask the landing below it."""
        if number:
            self._landings[number - 1].asked = False
        return next(section, END)
