"""One group of a ``group_by``."""

from __future__ import annotations

from typing import Generic, TypeVar

from penstock.flow.engine.stage import Origin
from penstock.flow.flow import Flow

__all__ = ["GroupedFlow"]

K = TypeVar("K")
T_co = TypeVar("T_co", covariant=True)


class GroupedFlow(Flow[T_co], Generic[K, T_co]):
    """The elements that share a ``key``, for one subscriber."""

    __slots__ = ("key",)

    def __init__(self, origin: Origin, key: K) -> None:
        super().__init__(origin)
        self.key = key
