"""A checkpoint remembers what the state in it means, so that no other meaning is put on it."""

from __future__ import annotations

import json
import logging
import platform
from collections.abc import Sequence
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING, Final

from penstock.spark.checkpoint import Checkpoint, CheckpointError
from penstock.spark.state.state_plan import stateful_operators

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.plan import SparkPlan, Step

__all__ = ["StateChanged", "in_words", "require_same_state", "with_state_checked"]

FILE: Final = "state.json"
SHOWN: Final = 60
"""How many characters of an operator are shown before what differs, and from there on."""
NONE: Final = "nothing"

logger = logging.getLogger("penstock")


class StateChanged(CheckpointError):
    """A query whose state would get another meaning."""


def with_state_checked(transform: Step, plan: SparkPlan, checkpoint: Checkpoint) -> Step:
    """``transform``, which refuses to make a query that would misread what an earlier one kept."""
    if plan.checkpoint is None:
        return transform

    def checked(frames: Sequence[DataFrame]) -> DataFrame:
        frame = transform(frames)
        mine = in_words(frame)
        if not plan.accept_state_change:
            require_same_state(mine, checkpoint, plan.name)
        if checkpoint.remembered(FILE) != mine:
            checkpoint.remember(FILE, mine)
        return frame

    return checked


def in_words(frame: DataFrame) -> str:
    """What the state of ``frame`` means, and to whom: other versions may say it otherwise."""
    operators = stateful_operators(frame)
    versions = f"Spark {frame.sparkSession.version}, Python {platform.python_version_tuple()[:2]}"
    return json.dumps({"versions": versions, "operators": operators}, indent=1)


def require_same_state(mine: str, checkpoint: Checkpoint, name: str) -> bool:
    """Refuse a query whose state differs from what is kept; whether any was known."""
    kept = checkpoint.remembered(FILE)
    if kept is None or not checkpoint.has_plans:
        return False
    try:
        before = json.loads(kept)
        versions, operators = before["versions"], before["operators"]
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(
            f"{checkpoint.place}/{FILE} is damaged, so nobody knows whether the query still means "
            "the same; delete that file if it has not been changed, or start with a new checkpoint"
        ) from None
    now = json.loads(mine)
    if versions != now["versions"]:
        logger.warning("%s: its state was kept by %s, and is not compared", name, versions)
        return False
    for old, new in zip_longest(operators, now["operators"], fillvalue=NONE):
        if old != new:
            raise StateChanged(
                f"the checkpoint {checkpoint.place} keeps the state of {differing(old, new)}, and "
                f"the pipeline {name!r} now has {differing(new, old)}: the old numbers would get "
                "another meaning; name another checkpoint, or go on with --accept-state-change"
            )
    return True


def differing(text: str, other: str) -> str:
    """The part of an operator around the first difference from another one."""
    same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(text, other, strict=False))))
    operator, _, _ = text.partition(" ")
    start = max(same - SHOWN, 0)
    if start <= len(operator) + 1:
        operator, start = "", 0
    shown = text[start : same + SHOWN]
    before = f"{operator} …" if operator else ""
    return f"{before}{shown}{'…' if same + SHOWN < len(text) else ''}"
