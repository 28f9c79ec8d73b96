"""How a program is made to kill itself at a point of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["around", "nothing"]


def around(
    owner: Any, name: str, *, before: Callable[..., object], after: Callable[..., object]
) -> None:
    """Let something happen before and after a function, with its arguments."""
    function = getattr(owner, name)

    def changed(*arguments: Any, **options: Any) -> Any:
        before(*arguments)
        result = function(*arguments, **options)
        after(*arguments)
        return result

    setattr(owner, name, changed)


def nothing(*arguments: object) -> None:
    pass
