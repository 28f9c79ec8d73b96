"""Every public method of a flow says the same things of itself, and its example is right."""

from __future__ import annotations

import doctest
import inspect
import re
import traceback

import pytest

import penstock
from penstock.flow import Flow, GroupedFlow, SharedFlow, X
from tests.public_names import public_names

METHODS = {
    getattr(kind, name).__qualname__: inspect.unwrap(getattr(kind, name))
    for kind in (Flow, SharedFlow, GroupedFlow)
    for name in dir(kind)
    if not name.startswith("_") and callable(getattr(kind, name)) and name != "flow"
}
HEADINGS = (
    "Emits when:", "Backpressures when:", "Completes when:", "Cancels when:",
    "Demand:", "Errors:", "Example:",
)  # fmt: skip


@pytest.mark.parametrize("name", METHODS)
def test_an_operator_says_what_it_does_under_fixed_headings(name: str) -> None:
    text = inspect.getdoc(METHODS[name]) or ""
    assert [
        heading for heading in HEADINGS if not re.search(f"^{heading}", text, re.MULTILINE)
    ] == []


def message_and_notes(kind: type[BaseException], error: BaseException) -> list[str]:
    return ["".join(traceback.TracebackException(kind, error, None).format_exception_only())]


@pytest.mark.parametrize("name", METHODS)
def test_the_example_of_an_operator_is_right(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The doctest of Python 3.11.2 compares the last item alone, which is the note of an error.
    monkeypatch.setattr(traceback, "format_exception_only", message_and_notes)
    names = {**public_names(penstock), "Flow": Flow, "X": X}
    finder = doctest.DocTestFinder(recurse=False)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    tests = finder.find(METHODS[name], name, globs=names)
    assert sum(len(test.examples) for test in tests) > 0
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
