"""Settings of the whole suite: the long tests, the outside judge, how Hypothesis searches."""

from __future__ import annotations

import os
from typing import Any, Protocol

import pytest
from hypothesis import settings

from penstock.tck.jvm import JudgeUnavailable
from penstock.tck.jvm.court import prepare

settings.register_profile("quick", deadline=None, derandomize=True)
settings.register_profile("full", deadline=None, max_examples=500)

LEFT_OUT = pytest.StashKey[int]()
NO_JUDGE = pytest.StashKey[str]()


class Worker(Protocol):
    """A worker process of xdist, seen from the main one."""

    config: pytest.Config
    workeroutput: dict[str, Any]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long tests, too")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0
    config.stash[NO_JUDGE] = ""
    settings.load_profile("full" if config.getoption("full") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("full"):
        config.stash[LEFT_OUT] = leave_out("full", config, items)
    # In continuous integration the tests run, and fail by the sentence that says what is missing.
    is_judged = any(item.get_closest_marker("outside_judge") for item in items)
    if is_judged and os.environ.get("CI") != "true" and (reason := why_no_judge()):
        config.stash[NO_JUDGE] = reason
        leave_out("outside_judge", config, items)


def leave_out(marker: str, config: pytest.Config, items: list[pytest.Item]) -> int:
    """Leave the tests with that marker out; how many there are."""
    marked = [item for item in items if item.get_closest_marker(marker)]
    items[:] = [item for item in items if not item.get_closest_marker(marker)]
    config.hook.pytest_deselected(items=marked)
    return len(marked)


def why_no_judge() -> str:
    """Why the official kit cannot run here, if it cannot."""
    try:
        prepare(fresh=True)
    except JudgeUnavailable as reason:
        return str(reason)
    return ""


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Only the worker processes of xdist collect; each reports the same count to the main one.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]
        session.config.workeroutput["no_judge"] = session.config.stash[NO_JUDGE]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Worker) -> None:
    # A worker that crashed has no output.
    output = getattr(node, "workeroutput", {})
    node.config.stash[LEFT_OUT] = output.get("left_out") or node.config.stash[LEFT_OUT]
    node.config.stash[NO_JUDGE] = output.get("no_judge") or node.config.stash[NO_JUDGE]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if left_out := config.stash[LEFT_OUT]:
        terminalreporter.write_line(f"long tests left out: {left_out} (--full runs them, too)")
    if reason := config.stash[NO_JUDGE]:
        line = f"THE OUTSIDE JUDGE DID NOT SIT: {reason}"
        terminalreporter.write_line(line, red=True, bold=True)
