"""``for x in flow.blocking()``: a thread that waits for elements, and how it leaves."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from penstock import Flow, ThreadPool
from penstock.testing import ManualPublisher
from tests.flow.unit.loops import run, turns

NAME: ContextVar[str] = ContextVar("NAME")


@pytest.fixture
def interrupted() -> Iterator[threading.Event]:
    """SIGINT raises once, also where the tests were started in the background, and is noted."""
    interrupted = threading.Event()

    def interrupt(number: int, frame: object) -> None:
        if not interrupted.is_set():
            interrupted.set()
            raise KeyboardInterrupt

    usual = signal.signal(signal.SIGINT, interrupt)
    yield interrupted
    signal.signal(signal.SIGINT, usual)


async def double(x: int) -> int:
    await asyncio.sleep(0)
    return x * 2


def test_it_gives_all_elements_in_order() -> None:
    assert list(Flow.range(5).map(lambda x: x + 1).blocking()) == [1, 2, 3, 4, 5]


def test_it_is_an_iterator_and_a_context_manager() -> None:
    with Flow.of("a", "b").blocking() as elements:
        assert next(elements) == "a"
        assert list(elements) == ["b"]
    assert list(elements) == []


def test_nothing_runs_before_the_first_element_is_taken() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    elements = Flow.from_publisher(publisher).blocking()
    assert not publisher.subscribed
    elements.close()
    assert list(elements) == []


def test_elements_of_another_thread_are_waited_for() -> None:
    with ThreadPool(2) as threads:
        flow = Flow.range(2000).subscribe_on(threads).map(lambda x: x + 1)
        assert list(flow.blocking()) == list(range(1, 2001))


def test_it_can_be_used_on_any_thread() -> None:
    received: list[int] = []
    with ThreadPool() as threads:
        flow = Flow.range(300).subscribe_on(threads)
        thread = threading.Thread(target=lambda: received.extend(flow.blocking()))
        thread.start()
        thread.join()
    assert received == list(range(300))


def test_no_more_than_prefetch_is_asked_for_ahead() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    def produce() -> None:
        publisher.await_requested(3)
        publisher.next(1, 2, 3)

    thread = threading.Thread(target=produce)
    with Flow.from_publisher(publisher).blocking(prefetch=3) as elements:
        thread.start()
        assert next(elements) == 1
        assert publisher.requested <= 4
    thread.join()


def test_a_synchronous_flow_is_not_pulled_ahead() -> None:
    pulled: list[int] = []
    with Flow.range(100).do_on_next(pulled.append).blocking() as elements:
        next(elements)
        assert pulled == [0]


def test_leaving_the_loop_cancels_upstream() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    def produce() -> None:
        publisher.await_requested(1)
        publisher.next(1)

    thread = threading.Thread(target=produce)
    thread.start()
    for _ in Flow.from_publisher(publisher).blocking():
        break
    thread.join()
    assert publisher.cancelled


def test_the_end_of_the_with_block_cancels_upstream() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    def produce() -> None:
        publisher.await_requested(1)
        publisher.next(1)

    thread = threading.Thread(target=produce)
    thread.start()
    with Flow.from_publisher(publisher).blocking() as elements:
        next(elements)
        assert not publisher.cancelled
    thread.join()
    assert publisher.cancelled


@pytest.mark.parametrize("with_a_loop", [False, True], ids=["without a loop", "with a loop"])
def test_an_interrupt_while_it_waits_cancels_upstream(
    interrupted: threading.Event, with_a_loop: bool
) -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(publisher)
    if with_a_loop:
        flow = flow.map_async(double)

    def interrupt() -> None:
        publisher.await_requested(1)
        while not interrupted.wait(0.01):  # one that comes just before the system call is not seen
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        list(flow.blocking())
    thread.join()
    assert publisher.cancelled


def test_it_raises_what_the_flow_failed_with_and_names_the_operator() -> None:
    elements = Flow.of(1, 0).map(lambda x: 1 / x).blocking()
    assert next(elements) == 1
    with pytest.raises(ZeroDivisionError) as caught:
        next(elements)
    assert "in map, assembled at" in caught.value.__notes__[0]


def test_it_brings_a_loop_for_what_needs_one_and_closes_it() -> None:
    loops: set[asyncio.AbstractEventLoop] = set()
    events: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            for x in range(100):
                loops.add(asyncio.get_running_loop())
                yield x
        finally:
            await turns()
            events.append("closed")

    for x in Flow.from_async_iterable(numbers()).map_async(double).blocking():
        if x == 6:
            break
    assert events == ["closed"]
    assert len(loops) == 1
    assert loops.pop().is_closed()


def test_flows_that_are_found_later_and_run_elsewhere_get_the_same_loop() -> None:
    with ThreadPool() as threads:
        flow = Flow.range(3).flat_map(lambda x: Flow.of(x).map_async(double).publish_on(threads))
        assert sorted(flow.blocking()) == [0, 2, 4]


def test_it_refuses_to_block_a_loop_and_says_what_to_use() -> None:
    async def main() -> None:
        assert list(Flow.range(3).blocking()) == [0, 1, 2]
        with pytest.raises(RuntimeError, match=r"blocking\(\) would block.*use `async for`"):
            list(Flow.range(3).map_async(double).blocking())

    run(main())


def test_functions_see_the_context_variables_of_the_start() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    NAME.set("start")
    elements = Flow.from_publisher(publisher).map(lambda x: NAME.get()).blocking()

    def produce() -> None:
        publisher.await_requested(1)
        publisher.next(1, 2)

    thread = threading.Thread(target=produce)
    thread.start()
    assert next(elements) == "start"
    NAME.set("later")
    assert next(elements) == "start"
    thread.join()
    elements.close()


@pytest.mark.parametrize(
    ("prefetch", "error"), [(0, ValueError), (-1, ValueError), ("3", TypeError), (True, TypeError)]
)
def test_a_bad_prefetch_is_refused_at_once(prefetch: int, error: type[Exception]) -> None:
    with pytest.raises(error, match="blocking: prefetch must be"):
        Flow.range(3).blocking(prefetch)


ITERATIONS: dict[str, Callable[[Any], object]] = {
    "a loop": lambda flow: [x for x in flow],  # noqa: C416 - it is the loop that is tested
    "list": list,
    "iter": iter,
    "a star": lambda flow: [*flow],
    "flat_map_iterable": lambda flow: Flow.of(1).flat_map_iterable(lambda _: flow).run_sync(),
}


@pytest.mark.parametrize("name", ITERATIONS)
def test_who_iterates_over_a_flow_is_told_what_to_write_instead(name: str) -> None:
    with pytest.raises(TypeError, match=r"in flow\.blocking\(\)` .* `async for x in flow`"):
        ITERATIONS[name](Flow.of(1, 2))
