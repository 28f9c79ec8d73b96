"""Whose a checkpoint is: what its pipeline is called, and what that reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

__all__ = [
    "ABOUT",
    "FORMAT",
    "REMEDY",
    "STREAM",
    "CheckpointError",
    "about",
    "read_about",
    "require_same",
]

FORMAT: Final = 1
"""Of all that is in a checkpoint; it is raised when an earlier version could misread it."""
ABOUT: Final = "pipeline.json"
STREAM: Final = "stream of "
"""How an input is called that Spark reads itself; no schema begins so."""
REMEDY: Final = "restore it from a backup, or start with a new checkpoint"


class CheckpointError(Exception):
    """A checkpoint that a pipeline cannot go on from."""


def about(name: str, inputs: Sequence[str]) -> dict[str, Any]:
    """What a checkpoint says of its pipeline."""
    return {"format": FORMAT, "name": name, "inputs": list(inputs)}


def read_about(place: str, text: str) -> tuple[str, list[str]]:
    """The name of the pipeline and its inputs; refuses what this version does not know."""
    try:
        found = json.loads(text)
        format_found = int(found["format"])
        if format_found > FORMAT:
            raise CheckpointError(
                f"the checkpoint {place} was written by a later version of penstock: it has format "
                f"{format_found}, and this version knows {FORMAT}; run that version, or a later one"
            )
        return str(found["name"]), [str(each) for each in found["inputs"]]
    except (ValueError, KeyError, TypeError):
        raise CheckpointError(f"{place}/{ABOUT} is damaged; {REMEDY}") from None


def require_same(place: str, name: str, inputs: Sequence[str], text: str) -> None:
    """Refuse a checkpoint of another pipeline, or of one that read something else."""
    other_name, other_inputs = read_about(place, text)
    if other_name != name:
        raise CheckpointError(
            f"the checkpoint {place} belongs to the pipeline {other_name!r}, not to "
            f"{name!r}; name another place, or give the pipeline its old name"
        )
    if other_inputs != [*inputs]:
        raise CheckpointError(
            f"the checkpoint {place} was made for the {what_is(other_inputs)}, the "
            f"pipeline now has the {what_is(inputs)}; name another place, or keep what "
            "it reads"
        )


def what_is(inputs: Sequence[str]) -> str:
    """What a pipeline reads: the schemas of what goes onto Spark, and the streams of Spark."""
    return " and the ".join(
        each if each.startswith(STREAM) else f"schema {each!r}" for each in map(str, inputs)
    )
