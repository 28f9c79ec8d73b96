"""The suites that the modules with checks add to, one for each kind of party."""

from __future__ import annotations

from typing import Final

from penstock.tck.check import Suite

__all__ = ["OPERATOR", "PROCESSOR", "PUBLISHER", "SUBSCRIBER"]

PUBLISHER: Final = Suite("publisher")
SUBSCRIBER: Final = Suite("subscriber")
PROCESSOR: Final = Suite("processor")
OPERATOR: Final = Suite("operator")
