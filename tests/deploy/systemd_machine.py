"""A systemd of its own, as the first process of namespaces of its own, which runs our unit.

It sees this machine's files; what it writes is in memory, and gone when it ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

import penstock

__all__ = ["SystemdMachine", "prepare_systemd_machine"]

SYSTEMD: Final = Path("/lib/systemd/systemd")
NAMESPACES: Final = ("unshare", "--pid", "--mount", "--cgroup", "--ipc", "--fork", "--kill-child")
TARGET: Final = "tests.target"
PROGRAM: Final = """#!/bin/sh
PYTHONPATH={source} exec {python} -c 'from penstock.cli import main; main()' "$@"
"""
# The Python of the tests may be in a home, which the unit hides.
DROP_IN: Final = """[Service]
ProtectHome=no
WatchdogSec=15
TimeoutAbortSec=1
RestartSec=1
"""


def prepare_systemd_machine() -> None:
    """See to it that there can be one."""
    if os.geteuid() != 0:
        raise LookupError("namespaces are for root")
    if not SYSTEMD.exists() or shutil.which("unshare") is None:
        raise LookupError("systemd or unshare is not there; apt-get install systemd util-linux")
    allowed = subprocess.run([*NAMESPACES, "true"], check=False, capture_output=True)
    if allowed.returncode:
        raise LookupError("this machine does not let anybody make namespaces")


class SystemdMachine:
    """Runs the units that it is given; ``name`` is the instance, and its folder is ``opt``."""

    def __init__(self, folder: Path, unit: str, name: str) -> None:
        self.name = name
        self.opt, units, self._run = folder / "opt" / name, folder / "units", folder / "run"
        program = self.opt / ".venv" / "bin" / "penstock"
        for made in (program.parent, self._run, folder / "memory", units / "penstock@.service.d"):
            made.mkdir(parents=True)
        source = Path(penstock.__path__[0]).parent
        program.write_text(PROGRAM.format(source=source, python=sys.executable))
        program.chmod(0o755)
        (units / "penstock@.service").write_text(unit)
        (units / "penstock@.service.d" / "tests.conf").write_text(DROP_IN)
        # Of a unit that nobody names, the manager forgets how it ended.
        (units / TARGET).write_text(f"[Unit]\nAfter=penstock@{name}.service\n")
        script = Path(__file__).with_suffix(".sh")
        command = [*NAMESPACES, "sh", str(script), str(folder / "memory"), str(units), TARGET]
        self._process = subprocess.Popen(command)
        self._wait_until(lambda: self.systemctl("is-active", TARGET) == (0, "active"))

    @property
    def state_folder(self) -> Path:
        """The folder that the unit has for what it writes."""
        return self._seen("var/lib/private/penstock") / self.name

    def systemctl(self, *arguments: str) -> tuple[int, str]:
        """What the manager of that machine answers."""
        first = self._first()
        if first is None:
            return 1, "it has not started"
        ended = subprocess.run(
            ["nsenter", f"--target={first}", "--mount", "--pid", "--root", "systemctl", *arguments],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        return ended.returncode, ended.stdout.strip()

    def shown(self, name: str) -> str:
        """A property of the service."""
        return self.systemctl("show", "--value", f"--property={name}", f"penstock@{self.name}")[1]

    def wait_for_property(self, name: str, value: str) -> None:
        """Until it is so; the timeout of the test bounds how long that may take."""
        self._wait_until(lambda: self.shown(name) == value)

    def wait_for_lines(self, file: str, lines: int) -> None:
        """Until a file of the state folder has more lines than that."""
        self._wait_until(lambda: len(self.lines(file)) > lines)

    def lines(self, file: str) -> list[str]:
        """The lines of a file of the state folder, without one that is being written."""
        path = self.state_folder / file
        return path.read_text().split("\n")[:-1] if path.exists() else []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        first = self._first()
        if first is not None:
            os.kill(first, signal.SIGKILL)  # and with it all others of its namespace
        self._process.wait()

    def _first(self) -> int | None:
        """The number that the first process of the namespace has out here."""
        number = self._process.pid
        children = Path(f"/proc/{number}/task/{number}/children").read_text().split()
        if self._process.poll() is not None or not children:
            return None
        return int(children[0])

    def _seen(self, path: str) -> Path:
        return Path(f"/proc/{self._first()}/root") / path

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        pause = threading.Event()
        while not condition():
            assert self._process.poll() is None, (self._run / "log").read_text()
            pause.wait(0.1)
