"""``flat_map``, ``flat_map_sequential``, ``concat_map``, ``switch_map`` and ``exhaust_map``."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Iterator
from itertools import count, islice
from typing import Any

import pytest

from penstock import UNBOUNDED, Flow, IterablePublisher, Publisher, ThreadPool, VirtualTime
from penstock.flow.operators.inputs import TURN, InputElements
from penstock.testing import ManualPublisher, ManualSubscriber

FLATTEN: dict[str, Callable[[Flow[Any], Callable[[Any], Any]], Flow[Any]]] = {
    "flat_map": lambda flow, function: flow.flat_map(function),
    "flat_map_sequential": lambda flow, function: flow.flat_map_sequential(function),
    "concat_map": lambda flow, function: flow.concat_map(function),
    "switch_map": lambda flow, function: flow.switch_map(function),
    "exhaust_map": lambda flow, function: flow.exhaust_map(function),
}
EVERY_ONE = pytest.mark.parametrize("name", FLATTEN)
EVERY_PULLING_ONE = pytest.mark.parametrize(
    "name", [name for name in FLATTEN if name != "flat_map_sequential"]
)
"""Those that ask a publisher for what is wanted, and no more."""


class Inners:
    """Makes a publisher for each element, and keeps them."""

    def __init__(self) -> None:
        self.made: dict[Any, ManualPublisher[Any]] = {}

    def __call__(self, element: Any) -> ManualPublisher[Any]:
        self.made[element] = ManualPublisher()
        return self.made[element]

    def __getitem__(self, element: Any) -> ManualPublisher[Any]:
        return self.made[element]


class Setting:
    """An operator between an outer publisher, inner ones and a subscriber."""

    def __init__(self, name: str, request: int = UNBOUNDED) -> None:
        self.outer: ManualPublisher[str] = ManualPublisher()
        self.inners, self.discarded = Inners(), list[Any]()
        self.subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
        flow = FLATTEN[name](Flow.from_publisher(self.outer), self.inners)
        flow.do_on_discard(self.discarded.append).subscribe(self.subscriber)


# All of them.


@EVERY_ONE
def test_elements_of_an_inner_publisher_go_on_as_they_come(name: str) -> None:
    setting = Setting(name)
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.subscriber.assert_elements(1)
    setting.inners["a"].next(2)
    setting.subscriber.assert_elements(1, 2)
    setting.subscriber.assert_not_ended()


@EVERY_ONE
def test_the_stream_completes_when_outer_and_inner_have_completed(name: str) -> None:
    setting = Setting(name)
    setting.outer.next("a")
    setting.outer.complete()
    setting.subscriber.assert_not_ended()
    setting.inners["a"].complete()
    setting.subscriber.assert_completed()


@EVERY_ONE
def test_the_stream_completes_without_demand_after_the_last_element(name: str) -> None:
    setting = Setting(name, request=1)
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.outer.complete()
    setting.subscriber.assert_not_ended()
    setting.inners["a"].complete()
    setting.subscriber.assert_completed()


@EVERY_ONE
def test_flows_that_know_their_size_complete_with_the_last_element(name: str) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    FLATTEN[name](Flow.of("a"), lambda x: Flow.of(1, 2)).subscribe(subscriber)
    subscriber.assert_elements(1, 2)
    subscriber.assert_completed()


@EVERY_ONE
def test_an_error_of_the_inner_publisher_cancels_the_outer_one(name: str) -> None:
    setting = Setting(name)
    setting.outer.next("a")
    setting.inners["a"].error(OSError("inner"))
    setting.subscriber.assert_failed(OSError, match="inner")
    assert setting.outer.cancelled


@EVERY_ONE
@pytest.mark.parametrize("request_first", [UNBOUNDED, 1], ids=["with demand", "without demand"])
def test_an_error_of_the_outer_publisher_cancels_the_inner_one(
    name: str, request_first: int
) -> None:
    setting = Setting(name, request_first)
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.outer.error(OSError("outer"))
    setting.subscriber.assert_failed(OSError, match="outer")
    assert setting.inners["a"].cancelled


@EVERY_ONE
def test_what_the_function_raises_cancels_the_outer_publisher_and_names_the_operator(
    name: str,
) -> None:
    outer: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    FLATTEN[name](Flow.from_publisher(outer), lambda x: 1 // x).subscribe(subscriber)
    outer.next(0)
    subscriber.assert_failed(ZeroDivisionError)
    assert outer.cancelled
    assert subscriber.error is not None
    assert f"in {name}, assembled at {__file__}" in subscriber.error.__notes__[0]


@EVERY_ONE
def test_an_error_within_an_inner_flow_names_the_operator_there(name: str) -> None:
    flow = FLATTEN[name](Flow.of(0), lambda x: Flow.of(x).map(lambda y: 1 // y))
    with pytest.raises(ZeroDivisionError) as raised:
        flow.run_sync()
    assert raised.value.__notes__[0].startswith("in map, assembled at")


@EVERY_ONE
def test_a_function_that_returns_no_publisher_fails_the_stream(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name} needs a publisher, not 1\n"):
        FLATTEN[name](Flow.of(1), lambda x: x).run_sync()


@EVERY_ONE
def test_a_function_that_returns_a_list_is_told_what_takes_one(name: str) -> None:
    one = name in ("switch_map", "exhaust_map")
    instead = "from_iterable makes" if one else "flat_map_iterable takes"
    with pytest.raises(
        TypeError, match=rf"{name} needs a publisher, not \[1\]; {instead} .* a list"
    ):
        FLATTEN[name](Flow.of(1), lambda x: [x]).run_sync()


@EVERY_ONE
def test_a_cancel_reaches_the_outer_publisher_and_a_never_ending_inner_one(name: str) -> None:
    setting = Setting(name)
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.subscriber.cancel()
    assert setting.outer.cancelled
    assert setting.inners["a"].cancelled


@EVERY_PULLING_ONE
def test_an_inner_publisher_is_asked_for_what_is_wanted(name: str) -> None:
    setting = Setting(name, request=3)
    setting.outer.next("a")
    assert setting.inners["a"].requested == 3
    setting.inners["a"].next(1)
    setting.subscriber.request(1)
    assert setting.inners["a"].requested == 4


@EVERY_PULLING_ONE
def test_an_inner_publisher_is_never_asked_for_more_than_prefetch(name: str) -> None:
    setting = Setting(name)
    setting.outer.next("a")
    assert setting.inners["a"].requested == 256


@EVERY_ONE
def test_a_function_is_checked_when_the_flow_is_assembled(name: str) -> None:
    async def later(x: object) -> Flow[object]:
        return Flow.of(x)

    with pytest.raises(TypeError, match=f"{name} needs a function, not 3"):
        FLATTEN[name](Flow.of(1), 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=f"{name} got the coroutine function .* use map_async"):
        FLATTEN[name](Flow.of(1), later)


@EVERY_ONE
def test_inner_flows_run_on_threads_of_their_own(name: str) -> None:
    with ThreadPool(2) as threads:
        flow = Flow.of(5).publish_on(threads)
        flat = FLATTEN[name](flow, lambda x: Flow.range(1000).publish_on(threads))
        assert flat.reduce(0, lambda total, x: total + x).run_sync() == sum(range(1000))


@EVERY_ONE
def test_a_cancelled_run_keeps_nothing_alive(name: str) -> None:
    class Element:
        pass

    def inner(x: object) -> Publisher[Element]:
        return Flow.concat(Flow.of(Element()), Flow.never())

    gc.collect()
    gc.disable()
    try:
        received: list[weakref.ref[object]] = []
        subscriber: Any = ManualSubscriber(request=5)
        subscriber.on_next = lambda element: received.append(weakref.ref(element))
        FLATTEN[name](Flow.range(3), inner).subscribe(subscriber)
        assert received
        subscriber.cancel()
        del subscriber
        assert [element() for element in received if element() is not None] == []
    finally:
        gc.enable()


# flat_map


def test_flat_map_takes_from_several_publishers_at_a_time() -> None:
    setting = Setting("flat_map")
    setting.outer.next("a", "b")
    setting.inners["b"].next(1)
    setting.inners["a"].next(2)
    setting.inners["b"].next(3)
    setting.subscriber.assert_elements(1, 2, 3)


def test_flat_map_opens_the_next_publisher_when_there_is_room() -> None:
    inners = Inners()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    Flow.of("a", "b", "c").flat_map(inners, concurrency=2).subscribe(subscriber)
    assert list(inners.made) == ["a", "b"]
    inners["b"].complete()
    assert list(inners.made) == ["a", "b", "c"]


def test_flat_map_opens_all_that_it_may_at_the_first_request() -> None:
    inners = Inners()
    subscriber: ManualSubscriber[Any] = ManualSubscriber()
    Flow.range(1000).flat_map(inners, concurrency=100).subscribe(subscriber)
    assert list(inners.made) == []
    subscriber.request(1)
    assert list(inners.made) == list(range(100))


def test_flat_map_asks_a_publisher_for_no_more_than_its_prefetch() -> None:
    inners = Inners()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    Flow.of("a").flat_map(inners, prefetch=4).subscribe(subscriber)
    assert inners["a"].outstanding == 4
    inners["a"].next(1, 2, 3)
    assert inners["a"].outstanding == 4


def test_flat_map_lets_others_through_besides_an_endless_flow() -> None:
    flow = Flow.of(1, 2, 3).flat_map(lambda x: Flow.from_iterable(count(x * 10_000)))
    received = flow.take(6 * TURN).to_list().run_sync()
    assert {x // 10_000 for x in received or ()} == {1, 2, 3}


def test_flat_map_goes_on_with_old_publishers_besides_endlessly_many_new_ones() -> None:
    late: ManualPublisher[int] = ManualPublisher()
    seen: list[int] = []

    def inner(x: int) -> Publisher[int]:
        return late if x == 0 else Flow.of(x)

    def watch(x: int) -> int:
        seen.append(x)
        if x == 10:
            late.next(-1)
        return x

    flow = Flow.from_iterable(count()).flat_map(inner, concurrency=8).map(watch)
    flow.take(100).run_sync()
    assert -1 in seen


def test_flat_map_takes_turns_whatever_the_demand() -> None:
    flow = Flow.of(1, 2).flat_map(lambda x: Flow.of(x, x * 10))
    one_by_one: ManualSubscriber[int] = ManualSubscriber()
    flow.subscribe(one_by_one)
    for _ in range(4):
        one_by_one.request(1)
    one_by_one.assert_elements(1, 10, 2, 20)
    one_by_one.assert_completed()


def test_flat_map_in_a_flat_map_looks_at_each_waiting_publisher_once_for_an_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    peeks: list[InputElements] = []
    peek = InputElements.peek

    def counted(each: InputElements) -> bool:
        peeks.append(each)
        return peek(each)

    idle, numbers = 9, Flow.range(10)
    inners = [ManualPublisher[int]() for _ in range(3)]

    def mostly_idle(inner: Publisher[int]) -> Callable[[int], Publisher[int]]:
        return lambda number: Flow.never() if number < idle else inner

    flow: Flow[int] = numbers.concat(Flow.never())
    for inner in inners:
        flow = flow.flat_map(mostly_idle(inner))
    subscriber = ManualSubscriber[int](request=UNBOUNDED)
    flow.subscribe(subscriber)
    inners[0].next(*numbers.blocking())
    inners[1].next(*numbers.blocking())
    monkeypatch.setattr(InputElements, "peek", counted)
    inners[2].next(7)
    subscriber.assert_elements(7)
    assert len(peeks) <= 3 * 3 * (idle + 2)  # to find it, to go on after it, and to wait


def test_flat_map_calls_its_function_when_an_element_is_wanted() -> None:
    called: list[int] = []

    def inner(x: int) -> Flow[int]:
        called.append(x)
        return Flow.of(x)

    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    Flow.range(100).flat_map(inner).subscribe(subscriber)
    assert called == [0, 1]


def test_flat_map_sees_an_error_while_another_publisher_has_elements_and_no_demand() -> None:
    setting = Setting("flat_map", request=1)
    setting.outer.next("a")
    setting.subscriber.request(1)
    setting.outer.next("b")
    setting.inners["a"].next(1, 2)
    setting.inners["b"].error(OSError())
    setting.subscriber.assert_elements(1, 2)
    setting.subscriber.assert_failed(OSError)
    assert setting.inners["a"].cancelled


def test_flat_map_takes_from_many_threads() -> None:
    with ThreadPool(2) as threads:
        flow = Flow.range(20).flat_map(lambda x: Flow.range(200).publish_on(threads, prefetch=8))
        assert flow.reduce(0, lambda total, x: total + x).run_sync() == 20 * sum(range(200))


def test_flat_map_refuses_sizes_below_one() -> None:
    with pytest.raises(ValueError, match="flat_map: concurrency must be at least 1, not 0"):
        Flow.of(1).flat_map(Flow.of, concurrency=0)
    with pytest.raises(ValueError, match="flat_map: prefetch must be at least 1, not -1"):
        Flow.of(1).flat_map(Flow.of, prefetch=-1)


# flat_map_sequential


def test_flat_map_sequential_keeps_what_comes_ahead_of_its_turn() -> None:
    setting = Setting("flat_map_sequential")
    setting.outer.next("a", "b")
    setting.inners["b"].next(3, 4)
    setting.inners["b"].complete()
    setting.subscriber.assert_elements()
    setting.inners["a"].next(1)
    setting.subscriber.assert_elements(1)
    setting.inners["a"].next(2)
    setting.inners["a"].complete()
    setting.subscriber.assert_elements(1, 2, 3, 4)
    setting.outer.complete()
    setting.subscriber.assert_completed()


def test_flat_map_sequential_runs_flows_that_wait_at_the_same_time() -> None:
    time, subscriber = VirtualTime(), ManualSubscriber[Any](request=UNBOUNDED)
    called: list[tuple[int, float]] = []

    def slowly(x: int) -> Flow[int]:
        steps = Flow.interval(10, clock=time).take(x)
        return steps.do_on_next(lambda step: called.append((x, time.now())))

    Flow.of(3, 1, 2).flat_map_sequential(slowly).map(lambda step: (step, time.now())).subscribe(
        subscriber
    )
    time.run(until=30)
    assert sorted(called) == [(1, 10.0), (2, 10.0), (2, 20.0), (3, 10.0), (3, 20.0), (3, 30.0)]
    subscriber.assert_elements((0, 10.0), (1, 20.0), (2, 30.0), (0, 30.0), (0, 30.0), (1, 30.0))
    subscriber.assert_completed()


def test_flat_map_sequential_asks_each_publisher_for_prefetch_ahead_of_demand() -> None:
    inners, subscriber = Inners(), ManualSubscriber[Any](request=1)
    Flow.of("a", "b").flat_map_sequential(inners, prefetch=4).subscribe(subscriber)
    assert (inners["a"].outstanding, inners["b"].outstanding) == (4, 4)
    inners["b"].next(5, 6, 7, 8)
    assert inners["b"].outstanding == 0
    inners["a"].next(1, 2)
    subscriber.assert_elements(1)
    subscriber.request(9)
    inners["a"].complete()
    subscriber.assert_elements(1, 2, 5, 6, 7, 8)
    assert inners["b"].outstanding == 3  # it is filled up in portions of three quarters


def test_flat_map_sequential_holds_no_more_than_it_says() -> None:
    inners, subscriber = Inners(), ManualSubscriber[Any](request=UNBOUNDED)
    outer: ManualPublisher[int] = ManualPublisher()
    Flow.from_publisher(outer).flat_map_sequential(inners, concurrency=3, prefetch=2).subscribe(
        subscriber
    )
    outer.next(*range(9))
    assert list(inners.made) == [0, 1, 2]
    inners[1].next("b", "c")
    inners[1].complete()  # it still holds what it gave, so nobody takes its place
    assert list(inners.made) == [0, 1, 2]
    inners[0].complete()
    subscriber.assert_elements("b", "c")
    assert list(inners.made) == [0, 1, 2, 3, 4]


def test_flat_map_sequential_opens_nothing_more_while_nothing_is_wanted() -> None:
    setting = Setting("flat_map_sequential", request=1)
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.outer.next("b")
    assert list(setting.inners.made) == ["a"]
    setting.subscriber.request(1)
    assert list(setting.inners.made) == ["a", "b"]


def test_flat_map_sequential_calls_its_function_when_an_element_is_wanted() -> None:
    called: list[int] = []

    def inner(x: int) -> Flow[int]:
        called.append(x)
        return Flow.of(x)

    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    Flow.range(100).flat_map_sequential(inner).subscribe(subscriber)
    assert called == [0, 1]


@pytest.mark.parametrize("demand", [UNBOUNDED, 2], ids=["with demand", "without demand"])
def test_flat_map_sequential_passes_an_error_on_ahead_of_its_turn(demand: int) -> None:
    inners, discarded = Inners(), list[Any]()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=demand)
    flow = Flow.of("a", "b", "c").flat_map_sequential(inners)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    inners["a"].next(1, 2)
    inners["b"].next(3, 4)
    inners["b"].error(OSError("inner"))
    subscriber.assert_elements(1, 2)
    subscriber.assert_failed(OSError, match="inner")
    assert inners["a"].cancelled
    assert inners["c"].cancelled
    assert sorted(discarded) == [3, 4]


def test_flat_map_sequential_gives_what_came_before_the_error_of_the_one_whose_turn_it_is() -> None:
    setting = Setting("flat_map_sequential", request=1)
    setting.outer.next("a")
    setting.inners["a"].next(1, 2)
    setting.inners["a"].error(OSError("inner"))
    setting.subscriber.assert_not_ended()
    setting.subscriber.request(1)
    setting.subscriber.assert_elements(1, 2)
    setting.subscriber.assert_failed(OSError, match="inner")


def test_flat_map_sequential_discards_what_it_held_when_it_is_cancelled() -> None:
    inners, discarded = Inners(), list[Any]()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    flow = Flow.of("a", "b", "c").flat_map_sequential(inners)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    inners["c"].next(1, 2)
    inners["b"].next(3)
    subscriber.cancel()
    assert sorted(discarded) == [1, 2, 3]


def test_flat_map_sequential_keeps_the_order_of_many_threads() -> None:
    with ThreadPool(2) as threads:
        flow = Flow.range(20).flat_map_sequential(
            lambda x: Flow.range(x * 200, (x + 1) * 200).publish_on(threads, prefetch=8)
        )
        assert flow.to_list().run_sync() == list(range(4_000))


def test_flat_map_sequential_awaits_several_at_a_time_and_keeps_their_order() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    opened: list[int] = []

    async def after_the_next(x: int) -> int:
        opened.append(x)
        if x < 2:
            await gates[x + 1].wait()  # or all of them wait for ever
        gates[x].set()
        return x

    async def main() -> Any:
        flow = Flow.range(3).flat_map_sequential(
            lambda x: Flow.from_awaitable(lambda: after_the_next(x))
        )
        return await flow.to_list()

    assert asyncio.run(main()) == [0, 1, 2]
    assert opened == [0, 1, 2]


def test_flat_map_sequential_refuses_sizes_below_one() -> None:
    with pytest.raises(ValueError, match="flat_map_sequential: concurrency must be at least 1"):
        Flow.of(1).flat_map_sequential(Flow.of, concurrency=0)
    with pytest.raises(ValueError, match="flat_map_sequential: prefetch must be at least 1"):
        Flow.of(1).flat_map_sequential(Flow.of, prefetch=0)


# Where there is no room for more publishers.


FULL: dict[str, Callable[[Flow[Any], Callable[[Any], Any]], Flow[Any]]] = {
    "concat_map": Flow.concat_map,
    "flat_map": lambda flow, function: flow.flat_map(function, concurrency=1),
    "flat_map_sequential": lambda flow, function: flow.flat_map_sequential(function, concurrency=1),
}
EVERY_FULL_ONE = pytest.mark.parametrize("name", FULL)


class Busy:
    """An operator whose one inner publisher goes on while elements of the outer one wait."""

    def __init__(
        self,
        name: str,
        request: int = UNBOUNDED,
        upstream: Callable[[Flow[str]], Flow[Any]] = lambda flow: flow,
    ) -> None:
        self.outer: ManualPublisher[str] = ManualPublisher()
        self.inners, self.discarded = Inners(), list[str]()
        self.subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
        flow = FULL[name](upstream(Flow.from_publisher(self.outer)), self.inners)
        flow.do_on_discard(self.discarded.append).subscribe(self.subscriber)
        self.outer.next("a", "b", "c")
        assert list(self.inners.made) == ["a"]


@pytest.mark.parametrize("demand", [9, 3], ids=["with demand", "without demand"])
@EVERY_FULL_ONE
def test_an_error_of_the_outer_publisher_waits_for_no_room(name: str, demand: int) -> None:
    # Where an outer publisher failed in other tests, none of its elements waited for room.
    busy = Busy(name, demand)
    busy.inners["a"].next(1, 2, 3)
    busy.outer.error(OSError("outer"))
    busy.subscriber.assert_elements(1, 2, 3)
    busy.subscriber.assert_failed(OSError, match="outer")
    assert busy.inners["a"].cancelled
    assert sorted(busy.discarded) == ["b", "c"]


@EVERY_FULL_ONE
def test_an_error_that_is_handled_upstream_ends_nothing(name: str) -> None:
    busy = Busy(name, upstream=lambda flow: flow.on_error_return("d"))
    busy.outer.error(OSError())
    for element in "abcd":
        assert list(busy.inners.made)[-1] == element
        busy.inners[element].next(element)
        busy.inners[element].complete()
    busy.subscriber.assert_elements(*"abcd")
    busy.subscriber.assert_completed()


@EVERY_FULL_ONE
def test_an_error_of_the_outer_publisher_ends_an_endless_flow(name: str) -> None:
    outer: ManualPublisher[str] = ManualPublisher()

    def fail(x: int) -> None:
        if x == 10:
            outer.next("b")
            outer.error(OSError("outer"))

    flow = FULL[name](Flow.from_publisher(outer), lambda _: Flow.from_iterable(count()))
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=UNBOUNDED)
    flow.do_on_next(fail).take(10_000).subscribe(subscriber)
    outer.next("a")
    subscriber.assert_failed(OSError, match="outer")


@EVERY_FULL_ONE
def test_flows_of_elements_that_came_at_once_with_an_error_go_first(name: str) -> None:
    def failing() -> Iterator[int]:
        yield from (1, 2)
        raise OSError("outer")

    subscriber: ManualSubscriber[int] = ManualSubscriber(request=9)
    outer = Flow.from_publisher(IterablePublisher(failing()))
    FULL[name](outer, lambda x: Flow.of(x, x)).subscribe(subscriber)
    subscriber.assert_elements(1, 1, 2, 2)
    subscriber.assert_failed(OSError, match="outer")


@EVERY_FULL_ONE
def test_the_outer_flow_is_not_read_ahead_for_an_error_of_the_inner_publisher(name: str) -> None:
    inner, read = ManualPublisher[int](), list[int]()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    outer = Flow.merge(Flow.range(9), Flow.never()).do_on_next(read.append)
    FULL[name](outer, lambda _: inner).subscribe(subscriber)
    subscriber.request(2)
    inner.next(1, 2)
    inner.error(OSError("inner"))
    subscriber.assert_elements(1, 2)
    subscriber.assert_failed(OSError, match="inner")
    assert len(read) <= 2  # the next one is looked at: it might have been the end


# concat_map


def test_concat_map_waits_for_the_end_of_one_publisher_before_it_makes_the_next() -> None:
    setting = Setting("concat_map")
    setting.outer.next("a", "b")
    assert list(setting.inners.made) == ["a"]
    setting.inners["a"].next(1)
    setting.inners["a"].complete()
    setting.inners["b"].next(2)
    setting.subscriber.assert_elements(1, 2)


def test_concat_map_calls_its_function_when_an_element_is_wanted() -> None:
    called: list[int] = []

    def inner(x: int) -> IterablePublisher[int]:
        called.append(x)
        return IterablePublisher([x])

    subscriber: ManualSubscriber[int] = ManualSubscriber()
    Flow.range(100).concat_map(inner).subscribe(subscriber)
    assert called == []
    subscriber.request(1)
    subscriber.request(1)
    assert called == [0, 1]


def test_concat_map_is_as_deep_as_a_loop_for_many_empty_publishers() -> None:
    flow = Flow.range(20_000).concat_map(lambda x: Flow.empty())
    assert flow.to_list().run_sync() == []


# switch_map


def test_switch_map_cancels_the_publisher_before_when_a_new_element_comes() -> None:
    setting = Setting("switch_map")
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.outer.next("b")
    assert setting.inners["a"].cancelled
    setting.inners["b"].next(2)
    setting.subscriber.assert_elements(1, 2)


def test_switch_map_switches_also_while_nothing_is_wanted() -> None:
    setting = Setting("switch_map", request=1)
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.outer.next("b")
    assert setting.inners["a"].cancelled
    assert setting.inners["b"].subscribed
    assert setting.inners["b"].requested == 0
    setting.subscriber.request(1)
    setting.inners["b"].next(2)
    setting.subscriber.assert_elements(1, 2)


HOLD_BACK: dict[str, Callable[[Flow[str]], Flow[str]]] = {
    "merge": lambda flow: flow.merge(Flow.never()),
    "merge of one that has something": lambda flow: Flow.merge(flow, Flow.of("-")),
    "flat_map": lambda flow: flow.flat_map(lambda x: IterablePublisher([x])),
    "concat_map": lambda flow: flow.concat_map(Flow.of),
    "zip": lambda flow: flow.zip(Flow.range(9)).map(lambda pair: pair[0]),
    "combine_latest": lambda flow: flow.combine_latest(Flow.never().start_with(0)).map(
        lambda pair: pair[0]
    ),
    "take_until": lambda flow: flow.take_until(Flow.never()),
    "on_backpressure_latest": lambda flow: flow.on_backpressure_latest(),
    "on_backpressure_drop": lambda flow: flow.on_backpressure_drop(),
    "limit_rate": lambda flow: flow.limit_rate(1),
    "another switch_map": lambda flow: flow.switch_map(Flow.of),
}


@pytest.mark.parametrize("upstream", HOLD_BACK)
def test_switch_map_switches_without_demand_whatever_is_upstream(upstream: str) -> None:
    outer, inners = ManualPublisher[str](), Inners()
    subscriber = ManualSubscriber[Any](request=1)
    flow = HOLD_BACK[upstream](Flow.from_publisher(outer))
    flow.filter(lambda x: x != "-").switch_map(inners).subscribe(subscriber)
    outer.next("a")
    inners["a"].next(1)
    subscriber.assert_elements(1)
    outer.next("b")
    assert inners["a"].cancelled
    outer.next("c")
    assert inners["b"].cancelled
    assert inners["c"].requested == 0
    subscriber.request(1)
    inners["c"].next(2)
    subscriber.assert_elements(1, 2)


@pytest.mark.parametrize("upstream", HOLD_BACK)
def test_exhaust_map_discards_without_demand_whatever_is_upstream(upstream: str) -> None:
    outer, inners = ManualPublisher[str](), Inners()
    subscriber = ManualSubscriber[Any](request=1)
    flow = HOLD_BACK[upstream](Flow.from_publisher(outer))
    flow.filter(lambda x: x != "-").exhaust_map(inners).subscribe(subscriber)
    outer.next("a")
    inners["a"].next(1)
    outer.next("b")
    inners["a"].complete()
    outer.next("c")
    assert [*inners.made] == ["a", "c"]


def test_switch_map_takes_what_comes_as_long_as_nothing_is_wanted() -> None:
    outer, inner = ManualPublisher[int](), ManualPublisher[int]()
    subscriber = ManualSubscriber[int](request=1)
    flow = Flow.from_publisher(outer).switch_map(lambda x: Flow.of(x) if x != 1000 else inner)
    flow.subscribe(subscriber)
    for number in range(1001):
        outer.next(number)
    subscriber.assert_elements(0)
    assert inner.subscribed


def test_switch_map_asks_for_nothing_before_something_is_wanted() -> None:
    outer = ManualPublisher[str]()
    subscriber = ManualSubscriber[Any](request=0)
    flow = Flow.merge(Flow.from_publisher(outer), Flow.never()).switch_map(Inners())
    flow.subscribe(subscriber)
    assert outer.requested == 0
    subscriber.request(1)
    assert outer.requested > 0


def test_switch_map_hears_only_the_last_of_elements_that_are_all_there() -> None:
    flow = Flow.range(5).switch_map(lambda x: Flow.of(x, x * 10))
    assert flow.to_list().run_sync() == [4, 40]


def test_switch_map_goes_on_with_the_latest_publisher_when_the_outer_one_ends() -> None:
    setting = Setting("switch_map")
    setting.outer.next("a")
    setting.outer.complete()
    setting.inners["a"].next(1, 2)
    setting.subscriber.assert_elements(1, 2)
    setting.inners["a"].complete()
    setting.subscriber.assert_completed()


def test_switch_map_takes_no_notice_of_an_error_of_a_publisher_before() -> None:
    setting = Setting("switch_map")
    setting.outer.next("a", "b")
    setting.inners["a"].error(OSError())
    setting.inners["b"].next(1)
    setting.subscriber.assert_elements(1)
    setting.subscriber.assert_not_ended()


def test_switch_map_can_be_cancelled_while_an_endless_flow_upstream_never_waits() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)

    def inner(x: int) -> Flow[int]:
        if x == 100:
            subscriber.cancel()
        return Flow.of(x)

    made = islice(count(), 1_000_000)
    Flow.from_iterable(made).switch_map(inner).subscribe(subscriber)
    assert next(made) == 101
    subscriber.assert_elements()


# exhaust_map


@pytest.mark.parametrize("demand", [UNBOUNDED, 1], ids=["with demand", "without demand"])
def test_exhaust_map_discards_elements_that_come_while_a_publisher_is_open(demand: int) -> None:
    setting = Setting("exhaust_map", demand)
    setting.outer.next("a")
    setting.inners["a"].next(1)
    setting.outer.next("b", "c")
    assert setting.discarded == ["b", "c"]
    setting.inners["a"].complete()
    setting.outer.next("d")
    assert list(setting.inners.made) == ["a", "d"]
    assert setting.discarded == ["b", "c"]


def test_exhaust_map_counts_a_flow_as_open_while_its_elements_are_not_wanted() -> None:
    outer, discarded = ManualPublisher[str](), list[str]()
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=1)
    flow = Flow.from_publisher(outer).exhaust_map(lambda x: Flow.of(x, f"{x}, too"))
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    outer.next("a", "b")
    assert discarded == ["b"]
    subscriber.request(2)
    outer.next("c")
    subscriber.assert_elements("a", "a, too", "c")
    assert discarded == ["b"]


def test_exhaust_map_hears_only_the_first_of_elements_that_are_all_there() -> None:
    flow = Flow.range(5).exhaust_map(lambda x: Flow.of(x, x * 10 + 1))
    assert flow.to_list().run_sync() == [0, 1]


def test_exhaust_map_goes_on_to_the_first_publisher_that_is_not_empty() -> None:
    flow = Flow.range(5).exhaust_map(lambda x: Flow.of(x) if x > 2 else Flow.empty())
    assert flow.to_list().run_sync() == [3]


def test_exhaust_map_goes_on_with_its_publisher_when_the_outer_one_ends() -> None:
    setting = Setting("exhaust_map")
    setting.outer.next("a")
    setting.outer.complete()
    setting.inners["a"].next(1, 2)
    setting.subscriber.assert_elements(1, 2)
    setting.inners["a"].complete()
    setting.subscriber.assert_completed()


def test_exhaust_map_can_be_cancelled_while_an_endless_flow_upstream_never_waits() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)

    def cancel_at(x: int) -> None:
        if x == 100:
            subscriber.cancel()

    made = islice(count(), 1_000_000)
    flow = Flow.from_iterable(made).do_on_next(cancel_at).exhaust_map(lambda x: Flow.never())
    flow.subscribe(subscriber)
    assert next(made) <= 101 + TURN
    subscriber.assert_elements()
