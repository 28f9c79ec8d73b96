"""What operators say to arguments that they cannot take: at once, by name, with what is allowed."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from math import inf, nan
from typing import Any

import pytest

from penstock import AsyncioLoop, CallingThread, Flow, Retry, ThreadPool, X
from penstock.flow import SharedFlow
from penstock.runtime import shorten
from penstock.testing import ManualSubscriber


async def coroutine(*arguments: Any) -> Any:
    return arguments


async def asynchronous_generator(*arguments: Any) -> AsyncIterator[Any]:
    yield arguments


class AsynchronousCall:
    async def __call__(self, *arguments: Any) -> Any:
        return arguments


GOOD: dict[str, Any] = {
    "after": 1,
    "awaitable": coroutine,
    "capacity": 5,
    "combine": max,
    "condition": bool,
    "container": list,
    "count": 1,
    "delay": 1,
    "element": 1,
    "error": ValueError(),
    "every": 1,
    "executor": CallingThread(),
    "factory": Flow.empty,
    "flow_factory": Flow.of,
    "from_async_iterable iterable": Flow.empty(),
    "function": lambda *arguments: arguments,
    "high": 5,
    "iterable": "abc",
    "key": bool,
    "listener": ManualSubscriber[Any](),
    "n": 1,
    "name": "name",
    "overflow": "error",
    "publisher": Flow.empty(),
    "report": print,
    "resource_factory": ThreadPool,
    "seconds": 1,
    "seed": 0,
    "step": bool,
    "subscriber": ManualSubscriber[Any](),
    "text": "text",
}
"""An argument for each parameter that has no default."""

FUNCTIONS = {
    "combine", "condition", "container", "equal", "factory", "flow_factory", "function", "key",
    "on_drop", "predicate", "report", "resource_factory", "step", "until",
}  # fmt: skip
SIZES = {
    "capacity", "concurrency", "count", "high", "low", "max_groups", "n", "prefetch", "size",
    "subscribers", "times",
}  # fmt: skip
COUNTS = {("buffer", "step"), ("space_out", "elements"), ("window", "step")}
DURATIONS = {"after", "delay", "every", "grace", "seconds", "within"}
FLAGS = {"aligned", "delay_errors", "inclusive", "last", "ordered"}
PUBLISHERS = {"fallback", "publisher", "publishers"}
KINDS = {"only"}
VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
SPARK = {"from_dataframe", "on_spark"}


def operators() -> Iterator[tuple[str, str, Callable[[Any], object]]]:
    """Each parameter of each method: both names, and how to call the method with an argument."""
    for kind in (Flow, SharedFlow):
        for name in dir(kind):
            inherited = kind is SharedFlow and hasattr(Flow, name)
            if not name.startswith("_") and not inherited and name not in SPARK | {"flow", "plan"}:
                for parameter in parameters(kind, name):
                    yield name, parameter, caller(kind, name, parameter)


def parameters(kind: type, name: str) -> list[str]:
    signature = inspect.signature(getattr(kind, name))
    return [each for each in signature.parameters if each not in ("self", "tags")]


def caller(kind: type, name: str, parameter: str) -> Callable[[Any], object]:
    def call(argument: Any) -> object:
        flow = Flow.range(3) if kind is Flow else Flow.range(3).publish()
        function = getattr(flow, name)
        given: dict[str, Any] = {}
        if name in ("buffer", "window") and parameter in ("aligned", "clock", "prefetch"):
            given["every"] = 1
        if name in ("buffer", "window") and parameter == "step":
            given["size"] = 3
        for each in inspect.signature(function).parameters.values():
            if each.name == parameter and each.kind is each.VAR_POSITIONAL:
                return function(argument)
            if each.name == parameter:
                given[parameter] = argument
            elif each.default is each.empty and each.kind not in VARIABLE:
                given[each.name] = GOOD.get(f"{name} {each.name}", GOOD.get(each.name))
        return function(**given)

    return call


def bad_arguments(operator: str, parameter: str) -> list[object]:
    """What a parameter of this meaning must refuse."""
    if parameter in SIZES or (operator, parameter) in COUNTS:
        return [-1, True, 1.5, nan, inf, "3", 10**30, X, Flow.empty(), [1]]
    if parameter in FUNCTIONS:
        bad: list[object] = [5, "text", nan, [len], (), object(), asynchronous_generator]
        if parameter != "until":
            bad.append(Flow.empty())
        if operator != "map_async":
            bad += [coroutine, AsynchronousCall()]
        return bad
    if (operator, parameter) == ("delay_subscription", "delay"):
        return [0, -0.5, True, nan, inf, "3", None, timedelta(-1), X, Flow, [Flow.empty()]]
    if parameter in DURATIONS:
        return [-1, -0.5, True, nan, inf, -inf, 10**30, "3", timedelta(-1), X, Flow.empty()]
    if parameter in FLAGS:
        return [None, 0, 1, "no", X]
    if parameter in PUBLISHERS:
        return [5, "text", Flow, X, [Flow.empty()], coroutine, ManualSubscriber[Any]()]
    if parameter in KINDS:
        return [None, 5, "text", ValueError(), (), (ValueError, 5), X]
    return {
        "awaitable": [None, 5, "text", X, asynchronous_generator],
        "bounds": [None, 1.5, "3", nan],
        "clock": [5, "now", CallingThread(), X, Flow],
        "element": [None],
        "elements": [None],
        "error": [None, "failed", ValueError, KeyboardInterrupt()],
        "executor": [None, 5, ThreadPool, X, Flow.empty()],
        "iterable": [None, 5, int, X],
        "level": [None, "INFO", True, 1.5],
        "listener": [None, 5, object(), ManualSubscriber, X],
        "name": [5, X, " "],
        "overflow": [None, "all", 5, X, ["error"]],
        "start": [None, 1.5, nan, "3"],
        "policy": [None, -1, True, "3", 1.5],
        "text": [None, 5, X, " "],
    }.get(parameter, [])


def shown(argument: object) -> str:
    return re.sub(r" at 0x\w+", "", repr(argument))[:30]


HOSTILE = [
    pytest.param(operator, call, argument, id=f"{operator}({parameter}={shown(argument)})")
    for operator, parameter, call in operators()
    for argument in bad_arguments(operator, parameter)
]


@pytest.mark.parametrize(("operator", "call", "argument"), HOSTILE)
def test_a_bad_argument_is_refused_at_once_and_the_error_names_operator_and_value(
    operator: str, call: Callable[[Any], object], argument: Any
) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call(argument)
    text = str(caught.value)
    assert re.match(rf"{operator}\b", text)
    assert any(words in text for words in (value_in_words(argument), "expression", "not be empty"))


def value_in_words(argument: object) -> str:
    """How an error shows a value; of several kinds, the one that is none."""
    return "5" if isinstance(argument, tuple) and 5 in argument else shorten(argument)


# What the values of functions are is seen when they are called, or awaited.


def returning(value: Any) -> Any:
    """A function that returns ``value``, whatever is expected of it."""
    return lambda *arguments: value


def failure_of(flow: Flow[Any]) -> Exception:
    """What the flow fails with."""
    subscriber = ManualSubscriber[Any](request=9)
    flow.subscribe(subscriber)
    assert subscriber.error is not None
    return subscriber.error


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (Flow.of(1).flat_map(returning(5)), "flat_map needs a publisher, not 5"),
        (Flow.of(1).concat_map(returning([1])), r"concat_map needs a publisher, not \[1\]"),
        (Flow.of(1).switch_map(returning(None)), "switch_map needs a publisher, not None"),
        (Flow.of(1).exhaust_map(returning(None)), "exhaust_map needs a publisher, not None"),
        (Flow.of(1).flat_map_sequential(returning(5)), "flat_map_sequential needs .*, not 5"),
        (Flow.of(1).expand(returning(5)), "expand needs a publisher, not 5"),
        (Flow.defer(returning("text")), "defer needs a publisher, not 'text'"),
        (Flow.using(returning(5), Flow.of), "using needs a context manager, not 5"),
        (Flow.using(ThreadPool, returning(5)), "using needs a publisher, not 5"),
        (Flow.generate(0, returning(5)), "generate: the step must return .*, not 5"),
        (Flow.of(1).map(returning(None)), "None is not an element"),
        (
            Flow.error(OSError()).on_error_resume(returning(5)),
            "on_error_resume needs a publisher, not 5",
        ),
        (
            Flow.error(OSError()).on_error_map(returning(5)),
            "on_error_map: the function must return an exception, not 5",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_function_that_returns_something_else_fails_by_name(
    flow: Flow[Any], message: str
) -> None:
    error = failure_of(flow)
    assert isinstance(error, TypeError)
    assert re.search(message, str(error))


def test_coroutine_functions_are_refused_with_what_awaits_them() -> None:
    for operator, instead in {
        "map": "use map_async",
        "for_each": "use map_async",
        "do_finally": "give a plain function",
    }.items():
        with pytest.raises(TypeError, match=f"{operator} got the coroutine function .*; {instead}"):
            getattr(Flow.range(3), operator)(coroutine)
    with pytest.raises(TypeError, match=r"from_callable got .*; use from_awaitable"):
        Flow.from_callable(coroutine)
    with pytest.raises(TypeError, match=r"Retry got .*; give a plain function"):
        Retry(predicate=coroutine)


def test_publishers_in_a_list_are_to_be_given_one_by_one() -> None:
    with pytest.raises(TypeError, match=r"one by one: merge\(\*publishers\)"):
        Flow.merge([Flow.empty(), Flow.empty()])  # type: ignore[arg-type]


def test_a_flow_is_no_iterable_but_a_publisher() -> None:
    with pytest.raises(TypeError, match="from_iterable needs an iterable, .*; use from_publisher"):
        Flow.from_iterable(Flow.of(1))  # type: ignore[arg-type]


def test_a_duration_without_end_is_refused_with_the_bound() -> None:
    with pytest.raises(ValueError, match=r"timeout: seconds must be above 0 .*below \d+, not inf"):
        Flow.never().timeout(inf)


def test_a_range_may_have_more_elements_than_a_length_can_say() -> None:
    subscriber = ManualSubscriber[int](request=2)
    flow = Flow.range(10**30).map(X + 1)
    flow.subscribe(subscriber)
    assert subscriber.elements == [1, 2]
    assert flow.explain().runs
    subscriber.cancel()
    endless = Flow.merge(Flow.range(10**18), Flow.range(10**30), Flow.range(2**63 - 1))
    assert endless.take(3).to_list().run_sync() == [0, 1, 2]


# Loops.


def test_an_awaited_flow_of_two_elements_shows_the_second() -> None:
    async def main() -> object:
        return await Flow.of("first", "second")

    with pytest.raises(ValueError, match=r"gave a second, 'second': await flow.last\(\)"):
        asyncio.run(main())


def test_a_loop_that_is_closed_is_refused_at_once() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    with pytest.raises(RuntimeError, match="AsyncioLoop needs an asyncio loop that is open, not <"):
        AsyncioLoop(loop)
    with pytest.raises(TypeError, match="AsyncioLoop needs an asyncio loop, not 5"):
        AsyncioLoop(5)  # type: ignore[arg-type]


def test_a_loop_that_was_closed_since_ends_the_stream_and_the_boundary_is_named() -> None:
    loop = asyncio.new_event_loop()
    flow = Flow.range(3).publish_on(AsyncioLoop(loop))
    loop.close()
    error = failure_of(flow)
    assert str(error) == "the asyncio loop takes no more tasks: Event loop is closed"
    assert error.__notes__[0].startswith(f"in publish_on, assembled at {__file__}")
