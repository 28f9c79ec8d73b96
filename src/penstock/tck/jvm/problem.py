"""What keeps the official kit from judging."""

from __future__ import annotations

__all__ = ["JudgeUnavailable"]


class JudgeUnavailable(RuntimeError):
    """The official kit cannot be run here; the text says why, and what to do."""
