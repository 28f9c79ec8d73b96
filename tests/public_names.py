"""What a package gives, for examples that use it as a user's module does."""

from __future__ import annotations

from types import ModuleType
from typing import Any

__all__ = ["public_names"]


def public_names(package: ModuleType) -> dict[str, Any]:
    """All that ``from package import *`` binds."""
    return {name: getattr(package, name) for name in package.__all__}
