"""Where a flow goes on after a restart: after any element, with none missing and none twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock import Flow, VirtualTime
from penstock.flow.resume.planning import CannotResume, resumption_of
from penstock.flow.resume.resumption import PositionedElement
from penstock.flow.sources.creating import Resumable
from penstock.runtime import ThreadPool
from penstock.testing import ManualPublisher, ManualSubscriber

Make = Callable[[], Flow[Any]]
LETTERS = "abcdefgh"


def letters() -> Flow[str]:
    """A source that goes on after a position, which is a letter."""

    def after(position: Any) -> Flow[str]:
        return Flow.from_iterable([each for each in LETTERS if position is None or each > position])

    return Flow.resumable(after, position=lambda letter: letter)


def paired(told: list[Any] | None = None, *, repeats: bool = False) -> Flow[str]:
    """A source whose elements do not tell their positions, which are how many come before."""

    def after(position: Any) -> Flow[str]:
        return Flow.from_iterable(LETTERS[position or 0 :])

    def pairs_after(position: Any) -> Flow[PositionedElement]:
        count = position or 0
        pairs = [PositionedElement(number, LETTERS[number - 1]) for number in range(1, 9)]
        return Flow.from_iterable(pairs[count:])

    hear = None if told is None else told.append
    return Flow(Resumable("paired", after, paired=pairs_after, on_recorded=hear, repeats=repeats))


def numbers() -> Flow[int]:
    return Flow.range(300)


@contextmanager
def pool() -> Iterator[ThreadPool]:
    made = ThreadPool(name="test")
    try:
        yield made
    finally:
        made.close()


def twice(x: Any) -> Flow[Any]:
    return Flow.of(x, x)


FLOWS: dict[str, Make] = {
    "two ranges": lambda: Flow.merge(numbers(), Flow.range(1_000, 1_020)),
    "range and positions": lambda: Flow.merge(numbers(), letters()),
    "pairs": lambda: paired().map(str.upper),
    "pairs and positions": lambda: Flow.merge(paired(), letters()),
    "pairs that are counted": lambda: paired(repeats=True).scan("", lambda text, x: text + x),
    "nested": lambda: Flow.merge(Flow.merge(letters(), numbers()), Flow.range(500, 505).map(str)),
    "three": lambda: Flow.merge(letters(), Flow.of(1, 2), Flow.empty()),
    "concat of positions": lambda: letters().concat(Flow.of("x", "y"), letters().map(str.upper)),
    "concat within merge": lambda: Flow.merge(Flow.concat(Flow.of(1, 2), Flow.of(3)), letters()),
    "zip with positions": lambda: Flow.zip(letters(), Flow.range(100)),
    "zip within merge": lambda: Flow.merge(Flow.zip(letters(), Flow.range(5)), Flow.of(0)),
    "state upstream of the merge": lambda: Flow.merge(
        Flow.range(9).scan(0, lambda total, x: total + x).skip(1).take(7), letters()
    ),
    "filtered": lambda: (
        Flow.merge(numbers(), letters()).filter(lambda x: x not in (2, "c")).map(lambda x: (x,))
    ),
    "lists": lambda: Flow.merge(numbers(), letters()).buffer(7),
    "lists of a range": lambda: numbers().buffer(7).map(tuple),
    "positions alone": lambda: letters().map(str.upper).filter(lambda x: x != "C"),
    "limited": lambda: Flow.merge(numbers(), letters()).limit_rate(4).map(lambda x: [x]),
    "limited inputs": lambda: Flow.merge(numbers().limit_rate(3), letters().limit_rate(2)),
    "flows of elements": lambda: Flow.merge(numbers(), letters().concat_map(twice)).map(str),
    "watched": lambda: Flow.merge(numbers(), letters()).named("all").log(),
}


def run(flow: Flow[PositionedElement], count: int | None = None) -> list[PositionedElement]:
    """The first elements, or all of them."""
    if count == 0:
        return []
    return all_of(flow if count is None else flow.take(count))


def all_of(flow: Flow[Any]) -> list[Any]:
    return flow.to_list().run_sync() or []


def flat(elements: list[Any]) -> list[Any]:
    return [each for x in elements for each in (x if isinstance(x, list | tuple) else [x])]


@pytest.mark.parametrize("make", FLOWS.values(), ids=FLOWS)
def test_a_flow_that_is_cut_after_any_element_goes_on_after_it(make: Make) -> None:
    whole = sorted(flat(all_of(make())), key=repr)
    size = len(all_of(make()))
    for cut in {0, 1, 2, 5, 8, 11, 255, 256, 257, 258, size - 1, size}:
        if not 0 <= cut <= size:
            continue
        before = run(resumption_of(make()).positioned(None), cut)
        position = json.loads(json.dumps(before[-1].position)) if before else None
        after = run(resumption_of(make()).positioned(position))
        assert sorted(flat([each.element for each in before + after]), key=repr) == whole


def test_it_can_be_cut_again_and_again() -> None:
    position, seen = None, []
    while given := run(resumption_of(FLOWS["nested"]()).positioned(position), 3):
        position = json.loads(json.dumps(given[-1].position))
        seen += [each.element for each in given]
    assert sorted(seen, key=repr) == sorted(all_of(FLOWS["nested"]()), key=repr)


def test_the_position_of_an_element_that_waits_elsewhere_is_its_own() -> None:
    """A thread runs ahead of what is wanted, and must not run ahead of its positions."""
    with pool() as threads:

        def make() -> Flow[Any]:
            return Flow.merge(numbers(), letters()).map(str).publish_on(threads).map(str.upper)

        before = run(resumption_of(make()).positioned(None), 20)
        after = run(resumption_of(make()).positioned(before[-1].position))
    whole = all_of(Flow.merge(numbers(), letters()).map(str).map(str.upper))
    assert sorted(each.element for each in before + after) == sorted(whole)


def test_an_input_that_waits_keeps_its_position() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    live = Flow.resumable(lambda position: source, position=lambda x: x)
    subscriber: ManualSubscriber[PositionedElement] = ManualSubscriber(request=9)
    resumption_of(Flow.merge(live, Flow.of("a", "b"))).positioned(None).subscribe(subscriber)
    source.next(5)
    assert subscriber.elements[-1] == PositionedElement(["merge", 5, 2], 5)


def test_what_is_discarded_is_seen_without_its_position() -> None:
    discarded: list[Any] = []
    flow = Flow.zip(letters(), Flow.of(1)).do_on_discard(discarded.append)
    run(resumption_of(flow).positioned(None))
    assert discarded == ["b"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Flow.from_publisher(ManualPublisher()), "from_publisher"),
        (lambda: Flow.interval(1, clock=VirtualTime()), "interval"),
        (lambda: Flow.from_iterable(iter("abc")), "from_iterable"),
        (
            lambda: Flow.merge(Flow.of(1), Flow.never(), Flow.create(print, overflow="error")),
            "create",
        ),
        (lambda: numbers().buffer(3, every=1, clock=VirtualTime()), "buffer"),
        (lambda: numbers().debounce(1, clock=VirtualTime()), "debounce"),
        (lambda: numbers().flat_map(twice), "flat_map"),
        (lambda: numbers().retry(3), "retry"),
        (lambda: numbers().on_backpressure_latest(), "on_backpressure_latest"),
        (lambda: Flow.combine_latest(numbers(), letters()), "combine_latest"),
        (lambda: Flow.race(numbers(), letters()), "race"),
        (lambda: Flow.merge(numbers(), letters()).take(5), "take"),
        (
            lambda: Flow.merge(numbers(), letters()).flat_map_iterable(lambda x: [x, x]),
            "flat_map_it",
        ),
        (lambda: letters().scan("", lambda a, x: a + x), "scan"),
        (lambda: letters().share(), "share"),
        (lambda: Flow.merge(Flow.resumable(lambda position: Flow.of(1)), numbers()), "position="),
    ],
)
def test_what_cannot_go_on_says_which_operator_is_why_and_what_to_write(
    make: Make, words: str
) -> None:
    with pytest.raises(CannotResume) as caught:
        resumption_of(make())
    said = str(caught.value)
    assert words in said
    assert 'resume="none"' in said
    assert "\n" not in said


@pytest.mark.parametrize(
    "make",
    [
        lambda: Flow.merge(Flow.defer(numbers), Flow.defer(letters)),
        lambda: numbers().concat_map(twice),
    ],
    ids=["merge", "concat_map"],
)
def test_a_caller_that_knows_that_sources_repeat_can_say_so(make: Make) -> None:
    before = run(resumption_of(make(), repeatable=True).positioned(None), 7)
    after = run(resumption_of(make(), repeatable=True).positioned(before[-1].position))
    whole = all_of(make())
    assert sorted(map(repr, (each.element for each in before + after))) == sorted(map(repr, whole))


def test_nobody_can_say_it_of_what_depends_on_time() -> None:
    with pytest.raises(CannotResume, match="flat_map .* depends on time"):
        resumption_of(numbers().flat_map(twice), repeatable=True)


@pytest.mark.parametrize("position", [7, ["merge", 1], ["merge", 1, 2, 3], ["zip", 1, 2], {"a": 1}])
def test_the_position_of_another_flow_is_refused(position: Any) -> None:
    with pytest.raises(CannotResume, match="which is none of merge at .*test_resumption"):
        resumption_of(Flow.merge(numbers(), letters())).positioned(position)


@pytest.mark.parametrize("left", [0, 1, 4])
@pytest.mark.parametrize(
    "through",
    [lambda flow: flow, lambda flow: flow.filter(bool).buffer(1)],
    ids=["plain", "stages"],
)
def test_a_source_that_is_shorter_than_it_was_is_no_source_that_is_over(
    left: int, through: Callable[[Flow[Any]], Flow[Any]]
) -> None:
    elements = [1, 2, 3, 4, 5]
    resumption = resumption_of(through(Flow.from_iterable(elements)))
    taken = run(resumption.positioned(None))[-1]
    del elements[left:]
    words = f"from_iterable at .* has ended after {left} elements, and 5 had been taken from it"
    with pytest.raises(CannotResume, match=words):
        run(resumption.positioned(taken.position))


def test_a_source_that_is_as_long_as_it_was_is_over() -> None:
    resumption = resumption_of(Flow.from_iterable([1, 2, 3]))
    taken = run(resumption.positioned(None))[-1]
    assert run(resumption.positioned(taken.position)) == []


def test_an_element_without_a_position_ends_the_stream() -> None:
    flow = Flow.resumable(lambda position: Flow.of(1), position=lambda x: None)
    with pytest.raises(ValueError, match="resumable: 1 has no position"):
        run(resumption_of(flow).positioned(None))


def test_each_source_is_told_what_is_recorded_of_its_own() -> None:
    told: list[Any] = []

    def source(name: str) -> Flow[int]:
        return Flow(
            Resumable(
                name,
                lambda position: Flow.range(position or 0, 9),
                lambda number: number,
                on_recorded=lambda position: told.append((name, position)),
            )
        )

    with pool() as made:
        merged = Flow.merge(source("a").map(str), source("b").publish_on(made), Flow.range(3))
        resumption_of(merged).recorded(["merge", 3, None, 2])
        resumption_of(merged).recorded(["merge", 4, 7, 2])
    assert told == [("a", 3), ("a", 4), ("b", 7)]


def test_a_source_of_pairs_gives_elements_alone_where_nobody_keeps_positions() -> None:
    told: list[Any] = []
    assert paired(told).to_list().run_sync() == [*LETTERS]
    resumption_of(paired(told)).recorded(3)
    assert told == [3]


def test_a_source_of_pairs_that_differs_each_time_cannot_be_counted() -> None:
    with pytest.raises(CannotResume, match="scan .* would begin again in the middle"):
        resumption_of(paired().scan("", lambda text, x: text + x))


def test_a_source_with_positions_is_asked_for_no_more_than_is_ever_taken() -> None:
    publisher = ManualPublisher[int]()
    source = Flow.resumable(lambda position: Flow.from_publisher(publisher), position=str)
    source.take(3).subscribe(ManualSubscriber[int](request=100))
    publisher.await_requested(3)
    assert publisher.requested == 3
