"""A file of lines that is rotated: when, and under which names its earlier parts stay.

``late.jsonl`` is always the one that is written. It becomes ``late.000001.jsonl``, the next one
``late.000002.jsonl``: names that sort in the order of the rows, keep their suffix for readers, and
are found by ``late.*.jsonl``. A number is never given twice.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from penstock.runtime.arguments import require_int, require_seconds

__all__ = ["Rotation", "last_number", "numbered", "numbered_files", "require_rotation"]

DIGITS: Final = 6


@dataclass(frozen=True)
class Rotation:
    """When a file is long enough, or old enough; ``None`` for no bound."""

    most_bytes: int | None
    seconds: float | None

    def is_due(self, length: int, since: float | None) -> bool:
        """Whether a file of that length, whose first rows came at ``since``, is rotated now."""
        if self.most_bytes is not None and length >= self.most_bytes:
            return True
        return self.seconds is not None and since is not None and now() - since >= self.seconds


def now() -> float:
    """The time that outlives the program: a file may have been begun by an earlier run."""
    return time.time()


def require_rotation(
    connector: str, rotate_bytes: int | None, rotate_every: float | timedelta | None
) -> Rotation | None:
    """What the user has said; ``None`` if the file just grows."""
    if rotate_bytes is None is rotate_every:
        return None
    return Rotation(
        None if rotate_bytes is None else require_int(connector, "rotate_bytes", rotate_bytes),
        None if rotate_every is None else require_seconds(connector, "rotate_every", rotate_every),
    )


def numbered(path: Path, number: int) -> Path:
    """What the file is called when it is rotated for the ``number``th time."""
    return path.with_name(f"{path.stem}.{number:0{DIGITS}}{path.suffix}")


def numbered_files(path: Path) -> dict[int, Path]:
    """The files beside it that have such a name, by number."""
    return {
        number: file
        for number, file in found(path)
        if file == numbered(path, number) and file.is_file()
    }


def last_number(path: Path, without: Iterable[Path] = ()) -> int:
    """The largest number that one of them has, even a compressed one; 0 if there is none."""
    left_out = {*without}
    return max((number for number, file in found(path) if file not in left_out), default=0)


def found(path: Path) -> list[tuple[int, Path]]:
    """All with such a name, even with another suffix after it: ``late.000001.jsonl.gz``."""
    name = re.compile(
        rf"{re.escape(path.stem)}\.([0-9]{{{DIGITS},}}){re.escape(path.suffix)}(?:\.[a-z0-9]+)?"
    )
    pairs = ((name.fullmatch(file.name), file) for file in path.parent.iterdir())
    return sorted((int(match[1]), file) for match, file in pairs if match is not None)
