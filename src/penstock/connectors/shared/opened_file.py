"""A database in a file that others may remove while it is open."""

from __future__ import annotations

from pathlib import Path

from penstock.delivery import DeliveryRefused

__all__ = ["OpenedFile"]


class OpenedFile:
    """Notices that a file was removed or replaced: what is written to it nobody would find."""

    def __init__(self, name: str, path: Path) -> None:
        """``name`` is what messages call what is in it."""
        self._name = name
        self._path = path
        self._identity = identity_of(path)

    def require_there(self) -> None:
        """Refuse to go on with another file, or with none."""
        found = identity_of(self._path)
        if self._identity is None:
            self._identity = found  # it is made with what is written first
        if found is None or found != self._identity:
            raise DeliveryRefused(
                f"{self._name}: {self._path} was removed or replaced since it was opened, and what "
                "is written would be lost; put it back, and start again"
            )


def identity_of(path: Path) -> tuple[int, int] | None:
    """What tells a file from all others; ``None`` if it is not there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
