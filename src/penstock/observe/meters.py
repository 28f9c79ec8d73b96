"""Meters: what counts while elements pass; ``spark`` and ``pipeline`` only update them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from time import monotonic, time
from typing import Any, Final, NamedTuple

from penstock.api import UNBOUNDED, Subscriber, Subscription
from penstock.core import illegal_request
from penstock.delivery import level_of
from penstock.delivery.contract import as_error
from penstock.observe.status import Signal
from penstock.observe.units import Unit
from penstock.runtime import printable, shown_element
from penstock.runtime.secret_fields import has_secret_fields

__all__ = [
    "RECENT",
    "EmittedMeter",
    "RecentCounter",
    "RecentElements",
    "RecentWords",
    "RowAges",
    "SinkMeter",
    "SourceMeter",
    "Timestamped",
    "beginning_of",
    "element_signals",
    "in_words",
    "rows_in",
    "signals",
]

BATCHES: Final = ("pyarrow.lib", "penstock.spark.egress.rows")


MOST_AGES: Final = 4096


RECENT: Final = 16
"""The things that a tally remembers to show them."""


class Timestamped(NamedTuple):
    """Something that has passed; ``at`` in seconds since 1970."""

    at: float
    thing: Any


class RecentCounter:
    """Counts what passes, and remembers the last of it."""

    def __init__(self) -> None:
        self.count = 0
        self._last: deque[tuple[float, Any]] = deque(maxlen=RECENT)

    def add(self, thing: Any) -> None:
        """Remember it, and forget the oldest."""
        self.count += 1
        self._last.append((time(), thing))  # a tuple without names costs a third

    @property
    def last(self) -> tuple[Timestamped, ...]:
        """What it remembers, the newest last."""
        return tuple(map(Timestamped._make, tuple(self._last)))


class EmittedMeter(RecentCounter):
    """The elements that have come out of Spark, and the rows that they are."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = 0

    def passed(self, element: Any) -> Any:
        """Count ``element`` on its way."""
        rows = rows_in(element)
        self.rows += 1 if rows is None else rows
        self.add(element)
        return element


def rows_in(element: Any) -> int | None:
    """The rows of a batch or table, for which Arrow is not loaded; of all else, ``None``."""
    if type(element).__module__ not in BATCHES:
        return None
    rows: int | None = getattr(element, "num_rows", None)
    return rows


class RowAges:
    """When rows were written, until Spark is done with them.

    One thread notes what is written, another one what is done; both do one step at a time.
    """

    def __init__(self) -> None:
        self._written: deque[tuple[int, float]] = deque()

    def note(self, end: int) -> None:
        """The rows before ``end`` are there."""
        if len(self._written) < MOST_AGES:  # else the next one that fits stands for these as well
            self._written.append((end, monotonic()))

    def done(self, position: int) -> list[float]:
        """Spark is done with what is before ``position``: how long that took, in seconds."""
        now, seconds = monotonic(), []
        while self._written and self._written[0][0] <= position:
            seconds.append(now - self._written.popleft()[1])
        return seconds

    @property
    def oldest(self) -> float | None:
        """For how many seconds the oldest row waits."""
        try:
            return monotonic() - self._written[0][1]
        except IndexError:
            return None


MOST_TEXT: Final = 200


class RecentElements(RecentCounter):
    """The last few elements that passed, shown as text when somebody looks."""

    @property
    def has_batches(self) -> bool:
        """Whether one of them is an Arrow batch."""
        return any(rows_in(thing) is not None for _, thing in self.last)

    @property
    def unit(self) -> Unit:
        """What they are."""
        last = self.last
        is_batches = last and all(rows_in(thing) is not None for _, thing in last)
        return "batches" if is_batches else "elements"

    def signals(self) -> tuple[Signal, ...]:
        """The same as text."""
        return element_signals(self.last)


class RecentWords(RecentCounter):
    """The last few texts of our own: errors, trouble."""

    def signals(self) -> tuple[Signal, ...]:
        """When, and what."""
        return signals(self.last)


def element_signals(last: Iterable[Timestamped]) -> tuple[Signal, ...]:
    """Elements that have passed, as text."""
    return tuple(Signal(at, as_text(thing)) for at, thing in last)


def signals(last: Iterable[Timestamped]) -> tuple[Signal, ...]:
    """What was said, cut where it is too long."""
    return tuple(Signal(at, beginning_of(text)) for at, text in last)


def in_words(error: Exception) -> str:
    """An error as one line of a list."""
    return printable(f"{type(error).__name__}: {error}")


def as_text(element: Any) -> str:
    """The beginning of an element."""
    if isinstance(element, str) and not has_secret_fields():
        return beginning_of(element)
    return shown_element(element)


def beginning_of(text: str, most: int = MOST_TEXT) -> str:
    """The beginning of a text of others."""
    shown = printable(text[: most + 1])
    return shown if len(shown) <= most else f"{shown[:most]}…"


