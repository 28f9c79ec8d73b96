"""A full disk, as far as this process goes."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["small_files"]

MOST: Final = 100_000


@contextmanager
def small_files() -> Iterator[None]:
    """Within the block, no file grows beyond some kilobytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
