"""The folder in which fetched files and compiled classes are kept between runs."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

__all__ = ["kept"]


def kept(name: str, fill: Callable[[Path], None], is_sound: Callable[[Path], bool]) -> Path:
    """The folder of that name, which ``fill`` has filled; if it is no longer sound, anew.

    It appears as a whole or not at all, whoever else wants it at the same time.
    """
    import fcntl  # not on Windows

    place = _root() / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{place}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_sound(place):
            shutil.rmtree(place, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=place.parent, prefix=f"{name}-") as workshop:
                filled = Path(workshop, "filled")
                filled.mkdir()
                fill(filled)
                filled.rename(place)
    return place


def _root() -> Path:
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "penstock" / "jvm"
