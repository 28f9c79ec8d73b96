"""What an error says: the operator, the user's line, names and annotations, each of them once."""

from __future__ import annotations

import asyncio
import sysconfig
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, IterablePublisher, Retry, ThreadPool, X
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.rules.parties import PATIENCE

HERE = Path(__file__).name


def invert(x: int) -> float:
    return 1 / x


def failed(flow: Flow[Any]) -> Exception:
    """The error that a subscriber gets."""
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1_000)
    flow.subscribe(subscriber)
    subscriber.await_end()
    assert subscriber.error is not None
    return subscriber.error


def notes(error: Exception) -> list[str]:
    return [note.replace(str(Path(__file__).parent), "").lstrip("/") for note in error.__notes__]


def operators(error: Exception) -> list[str]:
    """The operators that the notes name."""
    return [note.partition(", assembled at ")[0] for note in error.__notes__]


def printed(error: Exception) -> list[str]:
    """What a user sees, without the carets under the code."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return [line.strip() for line in lines if set(line.strip()) - set("^~")]


LIBRARY = sysconfig.get_path("purelib")
LIBRARIES = {
    "an installed library": LIBRARY,
    "one of a distribution": "/usr/lib/python3/dist-packages",
    "the standard library": sysconfig.get_path("stdlib"),
    "a script that was installed": sysconfig.get_path("scripts"),
}


def library(folder: str) -> Any:
    """A function ``call`` of a module in ``folder``, which calls what it is given."""
    scope: dict[str, Any] = {"__name__": "some.library"}
    code = "def call(function, *arguments):\n    return function(*arguments)"
    exec(compile(code, str(Path(folder) / "some" / "library.py"), "exec"), scope)
    return scope["call"]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_line_of_the_user_is_named_where_a_library_makes_the_call(name: str) -> None:
    # The tests call operators themselves. A library does so for who passes one to it.
    call = library(LIBRARIES[name])
    error = failed(call(call, Flow.of(1, 0).map, invert))
    expected = test_a_line_of_the_user_is_named_where_a_library_makes_the_call.__code__
    assert f"{HERE}:{expected.co_firstlineno + 4}, in {expected.co_name}" in error.__notes__[0]


def test_the_line_of_a_library_is_named_where_no_code_of_the_user_calls_it() -> None:
    flows: list[Flow[Any]] = []
    scope = {"__name__": "some.library", "numbers": Flow.of(1, 0), "flows": flows, "invert": invert}
    code = compile("flows.append(numbers.map(invert))", f"{LIBRARY}/some/library.py", "exec")
    thread = threading.Thread(target=exec, args=(code, scope))
    thread.start()
    thread.join(PATIENCE)
    assert f"in map, assembled at {LIBRARY}/some/library.py:1, in " in failed(flows[0]).__notes__[0]


# The text.


def test_the_printed_error_begins_with_the_users_code_and_ends_with_its_place() -> None:
    error = failed(Flow.of(1, 0).map(invert))
    head, place, code, summary, note = printed(error)
    assert head == "Traceback (most recent call last):"
    assert place == f'File "{__file__}", line {invert.__code__.co_firstlineno + 1}, in invert'
    assert code == "return 1 / x"
    assert summary == "ZeroDivisionError: division by zero"
    assert note.startswith("in map, assembled at ")
    assert note.endswith(
        ", in test_the_printed_error_begins_with_the_users_code_and_ends_with_its_place"
    )


def test_an_error_of_an_expression_has_no_frames_but_its_place() -> None:
    error = failed(Flow.of(1, 0).map(1 / X))
    summary, note = printed(error)
    assert summary == "ZeroDivisionError: division by zero"
    assert note.startswith("in map, assembled at ")
    assert HERE in note


def test_the_note_has_the_line_of_the_operator_and_not_that_of_another() -> None:
    first = Flow.of(1, 0)
    second = first.map(invert)
    third = second.map(float)
    line = failed(third).__notes__[0]
    expected = test_the_note_has_the_line_of_the_operator_and_not_that_of_another.__code__
    assert f"{HERE}:{expected.co_firstlineno + 2}, in {expected.co_name}" in line


async def awaiting(flow: Flow[Any]) -> Any:
    return await flow


@pytest.mark.parametrize("run", ["run_sync", "blocking", "await"])
def test_what_is_raised_to_a_caller_shows_few_frames_of_ours(run: str) -> None:
    flow = Flow.range(3).filter(lambda x: True).map(lambda x: x - 1).map(invert).take(5)
    runs: dict[str, Callable[[], object]] = {
        "run_sync": flow.run_sync,
        "blocking": lambda: list(flow.blocking()),
        "await": lambda: asyncio.run(awaiting(flow.last())),
    }
    with pytest.raises(ZeroDivisionError) as caught:
        runs[run]()
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "invert"
    assert "segment" not in names
    assert operators(caught.value) == ["in map"]


# Which operator.


@pytest.mark.parametrize(
    ("flow", "operator"),
    [
        (Flow.of(0).map(invert), "map"),
        (Flow.of(0).filter(invert), "filter"),
        (Flow.of(0).do_on_next(invert).map(float), "do_on_next"),
        (Flow.of(0).flat_map(lambda x: Flow.of(1 / x)), "flat_map"),
        (Flow.of(0).flat_map_iterable(lambda x: [1 / x]), "flat_map_iterable"),
        (Flow.of(0).scan(0.0, lambda a, x: a + 1 / x), "scan"),
        (Flow.of(0).reduce(0.0, lambda a, x: a + 1 / x), "reduce"),
        (Flow.of(0).take_while(invert), "take_while"),
        (Flow.of(0).distinct(invert), "distinct"),
        (Flow.from_callable(lambda: 1 / 0), "from_callable"),
        (Flow.from_iterable(1 / x for x in [0]), "from_iterable"),
        (Flow.defer(lambda: Flow.of(1 / 0)), "defer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "raised in",
)
def test_the_operator_whose_function_raised_is_named(flow: Flow[Any], operator: str) -> None:
    assert operators(failed(flow)) == [f"in {operator}"]


def test_a_function_that_returns_none_is_named_as_well() -> None:
    assert operators(failed(Flow.of(1).map(lambda x: None).filter(bool))) == ["in map"]


def test_the_operator_of_an_inner_flow_is_named_and_the_outer_is_not() -> None:
    flow = Flow.of(0).flat_map(lambda x: Flow.of(x).map(invert)).filter(bool)
    assert operators(failed(flow)) == ["in map"]


def test_a_flow_that_is_run_within_a_function_keeps_its_own_place() -> None:
    flow = Flow.of(0).filter(lambda x: bool(Flow.of(x).map(invert).run_sync()))
    assert operators(failed(flow)) == ["in map"]


def test_an_error_of_a_foreign_publisher_names_where_it_entered() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    Flow.from_publisher(source).map(abs).subscribe(subscriber)
    source.error(ValueError("foreign"))
    assert subscriber.error is not None
    assert operators(subscriber.error) == ["in from_publisher"]


# Once.


def test_an_error_that_crosses_threads_is_noted_once() -> None:
    with ThreadPool(2) as threads:
        hops = Flow.of(0).map(invert).publish_on(threads).map(abs).publish_on(threads).filter(bool)
        assert operators(failed(hops)) == ["in map"]


def test_an_error_that_enters_by_a_foreign_publisher_is_noted_once() -> None:
    flow = Flow.from_publisher(IterablePublisher([0])).map(invert)
    assert operators(failed(Flow.merge(flow, Flow.never()).map(abs))) == ["in map"]


def test_the_same_error_of_several_runs_is_noted_once() -> None:
    again = ValueError("the same")

    def fail(x: int) -> int:
        raise again

    error = failed(Flow.of(1).map(fail).annotate_errors("here").named("orders").retry(Retry(3)))
    assert error is again
    assert [note.split(",")[0] for note in error.__notes__] == [
        "in map",
        "passed annotate_errors('here')",
        "in the flow orders",
        "tried 4 times by retry",
    ]


def test_an_error_that_was_noted_by_an_earlier_flow_is_noted_once() -> None:
    error = failed(Flow.of(0).map(invert))
    assert operators(failed(Flow.error(error).map(abs))) == ["in map"]


# Checkpoints and names.


def test_annotations_and_names_are_said_in_the_order_in_which_they_were_passed() -> None:
    with ThreadPool(1) as threads:
        flow = (
            Flow.of(0)
            .annotate_errors("upstream: not passed")
            .map(invert)
            .annotate_errors("inverted")
            .named("numbers", kind="small")
            .publish_on(threads)
            .map(abs)
            .annotate_errors("across")
            .flat_map(Flow.of)
            .named("all")
        )
        assert [note.split(",")[0] for note in notes(failed(flow))] == [
            "in map",
            "passed annotate_errors('inverted')",
            "in the flow numbers (kind='small')",
            "passed annotate_errors('across')",
            "in the flow all",
        ]


def test_an_annotation_within_an_inner_flow_is_passed_first() -> None:
    inner = Flow.of(0).map(invert).annotate_errors("inner")
    flow = Flow.of(1).flat_map(lambda x: inner).annotate_errors("outer")
    texts = [note.split(",")[0] for note in failed(flow).__notes__]
    assert texts == ["in map", "passed annotate_errors('inner')", "passed annotate_errors('outer')"]


def test_a_handler_sees_the_notes_of_what_is_upstream_of_it() -> None:
    seen: list[str] = []
    flow = Flow.of(0).map(invert).annotate_errors("early")
    flow = flow.do_on_error(lambda error: seen.extend(error.__notes__)).annotate_errors("late")
    error = failed(flow)
    assert [note.split(",")[0] for note in seen] == ["in map", "passed annotate_errors('early')"]
    assert error.__notes__[-1].startswith("passed annotate_errors('late')")


def test_an_annotation_says_its_line() -> None:
    error = failed(Flow.of(0).map(invert).annotate_errors("here"))
    assert f"{HERE}:" in error.__notes__[-1]


# Errors of a strange kind.


@dataclass(frozen=True)
class FrozenError(Exception):
    """One that takes no notes."""

    code: int


def test_an_error_that_takes_no_notes_is_passed_on_as_it_is() -> None:
    def fail(x: int) -> int:
        raise FrozenError(7)

    assert failed(Flow.of(1).map(fail).annotate_errors("here")) == FrozenError(7)


def test_an_expression_that_cannot_be_asked_does_not_confuse_the_note() -> None:
    error = failed(Flow.of(1).filter(lambda x: X > 0))
    assert operators(error) == ["in filter"]
