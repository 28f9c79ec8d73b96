"""How a stream that fails says so to the other end of a connection, and what is raised there."""

from __future__ import annotations

__all__ = ["RemoteError", "told"]


class RemoteError(Exception):
    """The stream at the other end of a connection failed; the text is what it said."""


def told(error: Exception) -> str:
    """An error in the words for the other end."""
    return f"{type(error).__name__}: {error}"
