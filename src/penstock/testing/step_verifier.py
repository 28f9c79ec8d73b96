"""The step verifier: what a publisher should do as a script, performed against its signals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from penstock.api import UNBOUNDED, Publisher
from penstock.core.signals import OnComplete, OnError, OnNext, OnSubscribe, Signal
from penstock.rules import cite
from penstock.runtime import VirtualTime, shorten
from penstock.runtime.arguments import require_int, require_seconds
from penstock.testing.expectation import (
    ErrorType,
    ExpectedError,
    report,
    require_timeout,
    require_virtual_time,
)
from penstock.testing.manual_subscriber import ManualSubscriber

__all__ = ["StepVerifier"]

T = TypeVar("T")

MOST_SHOWN = 8


class StepVerifier(Generic[T]):
    """Checks a publisher against a script of expectations and actions.

    ``request``  what to ask for in ``on_subscribe``; everything by default, 0 for nothing
    ``within``   how many seconds to wait for a signal from another thread; by default 5, or as many
                 as the environment variable ``PENSTOCK_TEST_TIMEOUT`` says
    ``time``     the virtual time that the publisher lives in; then nothing waits, and time
                 passes only by ``then_advance`` and ``expect_nothing``

    >>> from penstock import IterablePublisher
    >>> publisher = IterablePublisher([1, 2, 3])
    >>> (
    ...     StepVerifier(publisher, request=2)
    ...     .expect_next(1, 2)
    ...     .then_request(3)
    ...     .expect_next(3)
    ...     .expect_complete()
    ...     .verify()
    ... )

    Nothing happens before ``verify``, which subscribes and goes through the script: each
    expectation takes the next signals, in order. A script that was never verified warns when it
    is thrown away. ``on_subscribe`` needs no step. Signals after the last step are not checked,
    and a stream that goes on there is cancelled. Whatever the script says, ``verify`` fails if the
    publisher breaks a rule of signalling: more elements than were requested (1.1), a signal after
    a terminal one (1.7), no ``on_subscribe`` at first (1.9) or a second one (2.12).
    """

    def __init__(
        self,
        publisher: Publisher[T],
        *,
        request: int = UNBOUNDED,
        within: float | None = None,
        time: VirtualTime | None = None,
    ) -> None:
        self._verified = True  # until there is a step
        if not callable(getattr(publisher, "subscribe", None)):
            raise TypeError(f"a publisher has a method subscribe; {publisher!r} has none")
        self._publisher = publisher
        self._request = require_int("StepVerifier", "request", request, least=0)
        self._within = require_timeout("StepVerifier", "within", within)
        self._time = None if time is None else require_virtual_time("StepVerifier", time)
        self._steps: list[Step[T]] = []

    # What to expect.

    def expect_subscription(self) -> Self:
        """``on_subscribe`` comes, before everything else."""
        return self._add("expect_subscription()", lambda run: run.expect_subscription())

    def expect_next(self, *elements: T) -> Self:
        """These elements come, in this order."""
        if not elements:
            raise ValueError("expect_next needs at least one element; expect_nothing needs none")
        if any(element is None for element in elements):
            raise TypeError("expect_next(None) can never be met: None is not an element")

        def act(run: Performance[T]) -> None:
            for element in elements:
                run.expect_element(f"on_next({shorten(element)})", _equal_to(element))

        return self._add(f"expect_next({_shown(elements)})", act)

    def expect_next_count(self, count: int) -> Self:
        """So many elements come, whichever they are."""
        require_int("expect_next_count", "count", count)

        def act(run: Performance[T]) -> None:
            for number in range(1, count + 1):
                run.expect_element(f"element {number} of {count}", lambda _: True)

        return self._add(f"expect_next_count({count})", act)

    def expect_next_matches(self, predicate: Callable[[T], bool]) -> Self:
        """An element comes of which ``predicate`` is true."""
        _require_callable("predicate", predicate)
        name = _name(predicate)
        expected = f"an element that {name} accepts"
        return self._add(
            f"expect_next_matches({name})", lambda run: run.expect_element(expected, predicate)
        )

    def expect_nothing(self, *, during: float = 0.0) -> Self:
        """No signal has come since the last step, and none comes for ``during`` seconds.

        In virtual time this is exact, and lets the time pass. Of a publisher on the calling thread
        it is exact, too. Of one on another thread it can only say that nothing came until now, or
        within ``during`` seconds, for which the test really waits.
        """
        seconds = require_seconds("expect_nothing", "during", during, or_zero=True)
        words = f"expect_nothing(during={during})" if during else "expect_nothing()"
        return self._add(words, lambda run: run.expect_nothing(seconds))

    def expect_complete(self) -> Self:
        """The stream ends well."""
        return self._add(
            "expect_complete()",
            lambda run: run.expect_end(
                "on_complete()", lambda signal: isinstance(signal, OnComplete)
            ),
        )

    def expect_error(self, kind: ErrorType = Exception, *, match: str | None = None) -> Self:
        """The stream ends with such an error; ``match`` is a pattern to be found in its text."""
        expected = ExpectedError(kind, match)
        return self._add(
            f"expect_error({expected})",
            lambda run: run.expect_end(
                f"on_error({expected})",
                lambda signal: isinstance(signal, OnError) and expected.accepts(signal.error),
            ),
        )

    # What to do.

    def then_request(self, n: int) -> Self:
        """Ask for ``n`` more elements. An illegal ``n`` is passed on, to test rule 3.9."""
        return self._add(f"then_request({shorten(n)})", lambda run: run.request(n))

    def then_cancel(self) -> Self:
        """Cancel the stream."""
        return self._add("then_cancel()", lambda run: run.cancel())

    def then(self, action: Callable[[], object]) -> Self:
        """Call ``action``; what it raises ends the test."""
        _require_callable("action", action)
        return self._add(f"then({_name(action)})", lambda _: action())

    def then_advance(self, seconds: float) -> Self:
        """Let virtual time pass."""
        require_seconds("then_advance", "seconds", seconds, or_zero=True)
        if self._time is None:
            raise ValueError(
                "then_advance needs virtual time: StepVerifier(publisher, time=VirtualTime()),"
                " the same that the publisher lives in"
            )
        return self._add(f"then_advance({seconds})", lambda run: run.advance(seconds))

    # How it runs.

    def verify(self) -> None:
        """Subscribe and perform the script; ``AssertionError`` at the first step that fails.

        The message shows the script, the step, what came instead, and all signals. Each call
        subscribes again.
        """
        __tracebackhide__ = True
        self._verified = True
        subscriber: ManualSubscriber[T] = ManualSubscriber(request=self._request, time=self._time)
        run = Performance(subscriber, within=self._within, time=self._time)
        try:
            run.play(self._publisher, self._steps)
        except Unmet as unmet:
            raise AssertionError(self._report(str(unmet), run)) from unmet.__cause__
        except Exception as error:
            error.add_note(self._report("this step raised the error above", run))
            raise
        if subscriber.violations:
            raise AssertionError(self._report(subscriber.recording.verdict, run))

    def __del__(self) -> None:
        if not self._verified:
            script = ".".join(step.words for step in self._steps)
            warnings.warn(f"verify() was never called: {script}", RuntimeWarning, stacklevel=2)

    def _add(self, words: str, act: Callable[[Performance[T]], object]) -> Self:
        self._verified = False
        self._steps.append(Step(words, act))
        return self

    def _report(self, what: str, run: Performance[T]) -> str:
        where = "" if run.step is None else f"step {run.step + 1}, {self._steps[run.step].words}: "
        return report(
            where + what,
            script=self._script(run.step),
            rules_broken=map(str, run.subscriber.violations),
            signals=run.subscriber.timeline.lines() or ("none",),
        )

    def _script(self, marked: int | None) -> Iterator[str]:
        request = "UNBOUNDED" if self._request == UNBOUNDED else self._request
        yield f"   StepVerifier(..., request={request})"
        width = len(str(len(self._steps)))
        for index, step in enumerate(self._steps):
            yield f"{'->' if index == marked else '  '} {index + 1:>{width}}  .{step.words}"


def _equal_to(expected: T) -> Callable[[T], bool]:
    return lambda element: element is expected or bool(element == expected)


def _shown(elements: tuple[object, ...]) -> str:
    shown = ", ".join(map(shorten, elements[:MOST_SHOWN]))
    more = len(elements) - MOST_SHOWN
    return shown if more <= 0 else f"{shown}, and {more} more"


def _require_callable(name: str, value: object) -> None:
    if not callable(value):
        raise TypeError(f"{name} must be callable, not {value!r}")


def _name(function: object) -> str:
    """What the author of a script calls the function."""
    qualified: str = getattr(function, "__qualname__", shorten(function))
    return qualified.rpartition("<locals>.")[2]


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
