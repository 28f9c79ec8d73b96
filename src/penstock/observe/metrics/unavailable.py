"""What keeps metrics from being given out."""

from __future__ import annotations

__all__ = ["MetricsUnavailable"]


class MetricsUnavailable(ImportError):
    """The package of the monitoring system is missing; the text says how to install it."""

    def __init__(self, extra: str, missing: ImportError) -> None:
        super().__init__(
            f"these metrics need {missing.name}: pip install 'penstock[{extra}]'", name=missing.name
        )
