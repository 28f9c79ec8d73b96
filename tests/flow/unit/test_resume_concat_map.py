"""``concat_map`` goes on after a restart in the flow that was running, at its own position."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Flow, VirtualTime
from penstock.flow.resume.planning import CannotResume, resumption_of
from penstock.flow.resume.resumption import PositionedElement
from penstock.testing import ManualPublisher, ManualSubscriber

Spec = tuple[str, Any]
"""What a flow is made of: its kind, and numbers or more of the same."""

NUMBERS = st.lists(st.integers(0, 99), max_size=4)
LEAVES = st.tuples(st.sampled_from(["counted", "positions", "filtered", "zipped"]), NUMBERS)
SPECS = st.recursive(
    LEAVES,
    lambda inner: st.tuples(
        st.sampled_from(["concat_map", "flat_map", "by position", "concat"]),
        st.lists(inner, max_size=4),
    ),
    max_leaves=8,
)
NESTED = st.tuples(
    st.sampled_from(["concat_map", "flat_map", "by position"]), st.lists(SPECS, max_size=4)
)


def positions(elements: list[Any]) -> Flow[Any]:
    """A source that goes on after a position, which a journal has as a list."""

    def after(position: Any) -> Flow[Any]:
        first = 0 if position is None else position[1] + 1
        return Flow.from_iterable(list(enumerate(elements))[first:])

    return Flow.resumable(after, position=lambda pair: ("at", pair[0])).map(lambda pair: pair[1])


def is_even(number: int) -> bool:
    return number % 2 == 0


def made(spec: Spec) -> Flow[Any]:
    """The flow of a spec."""
    kind, parts = spec
    makers: dict[str, Callable[[], Flow[Any]]] = {
        "counted": lambda: Flow.from_iterable(parts),
        "positions": lambda: positions(parts),
        "filtered": lambda: positions(parts).filter(is_even),
        "zipped": lambda: Flow.zip(positions(parts), Flow.range(99)).map(lambda pair: pair[0]),
        "concat_map": lambda: Flow.from_iterable(parts).concat_map(made),
        "flat_map": lambda: Flow.from_iterable(parts).flat_map(made, concurrency=1),
        "by position": lambda: positions(parts).concat_map(made),
        "concat": lambda: Flow.concat(Flow.empty(), *map(made, parts)),
    }
    return makers[kind]()


def elements_of(spec: Spec) -> list[int]:
    """What it gives, told without a flow."""
    kind, parts = spec
    if kind in {"counted", "positions", "zipped"}:
        return list(parts)
    if kind == "filtered":
        return list(filter(is_even, parts))
    return [element for part in parts for element in elements_of(part)]


def twice(element: Any) -> Flow[Any]:
    return Flow.of(element, element)


def run(flow: Flow[Any], position: Any = None, count: int | None = None) -> list[PositionedElement]:
    """The elements after a position, or the first of them."""
    rest = resumption_of(flow).positioned(position)
    return (rest if count is None else rest.take(count)).to_list().run_sync() or []


def as_kept(positioned: PositionedElement) -> Any:
    """A position as a journal gives it back."""
    return json.loads(json.dumps(positioned.position))


def plain(elements: list[PositionedElement]) -> list[Any]:
    return [each.element for each in elements]


@given(NESTED)
def test_a_flow_of_flows_goes_on_after_each_of_its_elements(spec: Spec) -> None:
    whole = elements_of(spec)
    positioned = run(made(spec))
    assert plain(positioned) == whole
    for cut, each in enumerate(positioned, 1):
        assert plain(run(made(spec), as_kept(each))) == whole[cut:]


@given(NESTED, st.integers(1, 3))
def test_it_can_be_cut_again_and_again(spec: Spec, size: int) -> None:
    seen: list[Any] = []
    position = None
    while part := run(made(spec), position, size):
        seen += plain(part)
        position = as_kept(part[-1])
    assert seen == elements_of(spec)


@given(NESTED)
def test_what_follows_passes_the_position_on(spec: Spec) -> None:
    def flow() -> Flow[Any]:
        return made(spec).filter(is_even).map(str).limit_rate(3).map(lambda text: [text])

    positioned = run(flow())
    for cut, each in enumerate(positioned, 1):
        assert plain(run(flow(), as_kept(each))) == plain(positioned)[cut:]


def test_a_position_is_that_before_the_element_that_of_the_element_and_that_within_its_flow() -> (
    None
):
    flow = positions(["ab", "", "cd"]).concat_map(Flow.from_iterable)
    assert run(flow) == [
        PositionedElement(["concat_map", None, ("at", 0), "ab", 1], "a"),
        PositionedElement(["concat_map", None, ("at", 0), "ab", 2], "b"),
        PositionedElement(["concat_map", ("at", 1), ("at", 2), "cd", 1], "c"),
        PositionedElement(["concat_map", ("at", 1), ("at", 2), "cd", 2], "d"),
    ]


def test_the_function_is_called_again_only_for_the_element_that_was_under_way() -> None:
    calls: list[int] = []

    def tens(number: int) -> Flow[int]:
        calls.append(number)
        return Flow.range(number * 10, number * 10 + 3)

    def flow() -> Flow[int]:
        return Flow.range(4).concat_map(tens)

    positioned = run(flow(), None, 8)
    assert calls == [0, 1, 2]
    calls.clear()
    assert plain(run(flow(), as_kept(positioned[-1]))) == [22, 30, 31, 32]
    assert calls == [2, 3]


def test_a_merge_has_one_among_its_inputs() -> None:
    def flow() -> Flow[Any]:
        return Flow.merge(Flow.of(1, 2).concat_map(lambda x: Flow.of(x, -x)), positions([*"abc"]))

    positioned = run(flow())
    for cut, each in enumerate(positioned, 1):
        after = plain(run(flow(), as_kept(each)))
        assert sorted(map(str, plain(positioned[:cut]) + after)) == sorted(
            map(str, plain(positioned))
        )


def test_a_flow_that_waits_goes_on_where_it_was() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    asked: list[Any] = []

    def live(name: str) -> Flow[int]:
        def after(position: Any) -> ManualPublisher[int]:
            asked.append((name, position))
            return source

        return Flow.resumable(after, position=lambda x: x)

    subscriber: ManualSubscriber[PositionedElement] = ManualSubscriber(request=9)
    position = ["concat_map", 1, 2, "b", 7]
    resumption_of(Flow.of("a", "b", "c").concat_map(live)).positioned(position).subscribe(
        subscriber
    )
    source.next(8)
    assert asked == [("b", 7)]
    assert subscriber.elements == [PositionedElement(["concat_map", 1, 2, "b", 8], 8)]


def refused(flow: Flow[Any]) -> str:
    with pytest.raises(CannotResume) as caught:
        run(flow)
    return str(caught.value)


def clocked() -> Flow[int]:
    return Flow.interval(1, clock=VirtualTime())


INNER: dict[str, tuple[Callable[[], Flow[Any]], str]] = {
    "a timer": (clocked, "interval at "),
    "an iterator": (lambda: Flow.from_iterable(iter("abc")), "from_iterable at "),
    "state downstream of positions": (lambda: positions([1, 2]).take(1), "take at "),
    "a merge": (
        lambda: Flow.merge(Flow.of(1), positions([2])),
        "its elements may come in another order",
    ),
}


@pytest.mark.parametrize(("make", "words"), INNER.values(), ids=INNER)
def test_the_first_flow_that_cannot_go_on_is_named_with_its_element(
    make: Callable[[], Flow[Any]], words: str
) -> None:
    seen: list[int] = []

    def flow_of(number: int) -> Flow[Any]:
        return make() if number == 2 else Flow.of(number)

    flow = Flow.range(9).concat_map(flow_of)
    positioned = (
        resumption_of(flow).positioned(None).do_on_next(lambda each: seen.append(each.element))
    )
    with pytest.raises(CannotResume) as caught:
        positioned.run_sync()
    said = str(caught.value)
    assert said.startswith("concat_map at ")
    assert f": the flow of 2 could not go on after a restart: {words}" in said
    assert said.endswith('resume="none" goes on live')
    assert seen == [0, 1]


def test_a_flow_within_a_flow_within_is_named_as_well() -> None:
    said = refused(Flow.of(7).concat_map(lambda _: Flow.of(1).concat_map(lambda _: clocked())))
    assert ": the flow of 1 could not go on after a restart: interval at " in said


UPSTREAM: dict[str, tuple[Callable[[], Flow[Any]], str]] = {
    "merge": (lambda: Flow.merge(Flow.range(3), positions([5])), "merge at "),
    "throttle": (lambda: Flow.range(3).throttle(1, clock=VirtualTime()), "throttle at "),
    "buffer": (lambda: positions([1, 2, 3]).buffer(2), "buffer at "),
    "merge in a concat": (
        lambda: Flow.concat(Flow.of(1), Flow.merge(Flow.of(1), positions([2]))),
        "merge at ",
    ),
}


@pytest.mark.parametrize(("make", "words"), UPSTREAM.values(), ids=UPSTREAM)
def test_an_upstream_whose_next_element_may_be_another_one_is_refused_at_once(
    make: Callable[[], Flow[Any]], words: str
) -> None:
    with pytest.raises(CannotResume) as caught:
        resumption_of(make().concat_map(Flow.of))
    said = str(caught.value)
    assert "concat_map at " in said
    assert words in said
    assert 'resume="none"' in said
    assert "\n" not in said


def test_a_flow_within_has_to_repeat_if_another_concat_map_follows() -> None:
    def parts(_: int) -> Flow[Any]:
        return positions([1, 2, 3]).buffer(2)

    assert plain(run(Flow.of(0).concat_map(parts))) == [[1, 2], [3]]
    said = refused(Flow.of(0).concat_map(parts).concat_map(Flow.from_iterable))
    assert "the flow of 0 could not go on" in said
    assert "buffer at " in said


def test_several_flows_at_a_time_are_refused_and_the_line_says_what_is_not() -> None:
    with pytest.raises(CannotResume, match=r"flat_map at .* concat_map, or concurrency=1, "):
        resumption_of(Flow.range(3).flat_map(Flow.of))


def test_another_element_than_the_one_under_way_is_refused_and_not_taken_for_it() -> None:
    """A source for which no position means "now" gives another one after a restart."""

    def live(*elements: str) -> Flow[str]:
        return Flow.resumable(lambda _: Flow.from_iterable(elements), position=lambda x: x)

    positioned = run(live("a", "b").concat_map(twice), None, 1)
    with pytest.raises(CannotResume, match="needs 'a' at 'a' again.*gave 'b' at 'b'"):
        run(live("b").concat_map(twice), as_kept(positioned[-1]))


@pytest.mark.parametrize("name", ["a", Path("a"), "a" * 300, 7])
def test_an_element_that_is_counted_is_known_by_what_it_says(name: Any) -> None:
    """As when a file is gone from a folder: another one is in its place in the list."""
    positioned = run(Flow.of(name).concat_map(twice), None, 1)
    assert plain(run(Flow.of(name).concat_map(twice), as_kept(positioned[-1]))) == [name]
    with pytest.raises(CannotResume, match=r"again, whose flow was running, and upstream gave 'b"):
        run(Flow.of("b").concat_map(twice), as_kept(positioned[-1]))


def test_of_an_element_that_cannot_be_compared_only_its_position_is_known() -> None:
    positioned = run(Flow.of(object()).concat_map(twice), None, 1)
    assert len(run(Flow.of(object()).concat_map(twice), as_kept(positioned[-1]))) == 1


def test_an_upstream_that_ends_before_the_element_under_way_is_refused() -> None:
    positioned = run(Flow.range(3).concat_map(twice))
    with pytest.raises(CannotResume, match="'2' at 3 again.*upstream has ended before it"):
        run(Flow.range(2).concat_map(twice), as_kept(positioned[-1]))


@pytest.mark.parametrize(
    "position",
    [7, [], ["merge", 1, 2, 3], ["concat_map", 1, 2], ["flat_map", 1, 2, "3", 4], {"a": 1}],
)
def test_the_position_of_another_flow_is_refused(position: Any) -> None:
    with pytest.raises(
        CannotResume, match="which is none of concat_map at .*test_resume_concat_map"
    ):
        run(Flow.range(3).concat_map(Flow.of), position)


def test_what_the_function_has_to_give_is_a_publisher() -> None:
    with pytest.raises(TypeError, match="concat_map needs a publisher, not 0"):
        run(Flow.range(3).concat_map(lambda x: x))  # type: ignore[arg-type, return-value]


def test_what_cannot_be_seen_before_it_runs_is_said() -> None:
    flow = Flow.merge(Flow.range(3).concat_map(Flow.of).map(str), positions([1])).limit_rate(3)
    (line,) = resumption_of(flow).unseen
    assert line.startswith("the function of concat_map at ")
