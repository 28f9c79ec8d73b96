"""What becomes of a file, or of a folder of files, that is there before its sink is opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeAlias

from penstock.delivery import Epoch
from penstock.runtime.arguments import require_flag

__all__ = [
    "IfExists",
    "has_planned",
    "require_choice_if_exists",
    "require_parent",
    "require_writable",
]

IfExists: TypeAlias = Literal["refuse", "append", "overwrite"]


def require_choice_if_exists(connector: str, *, append: bool, overwrite: bool) -> IfExists:
    """One of the two, or none of them."""
    appends = require_flag(connector, "append", append)
    if require_flag(connector, "overwrite", overwrite):
        if appends:
            raise ValueError(f"{connector}: append and overwrite exclude each other; leave out one")
        return "overwrite"
    return "append" if appends else "refuse"


def has_planned(epoch: Epoch) -> bool:
    """Whether a checkpoint has had a batch before this run: then no sink may begin afresh."""
    return bool(epoch.starts) and epoch.starts[-1].planned >= 0


def require_parent(connector: str, path: Path) -> None:
    """Refuse a path whose folder is not there."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{connector}: there is no folder {path.parent} for {path.name}")


def require_writable(connector: str, path: Path) -> None:
    """Refuse a folder in which no file can be made, or a file that cannot be written."""
    is_folder = path.is_dir()
    mode = os.W_OK | os.X_OK if is_folder else os.W_OK
    if not os.access(path, mode, effective_ids=os.access in os.supports_effective_ids):
        what = f"the folder {path}" if is_folder else str(path)
        raise PermissionError(f"{connector}: {what} cannot be written by this user")
