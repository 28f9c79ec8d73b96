"""The operators of ``Flow`` that several threads, or time, drive, under all schedules.

What every scenario asks besides what the parties notice: nothing is lost or sent twice, and once
all threads are still, nobody waits for what is there.
"""

from __future__ import annotations

import importlib
import operator
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import penstock.core
import penstock.flow.engine.fusion
import penstock.flow.engine.prefetch_subscriber
import penstock.flow.engine.subscription
import penstock.flow.operators
import penstock.flow.sources
from penstock.flow import Emitter, Flow, Overflow, Retry
from penstock.runtime import SystemClock
from penstock.tck import Environment
from tests.flow.explored.parties import Foreign, SerialSubscriber
from tests.tck.explorer.holding import BRIEFLY, Scenario, assert_holds

SUBJECT = [
    penstock.core,
    penstock.flow.engine.subscription,
    penstock.flow.engine.prefetch_subscriber,
    penstock.flow.engine.fusion,
    *(
        importlib.import_module(f"{package.__name__}.{module.name}")
        for package in (penstock.flow.operators, penstock.flow.sources)
        for module in pkgutil.iter_modules(package.__path__)
    ),
]


def two_sources(env: Environment) -> tuple[Foreign, Foreign, SerialSubscriber]:
    return Foreign(env), Foreign(env, first=100), SerialSubscriber(env)


# Two sources, each with its own thread.


