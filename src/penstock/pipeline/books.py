"""The books of a pipeline over its restarts, kept beside its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import time
from typing import Any, Final

from penstock.observe.reading import LedgerLine
from penstock.spark.checkpoint import Checkpoint

__all__ = ["Books"]

FILE: Final = "books.json"
MOST_LINES: Final = 50


@dataclass(frozen=True)
class Books:
    """What happened before and since.

    ``restarts``  how often the pipeline went on from its checkpoint
    ``replayed``  rows that Spark had begun when a run ended, and that it did once more
    ``lost``      elements that were missed in earlier runs, and in this one
    ``lines``     the last entries
    """

    restarts: int = 0
    replayed: int = 0
    lost: int = 0
    lines: tuple[LedgerLine, ...] = field(default=())

    @classmethod
    def opened(cls, checkpoint: Checkpoint) -> Books | None:
        """Those of the runs before; ``None`` if there was none."""
        text = checkpoint.remembered(FILE)
        if text is None:
            return None
        try:
            found: Any = json.loads(text)
            lines = tuple(LedgerLine(**line) for line in found.pop("lines", ()))
            return cls(**found, lines=lines)
        except (ValueError, TypeError, AttributeError):
            return cls().noted("the books of earlier runs could not be read; they begin anew")

    def keep(self, checkpoint: Checkpoint) -> None:
        """Write them down for the next run."""
        data = {**vars(self), "lines": [{"at": each.at, "text": each.text} for each in self.lines]}
        checkpoint.remember(FILE, json.dumps(data))

    def noted(self, text: str) -> Books:
        """The same with one more line."""
        return replace(self, lines=(*self.lines, LedgerLine(time(), text))[-MOST_LINES:])

    def missed(self, elements: int) -> Books:
        """Something is lost, which must not happen."""
        books = replace(self, lost=self.lost + elements)
        return books.noted(f"lost {elements:,}: they went in and came out nowhere")

    def restarted(self, replayed: Sequence[tuple[int, int]]) -> Books:
        """The pipeline goes on; Spark does the rows of its last batch once more."""
        again = [(first, last) for first, last in replayed if last > first]
        rows = sum(last - first for first, last in again)
        ranges = ", ".join(f"{first:,}..{last:,}" for first, last in again)
        words = (
            f"restarted; replayed {ranges} ({rows:,})" if again else "restarted; nothing to replay"
        )
        books = replace(self, restarts=self.restarts + 1, replayed=self.replayed + rows)
        return books.noted(words)
