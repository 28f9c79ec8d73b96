"""Which of many similar tests run every time; the others take long and run with ``--full``."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

__all__ = ["quick"]


def quick(names: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """``names`` as parameters of a test, those that are not ``chosen`` as long ones."""
    return [
        name if name in chosen else pytest.param(*row(name), marks=pytest.mark.full)
        for name in names
    ]


def row(name: Any) -> tuple[Any, ...]:
    """The values of a parameter, of which there may be several."""
    return name if isinstance(name, tuple) else (name,)