def merge_of_two_threads(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.merge(one, other).subscribe(subscriber)
    subscriber.request(4)
    env.par(lambda: one.push_and_complete(2), lambda: other.push_and_complete(2))
    assert sorted(subscriber.elements) == [0, 1, 100, 101]
    assert in_order(subscriber, one)
    assert in_order(subscriber, other)
    assert subscriber.endings == ["on_complete"]


def merge_against_a_request(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.merge(one, other).subscribe(subscriber)
    subscriber.request(1)
    env.par(one.send, other.send, lambda: subscriber.request(1))
    assert len(subscriber.elements) == 2


def merge_against_a_cancel(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    discarded: list[int] = []
    Flow.merge(one, other).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(1)
    env.par(one.send, other.send, subscriber.cancel)
    assert one.cancels == other.cancels == 1
    assert sorted([*subscriber.elements, *discarded]) == one.all_sent + other.all_sent


def merge_against_an_error(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.merge(one, other).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: one.push(2), other.fail)
    assert subscriber.endings == [ValueError]
    assert one.cancels == 1


def zip_of_two_threads(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.zip(one, other).map(lambda pair: pair[0] + pair[1]).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: one.push_and_complete(2), lambda: other.push_and_complete(3))
    assert subscriber.signals == ["on_subscribe", 100, 102, "on_complete"]


def zip_against_an_error_after_elements(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    discarded: list[int] = []
    sums = Flow.zip(one, other).do_on_discard(discarded.append).map(sum)
    sums.subscribe(subscriber)
    subscriber.request(3)

    def fail_after_two() -> None:
        other.push(2)
        other.fail()

    env.par(lambda: one.push(1), fail_after_two)
    assert subscriber.endings == [ValueError]
    assert one.cancels == 1
    assert sum([*subscriber.elements, *discarded]) == sum([*one.all_sent, *other.all_sent])


def combine_latest_of_two_threads(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    pairs: list[tuple[int, ...]] = []
    latest = Flow.combine_latest(one, other).do_on_next(pairs.append).map(sum)
    latest.subscribe(subscriber)
    subscriber.request(4)
    env.par(lambda: one.push_and_complete(2), lambda: other.push_and_complete(2))
    assert pairs == sorted(set(pairs), key=sum)
    assert pairs[-1] == (1, 101)
    assert subscriber.endings == ["on_complete"]


def with_latest_from_another_thread(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    discarded: list[int] = []
    pairs: list[tuple[int, int]] = []
    paired = Flow.from_publisher(one).with_latest_from(other).do_on_next(pairs.append).map(max)
    paired.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(2)
    env.par(lambda: one.push_and_complete(2), lambda: other.push(2))
    assert sorted({*discarded, *(x for pair in pairs for x in pair)}) == [0, 1, *other.all_sent]
    assert subscriber.endings == ["on_complete"]


def take_until_another_thread_says_so(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.from_publisher(one).take_until(other).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: one.push(2), lambda: other.push(1))
    assert subscriber.endings == ["on_complete"]
    assert one.cancels == other.cancels == 1
    assert in_order(subscriber, one)


def take_until_a_flow_on_another_thread(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.from_publisher(one).take_until(Flow.from_publisher(other)).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: one.push(2), lambda: other.push(1))
    assert subscriber.endings == ["on_complete"]
    assert one.cancels == other.cancels == 1
    assert in_order(subscriber, one)


def skip_until_another_thread_says_so(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    discarded: list[int] = []
    flow = Flow.from_publisher(one).skip_until(other).do_on_discard(discarded.append)
    flow.subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: one.push(2), lambda: other.push(1))
    assert other.cancels == 1
    one.push_and_complete(1)
    assert [x for x in [*discarded, *subscriber.elements] if x < 100] == [0, 1, 2]
    assert subscriber.elements[-1] == 2
    assert subscriber.endings == ["on_complete"]


def delay_subscription_until_another_thread_says_so(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.from_publisher(one).delay_subscription(other).subscribe(subscriber)
    env.par(lambda: other.push(1), lambda: subscriber.request(2))
    one.push_and_complete(2)
    assert other.cancels == 1
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def with_latest_from_a_flow_while_nothing_is_wanted(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    latest = Flow.from_publisher(one).with_latest_from(Flow.from_publisher(other))
    latest.map(lambda pair: pair[1]).subscribe(subscriber)
    env.par(lambda: other.push(2), lambda: subscriber.request(1))
    one.push(1)
    assert subscriber.elements == [101]


def race_of_two_threads(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    Flow.race(one, other).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: one.push_and_complete(2), lambda: other.push_and_complete(2))
    assert subscriber.elements in ([0, 1], [100, 101])
    assert subscriber.endings == ["on_complete"]
    assert one.cancels + other.cancels <= 1


# An outer source and an inner one.


def flat_map_of_two_threads(env: Environment) -> None:
    outer, inner, subscriber = two_sources(env)
    flow = Flow.from_publisher(outer).flat_map(lambda x: Flow.of(x) if x else inner)
    flow.subscribe(subscriber)
    subscriber.request(4)
    outer.push(1)
    env.par(lambda: outer.push_and_complete(1), lambda: inner.push_and_complete(2))
    assert sorted(subscriber.elements) == [1, 100, 101]
    assert subscriber.endings == ["on_complete"]


def concat_map_against_an_error_of_its_outer_flow(env: Environment) -> None:
    outer, inner, subscriber = two_sources(env)
    discarded: list[int] = []
    flow = Flow.from_publisher(outer).concat_map(lambda x: inner)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(3)

    def fail_after_two() -> None:
        outer.push(2)
        outer.fail()

    env.par(fail_after_two, lambda: inner.push(1))
    assert subscriber.endings == [ValueError]
    assert inner.cancels == 1
    assert sorted([*subscriber.elements, *discarded]) in ([1, *inner.all_sent], [0, 1])


def flat_map_against_a_cancel(env: Environment) -> None:
    outer, inner, subscriber = two_sources(env)
    discarded: list[int] = []
    flow = Flow.from_publisher(outer).flat_map(lambda x: Flow.of(x) if x else inner)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(2)
    outer.push(1)
    env.par(lambda: outer.push(1), lambda: inner.push(1), subscriber.cancel)
    assert outer.cancels == inner.cancels == 1
    known = {*subscriber.elements, *discarded}
    assert set(inner.all_sent) <= known <= {*outer.all_sent[1:], *inner.all_sent}


def switch_map_of_two_threads(env: Environment) -> None:
    outer, inner, subscriber = two_sources(env)
    flow = Flow.from_publisher(outer).switch_map(lambda x: Flow.of(x) if x else inner)
    flow.subscribe(subscriber)
    subscriber.request(4)
    outer.push(1)
    env.par(lambda: outer.push_and_complete(1), lambda: inner.push(2))
    assert subscriber.elements[-1:] == [1]
    assert in_order(subscriber, inner)
    assert inner.cancels == 1
    assert subscriber.endings == ["on_complete"]


def exhaust_map_of_two_threads(env: Environment) -> None:
    outer, inner, subscriber = two_sources(env)
    discarded: list[int] = []
    flow = Flow.from_publisher(outer).exhaust_map(lambda x: Flow.of(x) if x else inner)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(4)
    outer.push(1)
    env.par(lambda: outer.push_and_complete(1), lambda: inner.push_and_complete(2))
    assert [*subscriber.elements, *discarded] == [100, 101, 1]
    assert subscriber.endings == ["on_complete"]


def flat_map_sequential_of_two_threads(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    flow = Flow.of(one, other).flat_map_sequential(lambda publisher: publisher, prefetch=2)
    flow.subscribe(subscriber)
    subscriber.request(4)
    env.par(lambda: one.push_and_complete(2), lambda: other.push_and_complete(2))
    assert subscriber.signals == ["on_subscribe", 0, 1, 100, 101, "on_complete"]


def flat_map_sequential_against_a_request(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    flow = Flow.of(one, other).flat_map_sequential(lambda publisher: publisher, prefetch=2)
    flow.subscribe(subscriber)
    subscriber.request(1)
    env.par(
        lambda: one.push_and_complete(1),
        lambda: other.push_and_complete(2),
        lambda: subscriber.request(1),
    )
    assert subscriber.elements == [0, 100]
    subscriber.request(1)
    assert subscriber.signals == ["on_subscribe", 0, 100, 101, "on_complete"]


def flat_map_sequential_against_an_error_ahead_of_its_turn(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    discarded: list[int] = []
    flow = Flow.of(one, other).flat_map_sequential(lambda publisher: publisher)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(4)

    def fail_after_one() -> None:
        other.push(1)
        other.fail()

    env.par(lambda: one.push(2), fail_after_one)
    assert subscriber.endings == [ValueError]
    assert one.cancels == 1
    assert in_order(subscriber, one)
    assert sorted([*subscriber.elements, *discarded]) == one.all_sent + other.all_sent


def flat_map_sequential_against_a_cancel(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    discarded: list[int] = []
    flow = Flow.of(one, other).flat_map_sequential(lambda publisher: publisher)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(1)
    env.par(lambda: one.push(1), lambda: other.push(2), subscriber.cancel)
    assert one.cancels == other.cancels == 1
    assert sorted([*subscriber.elements, *discarded]) == one.all_sent + other.all_sent


def expand_on_two_threads(env: Environment) -> None:
    one, other, subscriber = two_sources(env)
    following: dict[int, Foreign] = {0: other}
    flow = Flow.from_publisher(one).expand(lambda x: following.get(x, Flow.empty()), concurrency=2)
    flow.subscribe(subscriber)
    subscriber.request(5)
    one.push(1)
    env.par(lambda: one.push_and_complete(1), lambda: other.push_and_complete(2))
    assert sorted(subscriber.elements) == [0, 1, 100, 101]
    assert subscriber.endings == ["on_complete"]


# A source that runs at its own pace, and a subscriber that requests.


def a_buffer_between_two_threads(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).on_backpressure_buffer(3).subscribe(subscriber)
    env.par(lambda: foreign.push_and_complete(2), lambda: subscriber.request(1))
    assert subscriber.elements == [0]
    subscriber.request(1)
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def a_buffer_that_drops_the_oldest(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    buffered = Flow.from_publisher(foreign).on_backpressure_buffer(1, "drop_oldest")
    buffered.do_on_discard(discarded.append).subscribe(subscriber)
    env.par(lambda: foreign.push_and_complete(3), lambda: subscriber.request(1))
    subscriber.request(2)
    assert sorted([*subscriber.elements, *discarded]) == [0, 1, 2]
    assert subscriber.elements[-1] == 2
    assert subscriber.endings == ["on_complete"]


def a_buffer_that_overflows(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    buffered = Flow.from_publisher(foreign).on_backpressure_buffer(1)
    buffered.do_on_discard(discarded.append).subscribe(subscriber)
    env.par(lambda: foreign.push(3), lambda: subscriber.request(1))
    subscriber.request(5)
    assert sorted([*subscriber.elements, *discarded]) == foreign.all_sent
    assert in_order(subscriber, foreign)
    assert (foreign.cancels == 1) == bool(subscriber.endings)


def drop_between_two_threads(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    dropped: list[int] = []
    Flow.from_publisher(foreign).on_backpressure_drop(dropped.append).subscribe(subscriber)
    env.par(lambda: foreign.push_and_complete(2), lambda: subscriber.request(1))
    subscriber.request(2)
    assert sorted([*subscriber.elements, *dropped]) == [0, 1]
    assert subscriber.endings == ["on_complete"]


def latest_between_two_threads(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    latest = Flow.from_publisher(foreign).on_backpressure_latest()
    latest.do_on_discard(discarded.append).subscribe(subscriber)
    env.par(lambda: foreign.push_and_complete(3), lambda: subscriber.request(1))
    subscriber.request(2)
    assert sorted([*subscriber.elements, *discarded]) == [0, 1, 2]
    assert subscriber.elements[-1] == 2
    assert subscriber.endings == ["on_complete"]


def latest_against_a_cancel(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    latest = Flow.from_publisher(foreign).on_backpressure_latest()
    latest.do_on_discard(discarded.append).subscribe(subscriber)
    env.par(lambda: foreign.push(2), lambda: subscriber.request(1), subscriber.cancel)
    assert sorted([*subscriber.elements, *discarded]) == foreign.all_sent
    assert foreign.cancels == 1


def conflate_between_two_threads(env: Environment) -> None:
    foreign, subscriber = Foreign(env, first=1), SerialSubscriber(env)
    Flow.from_publisher(foreign).conflate(operator.add).subscribe(subscriber)
    env.par(lambda: foreign.push_and_complete(3), lambda: subscriber.request(1))
    subscriber.request(2)
    assert sum(subscriber.elements) == 6
    assert subscriber.endings == ["on_complete"]


def limit_rate_between_two_threads(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).limit_rate(2).subscribe(subscriber)
    subscriber.request(1)
    env.par(foreign.send, lambda: subscriber.request(2))
    foreign.send()
    assert subscriber.elements == [0, 1, 2]


# An emitter that several threads use.


class Created:
    """A flow by an emitter, which a scenario may use."""

    def __init__(self, subscriber: SerialSubscriber, capacity: int = 4) -> None:
        self.emitters: list[Emitter[int]] = []
        self.discarded: list[int] = []
        self.left = 0
        flow: Flow[int] = Flow.create(self._begin, overflow="error", capacity=capacity)
        flow.do_on_discard(self.discarded.append).subscribe(subscriber)

    def _begin(self, emitter: Emitter[int]) -> None:
        self.emitters.append(emitter)
        emitter.on_cancel(self._leave)

    def _leave(self) -> None:
        self.left += 1

    def emit(self, *elements: int) -> None:
        for element in elements:
            self.emitters[0].emit(element)


def an_emitter_for_two_threads(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    created = Created(subscriber)
    env.par(lambda: created.emit(0, 1), lambda: created.emit(100), lambda: subscriber.request(2))
    assert len(subscriber.elements) == 2
    created.emitters[0].complete()
    subscriber.request(1)
    assert sorted(subscriber.elements) == [0, 1, 100]
    assert subscriber.elements.index(0) < subscriber.elements.index(1)
    assert subscriber.endings == ["on_complete"]
    assert created.left == 0


def an_emitter_against_a_cancel(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    created = Created(subscriber)
    subscriber.request(1)
    env.par(lambda: created.emit(0), lambda: created.emit(1), subscriber.cancel)
    assert sorted([*subscriber.elements, *created.discarded]) == [0, 1]
    assert created.left == 1
    assert created.emitters[0].over
    assert subscriber.endings == []


def an_emitter_that_overflows(env: Environment) -> None:
    subscriber = SerialSubscriber(env)
    created = Created(subscriber, capacity=1)
    env.par(lambda: created.emit(0), lambda: created.emit(1))
    subscriber.request(2)
    assert sorted([*subscriber.elements, *created.discarded]) == [0, 1]
    assert subscriber.endings == [Overflow]
    assert created.left == 1


# Time.


def a_clock(env: Environment) -> SystemClock:
    return SystemClock(new_condition=env.condition)


def let_time_pass(env: Environment) -> None:
    """Until all timers have fired, even if the clock's thread was slow to begin to wait."""
    for _ in range(3):
        env.advance(3)


def timeout_against_an_element(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).timeout(1, clock=a_clock(env)).subscribe(subscriber)
    subscriber.request(2)
    env.par(lambda: foreign.push(1))
    let_time_pass(env)
    assert in_order(subscriber, foreign)
    assert subscriber.endings == [TimeoutError]
    assert foreign.cancels == 1


def timeout_against_the_completion(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    fallback = Flow.of(100)
    Flow.from_publisher(foreign).timeout(1, fallback, clock=a_clock(env)).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: foreign.push_and_complete(1))
    let_time_pass(env)
    assert subscriber.elements in ([0], [0, 100], [100])
    assert subscriber.endings == ["on_complete"]


def debounce_against_elements(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    quiet = Flow.from_publisher(foreign).debounce(1, clock=a_clock(env))
    quiet.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: foreign.push(2), lambda: subscriber.request(1))
    let_time_pass(env)
    assert subscriber.elements[-1] == 1
    assert sorted([*subscriber.elements, *discarded]) == [0, 1]
    foreign.complete()
    assert subscriber.endings == ["on_complete"]


def throttle_to_the_last_against_elements(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    fewer = Flow.from_publisher(foreign).throttle(1, last=True, clock=a_clock(env))
    fewer.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(3)
    env.par(lambda: foreign.push(2), lambda: subscriber.request(1))
    let_time_pass(env)
    assert sorted([*subscriber.elements, *discarded]) == [0, 1]
    assert subscriber.elements[-1] == 1


def delay_against_a_request(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).delay(1, clock=a_clock(env)).subscribe(subscriber)
    subscriber.request(1)
    env.par(lambda: foreign.push_and_complete(1), lambda: subscriber.request(1))
    let_time_pass(env)
    assert subscriber.signals == ["on_subscribe", 0, "on_complete"]


def delay_subscription_against_a_cancel(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    later = Flow.from_publisher(foreign).delay_subscription(1, clock=a_clock(env))
    later.subscribe(subscriber)
    subscriber.request(1)
    env.par(subscriber.cancel)
    let_time_pass(env)
    assert subscriber.signals == ["on_subscribe"]
    assert foreign.cancels == hasattr(foreign, "subscriber")  # or it was never subscribed to


def delay_against_a_cancel(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    later = Flow.from_publisher(foreign).delay(1, clock=a_clock(env))
    later.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(2)
    foreign.push(1)
    env.par(lambda: foreign.push(1), subscriber.cancel)
    let_time_pass(env)
    assert [*subscriber.elements, *discarded] == foreign.all_sent
    assert foreign.cancels == 1


def space_out_against_a_request(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    Flow.from_publisher(foreign).space_out(1, clock=a_clock(env)).subscribe(subscriber)
    subscriber.request(1)
    env.par(lambda: foreign.push(1), lambda: subscriber.request(2))
    foreign.push_and_complete(1)
    let_time_pass(env)
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


def space_out_against_a_cancel(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    paced = Flow.from_publisher(foreign).space_out(1, clock=a_clock(env))
    paced.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.request(3)
    foreign.push(1)
    env.par(lambda: foreign.push(1), subscriber.cancel)
    let_time_pass(env)
    assert [*subscriber.elements, *discarded] == foreign.all_sent
    assert foreign.cancels == 1


def materialize_against_a_request(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    signals: list[str] = []
    flow = Flow.from_publisher(foreign).materialize().map(str).do_on_next(signals.append)
    flow.map(len).subscribe(subscriber)
    subscriber.request(1)
    env.par(lambda: foreign.push_and_complete(1), lambda: subscriber.request(1))
    assert signals == ["on_next(0)", "on_complete()"]
    assert subscriber.endings == ["on_complete"]


def a_batch_whose_time_is_up_against_an_element(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    batches: list[list[int]] = []
    flow = Flow.from_publisher(foreign).buffer(2, every=1, clock=a_clock(env))
    flow.do_on_next(batches.append).map(len).subscribe(subscriber)
    subscriber.request(3)
    foreign.push(1)
    env.par(lambda: foreign.push_and_complete(1))
    let_time_pass(env)
    assert [x for batch in batches for x in batch] == [0, 1]
    assert subscriber.endings == ["on_complete"]


def a_retry_after_a_while_against_a_cancel(env: Environment) -> None:
    sources: list[Foreign] = []

    def source() -> Foreign:
        sources.append(Foreign(env))
        return sources[-1]

    subscriber = SerialSubscriber(env)
    policy = Retry(times=1, backoff=1)
    Flow.defer(source).retry(policy, clock=a_clock(env)).subscribe(subscriber)
    subscriber.request(1)
    sources[0].fail()
    env.par(subscriber.cancel)
    let_time_pass(env)
    assert subscriber.endings == []
    assert all(each.cancels == 1 for each in sources[1:])


# Restarts and resources.


def a_retry_against_a_request(env: Environment) -> None:
    sources: list[Foreign] = []

    def source() -> Foreign:
        sources.append(Foreign(env))
        return sources[-1]

    subscriber = SerialSubscriber(env)
    Flow.defer(source).retry(1).subscribe(subscriber)
    subscriber.request(1)
    env.par(sources[0].fail, lambda: subscriber.request(1))
    sources[1].push_and_complete(2)
    assert subscriber.signals == ["on_subscribe", 0, 1, "on_complete"]


class Resource:
    """Counts how often it was entered and left."""

    def __init__(self) -> None:
        self.entered = 0
        self.left = 0

    @contextmanager
    def opened(self) -> Iterator[None]:
        self.entered += 1
        try:
            yield
        finally:
            self.left += 1


def a_resource_against_a_cancel(env: Environment) -> None:
    foreign, subscriber, resource = Foreign(env), SerialSubscriber(env), Resource()
    ends: list[str] = []
    flow = Flow.using(resource.opened, lambda _: foreign).do_finally(ends.append)
    flow.subscribe(subscriber)
    subscriber.request(2)
    env.par(lambda: foreign.push_and_complete(1), subscriber.cancel)
    assert resource.entered == resource.left == 1
    assert len(ends) == 1
    assert ends == ["completed"] or subscriber.endings == []


def a_resource_against_two_cancels(env: Environment) -> None:
    subscriber, resource = SerialSubscriber(env), Resource()
    ends: list[str] = []
    flow = Flow.using(resource.opened, lambda _: Flow.range(3)).do_finally(ends.append)
    flow.subscribe(subscriber)
    env.par(lambda: subscriber.request(1), subscriber.cancel, subscriber.cancel)
    assert resource.entered == resource.left
    assert ends == ["cancelled"] * resource.entered


# Groups.


def groups_of_a_source_against_a_request(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    groups = Flow.from_publisher(foreign).group_by(lambda x: x % 2, prefetch=2)
    groups.flat_map(lambda group: group).subscribe(subscriber)
    subscriber.request(1)
    env.par(lambda: foreign.push(2), lambda: subscriber.request(2))
    foreign.push_and_complete(1)
    assert sorted(subscriber.elements) == [0, 1, 2]
    assert subscriber.endings == ["on_complete"]


def groups_of_a_source_against_a_cancel(env: Environment) -> None:
    foreign, subscriber = Foreign(env), SerialSubscriber(env)
    discarded: list[int] = []
    groups = Flow.from_publisher(foreign).group_by(lambda x: x % 2, prefetch=2)
    flow = groups.flat_map(lambda group: group).do_on_discard(discarded.append, only=int)
    flow.subscribe(subscriber)
    subscriber.request(1)
    env.par(foreign.send, subscriber.cancel)
    assert foreign.cancels == 1
    assert sorted([*subscriber.elements, *discarded]) == foreign.all_sent


def in_order(subscriber: SerialSubscriber, source: Foreign) -> bool:
    """Whether the elements of ``source`` that came are its first ones, in order."""
    came = [x for x in subscriber.elements if x in source.all_sent]
    return came == source.all_sent[: len(came)]


SCENARIOS: list[Scenario] = [
    merge_of_two_threads,
    merge_against_a_request,
    merge_against_a_cancel,
    merge_against_an_error,
    zip_of_two_threads,
    zip_against_an_error_after_elements,
    combine_latest_of_two_threads,
    with_latest_from_another_thread,
    take_until_another_thread_says_so,
    take_until_a_flow_on_another_thread,
    skip_until_another_thread_says_so,
    delay_subscription_until_another_thread_says_so,
    with_latest_from_a_flow_while_nothing_is_wanted,
    race_of_two_threads,
    flat_map_of_two_threads,
    concat_map_against_an_error_of_its_outer_flow,
    flat_map_against_a_cancel,
    switch_map_of_two_threads,
    exhaust_map_of_two_threads,
    flat_map_sequential_of_two_threads,
    flat_map_sequential_against_a_request,
    flat_map_sequential_against_an_error_ahead_of_its_turn,
    flat_map_sequential_against_a_cancel,
    expand_on_two_threads,
    a_buffer_between_two_threads,
    a_buffer_that_drops_the_oldest,
    a_buffer_that_overflows,
    drop_between_two_threads,
    latest_between_two_threads,
    latest_against_a_cancel,
    conflate_between_two_threads,
    limit_rate_between_two_threads,
    an_emitter_for_two_threads,
    an_emitter_against_a_cancel,
    an_emitter_that_overflows,
    a_retry_against_a_request,
    a_resource_against_a_cancel,
    a_resource_against_two_cancels,
    groups_of_a_source_against_a_request,
    groups_of_a_source_against_a_cancel,
    materialize_against_a_request,
]
TIMED: list[Scenario] = [
    timeout_against_an_element,
    timeout_against_the_completion,
    debounce_against_elements,
    throttle_to_the_last_against_elements,
    delay_against_a_request,
    delay_against_a_cancel,
    delay_subscription_against_a_cancel,
    space_out_against_a_request,
    space_out_against_a_cancel,
    a_batch_whose_time_is_up_against_an_element,
    a_retry_after_a_while_against_a_cancel,
]
EVERY_SCENARIO = pytest.mark.parametrize("scenario", [*SCENARIOS, *TIMED])


@EVERY_SCENARIO
def test_it_holds_under_schedules_with_one_preemption(scenario: Scenario) -> None:
    assert_holds(
        scenario, SUBJECT, bound=1, seeds=(), budget=BRIEFLY, race_timers=scenario in TIMED
    )


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("level", ["gil", "visible"])
@EVERY_SCENARIO
def test_it_holds_under_schedules_with_two_preemptions(scenario: Scenario, level: str) -> None:
    assert_holds(scenario, SUBJECT, level=level, budget=40, race_timers=scenario in TIMED)
