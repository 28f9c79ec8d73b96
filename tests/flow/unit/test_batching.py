"""Groups and windows: their readers, how far they run ahead, and how they end."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, cast
from weakref import ref

import pytest

from penstock import (
    UNBOUNDED,
    Flow,
    IterablePublisher,
    ThreadPool,
    VirtualTime,
    X,
    collect_undelivered,
)
from penstock.flow.flow import GroupedFlow
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.flow.unit.watched_time import WatchedTime

Group = GroupedFlow[int, int]


def by_parity(x: int) -> int:
    return x % 2


class Grouped:
    """A publisher led by hand, its groups by parity, and what is discarded."""

    def __init__(self, request: int = UNBOUNDED, **options: Any) -> None:
        self.publisher = ManualPublisher[int]()
        self.main = ManualSubscriber[Group](request=request)
        self.discarded: list[int] = []
        flow = Flow.from_publisher(self.publisher).group_by(by_parity, **options)
        flow.do_on_discard(self.discarded.append).subscribe(self.main)

    def read(self, number: int, request: int = UNBOUNDED) -> ManualSubscriber[int]:
        reader = ManualSubscriber[int](request=request)
        group = self.main.elements[number]
        group.do_on_discard(self.discarded.append).subscribe(reader)
        return reader

    @property
    def keys(self) -> list[int]:
        return [group.key for group in self.main.elements]


class Windowed:
    """A publisher led by hand, its windows, and what is discarded."""

    def __init__(self, request: int = UNBOUNDED, **options: Any) -> None:
        self.publisher = ManualPublisher[int]()
        self.main = ManualSubscriber[Flow[int]](request=request)
        self.discarded: list[int] = []
        flow = Flow.from_publisher(self.publisher).window(**options)
        flow.do_on_discard(self.discarded.append).subscribe(self.main)

    def read(self, number: int, request: int = UNBOUNDED) -> ManualSubscriber[int]:
        reader = ManualSubscriber[int](request=request)
        self.main.elements[number].subscribe(reader)
        return reader


# Groups and their readers.


def test_each_group_has_the_elements_of_its_key() -> None:
    grouped = Grouped()
    grouped.publisher.next(1, 2, 3, 4)
    assert grouped.keys == [1, 0]
    grouped.read(0).assert_elements(1, 3)
    grouped.read(1).assert_elements(2, 4)


def test_a_group_is_consumed_in_the_run_that_makes_it() -> None:
    totals = (
        Flow.range(1000)
        .group_by(lambda x: x % 10, prefetch=16)
        .flat_map(lambda group: group.reduce(0, int.__add__).map(lambda total: (group.key, total)))
    )
    assert dict(totals.to_list().run_sync() or ()) == {
        key: sum(range(key, 1000, 10)) for key in range(10)
    }


def test_a_key_may_be_none_or_false() -> None:
    groups = Flow.of(1, 2).group_by(lambda x: None if x == 1 else 0).to_list().run_sync()
    assert [group.key for group in groups or ()] == [None, 0]


def test_a_second_subscriber_of_a_group_is_refused() -> None:
    grouped = Grouped()
    grouped.publisher.next(1)
    first = grouped.read(0)
    second = grouped.read(0)
    second.assert_failed(RuntimeError, match="group_by: flow 1 takes one subscriber")
    assert second.subscribed
    grouped.publisher.next(3)
    first.assert_elements(1, 3)


def test_a_group_that_was_read_to_its_end_cannot_be_read_again() -> None:
    group = cast(Group, Flow.of(1).group_by(by_parity).run_sync())
    assert group.to_list().run_sync() == [1]
    with pytest.raises(RuntimeError, match="has had one"):
        group.to_list().run_sync()


def test_each_subscription_of_the_flow_of_groups_has_groups_of_its_own() -> None:
    flow = Flow.range(4).group_by(by_parity).flat_map(lambda group: group.to_list())
    assert flow.to_list().run_sync() == flow.to_list().run_sync() == [[0, 2], [1, 3]]


def test_groups_wait_for_their_subscribers_after_the_end() -> None:
    groups = Flow.range(4).group_by(by_parity).to_list().run_sync()
    assert groups is not None
    assert [group.to_list().run_sync() for group in groups] == [[0, 2], [1, 3]]


def test_groups_are_read_on_other_threads() -> None:
    main = threading.get_ident()
    threads: set[int] = set()
    with ThreadPool(3) as pool:
        lists = (
            Flow.range(3000)
            .group_by(lambda x: x % 3, prefetch=32)
            .flat_map(
                lambda group: (
                    group.publish_on(pool, prefetch=8)
                    .do_on_next(lambda _: threads.add(threading.get_ident()))
                    .to_list()
                )
            )
        )
        received = lists.to_list().run_sync()
    assert sorted(received or ()) == [list(range(key, 3000, 3)) for key in range(3)]
    assert main not in threads


def test_what_is_downstream_of_a_boundary_groups_there() -> None:
    names: set[str] = set()

    def key(x: int) -> int:
        names.add(threading.current_thread().name)
        return x % 3

    with ThreadPool(2, name="elsewhere") as pool:
        lists = Flow.range(300).publish_on(pool, prefetch=8).group_by(key, prefetch=16)
        received = lists.flat_map(lambda group: group.to_list()).to_list().run_sync()
    assert sorted(received or ()) == [list(range(key, 300, 3)) for key in range(3)]
    assert all(name.startswith("elsewhere") for name in names)


def test_the_key_is_computed_in_the_context_of_who_subscribed() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody")
    seen: list[str] = []
    publisher = ManualPublisher[int]()
    flow = Flow.from_publisher(publisher).group_by(lambda _: seen.append(variable.get()))
    token = variable.set("the subscriber")
    flow.subscribe(ManualSubscriber(request=1))
    variable.reset(token)
    publisher.next(1)
    assert seen == ["the subscriber"]


# How far it runs ahead.


def test_it_asks_for_its_prefetch_without_demand() -> None:
    grouped = Grouped(request=0, prefetch=8)
    assert grouped.publisher.requests == [8]
    grouped.publisher.next(1, 2, 3)
    grouped.main.assert_elements()


def test_what_is_taken_is_replenished_by_the_quarter() -> None:
    grouped = Grouped(prefetch=8)
    grouped.publisher.next(*range(8))
    reader = grouped.read(0, request=1)
    assert grouped.publisher.requests == [8]
    reader.request(1)
    assert grouped.publisher.requests == [8, 2]


def test_no_more_than_the_prefetch_waits_in_all_groups_together() -> None:
    pulled: list[int] = []
    main = ManualSubscriber[Group](request=UNBOUNDED)
    Flow.range(1000).do_on_next(pulled.append).group_by(lambda x: x % 4, prefetch=20).subscribe(
        main
    )
    assert len(pulled) == 20
    reader = ManualSubscriber[int](request=3)
    main.elements[0].subscribe(reader)
    assert len(pulled) == 20
    reader.request(UNBOUNDED)
    # What was not taken are the elements of the groups that nobody reads.
    assert 20 < len(pulled) <= 20 + len(reader.elements)


def test_groups_that_nobody_wants_yet_wait_in_line() -> None:
    grouped = Grouped(request=1)
    grouped.publisher.next(1, 2)
    assert grouped.keys == [1]
    grouped.main.request(1)
    assert grouped.keys == [1, 0]


# Too many groups.


def test_one_group_too_many_is_an_error_that_says_what_to_do() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1)
    reader = grouped.read(0)
    grouped.publisher.next(2)
    for subscriber in (grouped.main, reader):
        subscriber.assert_failed(
            RuntimeError, match="group_by: 1 groups are open.*max_groups.*key 0.*Raise.*fewer"
        )
    reader.assert_elements(1)
    assert grouped.publisher.cancelled
    assert grouped.discarded == [2]


@pytest.mark.parametrize("prefetch", [1, 2, 3, 4, 256])
@pytest.mark.parametrize("flatten", [Flow.concat_map, Flow.flat_map])
def test_groups_that_their_readers_end_make_room_for_others(
    flatten: Callable[..., Flow[int]], prefetch: int
) -> None:
    groups = Flow.range(500).group_by(lambda x: x, max_groups=3, prefetch=prefetch)
    taken = flatten(groups, lambda group: group.take(1)).to_list().run_sync()
    assert taken == list(range(500))


def test_a_key_without_room_waits_for_a_reader_that_may_leave() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1)
    reader = grouped.read(0, request=0)
    grouped.publisher.next(2)
    reader.request(1)
    assert grouped.keys == [1]
    reader.cancel()
    assert grouped.keys == [1, 0]
    grouped.publisher.next(4)
    grouped.read(1).assert_elements(2, 4)


def test_a_key_without_room_is_an_error_once_the_reader_wants_more() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1)
    reader = grouped.read(0, request=0)
    grouped.publisher.next(2)
    reader.request(1)
    grouped.main.assert_not_ended()
    reader.request(1)
    for subscriber in (grouped.main, reader):
        subscriber.assert_failed(RuntimeError, match="max_groups")
    assert grouped.discarded == [2]


def test_a_key_without_room_is_an_error_if_nobody_reads_and_more_groups_are_wanted() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1, 2)
    grouped.main.assert_failed(RuntimeError, match="max_groups")


def test_an_element_that_waits_for_room_is_discarded_when_all_leave() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1)
    reader = grouped.read(0, request=0)
    grouped.publisher.next(2)
    grouped.main.cancel()
    assert grouped.discarded == [2]
    reader.cancel()
    assert grouped.discarded == [2, 1]
    assert grouped.publisher.cancelled


def test_the_end_follows_an_element_that_waits_for_room() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1)
    reader = grouped.read(0, request=0)
    grouped.publisher.next(2)
    grouped.publisher.complete()
    grouped.main.assert_not_ended()
    reader.cancel()
    assert grouped.keys == [1, 0]
    grouped.main.assert_completed()
    grouped.read(1).assert_elements(2)


def test_an_error_after_an_element_that_waits_for_room_does_not_keep_the_reader() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1)
    reader = grouped.read(0, request=0)
    grouped.publisher.next(2)
    grouped.publisher.error(OSError())
    reader.cancel()
    error = grouped.main.error
    assert isinstance(error, OSError)
    assert error.__context__ is None


def test_there_is_no_group_too_many_when_the_flow_of_groups_is_cancelled() -> None:
    grouped = Grouped(max_groups=1)
    grouped.publisher.next(1)
    reader = grouped.read(0)
    grouped.main.cancel()
    grouped.publisher.next(2, 3)
    reader.assert_elements(1, 3)
    reader.assert_not_ended()
    assert grouped.discarded == [2]


# Cancelling.


def test_a_cancelled_group_discards_what_it_holds_and_its_key_opens_a_new_one() -> None:
    grouped = Grouped()
    grouped.publisher.next(1, 3, 5)
    reader = grouped.read(0, request=1)
    reader.cancel()
    assert grouped.discarded == [3, 5]
    grouped.publisher.next(7)
    assert grouped.keys == [1, 1]
    grouped.read(1).assert_elements(7)


def test_a_cancelled_group_does_not_hold_up_the_others() -> None:
    grouped = Grouped(prefetch=4)
    grouped.publisher.next(1, 3, 5, 2)
    grouped.read(0, request=1).cancel()
    assert grouped.publisher.requested > 4


def test_groups_that_are_read_go_on_when_the_flow_of_groups_is_cancelled() -> None:
    grouped = Grouped()
    grouped.publisher.next(1)
    reader = grouped.read(0)
    grouped.main.cancel()
    grouped.publisher.next(2, 3)
    reader.assert_elements(1, 3)
    assert grouped.discarded == [2]
    grouped.publisher.complete()
    reader.assert_completed()


def test_all_is_cancelled_when_the_flow_of_groups_and_all_that_are_read_are() -> None:
    grouped = Grouped()
    grouped.publisher.next(1, 2)
    readers = [grouped.read(0), grouped.read(1)]
    grouped.main.cancel()
    readers[0].cancel()
    assert not grouped.publisher.cancelled
    readers[1].cancel()
    assert grouped.publisher.cancelled


def test_upstream_is_not_cancelled_while_the_flow_of_groups_is_wanted() -> None:
    grouped = Grouped()
    grouped.publisher.next(1)
    grouped.read(0).cancel()
    assert not grouped.publisher.cancelled


def test_a_group_that_nobody_reads_ends_with_the_flow_of_groups() -> None:
    grouped = Grouped()
    grouped.publisher.next(1, 3)
    grouped.main.cancel()
    assert grouped.publisher.cancelled
    assert grouped.discarded == [1, 3]
    grouped.read(0).assert_failed(RuntimeError, match="flow 1 was not subscribed to when")


def test_groups_that_wait_in_line_are_discarded_with_the_flow_of_groups() -> None:
    grouped = Grouped(request=1)
    grouped.publisher.next(1, 2, 4)
    reader = grouped.read(0)
    grouped.main.cancel()
    assert grouped.discarded == [2, 4]
    grouped.publisher.next(3)
    reader.assert_elements(1, 3)


def test_groups_that_wait_in_line_after_the_end_are_discarded_by_a_cancel() -> None:
    grouped = Grouped(request=1)
    grouped.publisher.next(1, 2)
    grouped.publisher.complete()
    grouped.main.cancel()
    assert grouped.discarded == [2]
    grouped.read(0).assert_elements(1)


def test_take_ends_the_flow_of_groups_and_not_the_groups() -> None:
    lists = Flow.range(10).group_by(lambda x: x % 4).take(2).flat_map(lambda group: group.to_list())
    assert lists.to_list().run_sync() == [[0, 4, 8], [1, 5, 9]]


# Endings.


def test_a_completion_follows_the_elements_of_each_group() -> None:
    grouped = Grouped()
    grouped.publisher.next(1, 2, 3)
    reader = grouped.read(0, request=1)
    grouped.publisher.complete()
    grouped.main.assert_completed()
    reader.assert_not_ended()
    reader.request(1)
    reader.assert_completed()
    late = grouped.read(1)
    late.assert_elements(2)
    late.assert_completed()


def test_a_group_completes_without_demand_when_it_holds_nothing() -> None:
    grouped = Grouped()
    grouped.publisher.next(1)
    reader = grouped.read(0, request=1)
    grouped.publisher.complete()
    reader.assert_completed()


def test_the_flow_of_groups_completes_without_demand_when_there_are_none() -> None:
    grouped = Grouped(request=0)
    grouped.publisher.complete()
    grouped.main.assert_completed()


def test_an_error_goes_to_all_groups_and_to_the_flow_of_groups() -> None:
    grouped = Grouped()
    grouped.publisher.next(1, 2)
    readers = [grouped.read(0), grouped.read(1, request=1)]
    grouped.publisher.error(OSError("lost"))
    grouped.main.assert_failed(OSError, match="lost")
    for reader in readers:
        reader.assert_failed(OSError, match="lost")


def test_an_error_follows_the_elements_of_a_group() -> None:
    grouped = Grouped()
    grouped.publisher.next(1, 3)
    grouped.publisher.error(OSError("lost"))
    late = grouped.read(0, request=1)
    late.assert_elements(1)
    late.assert_not_ended()
    late.request(1)
    late.assert_elements(1, 3)
    late.assert_failed(OSError)


def test_a_key_that_raises_ends_all_and_names_the_operator() -> None:
    def key(x: int) -> int:
        return 1 // x

    main = ManualSubscriber[GroupedFlow[int, int]](request=UNBOUNDED)
    reader = ManualSubscriber[int](request=UNBOUNDED)
    publisher = ManualPublisher[int]()
    discarded: list[int] = []
    groups = Flow.from_publisher(publisher).group_by(key)
    groups.do_on_discard(discarded.append).subscribe(main)
    publisher.next(1)
    main.elements[0].subscribe(reader)
    publisher.next(0)
    for subscriber in (main, reader):
        subscriber.assert_failed(ZeroDivisionError)
        assert subscriber.error is not None
        assert any("in group_by, assembled at" in note for note in subscriber.error.__notes__)
    assert publisher.cancelled
    assert discarded == [0]


def test_a_key_that_cannot_be_hashed_is_an_error() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        Flow.of(1).group_by(lambda x: cast(int, [x])).run_sync()


def test_a_subscriber_that_raises_loses_its_group_alone() -> None:
    class Raising(ManualSubscriber[int]):
        def on_next(self, element: int) -> None:
            raise OSError("full")

    grouped = Grouped()
    grouped.publisher.next(1, 2)
    raising, reader = Raising(request=UNBOUNDED), grouped.read(1)
    with collect_undelivered() as undelivered:
        grouped.main.elements[0].subscribe(raising)
    grouped.publisher.next(4)
    reader.assert_elements(2, 4)
    assert [str(each.error) for each in undelivered] == ["full"]


def test_an_interrupt_in_a_reader_passes_through_and_ends_the_others() -> None:
    class Interrupting(ManualSubscriber[int]):
        def on_next(self, element: int) -> None:
            if element > 1:
                raise KeyboardInterrupt

    grouped = Grouped()
    grouped.publisher.next(1, 2)
    reader = grouped.read(1)
    grouped.main.elements[0].subscribe(Interrupting(request=UNBOUNDED))
    with pytest.raises(KeyboardInterrupt):
        grouped.publisher.next(3)
    reader.assert_failed(RuntimeError, match="group_by was stopped by KeyboardInterrupt")
    assert grouped.publisher.cancelled


# Arguments.


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda flow: flow.group_by(3), TypeError, "group_by needs a function, not 3"),
        (lambda flow: flow.group_by(X % 2), TypeError, "group_by takes no expression"),
        (lambda flow: flow.group_by(str, 0), ValueError, "group_by: max_groups must be at least 1"),
        (lambda flow: flow.group_by(str, 2.0), TypeError, "group_by: max_groups must be an int"),
        (lambda flow: flow.group_by(str, prefetch=0), ValueError, "group_by: prefetch must be at"),
        (lambda flow: flow.window(), TypeError, "window needs size, every or until"),
        (lambda flow: flow.window(0), ValueError, "window: size must be at least 1, not 0"),
        (lambda flow: flow.window(every=0), ValueError, "window: every must be above 0"),
        (
            lambda flow: flow.window(until=3),
            TypeError,
            "window: until must be a function or a publisher, not 3",
        ),
        (lambda flow: flow.window(2, prefetch=0), ValueError, "window: prefetch must be at least"),
        (lambda flow: flow.window(2, clock=3), TypeError, "window needs a clock"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    call: Callable[[Any], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(Flow.of(1))


# Windows.


def test_a_window_is_there_while_its_elements_come() -> None:
    windowed = Windowed(size=2)
    windowed.publisher.next(1)
    reader = windowed.read(0)
    reader.assert_elements(1)
    reader.assert_not_ended()
    windowed.publisher.next(2)
    reader.assert_elements(1, 2)
    reader.assert_completed()
    assert len(windowed.main.elements) == 1


def test_the_next_window_opens_with_an_element() -> None:
    windowed = Windowed(size=1)
    windowed.publisher.next(1)
    windowed.publisher.complete()
    assert len(windowed.main.elements) == 1
    windowed.main.assert_completed()


def test_a_window_closes_after_the_element_for_which_a_condition_holds() -> None:
    lists = Flow.of(1, 2, 0, 3, 0, 4).window(until=lambda x: x == 0)
    received = lists.concat_map(lambda window: window.to_list()).to_list().run_sync()
    assert received == [[1, 2, 0], [3, 0], [4]]


def test_a_window_closes_some_time_after_its_first_element() -> None:
    time = VirtualTime()
    windowed = Windowed(every=5, clock=time)
    time.advance(60)
    windowed.publisher.next(1)
    reader = windowed.read(0)
    time.advance(4)
    windowed.publisher.next(2)
    reader.assert_not_ended()
    time.advance(1)
    reader.assert_elements(1, 2)
    reader.assert_completed()
    windowed.publisher.next(3)
    windowed.read(1).assert_elements(3)


def test_a_window_that_is_full_in_time_leaves_the_time_to_the_next() -> None:
    time = VirtualTime()
    windowed = Windowed(size=2, every=5, clock=time)
    windowed.publisher.next(1, 2)
    time.advance(4)
    windowed.publisher.next(3)
    reader = windowed.read(1)
    time.advance(4)
    reader.assert_not_ended()
    time.advance(1)
    reader.assert_completed()


def test_time_closes_a_window_also_while_the_prefetch_is_used_up() -> None:
    time = VirtualTime()
    windowed = Windowed(every=5, clock=time, prefetch=1)
    windowed.publisher.next(1)
    time.advance(5)
    reader = windowed.read(0)
    reader.assert_elements(1)
    reader.assert_completed()


@pytest.mark.parametrize("ending", ["complete", "cancel"])
def test_no_timer_is_left_when_windows_are_over(ending: str) -> None:
    time = WatchedTime()
    windowed = Windowed(every=5, clock=time)
    windowed.publisher.next(1)
    reader = windowed.read(0)
    assert time.waiting == 1
    if ending == "complete":
        windowed.publisher.complete()
    else:
        windowed.main.cancel()
        reader.cancel()
    assert time.waiting == 0


def test_a_publisher_closes_windows() -> None:
    bell = ManualPublisher[str]()
    windowed = Windowed(until=bell)
    windowed.publisher.next(1, 2)
    reader = windowed.read(0)
    bell.next("ring")
    reader.assert_elements(1, 2)
    reader.assert_completed()
    bell.next("ring", "ring")
    windowed.publisher.next(3)
    windowed.read(1).assert_elements(3)
    assert len(windowed.main.elements) == 2


def test_a_publisher_that_completes_ends_the_open_window_and_the_flow() -> None:
    bell = ManualPublisher[str]()
    windowed = Windowed(until=bell)
    windowed.publisher.next(1)
    reader = windowed.read(0)
    bell.complete()
    reader.assert_elements(1)
    reader.assert_completed()
    windowed.main.assert_completed()
    assert windowed.publisher.cancelled


def test_an_element_that_is_made_while_the_publisher_completes_is_discarded() -> None:
    bell = ManualPublisher[str]()
    main, discarded = ManualSubscriber[Flow[int]](request=9), list[int]()

    def numbers() -> Iterator[int]:
        yield 1
        bell.complete()
        yield 2

    windows = Flow.from_iterable(numbers()).window(
        every=10, aligned=True, until=bell, clock=VirtualTime()
    )
    windows.do_on_discard(discarded.append).subscribe(main)
    main.assert_completed()
    (window,) = main.elements
    assert window.to_list().run_sync() == [1]
    assert discarded == [2]


def test_windows_that_are_read_later_have_what_came_before_the_publisher_completed() -> None:
    bell = ManualPublisher[str]()
    windowed = Windowed(request=1, until=bell)
    windowed.publisher.next(1, 2)
    bell.complete()
    windowed.main.assert_completed()
    reader = windowed.read(0)
    reader.assert_elements(1, 2)
    reader.assert_completed()


def test_a_publisher_that_fails_is_an_error_for_all() -> None:
    bell = ManualPublisher[str]()
    windowed = Windowed(until=bell)
    windowed.publisher.next(1)
    reader = windowed.read(0)
    bell.error(OSError("no bell"))
    windowed.main.assert_failed(OSError)
    reader.assert_failed(OSError)
    assert windowed.publisher.cancelled


def test_a_publisher_that_closes_windows_is_cancelled_with_them() -> None:
    bell = ManualPublisher[str]()
    windowed = Windowed(until=bell)
    windowed.main.cancel()
    assert windowed.publisher.cancelled
    assert bell.cancelled


def test_the_rest_of_a_cancelled_window_is_discarded() -> None:
    windowed = Windowed(size=3)
    windowed.publisher.next(1)
    windowed.read(0, request=1).cancel()
    windowed.publisher.next(2, 3, 4)
    assert windowed.discarded == [2, 3]
    assert len(windowed.main.elements) == 2
    windowed.read(1).assert_elements(4)


def test_a_window_that_is_read_goes_on_when_the_flow_of_windows_is_cancelled() -> None:
    windowed = Windowed(size=2)
    windowed.publisher.next(1)
    reader = windowed.read(0)
    windowed.main.cancel()
    windowed.publisher.next(2)
    reader.assert_elements(1, 2)
    reader.assert_completed()
    assert windowed.publisher.cancelled


def test_windows_are_read_one_after_the_other_with_a_small_prefetch() -> None:
    lists = Flow.range(100).window(10, prefetch=2).concat_map(lambda window: window.to_list())
    assert lists.to_list().run_sync() == [list(range(at, at + 10)) for at in range(0, 100, 10)]


# Nothing is left over.


class Key:
    """Something to which weak references can be made."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("ending", ["complete", "error", "cancel"])
