"""How a stream can end besides an error, in the place where an error would stand."""

from __future__ import annotations

from typing import Final

__all__ = ["CANCELLED", "COMPLETED"]


class Ending(Exception):
    """An end that is no failure; never raised."""


CANCELLED: Final = Ending("cancelled")
COMPLETED: Final = Ending("completed")
