"""A small disk of its own for a process, where the system lets us have one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["SIZE", "can_mount", "on_small_disk"]

SIZE: Final = 1 << 20


def on_small_disk(folder: Path, command: Sequence[str]) -> list[str]:
    """The command, for which that folder is a disk of one megabyte."""
    mount = f"mount -t tmpfs -o size={SIZE} tmpfs {folder}"
    return ["unshare", "-rm", "sh", "-c", f'{mount} && exec "$@"', "sh", *command]


@cache
def can_mount() -> bool:
    """Whether this system lets us have one."""
    if shutil.which("unshare") is None:
        return False
    trial = on_small_disk(Path("/mnt"), ["true"])
    return not subprocess.run(trial, check=False, capture_output=True).returncode
