"""The environment of a machine that lacks some programs."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["environment_without"]


def environment_without(folder: Path, *hidden: str) -> dict[str, str]:
    """That of this process, with links in ``folder`` to all programs but those that begin so."""
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        if not os.access(place, os.R_OK | os.X_OK):
            continue  # it is not there, or another user's
        for command in Path(place).glob("*"):
            link = folder / command.name
            if not command.name.startswith(hidden):
                link.unlink(missing_ok=True)
                link.symlink_to(command)
    environment = {**os.environ, "PATH": str(folder)}
    environment.pop("JAVA_HOME", None)
    return environment
