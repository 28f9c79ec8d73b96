"""The tables of the pages for those who come from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["CODE", "DOCS", "PAGES", "Row", "named_rows", "names_on"]

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGES: Final = tuple(sorted(path.stem for path in DOCS.glob("coming-from-*.md")))
CODE: Final = re.compile(r"`([^`]+)`")


class Row(NamedTuple):
    """A line of a table: its heads, and its cells."""

    heads: tuple[str, ...]
    cells: tuple[str, ...]

    @property
    def theirs(self) -> list[str]:
        """The names of the first cell."""
        return CODE.findall(self.cells[0])

    @property
    def is_of_names(self) -> bool:
        """Whether it says what a name of theirs is here, or what to do without it."""
        return self.heads[1:] in (("here", "what differs"), ("what to do instead",))


def rows(page: str) -> Iterator[Row]:
    """All rows of all tables of a page."""
    heads: tuple[str, ...] = ()
    for line in (DOCS / f"{page}.md").read_text(encoding="utf-8").splitlines():
        cells = tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        if not cells:
            heads = ()
        elif not heads:
            heads = cells
        elif not set(line) <= set("|-"):
            yield Row(heads, cells)


def named_rows(page: str, theirs: str | None = None) -> list[Row]:
    """Those that speak of a name; of all tables, or of those with that head."""
    return [
        row for row in rows(page) if row.is_of_names and (theirs is None or row.heads[0] == theirs)
    ]


def names_on(page: str, theirs: str | None = None) -> set[str]:
    """Their names on a page, or those in its tables with that head."""
    return {name for row in named_rows(page, theirs) for name in row.theirs}
