"""Sources that cannot be closed: the error is nobody's to handle, and nothing is run again."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Flow, IterablePublisher, VirtualTime, collect_undelivered
from penstock.testing import ManualSubscriber


class Stubborn:
    """An iterable whose generators raise when they are closed."""

    def __init__(self) -> None:
        self.runs = 0

    def __iter__(self) -> Iterator[int]:
        self.runs += 1
        try:
            yield from range(1_000)
        except GeneratorExit:
            raise OSError("it does not close") from None


def unexpected(*arguments: object) -> Any:
    raise AssertionError(f"called with {arguments}")


Operator = Callable[[Flow[int]], Flow[Any]]
HANDLERS: dict[str, Operator] = {
    "retry": lambda flow: flow.retry(3),
    "repeat": lambda flow: flow.repeat(3),
    "on_error_resume": lambda flow: flow.on_error_resume(unexpected),
    "on_error_return": lambda flow: flow.on_error_return(99),
    "on_error_map": lambda flow: flow.on_error_map(unexpected),
    "do_on_error": lambda flow: flow.do_on_error(unexpected),
    "merge": lambda flow: Flow.merge(flow, delay_errors=True),
    "buffer": lambda flow: flow.buffer(3, every=60, clock=VirtualTime()),
    "timeout": lambda flow: flow.timeout(60, clock=VirtualTime()),
}
every_handler = pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS.keys())


@every_handler
def test_an_error_of_closing_after_a_cancel_goes_to_the_hook_and_to_nobody_else(
    handler: Operator,
) -> None:
    source, subscriber = Stubborn(), ManualSubscriber[Any](request=1)
    with collect_undelivered() as undelivered:
        handler(Flow.from_iterable(source)).subscribe(subscriber)
        subscriber.cancel()
    assert [str(each.error) for each in undelivered] == ["it does not close"]
    assert source.runs == 1
    subscriber.assert_not_ended()


@every_handler
def test_an_error_of_closing_after_the_last_element_ends_the_stream(handler: Operator) -> None:
    source, subscriber = Stubborn(), ManualSubscriber[Any](request=1)
    with collect_undelivered() as undelivered:
        handler(Flow.from_iterable(source)).take(1).subscribe(subscriber)
    subscriber.assert_failed(OSError, match="it does not close")
    assert len(subscriber.elements) == source.runs == 1
    assert undelivered == []


def test_a_run_that_is_cancelled_and_cannot_be_closed_was_cancelled() -> None:
    ends: list[str] = []
    subscriber = ManualSubscriber[int](request=1)
    with collect_undelivered():
        Flow.from_iterable(Stubborn()).do_finally(ends.append).subscribe(subscriber)
        subscriber.cancel()
    assert ends == ["cancelled"]


@pytest.mark.parametrize("again", ["retry", "repeat"])
def test_a_later_run_is_closed_at_once_when_it_is_left(again: str) -> None:
    closed: list[str] = []

    class Short:
        def __init__(self) -> None:
            self.runs = 0

        def __iter__(self) -> Iterator[int]:
            self.runs += 1
            number = self.runs
            try:
                yield number
                if number == 2:
                    yield number
                if again == "retry":
                    raise OSError("again")
            finally:
                closed.append(f"run {number}")

    source = Flow.from_iterable(Short())
    flow = source.retry(5) if again == "retry" else source.repeat(5)
    subscriber = ManualSubscriber[int](request=2)
    flow.subscribe(subscriber)
    subscriber.assert_elements(1, 2)
    subscriber.cancel()
    assert closed == ["run 1", "run 2"]


@pytest.mark.parametrize("foreign", [False, True], ids=["a loop", "a publisher"])
def test_an_interrupt_of_the_thread_upstream_of_a_boundary_cancels_the_run(foreign: bool) -> None:
    closed: list[str] = []

    class Interrupted:
        def __iter__(self) -> Iterator[int]:
            try:
                yield 1
                raise KeyboardInterrupt
            finally:
                closed.append("closed")

    time, subscriber = VirtualTime(), ManualSubscriber[int](request=5)
    source = Interrupted()
    flow: Flow[int] = Flow.from_iterable(source)
    if foreign:
        flow = Flow.from_publisher(IterablePublisher(source))
    with pytest.raises(KeyboardInterrupt):
        (hop := flow.publish_on(time)).subscribe(subscriber)
    time.settle()
    assert closed == ["closed"]
    assert hop.explain().runs == ()
    subscriber.assert_not_ended()


# A stream that nobody has ended is closed when nobody can reach it any more.


class Abandoned:
    """A stream that was subscribed to on an executor, read up to its wait, and dropped."""

    def __init__(self, over: Callable[[Flow[int], VirtualTime], Flow[int]]) -> None:
        self.executor = VirtualTime()
        self.closed: list[str] = []
        self._read(over(Flow.concat(Flow.from_iterable(self), Flow.never()), self.executor))

    def __iter__(self) -> Iterator[int]:
        try:
            yield from range(1_000)
        finally:
            self.closed.append("the source")

    def _read(self, flow: Flow[int]) -> None:
        subscriber = ManualSubscriber[int](request=4)
        flow.subscribe(subscriber)
        self.executor.run()
        subscriber.assert_elements(0, 1, 2, 3)


@pytest.mark.parametrize(
    "over",
    [
        lambda flow, executor: flow.subscribe_on(executor),
        lambda flow, executor: flow.publish_on(executor, prefetch=2),
        lambda flow, executor: flow.subscribe_on(executor).publish_on(executor, prefetch=2),
        lambda flow, executor: flow.subscribe_on(executor).window(2).flat_map(lambda each: each),
        lambda flow, executor: Flow.merge(flow.subscribe_on(executor), Flow.never()),
    ],
    ids=["subscribe_on", "publish_on", "both", "window", "merge"],
)
def test_what_is_collected_is_closed_by_the_collector_and_by_no_other_thread(
    over: Callable[[Flow[int], VirtualTime], Flow[int]],
) -> None:
    stream = Abandoned(over)
    gc.collect()
    assert stream.closed == ["the source"]
    assert stream.executor.idle
