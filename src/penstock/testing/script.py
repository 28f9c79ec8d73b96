"""The steps of a step verifier, and how they are performed against the signals that come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.api import Publisher
from penstock.rules import cite
from penstock.runtime import VirtualTime
from penstock.testing.manual_subscriber import ManualSubscriber
from penstock.testing.recording import OnNext, OnSubscribe, Signal

__all__ = ["Performance", "Step", "Unmet"]

T = TypeVar("T")


class Unmet(Exception):
    """A step failed; the text says what it expected and what came instead."""


@dataclass(frozen=True, slots=True)
class Step(Generic[T]):
    """One line of a script: how it reads, and what it does."""

    words: str
    act: Callable[[Performance[T]], object]


class Performance(Generic[T]):
    """One run of a script: its subscriber, and how far into the signals the script has come.

    Steps, and the functions of the test in them, run on the thread that calls `play`.
    """

    def __init__(
        self, subscriber: ManualSubscriber[T], *, within: float, time: VirtualTime | None
    ) -> None:
        self.subscriber = subscriber
        self._recording = subscriber.recording
        self._within = within
        self._time = time
        self._position = 0
        self.step: int | None = None
        """The step that is being performed."""

    def play(self, publisher: Publisher[T], steps: Sequence[Step[T]]) -> None:
        """Subscribe, perform each step, and leave nothing behind."""
        try:
            self._subscribe_to(publisher)
            for index, step in enumerate(steps):
                self.step = index
                step.act(self)
            self.step = None
            self._require_subscription()
        finally:
            self.subscriber.close()
        self._let_happen()

    # What steps expect.

    def expect_subscription(self) -> None:
        """``on_subscribe`` is the next signal."""
        self._expect("on_subscribe()", lambda signal: isinstance(signal, OnSubscribe))

    def expect_element(self, expected: str, fits: Callable[[T], bool]) -> None:
        """An element that fits is the next signal."""
        self._pass_subscription()
        self._expect(
            expected,
            lambda signal: isinstance(signal, OnNext) and fits(signal.element),
            needs_demand=True,
        )

    def expect_end(self, expected: str, fits: Callable[[Signal[T]], bool]) -> None:
        """A terminal signal that fits is the next signal."""
        self._pass_subscription()
        self._expect(expected, fits)

    def expect_nothing(self, during: float) -> None:
        """No signal is left from before, and none comes for so many seconds."""
        self._pass_subscription()
        if self._time is not None:
            self._time.advance(during)
        else:
            self._recording.wait_for(self._has_news, during)
        if self._has_news():
            raise Unmet(f"expected nothing, but {self._recording[self._position]} came")

    # What steps do.

    def request(self, n: int) -> None:
        """Ask for more."""
        self._call(f"request({n})", lambda: self.subscriber.request(n))

    def cancel(self) -> None:
        """Cancel the stream."""
        self._call("cancel()", self.subscriber.cancel)

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        assert self._time is not None
        self._time.advance(seconds)

    # How it works.

    def _subscribe_to(self, publisher: Publisher[T]) -> None:
        try:
            publisher.subscribe(self.subscriber)
        except Exception as error:
            self._recording.blame("1.9", f"subscribe raised {error!r}")
            raise Unmet(f"subscribe raised {error!r}") from error

    def _call(self, name: str, call: Callable[[], None]) -> None:
        self._require_subscription()
        if self.subscriber.ended:
            return  # 2.4
        try:
            call()
        except Exception as error:
            raise Unmet(f"{name} raised {error!r}") from error

    def _pass_subscription(self) -> None:
        """``on_subscribe`` needs no step of its own."""
        self._require_subscription()
        if self._position == 0 and isinstance(self._recording[0], OnSubscribe):
            self._position = 1

    def _require_subscription(self) -> None:
        if not self._recording:
            self._await_news()
        if not self.subscriber.subscribed:
            raise Unmet(cite("1.9", "on_subscribe has not come"))

    def _expect(
        self, expected: str, fits: Callable[[Signal[T]], bool], *, needs_demand: bool = False
    ) -> None:
        self._await_news(needs_demand=needs_demand)
        if not self._has_news():
            raise Unmet(f"expected {expected}, but {self._why_nothing_came(needs_demand)}")
        signal = self._recording[self._position]
        if not fits(signal):
            raise Unmet(f"expected {expected}, but {signal} came")
        self._position += 1

    def _await_news(self, *, needs_demand: bool = False) -> None:
        self._let_happen()
        if self._time is None:
            self._recording.wait_for(
                lambda: self._has_news() or self._is_hopeless(needs_demand), self._within
            )

    def _let_happen(self) -> None:
        """Run what can run at this moment of virtual time."""
        if self._time is not None:
            self._time.advance(0)

    def _has_news(self) -> bool:
        return len(self._recording) > self._position

    def _is_hopeless(self, needs_demand: bool) -> bool:
        """Whether what is expected cannot come any more, unless against the rules."""
        return self.subscriber.ended or (needs_demand and not self.subscriber.outstanding)

    def _why_nothing_came(self, needs_demand: bool) -> str:
        progress = self._recording.progress
        if self._recording.ending is not None:
            return f"the stream had ended with {self._recording.ending}"
        if needs_demand and not self.subscriber.outstanding:
            return f"no more was asked for ({progress}): then_request(n) does"
        if self._time is not None:
            now = f"{self._time.now():g} s of virtual time"
            return f"nothing came by {now} ({progress}): then_advance(seconds) moves it on"
        return f"nothing came within {self._within:g} s ({progress})"
