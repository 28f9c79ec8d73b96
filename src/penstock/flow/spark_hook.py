"""The one place where a flow reaches for Spark, which is loaded when it is used and not before.

``flow`` stands below ``spark`` and knows it by name only, so the way up is this look-up.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["from_spark"]


def from_spark(operator: str, module: str, name: str) -> Any:
    """``name`` of a module in ``penstock.spark``, for ``operator``."""
    try:
        return getattr(import_module(f"penstock.spark.{module}"), name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{operator} needs {error.name}, which is not installed; install penstock[spark]",
            name=error.name,
        ) from None