def test_nothing_of_a_run_is_kept_by_the_flow_or_its_source(ending: str) -> None:
    publisher = ManualPublisher[int]()
    keys = [Key(), Key()]
    watched = [ref(key) for key in keys]
    main = ManualSubscriber[GroupedFlow[Key, int]](request=UNBOUNDED)
    flow = Flow.from_publisher(publisher).group_by(lambda x: keys[x])
    flow.subscribe(main)
    publisher.next(0, 1, 0)
    reader = ManualSubscriber[int](request=1 if ending == "cancel" else UNBOUNDED)
    main.elements[0].subscribe(reader)
    if ending == "cancel":
        main.cancel()
        reader.cancel()
    elif ending == "error":
        publisher.error(OSError())
    else:
        publisher.complete()
    del main, reader
    keys.clear()
    assert [watch() for watch in watched] == [None, None]


@pytest.mark.usefixtures("no_collector")
def test_a_cancelled_group_is_freed_while_the_others_go_on() -> None:
    publisher = ManualPublisher[int]()
    keys = {0: Key(), 1: Key()}
    watch = ref(keys[0])
    lists = (
        Flow.from_publisher(publisher)
        .group_by(keys.__getitem__)
        .flat_map(lambda group: group.take(1))
    )
    subscriber = ManualSubscriber[int](request=UNBOUNDED)
    lists.subscribe(subscriber)
    publisher.next(0, 1)
    del keys[0]
    publisher.next(1)
    assert watch() is None
    subscriber.assert_elements(0, 1, 1)


@pytest.mark.parametrize("foreign", [False, True], ids=["fused", "foreign"])
def test_what_is_lost_ahead_of_demand_is_told_downstream(foreign: bool) -> None:
    def key(x: int) -> int:
        if x == 2:
            raise OSError("no key")
        return 0

    lost: list[int] = []
    source = Flow.from_publisher(IterablePublisher(range(4))) if foreign else Flow.range(4)
    flow = source.group_by(key).flat_map(lambda group: group).do_on_discard(lost.append)
    received = ManualSubscriber[int](request=9)
    flow.subscribe(received)
    received.assert_elements(0, 1)
    received.assert_failed(OSError)
    assert lost == ([2, 3] if foreign else [2])