class SourceMeter:
    """Counts what comes out of a source.

    ``lost``    elements that never will, as far as the source says; ``None`` if it does not know
    ``advice``  what should be changed in the way that it was assembled
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.recent = RecentElements()
        self.errors = RecentWords()
        self.trouble = ""
        self.lost: int | None = 0
        self.urls: list[str] = []
        self.advice: list[str] = []

    def connects_to(self, url: str) -> None:
        """The source will connect there."""
        self.urls.append(url)

    def has_advice(self, words: str) -> None:
        """The source says what should be changed about it, although it works."""
        self.advice.append(words)

    def has_trouble(self, words: str) -> None:
        """The source says what keeps it from its work; nothing, if that is over."""
        self.trouble = words
        if words:
            self.errors.add(words)

    def has_lost(self, elements: int | None, words: str) -> None:
        """The source can no longer read some elements; ``None`` if nobody knows how many."""
        self.lost = None if self.lost is None or elements is None else self.lost + elements
        self.errors.add(words)

    def has_failed(self, error: Exception) -> None:
        """The source has ended with an error."""
        self.errors.add(in_words(error))

    @property
    def passed(self) -> int:
        """How many elements have come."""
        return self.recent.count

    @property
    def gives_batches(self) -> bool:
        """Whether its elements are Arrow batches, each of which is any number of rows."""
        return self.recent.has_batches

    @property
    def unit(self) -> Unit:
        """What its elements are."""
        return self.recent.unit


class SinkMeter:
    """Stands upstream of a sink: counts what it asks for and what it gets.

    The sink is signalled on the thread that signals the meter; ``on_end`` is told on that thread,
    or on the one on which the sink cancels or fails. One that says by ``room`` how many elements it
    asks for at once is done with an element when the signal returns.

    ``taken``  elements with which it was done, as far as it says; one that it refuses is not
    ``rows``   the rows that these are
    ``gone``   whether it wants nothing more
    """

    def __init__(
        self,
        name: str,
        made: Any,
        sink: Subscriber[Any],
        room: Callable[[], int] | None,
        on_end: Callable[[SinkMeter, Exception | None], object],
        skipped: Callable[[], int] = lambda: 0,
    ) -> None:
        self.name = name
        self.made = made
        self.sink = sink
        self._room = room
        self.requested = 0
        self.given = 0
        self.taken = 0
        self.rows = 0
        self.level = level_of(made)
        self.gone = False
        self.recent = RecentElements()
        self.errors = RecentWords()
        self._known_error: Exception | None = None
        self._on_end = on_end
        self._skipped = skipped

    @property
    def duplicated(self) -> int | None:
        """Rows that the sink got twice and did not recognise; ``None`` if it cannot tell."""
        said: int | None = getattr(self.made, "duplicated", None)
        return 0 if said is None and self.level == "exactly once" else said

    @property
    def recognised(self) -> int:
        """Rows that came again and that the sink knew."""
        known: int = getattr(self.made, "recognised", 0)
        return known + self._skipped()

    @property
    def unit(self) -> Unit:
        """What its elements are."""
        return self.recent.unit

    @property
    def capacity(self) -> int | None:
        """How many elements it asks for at once; ``None`` if nobody knows."""
        return None if self._room is None else self._room()

    @property
    def wants(self) -> bool:
        """Whether it waits for an element; while it is at one, what it asked for ahead is not."""
        is_at_work = self._room is not None and self.given > self.taken
        return self.requested > self.given and not is_at_work

    def on_subscribe(self, subscription: Subscription) -> None:
        """Let the sink ask."""
        self._tell(self.sink.on_subscribe, CountedSubscription(subscription, self))

    def on_next(self, element: Any) -> None:
        """Give it to the sink."""
        self.given += 1
        self.recent.add(element)
        try:
            self.sink.on_next(element)
        except BaseException as raised:
            self._has_raised(raised)
        else:
            if not self.errors.count:
                self.taken += 1
                rows = rows_in(element)
                self.rows += 1 if rows is None else rows

    def on_error(self, error: Exception) -> None:
        """Tell the sink, whose fault it is not."""
        self._known_error = error
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
        self.gone = not self.errors.count  # one that has failed cancels as well
        self._on_end(self, None)

    def failed(self, error: Exception) -> None:
        """The sink has refused an element, or cannot go on: that ends the pipeline."""
        if error is not self._known_error:
            self._known_error = error
            self.errors.add(in_words(error))
        self._on_end(self, error)

    def _tell(self, signal: Callable[..., object], *arguments: object) -> bool:
        """Whether the sink has taken the signal; one that raises ends the pipeline (2.13)."""
        try:
            signal(*arguments)
        except BaseException as raised:
            self._has_raised(raised)
            return False
        return True

    def _has_raised(self, raised: BaseException) -> None:
        error = as_error(raised)
        error.add_note(f"in the sink {self.name}")
        self.failed(error)


class CountedSubscription:
    """A subscription whose requests are counted."""

    def __init__(self, subscription: Subscription, gauge: SinkMeter) -> None:
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
