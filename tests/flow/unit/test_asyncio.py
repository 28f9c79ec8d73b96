"""What is awaited: its task, its loop, its context, and its end."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from itertools import product
from typing import Any

import pytest

from penstock import UNBOUNDED, AsyncioLoop, Flow, Subscriber, ThreadPool, collect_undelivered
from penstock.tck import verify_publisher
from penstock.testing import ManualPublisher, ManualSubscriber, StepVerifier
from tests.flow.unit.loops import Gate, background_loop, run, subscribed, turns
from tests.quick import quick

NAME: ContextVar[str] = ContextVar("NAME")


class Numbers:
    """An asynchronous iterable that counts how far it was advanced, and how often closed."""

    def __init__(self, count: int = 1000, error: Exception | None = None) -> None:
        self.count = count
        self.error = error
        self.advanced = 0
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[int]:
        try:
            for x in range(self.count):
                self.advanced += 1
                yield x
            if self.error is not None:
                raise self.error
        finally:
            await asyncio.sleep(0)
            self.closed += 1


async def same(x: Any) -> Any:
    return x


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    with background_loop() as loop:
        yield loop


# from_async_iterable


def test_an_asynchronous_iterable_is_advanced_only_as_far_as_is_wanted() -> None:
    async def main() -> None:
        numbers = Numbers()
        subscriber = await subscribed(Flow.from_async_iterable(numbers))
        assert numbers.advanced == 0
        subscriber.request(3)
        await turns()
        assert (numbers.advanced, subscriber.elements) == (3, [0, 1, 2])
        subscriber.request(1)
        await turns()
        assert (numbers.advanced, subscriber.elements) == (4, [0, 1, 2, 3])
        subscriber.cancel()

    run(main())


def test_an_asynchronous_iterable_is_iterated_anew_for_each_subscriber() -> None:
    async def main() -> None:
        flow = Flow.from_async_iterable(Numbers(3))
        assert await flow.to_list() == [0, 1, 2]
        assert await flow.to_list() == [0, 1, 2]

    run(main())


def test_no_more_than_prefetch_elements_wait() -> None:
    async def main() -> None:
        numbers = Numbers()
        elements = aiter(Flow.from_async_iterable(numbers, prefetch=4))
        assert await anext(elements) == 0
        await turns()
        assert numbers.advanced == 4
        await elements.aclose()

    run(main())


async def consume(queue: asyncio.Queue[int]) -> AsyncIterator[int]:
    while True:
        yield await queue.get()


def queue_of(count: int) -> asyncio.Queue[int]:
    queue: asyncio.Queue[int] = asyncio.Queue()
    for x in range(count):
        queue.put_nowait(x)
    return queue


TAKING_TWO: dict[str, Callable[[Flow[int]], Flow[int]]] = {
    "take": lambda flow: flow.take(2),
    "filter": lambda flow: flow.filter(lambda x: x >= 0).take(2),
    "take_while": lambda flow: flow.take_while(lambda x: x % 2 == 0),
    "an operator that waits": lambda flow: flow.timeout(3600).filter(lambda x: x >= 0).take(2),
    "merge": lambda flow: Flow.merge(flow, Flow.empty()).take(2),
    "using": lambda flow: Flow.using(nullcontext, lambda _: flow).take(2),
    "prefetch": lambda flow: flow.take(2),
}


@pytest.mark.parametrize("name", TAKING_TWO)
def test_no_element_is_read_that_a_flow_does_not_need(name: str) -> None:
    prefetch = 5 if name == "prefetch" else 1

    def two_of(queue: asyncio.Queue[int]) -> Flow[int]:
        source = Flow.from_async_iterable(consume(queue), prefetch=prefetch)
        return TAKING_TWO[name](source)

    async def main() -> None:
        queue = queue_of(10)
        await two_of(queue).to_list()
        assert queue.qsize() == 8
        async for _ in two_of(queue):
            pass
        assert queue.qsize() == 6

    run(main())
    queue = queue_of(10)
    two_of(queue).to_list().run_sync()
    assert queue.qsize() == 8
    list(two_of(queue).blocking())
    assert queue.qsize() == 6


def test_an_iteration_that_is_left_has_read_what_it_gave() -> None:
    async def main() -> None:
        queue = queue_of(10)
        async with aclosing(aiter(Flow.from_async_iterable(consume(queue)))) as elements:
            async for x in elements:
                if x == 2:
                    break
        assert queue.qsize() == 7

    run(main())
    queue = queue_of(10)
    with Flow.from_async_iterable(consume(queue)).blocking() as elements:
        for x in elements:
            if x == 2:
                break
    assert queue.qsize() == 7


def test_a_failing_function_costs_the_element_that_it_was_given_and_no_other() -> None:
    async def main() -> None:
        queue = queue_of(10)
        with pytest.raises(ZeroDivisionError):
            await Flow.from_async_iterable(consume(queue)).map(lambda x: 1 // (2 - x)).to_list()
        assert queue.qsize() == 7

    run(main())


class Cleaning:
    """Rows of an asynchronous generator that has to clean up after them."""

    def __init__(self, rows: int = 1) -> None:
        self.events: list[str] = []
        self._rows = rows

    async def __aiter__(self) -> AsyncIterator[int]:
        try:
            for row in range(self._rows):
                yield row
        finally:
            self.events.append("cleaning up")
            await turns()
            self.events.append("clean")


def test_an_asynchronous_generator_is_not_disturbed_while_it_cleans_up() -> None:
    async def main(rows: Cleaning) -> None:
        assert await Flow.from_async_iterable(rows).first() == 0
        assert rows.events == ["cleaning up", "clean"]

    run(main(Cleaning()))
    rows = Cleaning()
    assert Flow.from_async_iterable(rows).first().run_sync() == 0
    assert rows.events == ["cleaning up", "clean"]


@pytest.mark.parametrize("rows", [1, 1_000])
@pytest.mark.parametrize("beside", ["nothing", "something"])
def test_an_iteration_that_is_left_by_break_cleans_up_before_the_loop_ends(
    beside: str, rows: int
) -> None:
    async def main(source: Cleaning) -> None:
        flow = Flow.from_async_iterable(source)
        async for _ in flow if beside == "nothing" else flow.timeout(3600):
            break

    source = Cleaning(rows)
    with collect_undelivered() as lost:
        asyncio.run(main(source))
    assert source.events == ["cleaning up", "clean"]
    assert lost == []


def test_a_flow_in_which_nothing_else_waits_iterates_in_the_task_that_awaits_it() -> None:
    async def tasks() -> AsyncIterator[object]:
        yield asyncio.current_task()

    async def main() -> None:
        flow = Flow.from_async_iterable(tasks())
        assert await flow.map(lambda task: task is asyncio.current_task()) is True

    run(main())


def test_a_source_that_never_waits_lets_others_run_also_where_it_is_awaited() -> None:
    async def main() -> None:
        numbers, seen = Numbers(10_000), list[int]()
        asyncio.get_running_loop().call_soon(lambda: seen.append(numbers.advanced))
        await Flow.from_async_iterable(numbers).count()
        assert seen[0] < 10_000

    run(main())


def test_an_iterable_that_is_cancelled_by_others_fails_the_flow() -> None:
    async def waiting() -> AsyncIterator[int]:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        yield await future

    async def main() -> None:
        with pytest.raises(RuntimeError, match="the task that made the elements was cancelled"):
            await Flow.from_async_iterable(waiting())

    run(main())


def test_a_task_that_is_cancelled_cancels_the_iterable_where_it_waits() -> None:
    events: list[str] = []

    async def waiting() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await turns()
            events.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.ensure_future(awaiting(Flow.from_async_iterable(waiting())))
        await turns()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert events == ["cancelled"]

    async def awaiting(flow: Flow[int]) -> None:
        await flow.count()

    run(main())


@pytest.mark.parametrize("way", ["await", "async for"])
def test_a_task_that_is_cancelled_between_two_elements_closes_the_iterable(way: str) -> None:
    async def take_all(numbers: Numbers) -> None:
        flow = Flow.from_async_iterable(numbers)
        if way == "await":
            await flow.count()
        else:
            async with aclosing(aiter(flow)) as elements:
                async for _ in elements:
                    pass

    async def main() -> None:
        numbers = Numbers(10_000)
        task = asyncio.ensure_future(take_all(numbers))
        await turns(3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert 0 < numbers.advanced < 10_000
        assert numbers.closed == 1

    run(main())


def test_a_generator_that_fails_to_close_after_an_early_end_is_reported() -> None:
    async def some() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            raise OSError("cannot close")

    async def main() -> None:
        assert await Flow.from_async_iterable(some()).first() == 1

    with collect_undelivered() as lost:
        run(main())
    assert [str(each.error) for each in lost] == ["cannot close"]


def test_a_cancel_closes_an_asynchronous_generator_that_waits_for_demand() -> None:
    async def main() -> None:
        numbers = Numbers()
        subscriber = await subscribed(Flow.from_async_iterable(numbers), 2)
        subscriber.cancel()
        await turns()
        assert (numbers.advanced, numbers.closed) == (2, 1)

    run(main())


def test_a_cancel_reaches_an_asynchronous_generator_where_it_waits() -> None:
    events: list[str] = []

    async def waiting() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    async def main() -> None:
        subscriber = await subscribed(Flow.from_async_iterable(waiting()), 2)
        assert subscriber.elements == [1]
        subscriber.cancel()
        await turns()
        assert events == ["cancelled"]

    run(main())


def test_an_early_end_closes_an_asynchronous_generator() -> None:
    async def main() -> None:
        numbers = Numbers()
        assert await Flow.from_async_iterable(numbers).take(2).to_list() == [0, 1]
        assert numbers.closed == 1

    run(main())


def test_an_early_end_closes_an_asynchronous_generator_that_is_one_of_several_inputs() -> None:
    async def main() -> None:
        numbers = Numbers()
        zipped = Flow.zip(Flow.from_async_iterable(numbers), Flow.range(9))
        assert await zipped.take(2).to_list() == [(0, 0), (1, 1)]
        assert numbers.closed == 1

    run(main())


def test_a_cancel_within_on_next_closes_the_generator_and_gives_nothing_more() -> None:
    async def main() -> None:
        numbers = Numbers()
        flow = Flow.from_async_iterable(numbers)
        subscriber = await subscribed(flow.take(2), UNBOUNDED)
        assert subscriber.elements == [0, 1]
        assert numbers.closed == 1

    run(main())


def test_a_failing_asynchronous_iterable_fails_after_its_elements() -> None:
    async def main() -> None:
        numbers = Numbers(2, OSError("broken"))
        subscriber = await subscribed(Flow.from_async_iterable(numbers), 5)
        subscriber.assert_elements(0, 1)
        subscriber.assert_failed(OSError, match="broken")
        assert subscriber.error is not None
        assert "in from_async_iterable, assembled at" in subscriber.error.__notes__[0]
        assert numbers.closed == 1

    run(main())


def test_none_is_refused_and_the_iterator_closed_before_the_error() -> None:
    events: list[str] = []

    async def some() -> AsyncIterator[Any]:
        try:
            yield None
        finally:
            events.append("closed")

    async def main() -> None:
        with pytest.raises(TypeError, match="None"):
            await Flow.from_async_iterable(some())
        assert events == ["closed"]

    run(main())


def test_a_generator_that_fails_to_close_after_a_cancel_is_reported() -> None:
    async def some() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            raise OSError("cannot close")

    async def main() -> None:
        subscriber = await subscribed(Flow.from_async_iterable(some()), 1)
        subscriber.cancel()
        await turns()

    with collect_undelivered() as lost:
        run(main())
    assert [str(each.error) for each in lost] == ["cannot close"]
    assert "3.15" in lost[0].what


def test_a_source_that_never_waits_lets_others_run() -> None:
    async def main() -> None:
        received: list[int] = []
        subscriber = await subscribed(Flow.from_async_iterable(Numbers(10_000)))
        subscriber.request(UNBOUNDED)
        asyncio.get_running_loop().call_soon(lambda: received.append(len(subscriber.elements)))
        await asyncio.to_thread(subscriber.await_end)
        assert 0 < received[0] < 10_000

    run(main())


@pytest.mark.parametrize(
    ("iterable", "hint"),
    [([1], "from_iterable"), (3, "not 3"), (Numbers.__aiter__, "call the function")],
)
def test_what_is_no_asynchronous_iterable_is_refused_at_once(iterable: Any, hint: str) -> None:
    with pytest.raises(TypeError, match=f"from_async_iterable needs .*{hint}"):
        Flow.from_async_iterable(iterable)


# from_awaitable


def test_an_awaitable_gives_its_result_once_it_is_wanted() -> None:
    async def main() -> None:
        calls: list[str] = []

        async def answer() -> int:
            calls.append("called")
            return 42

        subscriber = await subscribed(Flow.from_awaitable(answer))
        assert calls == []
        subscriber.request(1)
        await turns()
        subscriber.assert_elements(42)
        subscriber.assert_completed()

    run(main())


def test_an_awaitable_that_gives_none_is_an_empty_flow() -> None:
    async def nothing() -> None:
        pass

    assert Flow.from_awaitable(nothing).to_list().run_sync() == []


def test_a_coroutine_can_be_awaited_by_one_subscriber_and_says_so_to_the_next() -> None:
    async def main() -> None:
        flow = Flow.from_awaitable(same(1))
        assert await flow == 1
        with pytest.raises(RuntimeError, match="once only.*give the function that makes it"):
            await flow

    run(main())


def test_a_future_that_was_handed_in_goes_on_when_the_subscriber_cancels() -> None:
    async def main() -> None:
        future = asyncio.get_running_loop().create_future()
        subscriber = await subscribed(Flow.from_awaitable(future), 1)
        subscriber.cancel()
        await turns()
        assert not future.cancelled()
        future.set_result(3)
        assert await Flow.from_awaitable(future) == 3

    run(main())


def test_a_coroutine_that_was_made_here_is_cancelled_with_the_subscriber() -> None:
    async def main() -> None:
        gate = Gate()
        subscriber = await subscribed(Flow.from_awaitable(lambda: gate(1)), 1)
        subscriber.cancel()
        await turns()
        assert gate.cancelled == [1]

    run(main())


def test_a_failed_awaitable_fails_the_flow() -> None:
    async def fail() -> int:
        raise OSError("broken")

    with pytest.raises(OSError, match="broken") as caught:
        Flow.from_awaitable(fail).run_sync()
    assert "in from_awaitable, assembled at" in caught.value.__notes__[0]


def test_a_function_that_makes_no_awaitable_is_named_with_its_result() -> None:
    made: Callable[[], Any] = lambda: 3  # noqa: E731
    with pytest.raises(TypeError, match="from_awaitable: the function returned 3.*from_callable"):
        Flow.from_awaitable(made).run_sync()


def test_what_cannot_be_awaited_is_refused_at_once() -> None:
    three: Any = 3
    with pytest.raises(TypeError, match="from_awaitable needs an awaitable, .* not 3"):
        Flow.from_awaitable(three)


# The loop, the thread and the context.

NEEDING_A_LOOP: dict[str, Callable[[], Flow[int]]] = {
    "from_async_iterable": lambda: Flow.from_async_iterable(Numbers(3)),
    "from_awaitable": lambda: Flow.from_awaitable(lambda: same(1)),
    "map_async": lambda: Flow.of(1).map_async(same),
}


@pytest.mark.parametrize("name", NEEDING_A_LOOP)
def test_without_a_loop_the_error_names_the_operator_and_says_how(name: str) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    NEEDING_A_LOOP[name]().subscribe(subscriber)
    subscriber.assert_failed(RuntimeError, match=f"{name} needs an asyncio loop.*run_sync")


@pytest.mark.parametrize("name", NEEDING_A_LOOP)
def test_a_closed_loop_is_an_error_and_no_hang(name: str) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()

    async def main() -> None:
        NEEDING_A_LOOP[name]().subscribe(subscriber)

    asyncio.run(main())
    subscriber.request(1)
    subscriber.assert_failed(RuntimeError, match="the asyncio loop takes no more work: .*closed")


def test_requests_from_another_thread_run_the_tasks_on_the_loop_of_the_subscriber() -> None:
    threads: set[threading.Thread] = set()

    async def where(x: int) -> int:
        threads.add(threading.current_thread())
        return x

    async def main(pool: ThreadPool) -> None:
        subscriber = await subscribed(Flow.from_async_iterable(Numbers(9)).map_async(where))
        for _ in range(10):
            pool.execute(lambda: subscriber.request(1))
        await asyncio.to_thread(subscriber.await_end)
        subscriber.assert_elements(*range(9))

    with ThreadPool(2) as pool:
        run(main(pool))
    assert threads == {threading.main_thread()}


def test_stages_on_other_threads_find_the_loop_of_the_subscriber() -> None:
    async def main(pool: ThreadPool) -> list[int]:
        flow = Flow.range(50).subscribe_on(pool).map_async(same, concurrency=4)
        inner = flow.flat_map(lambda x: Flow.of(x).map_async(same).subscribe_on(pool))
        return await inner.to_list() or []

    with ThreadPool(2) as pool:
        assert sorted(run(main(pool))) == list(range(50))


def test_coroutines_see_the_context_variables_of_the_subscriber() -> None:
    async def name(x: int) -> str:
        return NAME.get()

    async def names() -> AsyncIterator[str]:
        yield NAME.get()

    async def main(pool: ThreadPool) -> None:
        NAME.set("subscriber")
        mapped = await subscribed(Flow.range(2).map_async(name))
        iterated = await subscribed(Flow.from_async_iterable(names()))
        NAME.set("later")
        for subscriber in (mapped, iterated):
            pool.execute(partial(subscriber.request, 5))
        await asyncio.to_thread(mapped.await_end)
        await asyncio.to_thread(iterated.await_end)
        assert mapped.elements == ["subscriber", "subscriber"]
        assert iterated.elements == ["subscriber"]

    with ThreadPool() as pool:
        run(main(pool))


def test_a_source_that_takes_its_time_to_close_is_no_garbage_meanwhile() -> None:
    closing: list[weakref.ref[asyncio.Future[None]]] = []
    closed: list[bool] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            answer = asyncio.get_running_loop().create_future()
            closing.append(weakref.ref(answer))
            await answer
            closed.append(True)

    async def main() -> None:
        subscriber = await subscribed(Flow.from_async_iterable(numbers()), 1)
        subscriber.cancel()
        del subscriber
        await turns()
        gc.collect()
        answer = closing[0]()
        assert answer is not None
        answer.set_result(None)
        await turns()
        assert closed == [True]

    run(main())


def test_a_cancelled_run_is_freed_without_the_collector() -> None:
    class Element:
        pass

    async def main() -> None:
        element = Element()
        freed = weakref.ref(element)
        gate: Any = Gate()
        waiting = Flow.of(element).map_async(lambda x: gate(1), concurrency=2)
        subscriber = await subscribed(waiting, 1)
        subscriber.cancel()
        del element, waiting, subscriber
        await turns()
        assert freed() is None

    gc.collect()
    gc.disable()
    try:
        run(main())
    finally:
        gc.enable()


# using


@asynccontextmanager
async def resource(events: list[str]) -> AsyncIterator[int]:
    events.append("entered")
    try:
        yield 10
    finally:
        await asyncio.sleep(0)
        events.append("left")


def test_an_asynchronous_resource_is_left_before_the_end_is_seen() -> None:
    async def main() -> None:
        events: list[str] = []
        flow = Flow.using(lambda: resource(events), Flow.range)
        assert events == []
        assert await flow.to_list() == list(range(10))
        assert events == ["entered", "left"]

    run(main())


def test_a_cancel_leaves_an_asynchronous_resource() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        events: list[str] = []
        opening: Callable[[], AbstractAsyncContextManager[int]] = lambda: resource(events)  # noqa: E731
        subscriber = await subscribed(Flow.using(opening, lambda _: publisher), 3)
        publisher.next(1)
        await turns()
        subscriber.assert_elements(1)
        subscriber.cancel()
        await turns()
        assert publisher.cancelled
        assert events == ["entered", "left"]

    run(main())


# The kit.


class OnTheLoop:
    """Subscribes on the thread of a loop; the stages run wherever they are woken."""

    def __init__(self, flow: Flow[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._flow = flow
        self._loop = loop

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        if subscriber is None:
            raise TypeError("there must be a subscriber")
        self._loop.call_soon_threadsafe(self._flow.subscribe, subscriber)


def test_steps_of_an_asynchronous_flow(loop: asyncio.AbstractEventLoop) -> None:
    flow = Flow.from_async_iterable(Numbers(4)).map_async(same, concurrency=2)
    verifier = StepVerifier(flow.subscribe_on(AsyncioLoop(loop)), request=2)
    verifier.expect_next(0, 1).then_request(5).expect_next(2, 3).expect_complete().verify()


JUDGED = tuple(product(("from_async_iterable", "map_async"), (True, False)))


@pytest.mark.parametrize(("name", "on_executor"), quick(JUDGED, [JUDGED[0], JUDGED[-1]]))
def test_it_is_a_publisher_by_all_rules(
    name: str, on_executor: bool, loop: asyncio.AbstractEventLoop
) -> None:
    async def fail(x: int) -> int:
        raise OSError("broken")

    def within(flow: Flow[int]) -> Any:
        return flow.subscribe_on(AsyncioLoop(loop)) if on_executor else OnTheLoop(flow, loop)

    makers: dict[str, tuple[Callable[[int], Flow[int]], Flow[int]]] = {
        "from_async_iterable": (
            lambda n: Flow.from_async_iterable(Numbers(n)),
            Flow.from_async_iterable(Numbers(0, OSError("broken"))),
        ),
        "map_async": (
            lambda n: Flow.range(n).map_async(same, concurrency=3),
            Flow.of(1).map_async(fail),
        ),
    }
    make, failed = makers[name]
    report = verify_publisher(
        lambda n: within(make(n)), failed=lambda: within(failed), repeatable=True
    )
    report.raise_if_failed()
