"""The walk in ``layout.md``: ``python -m docs.walk`` writes the numbers of its lines again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

__all__ = ["PAGE", "STOP", "with_lines"]

PAGE: Final = Path(__file__).with_name("layout.md")
STOP: Final = re.compile(r"\[`([\w.]+)`\]\(\.\./(src/[\w/]+\.py)#L\d+\)")


def with_lines(page: str, root: Path) -> str:
    """``page`` with the line of each definition that it links to; ``LookupError`` without one."""

    def link(match: re.Match[str]) -> str:
        name, path = match.groups()
        line = line_of(ast.parse((root / path).read_text(encoding="utf-8")).body, name.split("."))
        return f"[`{name}`](../{path}#L{line})"

    return STOP.sub(link, page)


def line_of(body: Iterable[ast.stmt], names: list[str]) -> int:
    """Where a class, a function or a method is defined."""
    first, *rest = names
    for node in body:
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ) if name == first:
                return line_of(node.body, rest) if rest else node.lineno
    raise LookupError(f"there is no {first}")


if __name__ == "__main__":
    written = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(with_lines(written, PAGE.parents[1]), encoding="utf-8")
