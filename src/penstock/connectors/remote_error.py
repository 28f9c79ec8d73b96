"""What a stream at the other end of a connection failed with."""

from __future__ import annotations

__all__ = ["RemoteError"]


class RemoteError(Exception):
    """The stream at the other end of a connection failed; the text is what it said."""
