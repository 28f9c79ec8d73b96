"""What counts at the ends of a pipeline: at its sources, and at its sinks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import time
from typing import Any, Final

from penstock.api import UNBOUNDED, Subscriber, Subscription
from penstock.demand import illegal_request, shorten
from penstock.observe.reading import Signal

__all__ = ["RECENT", "Recent", "SinkGauge", "SourceGauge"]

RECENT: Final = 16
"""The elements that a stage remembers to show them."""
MOST_TEXT: Final = 200


class Recent:
    """The last few things that passed, shown as text when somebody looks."""

    def __init__(self, most: int = RECENT) -> None:
        self.count = 0
        self._things: deque[tuple[float, Any]] = deque(maxlen=most)

    def add(self, thing: Any) -> None:
        """Remember it, and forget the oldest."""
        self.count += 1
        self._things.append((time(), thing))

    def signals(self) -> tuple[Signal, ...]:
        """All of them, the newest last."""
        return tuple(Signal(at, as_text(thing)) for at, thing in tuple(self._things))


def as_text(thing: Any) -> str:
    """The beginning of a foreign value."""
    text = thing if isinstance(thing, str) else shorten(thing)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


class SourceGauge:
    """Counts what comes out of a source."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.recent = Recent()
        self.trouble = ""
        self.urls: list[str] = []

    def connects_to(self, url: str) -> None:
        """The source will connect there."""
        self.urls.append(url)

    def has_trouble(self, words: str) -> None:
        """The source says what keeps it from its work; nothing, if that is over."""
        self.trouble = words

    @property
    def passed(self) -> int:
        """How many elements have come."""
        return self.recent.count


class SinkGauge:
    """Stands in front of a sink: counts what it asks for and what it gets."""

    def __init__(
        self,
        name: str,
        made: Any,
        sink: Subscriber[Any],
        capacity: int | None,
        on_end: Callable[[SinkGauge, Exception | None], object],
    ) -> None:
        self.name = name
        self.made = made
        self.sink = sink
        self.capacity = capacity
        self.requested = 0
        self.given = 0
        self.taken = 0
        self.recent = Recent()
        self._on_end = on_end

    @property
    def duplicated(self) -> int | None:
        """Rows that the sink got twice and did not recognise; ``None`` if it cannot tell."""
        return getattr(self.made, "duplicated", None)

    @property
    def wants(self) -> bool:
        """Whether it asks for an element that has not come."""
        return self.requested > self.given

    def on_subscribe(self, subscription: Subscription) -> None:
        """Let the sink ask."""
        self._tell(self.sink.on_subscribe, Counted(subscription, self))

    def on_next(self, element: Any) -> None:
        """Give it to the sink."""
        self.given += 1
        self.recent.add(element)
        if self._tell(self.sink.on_next, element):
            self.taken += 1

    def on_error(self, error: Exception) -> None:
        """Tell the sink."""
        self._tell(self.sink.on_error, error)
        self._on_end(self, error)

    def on_complete(self) -> None:
        """Tell the sink."""
        if self._tell(self.sink.on_complete):
            self._on_end(self, None)

    def asked(self, n: int) -> None:
        """The sink asks for more."""
        if illegal_request(n) is None:  # else 3.9 tells the sink
            self.requested = min(self.requested + n, UNBOUNDED)

    def left(self) -> None:
        """The sink has cancelled."""
        self._on_end(self, None)

    def _tell(self, signal: Callable[..., object], *arguments: object) -> bool:
        """Whether the sink has taken the signal; one that raises ends the pipeline (2.13)."""
        try:
            signal(*arguments)
        except Exception as error:
            error.add_note(f"in the sink {self.name}")
            self._on_end(self, error)
            return False
        return True


class Counted:
    """A subscription whose requests are counted."""

    def __init__(self, subscription: Subscription, gauge: SinkGauge) -> None:
        self._subscription = subscription
        self._gauge = gauge

    def request(self, n: int) -> None:
        """Count it, and ask."""
        self._gauge.asked(n)
        self._subscription.request(n)

    def cancel(self) -> None:
        """Cancel, and say so."""
        self._subscription.cancel()
        self._gauge.left()
