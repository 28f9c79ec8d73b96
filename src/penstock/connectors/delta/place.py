"""Where a Delta table is, and how an error there is told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError

from penstock.runtime import shorten
from penstock.runtime.arguments import PathGiven, require_folder_path
from penstock.runtime.shown_text import shown_address

__all__ = ["LOG", "DeltaPlace", "words_of"]

CAUSE: Final = re.compile(r"\n\s*(?:\x1b\[\d+m)?↳(?:\x1b\[0m)?\s*")
REASON: Final = re.compile(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", re.DOTALL)
LOG: Final = "_delta_log"
SCHEME: Final = "://"


@dataclass(frozen=True)
class DeltaPlace:
    """A folder, or the address of one in a store.

    ``uri``      for the library; ``str`` of the place is for users
    ``options``  what lets us into the store; never shown
    """

    uri: str = field(repr=False)
    folder: Path | None
    options: dict[str, str] = field(repr=False)

    @classmethod
    def checked(cls, connector: str, table: PathGiven, options: Any) -> DeltaPlace:
        """What the user gave, if it can be a table."""
        if options is not None and not (
            isinstance(options, Mapping)
            and all(isinstance(each, str) for pair in options.items() for each in pair)
        ):
            raise TypeError(
                f"{connector}: storage_options must be a dict of texts, not an object of the "
                f"class {type(options).__name__}"
            )
        if isinstance(table, str) and SCHEME in table:
            if ":" in table.partition(SCHEME)[2].partition("/")[0].rpartition("@")[0]:
                # The library would show it in some of its errors.
                raise ValueError(
                    f"{connector}: {shown_address(table)} has a password in it, which the library "
                    "does not know as one; give storage_options="
                )
            return cls(table, None, dict(options or {}))
        folder = require_folder_path(connector, table)
        return cls(str(folder), folder, dict(options or {}))

    def __str__(self) -> str:
        return shown_address(self.uri) if self.folder is None else self.uri

    @property
    def is_gone(self) -> bool:
        """Whether there is no such folder; of a store, that is not known."""
        return self.folder is not None and not (self.folder / LOG).is_dir()

    def load(self, version: int | None = None) -> DeltaTable | None:
        """The table, its newest version unless another one is named; ``None`` if it is none."""
        if self.is_gone:
            return None  # the library would make the folder
        try:
            return DeltaTable(self.uri, version=version, storage_options=self.options or None)
        except TableNotFoundError:
            return None


def words_of(error: Exception) -> str:
    """What the library says, on one line and without its trace.

    Of an error that came of others, which it lists below each other, the first and the last.
    """
    first, *causes = CAUSE.split(str(error))
    words, *others = first.split("\n")
    if others and words.endswith(":"):
        words = f"{words} {others[0]}"
    if causes:
        said = REASON.search(causes[-1])
        cause = ": ".join(said.groups()) if said else causes[-1].split("\n")[0]
        words = f"{words.strip()}: {cause.strip()}"
    return shorten_line(words.strip() or type(error).__name__)


def shorten_line(text: str) -> str:
    """No longer than a line or two."""
    return text if len(text) <= 300 else shorten(text)
