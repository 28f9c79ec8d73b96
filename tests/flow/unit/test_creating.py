"""Where flows begin: when things are called, what is closed, how they end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from operator import length_hint
from typing import Any

import pytest

from penstock import ExecutorPublisher, Flow, IterablePublisher, ThreadPool
from penstock.tck import verify_publisher
from penstock.testing import ManualPublisher, ManualSubscriber, collect_undelivered


class Closable:
    """An iterator with ``close``, which is no generator."""

    def __init__(self, *elements: int, error: Exception | None = None) -> None:
        self._elements = iter(elements)
        self._error = error
        self.closed = 0

    def __iter__(self) -> Closable:
        return self

    def __next__(self) -> int:
        for element in self._elements:
            return element
        raise self._error or StopIteration

    def close(self) -> None:
        self.closed += 1


class Iterable:
    """Gives the iterator that it was made of."""

    def __init__(self, make: Callable[[], Iterator[int]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[int]:
        return self._make()


def subscribed(flow: Flow[Any], request: int = 0) -> ManualSubscriber[Any]:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
    flow.subscribe(subscriber)
    return subscriber


@pytest.mark.parametrize(
    "flow",
    [
        Flow.of(1, 2, 3),
        Flow.from_iterable([1, 2, 3]),
        Flow.range(1, 4),
        Flow.from_publisher(IterablePublisher([1, 2, 3])),
        Flow.defer(lambda: Flow.of(1, 2, 3)),
        Flow.defer(lambda: IterablePublisher([1, 2, 3])),
    ],
)
def test_a_source_of_known_size_completes_without_demand_after_the_last_element(
    flow: Flow[int],
) -> None:
    subscriber = subscribed(flow, request=3)
    subscriber.assert_elements(1, 2, 3)
    subscriber.assert_completed()


@pytest.mark.parametrize(
    "flow", [Flow.of(), Flow.from_iterable(()), Flow.range(0), Flow.empty(), Flow.defer(Flow.empty)]
)
def test_a_source_without_elements_completes_without_demand(flow: Flow[int]) -> None:
    subscribed(flow).assert_completed()


def test_an_iterator_is_advanced_no_further_than_demand() -> None:
    pulled: list[int] = []

    def numbers() -> Iterator[int]:
        for x in range(9):
            pulled.append(x)
            yield x

    subscriber = subscribed(Flow.from_iterable(numbers()))
    assert pulled == []
    subscriber.request(2)
    assert pulled == [0, 1]
    subscriber.assert_not_ended()


def test_a_one_shot_iterator_goes_on_where_the_last_subscriber_left_it() -> None:
    iterator = iter(range(5))
    flow = Flow.from_iterable(iterator)
    assert flow.take(2).to_list().run_sync() == [0, 1]
    assert flow.to_list().run_sync() == [2, 3, 4]
    assert flow.to_list().run_sync() == []


def test_an_iterable_is_iterated_anew_for_each_subscriber() -> None:
    flow = Flow.from_iterable([1, 2])
    assert [flow.to_list().run_sync() for _ in range(2)] == [[1, 2], [1, 2]]


def test_an_iterable_that_cannot_be_iterated_fails_the_stream() -> None:
    def refuse() -> Iterator[int]:
        raise OSError("no disk")

    subscriber = subscribed(Flow.from_iterable(Iterable(refuse)))
    subscriber.assert_failed(OSError, match="no disk")
    assert_notes(subscriber.error, "in from_iterable, assembled at ")


def test_an_iterable_without_iter_is_iterated_by_its_items() -> None:
    class Squares:
        def __getitem__(self, number: int) -> int:
            if number == 3:
                raise IndexError
            return number * number

    squares: Any = Squares()
    assert Flow.from_iterable(squares).to_list().run_sync() == [0, 1, 4]


def test_what_an_iterator_raises_comes_after_its_elements_and_names_the_source() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise OSError("gone")

    subscriber = subscribed(Flow.from_iterable(Iterable(numbers)), request=5)
    subscriber.assert_elements(1)
    subscriber.assert_failed(OSError, match="gone")
    assert_notes(subscriber.error, "in from_iterable, assembled at ")


def test_none_among_the_elements_of_an_iterable_fails_the_stream() -> None:
    subscriber = subscribed(Flow.from_iterable([1, None, 2]), request=5)
    subscriber.assert_elements(1)
    subscriber.assert_failed(TypeError, match="None is not an element")


@pytest.mark.parametrize("stages", [0, 1, 2])
def test_an_iterator_that_was_made_here_is_closed_once_on_cancel(stages: int) -> None:
    closable = Closable(1, 2, 3)
    flow: Flow[int] = Flow.from_iterable(Iterable(lambda: closable))
    for _ in range(stages):
        flow = flow.on_error_return(0)
    subscriber = subscribed(flow, request=1)
    assert closable.closed == 0
    subscriber.cancel()
    assert closable.closed == 1


def test_an_iterator_that_was_made_here_is_closed_before_the_first_request() -> None:
    closable = Closable(1, 2, 3)
    subscribed(Flow.from_iterable(Iterable(lambda: closable))).cancel()
    assert closable.closed == 1


@pytest.mark.parametrize("error", [None, OSError()], ids=["completion", "an error"])
def test_an_iterator_that_was_made_here_is_closed_at_the_end(error: OSError | None) -> None:
    closable = Closable(1, error=error)
    flow = Flow.from_iterable(Iterable(lambda: closable)).on_error_return(0)
    flow.to_list().run_sync()
    assert closable.closed == 1


def test_an_iterator_that_was_given_is_not_closed() -> None:
    closable = Closable(1, 2, 3)
    subscriber = subscribed(Flow.from_iterable(closable), request=1)
    subscriber.cancel()
    assert Flow.from_iterable(closable).to_list().run_sync() == [2, 3]
    assert closable.closed == 0


def test_a_generator_that_was_given_can_go_on_after_a_cancel() -> None:
    generator = (x for x in range(3))
    subscribed(Flow.from_iterable(generator), request=1).cancel()
    assert list(generator) == [1, 2]


def test_an_iterator_that_cannot_be_closed_troubles_the_hook_and_not_the_subscriber() -> None:
    class Stubborn(Closable):
        def close(self) -> None:
            raise OSError("stuck")

    subscriber = subscribed(Flow.from_iterable(Iterable(lambda: Stubborn(1, 2))), request=1)
    with collect_undelivered() as lost:
        subscriber.cancel()
    assert [str(each.error) for each in lost] == ["stuck"]


def test_from_callable_calls_when_an_element_is_wanted_and_completes_at_once() -> None:
    results = iter([42])
    subscriber = subscribed(Flow.from_callable(lambda: next(results)))
    assert length_hint(results) == 1
    subscriber.request(1)
    subscriber.assert_elements(42)
    subscriber.assert_completed()


def test_from_callable_calls_anew_for_each_subscriber() -> None:
    numbers = iter(range(9))
    flow = Flow.from_callable(lambda: next(numbers))
    assert [flow.run_sync(), flow.run_sync()] == [0, 1]


def test_from_callable_completes_without_an_element_for_none() -> None:
    subscriber = subscribed(Flow.from_callable(lambda: None), request=1)
    subscriber.assert_elements()
    subscriber.assert_completed()


def test_what_the_function_of_from_callable_raises_names_it() -> None:
    subscriber = subscribed(Flow.from_callable(lambda: 1 // 0), request=1)
    subscriber.assert_failed(ZeroDivisionError)
    assert_notes(subscriber.error, "in from_callable, assembled at ")


def test_from_publisher_returns_a_flow_as_it_is() -> None:
    flow = Flow.range(3)
    assert Flow.from_publisher(flow) is flow


def test_from_publisher_asks_for_what_is_wanted_and_cancels() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber = subscribed(Flow.from_publisher(publisher))
    assert publisher.requested == 0
    subscriber.request(2)
    assert publisher.requested == 2
    subscriber.cancel()
    assert publisher.cancelled


def test_an_error_of_a_publisher_names_where_it_entered() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber = subscribed(Flow.from_publisher(publisher).map(str))
    publisher.error(OSError("gone"))
    subscriber.assert_failed(OSError, match="gone")
    assert_notes(subscriber.error, "in from_publisher, assembled at ")


def test_defer_makes_a_publisher_for_each_subscriber_without_waiting_for_demand() -> None:
    made: list[ManualPublisher[int]] = []

    def make() -> ManualPublisher[int]:
        made.append(ManualPublisher())
        return made[-1]

    flow = Flow.defer(make)
    assert made == []
    subscribers = [subscribed(flow), subscribed(flow)]
    made[1].complete()
    subscribers[0].assert_not_ended()
    subscribers[1].assert_completed()
    subscribers[0].cancel()
    assert made[0].cancelled


@pytest.mark.parametrize(
    ("factory", "kind"), [(lambda: 1 // 0, ZeroDivisionError), (lambda: 5, TypeError)]
)
def test_a_factory_of_defer_that_gives_no_publisher_fails_the_stream(
    factory: Callable[[], Any], kind: type[Exception]
) -> None:
    subscriber = subscribed(Flow.defer(factory))
    subscriber.assert_failed(kind)
    assert_notes(subscriber.error, "in defer, assembled at ")


def test_an_error_comes_without_demand_and_is_the_one_that_was_given() -> None:
    error = OSError("down")
    for _ in range(2):
        assert subscribed(Flow.error(error).map(str)).error is error
    assert_notes(error, "in error, assembled at ")


def test_never_neither_emits_nor_ends_until_it_is_cancelled() -> None:
    subscriber = subscribed(Flow.never(), request=5)
    subscriber.request(5)
    subscriber.assert_nothing_more()
    subscriber.cancel()


@pytest.mark.parametrize("bounds", [(3,), (2, 5), (5, 0, -2), (0, 10, 3), (3, 0)])
def test_range_is_the_builtin(bounds: tuple[int, ...]) -> None:
    assert Flow.range(*bounds).to_list().run_sync() == list(range(*bounds))


def test_generate_steps_with_demand_and_ends_at_none() -> None:
    states: list[int] = []

    def step(state: int) -> tuple[str, int] | None:
        states.append(state)
        return (str(state), state + 1) if state < 3 else None

    subscriber = subscribed(Flow.generate(0, step))
    assert states == []
    subscriber.request(2)
    assert states == [0, 1]
    subscriber.request(2)
    subscriber.assert_elements("0", "1", "2")
    subscriber.assert_completed()


def test_generate_starts_with_the_seed_for_each_subscriber() -> None:
    flow = Flow.generate(1, lambda n: (n, n * 2)).take(3).to_list()
    assert [flow.run_sync(), flow.run_sync()] == [[1, 2, 4], [1, 2, 4]]


@pytest.mark.parametrize("step", [5, (1,), (1, 2, 3), [1, 2]])
def test_a_step_of_generate_that_is_no_pair_is_explained(step: Any) -> None:
    subscriber = subscribed(Flow.generate(0, lambda state: step), request=1)
    subscriber.assert_failed(TypeError, match=r"must return \(element, next state\)")


def test_what_a_step_of_generate_raises_names_it() -> None:
    subscriber = subscribed(Flow.generate(0, lambda state: (1 // state, 0)), request=1)
    subscriber.assert_failed(ZeroDivisionError)
    assert_notes(subscriber.error, "in generate, assembled at ")


async def numbers_to_come() -> AsyncIterator[int]:
    yield 1


async def number_to_come() -> int:
    return 1


SOURCES: Any = Flow
"""For what a type checker would refuse."""


@pytest.mark.parametrize(
    ("assemble", "kind", "words"),
    [
        (lambda: SOURCES.of(1, None), TypeError, "of: element 1 is None"),
        (lambda: SOURCES.from_iterable(5), TypeError, "from_iterable needs an iterable, not 5"),
        (lambda: SOURCES.from_iterable(numbers_to_come()), TypeError, "use from_async_iterable"),
        (lambda: SOURCES.from_callable(5), TypeError, "from_callable needs a function, not 5"),
        (lambda: SOURCES.from_callable(number_to_come), TypeError, "coroutine function"),
        (lambda: SOURCES.from_publisher([1]), TypeError, r"from_publisher needs a publisher"),
        (lambda: SOURCES.defer(Flow.of(1)), TypeError, "defer needs a function"),
        (lambda: SOURCES.error(ValueError), TypeError, "error needs an instance of Exception"),
        (lambda: SOURCES.error(KeyboardInterrupt()), TypeError, "error needs an instance of"),
        (lambda: SOURCES.range(1.5), TypeError, "range needs whole numbers, not 1.5"),
        (lambda: SOURCES.range(1, 2, 0), ValueError, "must not be zero"),
        (SOURCES.range, TypeError, "range expected at least 1 argument"),
        (lambda: SOURCES.generate(0, None), TypeError, "generate needs a function, not None"),
    ],
)
def test_bad_input_of_a_source_is_refused_at_assembly(
    assemble: Callable[[], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        assemble()


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Flow.defer(lambda: Flow.range(n)),
        lambda n: Flow.defer(lambda: IterablePublisher(range(n))),
        lambda n: Flow.from_publisher(IterablePublisher(range(n))),
    ],
    ids=["defer a flow", "defer a publisher", "from_publisher"],
)
@pytest.mark.full
def test_a_source_that_opens_another_keeps_the_rules(make: Callable[[int], Flow[int]]) -> None:
    verify_publisher(
        make, failed=lambda: Flow.error(OSError()), completes_eagerly=True, repeatable=True
    ).raise_if_failed()


@pytest.mark.full
def test_generate_keeps_the_rules() -> None:
    verify_publisher(
        lambda n: Flow.generate(0, lambda state: (state, state + 1) if state < n else None),
        failed=lambda: Flow.generate(0, lambda state: (1 // (2 - state), state + 1)),
        repeatable=True,
    ).raise_if_failed()


def test_elements_of_another_thread_come_in_order() -> None:
    with ThreadPool(2) as threads:
        publisher = ExecutorPublisher(range(5_000), threads)
        assert Flow.defer(lambda: publisher).to_list().run_sync() == list(range(5_000))


def assert_notes(error: Exception | None, *beginnings: str) -> None:
    notes = getattr(error, "__notes__", [])
    assert len(notes) == len(beginnings)
    for note, beginning in zip(notes, beginnings, strict=True):
        assert note.startswith(beginning)
        assert __file__ in note
