"""A server that can really be killed."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from tests.held_port import held_port

ROOT = Path(__file__).parents[2]


class ServerProcess(AbstractContextManager["ServerProcess"]):
    """A process that serves numbers, always at the same address."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._holding = ExitStack()
        self._port = self._holding.enter_context(held_port())
        self._process: subprocess.Popen[str] | None = None
        self.address = ""
        self.start()

    def start(self) -> None:
        """Start it; returns when it can be connected to."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.connectors.numbers", self._kind, str(self._port)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def kill(self) -> None:
        """End it without a goodbye."""
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            process.communicate()

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._holding.close()
