"""Whose a checkpoint is: what its pipeline is called, and what that reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

__all__ = ["ABOUT", "REMEDY", "STREAM", "CheckpointError", "about", "require_same"]

FORMAT: Final = 1
ABOUT: Final = "pipeline.json"
STREAM: Final = "stream of "
"""How an input is called that Spark reads itself; no schema begins so."""
REMEDY: Final = "restore it from a backup, or start with a new checkpoint"


class CheckpointError(Exception):
    """A checkpoint that a pipeline cannot go on from."""


def about(name: str, inputs: Sequence[str]) -> dict[str, Any]:
    """What a checkpoint says of its pipeline."""
    return {"format": FORMAT, "name": name, "inputs": list(inputs)}


def require_same(place: str, mine: dict[str, Any], text: str) -> None:
    """Refuse a checkpoint that says other things of its pipeline than ``mine``."""
    try:
        found = json.loads(text)
        others = {key: found[key] for key in mine}
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(f"{place}/{ABOUT} is damaged; {REMEDY}") from None
    if others["format"] != mine["format"]:
        raise CheckpointError(
            f"the checkpoint {place} was written by another version of penstock; {REMEDY}"
        )
    if others["name"] != mine["name"]:
        raise CheckpointError(
            f"the checkpoint {place} belongs to the pipeline {others['name']!r}, not to "
            f"{mine['name']!r}; name another place, or give the pipeline its old name"
        )
    if others["inputs"] != mine["inputs"]:
        raise CheckpointError(
            f"the checkpoint {place} was made for the {what_is(others['inputs'])}, the "
            f"pipeline now has the {what_is(mine['inputs'])}; name another place, or keep what "
            "it reads"
        )


def what_is(inputs: Sequence[str]) -> str:
    """What a pipeline reads: the schemas of what goes onto Spark, and the streams of Spark."""
    return " and the ".join(
        each if each.startswith(STREAM) else f"schema {each!r}" for each in map(str, inputs)
    )
