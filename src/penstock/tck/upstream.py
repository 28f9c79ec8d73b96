"""The kit's publisher, upstream of a processor or an operator under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import Subscriber
from penstock.core.timeline import Timeline
from penstock.runtime import report_undelivered
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.probe import Provoked
from penstock.tck.spy import SignalCall, Spy
from penstock.tck.stream import EagerStream

__all__ = ["Upstream", "UpstreamStream"]

LONG = 1_000
"""A stream of more elements than this leaves no trace in the timeline, which would be slow."""


class UpstreamStream(EagerStream):
    """A stream that counts what is requested and cancelled, from whichever thread.

    It sends from within ``request``. One with a limit of 0 and no ending sends what a check says.
    """

    def __init__(self, *arguments: Any, strict: bool, held: bool, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._held = held
        if not strict:
            self._use(ToleratingSpy(self.environment, self.subscriber, self._note))

    def _use(self, spy: Spy) -> None:
        self.spy = spy
        self.spy.on_request = self._serve

    @property
    def is_due(self) -> bool:
        """Whether there is something to send by now."""
        return not self._held and super().is_due

    def release(self) -> None:
        """Begin to send."""
        if self._held:
            self._held = False
            self._serve()

    def send_next(self) -> bool:
        """Send one more element, if there is demand for it."""
        if self.demand < 1 or self.spy.cancelled or self.over:
            return False
        self.next()
        return True


class ToleratingSpy(Spy):
    """Does not mind calls that overlap, nor those from within a signal to another subscriber.

    A subscriber downstream that calls from two threads at once, as the checks of a publisher do,
    breaks rule 2.7 itself: a subject that passes its calls on as they come is not to blame. And one
    that subscribes again when one stream is over (a retry, say) calls the new one from within the
    end of the old one.
    """

    def object_to_overlap(self, call: str) -> None:
        """A subscriber downstream is to blame."""

    def object_to_stranger(self, call: str, signal: SignalCall) -> None:
        """Both subscribers belong to the subject."""


class ForgivingStream(UpstreamStream):
    """Does for its subscriber what any sound publisher does, also after a fault of the kit's own.

    A subject that passes on what the kit did downstream is not to blame: an illegal request is
    answered by on_error (rule 3.9), and a signal that raises what a probe has raised is taken for a
    cancel and reported (rule 2.13). The subscriber is called on the thread that sends.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._refusal: Exception | None = None
        self._use(ForgivingSpy(self.environment, self.subscriber, self._note, self.refuse))

    def refuse(self, error: Exception) -> None:
        """End the stream by this error, as soon as no other signal is under way."""
        self._refusal = error

    @property
    def is_due(self) -> bool:
        """Whether there is something to send by now."""
        if self._refusal is not None:
            return not self.over and not self.spy.cancelled
        return super().is_due

    def next(self) -> None:
        """Send the next element, or the error that has come in its place."""
        if self._refusal is None:
            super().next()
        else:
            self.fail(self._refusal)

    def end(self, signal: str, *, at_rest: bool = False) -> None:
        """Send the terminal signal of this name, or the error that has come in its place."""
        if self._refusal is None:
            super().end(signal, at_rest=at_rest)
        else:
            self.fail(self._refusal, at_rest=at_rest)

    def call(self, signal: str, method: Callable[[], Any]) -> Any:
        """Call the subscriber; what a probe has raised ends the stream."""

        def forgiving() -> Any:
            try:
                return method()
            except Provoked as error:
                self.over = True
                report_undelivered(error, f"{signal} raised")

        return super().call(signal, forgiving)


class ForgivingSpy(ToleratingSpy):
    """Leaves illegal requests to the stream, on the thread that requests."""

    def __init__(
        self,
        environment: CheckEnvironment,
        subscriber: object,
        note: Callable[..., None],
        refuse: Callable[[Exception], None],
    ) -> None:
        super().__init__(environment, subscriber, note)
        self._refuse = refuse

    def object_to_number(self, n: object, error: Exception) -> None:
        """A subscriber downstream is to blame; the stream ends by ``error``."""
        self._refuse(error)


class Upstream:
    """A sound publisher: sends to each subscriber a stream of its own, on the thread that asks.

    ``elements``  how many there are; with 0 and no ``ending`` the check sends them
    ``ending``    the terminal signal after them, which waits for a first request
    ``at_once``   a stream without elements ends without a request
    ``held``      streams count what is requested, and send nothing until they are released
    ``strict``    calls of the subscription take some time, and break rule 2.7 if they overlap
    ``forgiving`` faults of the kit's own that are passed on to it are answered, not judged
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        timeline: Timeline,
        *,
        elements: int = 0,
        element: Callable[[int], Any] = int,
        ending: str | None = None,
        at_once: bool = False,
        held: bool = False,
        strict: bool = False,
        forgiving: bool = False,
    ) -> None:
        self._environment = environment
        self._timeline = timeline
        self._at_once = at_once and elements == 0
        self._kind = ForgivingStream if forgiving else UpstreamStream
        self._options: dict[str, Any] = {
            "limit": elements,
            "element": element,
            "ending": ending,
            "strict": strict,
            "held": held,
            "lingers": strict,
            "silent": elements > LONG,
        }
        self.streams: list[UpstreamStream] = []
        """One for each subscriber, in the order in which they came."""

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Start a stream."""
        if subscriber is None:
            raise TypeError("there is no subscriber")
        self._environment.noticed()
        name = f"upstream {len(self.streams) + 1}" if self.streams else "upstream"
        stream = self._kind(
            self._environment, self._timeline, subscriber, name=name, **self._options
        )
        self.streams.append(stream)
        self._environment.at_end(stream.close)
        stream.open()
        if self._at_once and not stream.over and not stream.spy.cancelled:
            stream.complete()

    def release(self) -> None:
        """Let all streams begin to send, those to come as well."""
        self._options["held"] = False
        for stream in self.streams:
            stream.release()

    @property
    def cancels(self) -> int:
        """How often one and the same stream was cancelled, at most."""
        return max((stream.spy.cancels for stream in self.streams), default=0)

    @property
    def closings(self) -> int:
        """How often one and the same stream came to an end, one way or the other."""
        return max((max(each.spy.cancels, int(each.over)) for each in self.streams), default=0)

    @property
    def callers(self) -> set[int]:
        """The threads that called."""
        return {caller for stream in self.streams for caller in stream.spy.callers}
