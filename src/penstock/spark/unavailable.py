"""What keeps Spark from being used."""

from __future__ import annotations

__all__ = ["SparkUnavailable"]


class SparkUnavailable(RuntimeError):
    """Spark cannot be used here; the text says why, and what to do."""
