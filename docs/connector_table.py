"""The tables in ``connectors.md``: ``python -m docs.connector_table`` writes them again.

Each row is what a connector says of itself under the headings of its docstring.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from penstock import connectors

__all__ = ["PAGE", "with_tables"]

PAGE: Final = Path(__file__).with_name("connectors.md")
ROOT: Final = PAGE.parents[1]
TABLES: Final = {"source": "replay", "sink": "delivery"}
"""What the third column says of each kind."""
IN_CONNECTORS: Final = ("sse", "websocket")
"""Folders whose packages are those of the extra ``connectors``."""


def with_tables(page: str) -> str:
    """``page`` with its tables as the connectors are now."""
    for kind, third in TABLES.items():
        table = re.compile(rf"^\| {kind} \|.*?\n(?=\n)", re.MULTILINE | re.DOTALL)
        head = f"| {kind} | demand | {third} | extra |\n|---|---|---|---|\n"
        found = table.search(page)
        assert found is not None
        rows = [row(each, third) for each in functions(kind)] + rows_of_missing(found[0])
        made = head + "".join(f"{each}\n" for each in sorted(rows))
        page = page[: found.start()] + made + page[found.end() :]
    return page


def functions(kind: str) -> list[Callable[..., Any]]:
    """The connectors of a kind: a sink says how it delivers."""
    found = [each for name in connectors.__all__ if inspect.isfunction(each := loaded(name))]
    are_sinks = kind == "sink"
    return [each for each in found if bool(said(each, "Delivery")) == are_sinks]


def loaded(name: str) -> Any:
    """A connector; nothing if what it needs is not there."""
    try:
        return getattr(connectors, name)
    except ModuleNotFoundError:
        return None


def rows_of_missing(table: str) -> list[str]:
    """The rows of those that cannot be loaded, as they are."""
    names = re.findall(r"^\| `(\w+)\(.*$", table, re.MULTILINE)
    lines = re.findall(r"^\| `\w+\(.*$", table, re.MULTILINE)
    return [line for name, line in zip(names, lines, strict=True) if loaded(name) is None]


def row(function: Callable[..., Any], third: str) -> str:
    """What a connector says of itself."""
    parameters = inspect.signature(function).parameters.values()
    needed = [each.name for each in parameters if each.default is inspect.Parameter.empty]
    call = f"`{function.__name__}({', '.join(needed)})`"
    extra = extra_of(function)
    cells = (call, said(function, "Demand"), said(function, third.title()), extra and f"`{extra}`")
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def said(function: Callable[..., Any], heading: str) -> str:
    """The beginning of what stands under a heading, up to where it goes into detail."""
    found = re.search(
        rf"^{heading}: (.+?)(?:[:.](?:\s|$)|\n\n|\Z)",
        inspect.getdoc(function) or "",
        re.MULTILINE | re.DOTALL,
    )
    return "" if found is None else " ".join(found[1].split()).replace("``", "`")


def extra_of(function: Callable[..., Any]) -> str:
    """What installs the packages that it needs; nothing if it needs none."""
    folder = function.__module__.removeprefix(f"{connectors.__name__}.").partition(".")[0]
    if folder in IN_CONNECTORS:
        return "connectors"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return folder if folder in project["optional-dependencies"] else ""


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
