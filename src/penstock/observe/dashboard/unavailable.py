"""What keeps the page from being served."""

from __future__ import annotations

__all__ = ["DashboardUnavailable"]


class DashboardUnavailable(RuntimeError):
    """The page cannot be served here; the text says why, and what to do."""
