"""The Python objects that Java holds, by their identity, as long as it does."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

__all__ = ["held", "hold", "release"]

_objects: dict[int, list[Any]] = {}
_lock = threading.Lock()


def hold(thing: Any) -> int:
    """Keep an object for Java once more; its identity there."""
    identity = id(thing)
    with _lock:
        # As many references as Java has, so that the last one to be released frees the object.
        _objects.setdefault(identity, []).append(thing)
    return identity


def held(identity: int) -> Any:
    """The object with that identity, which Java holds."""
    return _objects[identity][0]


def release(identities: Iterable[int]) -> None:
    """Java holds each of these once less."""
    with _lock:
        for identity in identities:
            references = _objects[identity]
            references.pop()
            if not references:
                del _objects[identity]
