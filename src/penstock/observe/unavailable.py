"""What keeps the page from being served, or metrics from being given out."""

from __future__ import annotations

__all__ = [
    "DashboardUnavailable",
    "MetricsUnavailable",
]


class DashboardUnavailable(RuntimeError):
    """The page cannot be served here; the text says why, and what to do."""


class MetricsUnavailable(ImportError):
    """The package of the monitoring system is missing; the text says how to install it."""

    def __init__(self, extra: str, missing: ImportError) -> None:
        super().__init__(
            f"these metrics need {missing.name}: pip install 'penstock[{extra}]'", name=missing.name
        )
