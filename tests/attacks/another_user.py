"""Another user of this machine, as whom a test can run something if it is run by root."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

__all__ = ["NOBODY", "as_nobody", "can_be_nobody", "reachable_folder"]

NOBODY: Final = pwd.getpwnam("nobody")


def can_be_nobody() -> bool:
    """Whether this process may become another user; nobody but root may."""
    return os.geteuid() == 0


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """A folder that all users can look into, as a home may be."""
    with TemporaryDirectory(prefix="penstock-reachable-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def as_nobody(program: str, *arguments: str) -> str:
    """What a program prints that another user runs, who has nothing but Python itself.

    Python starts as root, for the files of its library may be for root alone.
    """
    become = (
        f"import os, fcntl; os.setgroups([]); os.setgid({NOBODY.pw_gid}); "
        f"os.setuid({NOBODY.pw_uid})\n"
    )
    ran = subprocess.run(
        [sys.executable, "-S", "-c", become + program, *arguments],
        capture_output=True,
        encoding="utf-8",
        check=True,
        cwd="/",
    )
    return ran.stdout.strip()
