"""Flows from publishers of others."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow.elements import Elements, Host
from penstock.flow.fluent import opened
from penstock.flow.stage import Origin

__all__ = ["FromPublisher"]


class FromPublisher(Origin):
    """The elements of a publisher."""

    checked = True  # by the intake

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("from_publisher")
        self.publisher = publisher

    def open(self, host: Host, each: int) -> Elements:
        """Subscribe to it."""
        return opened(self.publisher, host, each)

    def open_at_most(self, host: Host, each: int, most: int) -> Elements:
        """The same with an end in sight."""
        return opened(self.publisher, host, each, most=most)
