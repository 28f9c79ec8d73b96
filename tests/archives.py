"""Archives as people unpack them."""

from __future__ import annotations

import subprocess
from pathlib import Path

__all__ = ["unpack"]


def unpack(archive: Path, folder: Path) -> None:
    """By the system's own program; ``tarfile`` is safe only since Python 3.11.4."""
    folder.mkdir(exist_ok=True)
    command = ["tar", "--extract", "--no-same-owner", "--file", str(archive)]
    subprocess.run([*command, "--directory", str(folder)], check=True)
