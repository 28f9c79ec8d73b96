"""Context variables: a run sees those of the code that subscribed, wherever it runs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from penstock import ExecutorPublisher, Flow, Retry, ThreadPool, VirtualTime, X
from penstock.runtime import AsyncioLoop, SystemClock
from penstock.testing import ManualPublisher, ManualSubscriber

USER: ContextVar[str] = ContextVar("user", default="nobody")


class Witness(ManualSubscriber[Any]):
    """Notes the user that it sees in each signal."""

    def __init__(self, request: int = 100) -> None:
        super().__init__(request=request)
        self.users: list[str] = []

    def on_subscribe(self, subscription: Any) -> None:
        self.users.append(USER.get())
        super().on_subscribe(subscription)

    def on_next(self, element: Any) -> None:
        self.users.append(USER.get())
        super().on_next(element)

    def on_error(self, error: Exception) -> None:
        self.users.append(USER.get())
        super().on_error(error)

    def on_complete(self) -> None:
        self.users.append(USER.get())
        super().on_complete()


def noted(users: list[str]) -> Callable[[Any], Any]:
    """A function that notes the user that it sees."""

    def note(x: Any) -> Any:
        users.append(USER.get())
        return x

    return note


def as_user(name: str, call: Callable[[], Any]) -> Any:
    def within() -> Any:
        USER.set(name)
        return call()

    return copy_context().run(within)


@pytest.fixture
def threads() -> Iterator[ThreadPool]:
    with ThreadPool(2) as pool:
        yield pool


Build = Callable[[ThreadPool, Callable[[Any], Any]], Flow[Any]]

ON_THREADS: dict[str, Build] = {
    "publish_on": lambda pool, note: Flow.range(3).map(note).publish_on(pool).map(note),
    "two hops": lambda pool, note: (
        Flow.range(3).publish_on(pool).map(note).publish_on(pool, prefetch=1).filter(X >= 0)
    ).map(note),
    "a hop downstream of something that waits": lambda pool, note: (
        Flow.from_publisher(ExecutorPublisher(range(3), pool)).map(note).publish_on(pool).map(note)
    ),
    "subscribe_on": lambda pool, note: Flow.range(3).map(note).subscribe_on(pool).map(note),
    "a foreign publisher on other threads": lambda pool, note: Flow.from_publisher(
        ExecutorPublisher(range(3), pool)
    ).map(note),
    "flat_map of flows on threads": lambda pool, note: (
        Flow.range(3).flat_map(lambda x: Flow.of(x).map(note).publish_on(pool).map(note)).map(note)
    ),
    "merge": lambda pool, note: Flow.merge(
        Flow.range(3).map(note).publish_on(pool), ExecutorPublisher(range(3), pool)
    ).map(note),
    "retry on threads": lambda pool, note: (
        Flow.of(1).map(note).publish_on(pool).map(note).retry(Retry(2)).map(note)
    ),
    "group_by on threads": lambda pool, note: (
        Flow.range(4).publish_on(pool).group_by(lambda x: note(x) % 2).flat_map(lambda g: g)
    ).map(note),
    "do_finally on threads": lambda pool, note: (
        Flow.range(3).subscribe_on(pool).do_finally(note).do_on_next(note)
    ),
    "timers on a thread of their own": lambda pool, note: (
        Flow.range(3).map(note).delay(0.001, clock=SystemClock()).map(note)
    ),
    "interval on its own thread": lambda pool, note: (
        Flow.interval(0.001, clock=SystemClock()).map(note).take(2)
    ),
    "overflow": lambda pool, note: (
        Flow.from_publisher(ExecutorPublisher(range(3), pool)).on_backpressure_buffer(9)
    ).map(note),
    "limit_rate": lambda pool, note: (
        Flow.from_publisher(ExecutorPublisher(range(3), pool)).limit_rate(2).map(note)
    ),
    "a shared run": lambda pool, note: (
        Flow.from_publisher(ExecutorPublisher(range(3), pool)).map(note).share().map(note)
    ),
}


@pytest.mark.parametrize("build", ON_THREADS.values(), ids=list(ON_THREADS))
def test_functions_and_signals_see_the_variables_of_who_subscribed(
    build: Build, threads: ThreadPool
) -> None:
    users: list[str] = []
    flow = as_user("assembler", lambda: build(threads, noted(users)))
    witness = Witness()
    as_user("subscriber", lambda: flow.subscribe(witness))
    witness.await_end()
    assert witness.error is None
    assert set(users) == {"subscriber"}
    assert set(witness.users) == {"subscriber"}


def test_two_subscribers_of_one_flow_see_their_own(threads: ThreadPool) -> None:
    flow = Flow.range(3).publish_on(threads).map(lambda x: USER.get())
    first, second = Witness(), Witness()
    as_user("a", lambda: flow.subscribe(first))
    as_user("b", lambda: flow.subscribe(second))
    first.await_end()
    second.await_end()
    assert (first.elements, second.elements) == (["a"] * 3, ["b"] * 3)
    assert (set(first.users), set(second.users)) == ({"a"}, {"b"})


def test_elements_that_are_pushed_from_another_thread_are_handled_in_the_runs_context() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    witness, users = Witness(), list[str]()
    as_user("a", lambda: Flow.from_publisher(source).map(noted(users)).subscribe(witness))
    thread = threading.Thread(target=as_user, args=("pusher", lambda: source.next(1, 2)))
    thread.start()
    thread.join()
    as_user("completer", source.complete)
    assert users == ["a", "a"]
    assert set(witness.users) == {"a"}


def test_a_request_from_elsewhere_does_not_bring_its_variables() -> None:
    witness, users = Witness(request=0), list[str]()
    as_user("a", lambda: Flow.range(3).map(noted(users)).subscribe(witness))
    as_user("b", lambda: witness.request(2))
    as_user("c", lambda: witness.request(2))
    assert users == ["a"] * 3
    assert set(witness.users) == {"a"}


def test_a_cancel_from_elsewhere_does_not_bring_its_variables() -> None:
    users: list[str] = []
    witness = Witness(request=1)
    flow = Flow.range(9).do_finally(noted(users)).do_on_discard(noted(users))
    as_user("a", lambda: flow.subscribe(witness))
    as_user("b", witness.cancel)
    assert users == ["a"]


def test_an_emitter_that_is_used_by_other_threads_does_not_bring_their_variables() -> None:
    users: list[str] = []
    emitters: list[Any] = []
    flow = Flow.create(emitters.append, overflow="error").map(noted(users))
    witness = Witness()
    as_user("a", lambda: flow.subscribe(witness))
    thread = threading.Thread(target=as_user, args=("b", lambda: emitters[0].emit(1)))
    thread.start()
    thread.join()
    as_user("c", emitters[0].complete)
    assert users == ["a"]
    assert set(witness.users) == {"a"}


@pytest.mark.parametrize("operator", ["delay", "debounce", "timeout", "buffer", "retry"])
def test_timers_of_virtual_time_do_not_bring_the_variables_of_who_moves_it(operator: str) -> None:
    time, users = VirtualTime(), list[str]()
    note = noted(users)
    flow = {
        "delay": Flow.range(3).delay(1, clock=time),
        "debounce": Flow.range(3).debounce(1, clock=time),
        "timeout": Flow.never().timeout(1, Flow.of(1).map(note), clock=time),
        "buffer": Flow.merge(Flow.of(1), Flow.never()).buffer(every=1, clock=time),
        "retry": Flow.of(0).map(note).map(1 // X).retry(Retry(1, backoff=1), clock=time),
    }[operator]
    witness = Witness()
    as_user("a", lambda: flow.map(note).subscribe(witness))
    as_user("clock", lambda: time.advance(5))
    assert users
    assert set(users) == {"a"}
    assert set(witness.users) == {"a"}
    witness.cancel()


# asyncio


def test_a_hop_to_an_asyncio_loop_keeps_the_variables() -> None:
    async def main() -> None:
        witness, users = Witness(), list[str]()
        loop = AsyncioLoop()
        flow = Flow.range(3).map(noted(users)).publish_on(loop).map(noted(users))
        as_user("a", lambda: flow.subscribe(witness))
        await asyncio.to_thread(witness.await_end)
        assert set(users) == {"a"} == set(witness.users)

    asyncio.run(main())


def test_coroutines_and_asynchronous_sources_see_the_variables() -> None:
    async def main() -> None:
        witness, users = Witness(), list[str]()

        async def numbers() -> Any:
            for number in range(3):
                users.append(USER.get())
                yield number
                await asyncio.sleep(0)

        async def double(x: int) -> int:
            await asyncio.sleep(0)
            users.append(USER.get())
            return 2 * x

        flow = Flow.from_async_iterable(numbers()).map_async(double, concurrency=2)
        as_user("a", lambda: flow.map(noted(users)).subscribe(witness))
        await asyncio.to_thread(witness.await_end)
        assert witness.elements == [0, 2, 4]
        assert set(users) == {"a"} == set(witness.users)

    asyncio.run(main())


def test_await_and_async_for_see_the_variables_of_the_task(threads: ThreadPool) -> None:
    async def main() -> None:
        USER.set("task")
        users: list[str] = []
        flow = Flow.range(3).publish_on(threads).map(noted(users))
        assert await flow.to_list() == [0, 1, 2]
        assert [x async for x in flow] == [0, 1, 2]
        assert users == ["task"] * 6

    asyncio.run(main())


# Threads that wait.


@pytest.mark.parametrize(
    "run", [lambda f: f.run_sync(), lambda f: list(f.blocking())], ids=["run_sync", "blocking"]
)
def test_a_thread_that_waits_sees_its_own_variables(
    run: Callable[[Flow[Any]], object], threads: ThreadPool
) -> None:
    users: list[str] = []
    note = noted(users)
    flow = Flow.range(3).map(note).publish_on(threads).map(note)
    as_user("a", lambda: run(flow))
    as_user("b", lambda: run(Flow.from_publisher(flow).map(note)))
    assert users[:6] == ["a"] * 6
    assert users[6:] == ["b"] * 9


def test_what_a_run_sets_does_not_leak_to_who_subscribed() -> None:
    as_user("a", lambda: Flow.of("b").do_on_next(USER.set).subscribe(Witness()))
    assert USER.get() == "nobody"


# Shared runs.


def test_a_shared_run_sees_the_variables_of_who_started_it_and_signals_those_of_each() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    users: list[str] = []
    shared = Flow.from_publisher(source).map(noted(users)).share()
    first, second = Witness(), Witness()
    as_user("a", lambda: shared.subscribe(first))
    as_user("b", lambda: shared.map(X + 0).subscribe(second))
    as_user("pusher", lambda: source.next(1, 2))
    as_user("completer", source.complete)
    assert set(users) == {"a"}
    assert set(first.users) == {"a"}
    assert set(second.users) == {"b"}
