"""What a supervisor asks without a key: whether the pipeline is alive, and whether it is ready.

The answers name the state and nothing of the data, so that any user of the machine may have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import time
from typing import Final

from penstock.observe.status import Status

__all__ = ["LOOKS_WITHIN", "PROBES", "Answer", "health", "readiness"]

LOOKS_WITHIN: Final = 30.0
"""The seconds after which a pipeline that nobody could look at counts as hung."""
Answer = tuple[bool, str]
"""Whether it is so, and a line that says why."""


def health(status: Status) -> Answer:
    """Whether to leave the process alone: it is looked at again and again, and has not failed."""
    age = time() - status.point.at
    if status.state == "failed":
        return False, "failed"
    if age > LOOKS_WITHIN and status.state in ("starting", "running", "draining"):
        return False, f"{status.state}, but nobody could look at it for {age:.0f} s"
    return True, status.state


def readiness(status: Status) -> Answer:
    """Whether elements move if there are any."""
    return status.state == "running", status.state


PROBES: Final[Mapping[str, Callable[[Status], Answer]]] = {
    "/healthz": health,
    "/readyz": readiness,
}
