"""Settings of the whole test suite: the long tests, and how Hypothesis searches."""

from __future__ import annotations

from typing import Protocol

import pytest
from hypothesis import settings

settings.register_profile("quick", deadline=None, derandomize=True)
settings.register_profile("full", deadline=None, max_examples=500)

LEFT_OUT = pytest.StashKey[int]()


class Worker(Protocol):
    """A worker process of xdist, seen from the main one."""

    config: pytest.Config
    workeroutput: dict[str, int]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run the long tests, too")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LEFT_OUT] = 0
    settings.load_profile("full" if config.getoption("full") else "quick")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("full"):
        return
    long = [item for item in items if item.get_closest_marker("full")]
    items[:] = [item for item in items if not item.get_closest_marker("full")]
    config.hook.pytest_deselected(items=long)
    config.stash[LEFT_OUT] = len(long)


def pytest_sessionfinish(session: pytest.Session) -> None:
    # Only the worker processes of xdist collect; each reports the same count to the main one.
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Worker) -> None:
    # A worker that crashed has no output.
    if left_out := getattr(node, "workeroutput", {}).get("left_out"):
        node.config.stash[LEFT_OUT] = left_out


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if left_out := config.stash[LEFT_OUT]:
        terminalreporter.write_line(f"long tests left out: {left_out} (--full runs them, too)")
