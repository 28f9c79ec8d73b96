"""The pages for those who come from elsewhere: their names are all there, and ours are real."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import statistics
from typing import Any, Final
from unittest.mock import Mock, create_autospec

import aiostream
import pytest
import reactivex
import reactivex.operators
import reactivex.scheduler
import reactivex.scheduler.eventloop
import reactivex.subject
import reactivex.testing

import penstock
import penstock.testing
from penstock import Flow
from penstock.flow import Emitter
from tests.flow.coming_from import CODE, DOCS, PAGES, Row, named_rows, names_on
from tests.public_names import public_names


def anything(*arguments: Any) -> Any:
    """A function that takes what it is given."""
    return arguments[0]


FLOW: Final = Flow.of("a", "b")

# What the pages write for an argument, as in `buffer(size, step=skip)`.
ARGUMENTS: Final[dict[str, Any]] = {
    "asynchronous": FLOW, "awaitable": FLOW, "capacity": 5, "clock": penstock.VirtualTime(),
    "closing": Flow.never, "combine": anything, "comparer": anything, "condition": bool,
    "container": sorted, "count": 2, "element": 1, "elements": (1, 2),
    "emitter": create_autospec(Emitter, instance=True), "error": ValueError(), "every": 1.0,
    "executor": penstock.CallingThread(), "factory": Flow.empty, "fallback": FLOW, "flow": FLOW,
    "flow_factory": Flow.of, "flows": (FLOW,), "folder": "checkpoint", "function": anything,
    "high": 8, "hook": None, "index": 2, "iterable": (1, 2), "key": abs, "kind": int,
    "kinds": ValueError, "listener": penstock.testing.ManualSubscriber(),
    "loop": Mock(spec=asyncio.AbstractEventLoop, is_closed=lambda: False),
    "low": 2, "n": 2, "name": "prices", "on_drop": anything, "one": FLOW, "other": FLOW,
    "policy": penstock.Retry(), "publisher": FLOW, "publishers": (FLOW, FLOW), "report": anything,
    "query": "SELECT * FROM {stream}", "resource_factory": penstock.ThreadPool, "schema": "key int",
    "seconds": 1.0, "seconds_of": float, "seed": 0, "size": 3, "skip": 2, "start": 1,
    "statistics": statistics, "step": anything, "stop": 5,
    "subscriber": penstock.testing.ManualSubscriber(), "test": Flow.of, "text": "parsed",
    "time": penstock.VirtualTime(), "times": 3, "trigger": Flow.of, "workers": 2,
}  # fmt: skip
NAMES: Final = {**public_names(penstock), **public_names(penstock.testing), **ARGUMENTS}


def calls(row: Row) -> list[str]:
    """What a row says to write: all code, but in the first cell, that calls something."""
    found = [code for cell in row.cells[1:] for code in CODE.findall(cell)]
    return [code for code in found if is_call(code)]


def is_call(code: str) -> bool:
    try:
        return isinstance(ast.parse(code, mode="eval").body, ast.Call)
    except SyntaxError:
        return False


def assembled(code: str) -> object:
    """What ``code`` makes; where it begins with an operator, of a flow that has that one."""
    first = re.split(r"\W", code)[0]
    if code.startswith(f"{first}(") and not callable(NAMES.get(first)):
        subjects = (FLOW, FLOW.publish(), FLOW.on_spark("key int"))
        subject = next((each for each in subjects if hasattr(type(each), first)), FLOW)
        return eval(f"subject.{code}", {**NAMES, "subject": subject})
    return eval(code, NAMES)


EVERY_CALL: Final = sorted(
    {(page, code) for page in PAGES for row in named_rows(page) for code in calls(row)}
)


def test_there_are_pages_in_one_form() -> None:
    assert len(PAGES) == 5
    for page in PAGES:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        assert text.startswith("# Coming from ")
        assert "\n## What differs in kind\n" in text
        assert "\n## Name by name\n" in text
        assert named_rows(page)


def test_each_of_their_names_stands_beside_one_of_ours() -> None:
    for page in PAGES:
        for row in named_rows(page):
            if row.heads[1] == "here":
                assert CODE.search(row.cells[1]), f"{page}: {row}"


@pytest.mark.parametrize(("page", "code"), EVERY_CALL)
def test_what_a_page_says_to_write_can_be_written(page: str, code: str) -> None:
    assembled(code)


def test_a_call_that_cannot_be_written_is_seen() -> None:
    with pytest.raises(AttributeError):
        assembled("no_such_operator(function)")
    with pytest.raises(TypeError):
        assembled("buffer(size, no_such_option=1)")


def test_every_operator_of_rxpy_is_on_its_page() -> None:
    assert set(reactivex.operators.__all__) - names_on("coming-from-rxpy") == set()


def test_every_function_of_rxpy_is_on_its_page() -> None:
    functions = {
        f"reactivex.{name}"
        for name, value in vars(reactivex).items()
        if inspect.isfunction(value) and not name.startswith("_") and name != "alias"
        if value.__module__ in {"reactivex", "reactivex.pipe"}
    }
    assert functions - names_on("coming-from-rxpy") == set()


def test_the_page_of_rxpy_has_no_name_that_is_not_there() -> None:
    places = (
        reactivex.operators, reactivex.subject, reactivex.scheduler, reactivex.testing,
        reactivex.scheduler.eventloop, reactivex.Observable,
    )  # fmt: skip
    for name in names_on("coming-from-rxpy"):
        function = name.removeprefix("reactivex.")
        assert any(hasattr(place, function) for place in (reactivex, *places)), name


def test_every_name_of_aiostream_is_on_its_page() -> None:
    names = {name for name in dir(aiostream.stream) if is_operator_there(name)}
    assert names - names_on("coming-from-aiostream") == set()
    assert len(names) > 30


def test_the_page_of_aiostream_has_no_name_that_is_not_there() -> None:
    for name in names_on("coming-from-aiostream"):
        assert hasattr(aiostream.stream, name) or hasattr(aiostream, name), name


def is_operator_there(name: str) -> bool:
    return hasattr(getattr(aiostream.stream, name), "raw")


def test_every_method_of_a_queue_is_on_its_page() -> None:
    methods = {name for name in vars(asyncio.Queue) if not name.startswith("_")}
    assert methods - names_on("coming-from-asyncio-queues") == set()
