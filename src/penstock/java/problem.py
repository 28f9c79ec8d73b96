"""What keeps this machine from running what needs Java."""

from __future__ import annotations

__all__ = ["JavaUnavailable"]


class JavaUnavailable(RuntimeError):
    """What needs Java cannot run here; the text says why, and what to do."""
