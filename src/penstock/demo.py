"""A fast source, a slow subscriber, two threads: backpressure to look at.

``python -m penstock.demo`` measures first what the source can do when nothing holds it back. Then
a subscriber that takes fifty elements a second reads from it, and the view shows what was
requested, what is in flight and what was delivered, until the last element has come through.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

from penstock.api import UNBOUNDED, Publisher, Subscriber, Subscription
from penstock.reference import AsyncSubscriber, ExecutorPublisher
from penstock.runtime import ThreadPool

__all__ = ["main"]

PREFETCH = 16
SAMPLE = 500_000


class Source:
    """Makes numbered elements as fast as it is let, and counts them."""

    def __init__(self, elements: int) -> None:
        self.elements = elements
        self.made = 0

    def __iter__(self) -> Iterator[int]:
        for number in range(self.elements):
            self.made += 1
            yield number


class SlowSubscriber(AsyncSubscriber[int]):
    """Takes ``rate`` elements a second, on a thread of its own."""

    def __init__(self, thread: ThreadPool, rate: float) -> None:
        super().__init__(thread, prefetch=PREFETCH)
        self._pause = 1 / rate
        self.received: list[int] = []
        self.error: Exception | None = None

    def receive(self, element: int) -> bool:
        time.sleep(self._pause)
        self.received.append(element)
        return True

    def failed(self, error: Exception) -> None:
        self.error = error


@dataclass
class Meter:
    """A publisher that passes everything through and counts what was requested."""

    publisher: Publisher[int]
    requested: int = 0

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self.publisher.subscribe(_Metered(subscriber, self))


@dataclass
class _Metered:
    subscriber: Subscriber[int]
    meter: Meter
    subscription: Subscription | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.subscriber.on_subscribe(self)

    def on_next(self, element: int) -> None:
        self.subscriber.on_next(element)

    def on_error(self, error: Exception) -> None:
        self.subscriber.on_error(error)

    def on_complete(self) -> None:
        self.subscriber.on_complete()

    def request(self, n: int) -> None:
        assert self.subscription is not None
        self.meter.requested += n
        self.subscription.request(n)

    def cancel(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()


class Unhurried:
    """Asks for everything and only waits for the end."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(UNBOUNDED)

    def on_next(self, element: int) -> None:
        pass

    def on_error(self, error: Exception) -> None:
        self.ended.set()

    def on_complete(self) -> None:
        self.ended.set()


def full_speed(thread: ThreadPool) -> float:
    """Elements a second of the source when the subscriber asks for everything at once."""
    subscriber = Unhurried()
    started = time.perf_counter()
    ExecutorPublisher(Source(SAMPLE), thread).subscribe(subscriber)
    subscriber.ended.wait()
    return SAMPLE / (time.perf_counter() - started)


def watch(source: Source, meter: Meter, subscriber: SlowSubscriber, out: TextIO) -> None:
    """Redraw the view until the stream has ended; line by line where nothing can be redrawn."""
    live = out.isatty()
    print(f"   made  requested  in flight  delivered   buffered (bound {PREFETCH})", file=out)
    while True:
        ended = subscriber.wait(0.1 if live else 1.0)
        delivered = len(subscriber.received)
        buffered = subscriber.buffered
        in_flight = meter.requested - delivered
        bar = "#" * buffered + "." * (PREFETCH - buffered)
        line = f"{source.made:7} {meter.requested:10} {in_flight:10} {delivered:10}   [{bar}]"
        print(("\r" if live else "") + line, end="" if live else "\n", file=out, flush=True)
        if ended:
            break
    if live:
        print(file=out)


def run(elements: int, rate: float, out: TextIO) -> int:
    """The whole story; the exit code says whether every element came, once and in sequence."""
    with ThreadPool(name="source") as one_thread, ThreadPool(name="subscriber") as another:
        speed = full_speed(one_thread)
        print(f"This source can make {speed:,.0f} elements a second.", file=out)
        print(f"This subscriber takes {rate:g} a second, on another thread.\n", file=out)
        source = Source(elements)
        meter = Meter(ExecutorPublisher(source, one_thread))
        subscriber = SlowSubscriber(another, rate)
        started = time.perf_counter()
        meter.subscribe(subscriber)
        try:
            watch(source, meter, subscriber, out)
        finally:
            subscriber.stop()  # does nothing at the end, and ends the stream on Ctrl-C
        seconds = time.perf_counter() - started
    if subscriber.error is not None or subscriber.received != list(range(elements)):
        print(f"\nThe elements do not match: {subscriber.error!r}", file=out)
        return 1
    print(
        f"\nIn {seconds:.1f} s the source could have made {speed * seconds:,.0f} elements;"
        f" it was asked for {meter.requested} and made {source.made}."
        f"\nPeak of the buffer: {subscriber.peak} of {PREFETCH}."
        f" Delivered {len(subscriber.received)} of {elements}, in sequence, none lost.",
        file=out,
    )
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line of the demo."""
    parser = argparse.ArgumentParser(prog="penstock.demo", description=__doc__)
    parser.add_argument("--elements", type=positive_int, default=400, help="how many (400)")
    parser.add_argument("--rate", type=positive_float, default=50.0, help="taken a second (50)")
    options = parser.parse_args(arguments)
    try:
        return run(options.elements, options.rate, sys.stdout)
    except KeyboardInterrupt:
        print("\nStopped.")
        return 130


def positive_int(text: str) -> int:
    """An argument such as 400."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def positive_float(text: str) -> float:
    """An argument such as 50 or 0.5."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


if __name__ == "__main__":
    sys.exit(main())
