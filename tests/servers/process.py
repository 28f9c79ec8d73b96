"""The program of a real server, from its start to its end. It listens on loopback alone."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pwd import getpwnam
from time import monotonic
from typing import Final

__all__ = ["ServerProcess", "running"]

PATIENCE: Final = 120.0
"""The seconds in which a server answers, on the slowest machine."""
LOOK: Final = 0.05


class ServerProcess:
    """A server that can be stopped and started again, or killed, with what it has stored.

    ``answers`` says whether it is ready for clients. ``folder`` has what it prints, in ``log.txt``.
    ``user`` is who runs it, if not the one who runs the tests; ``stop_signal`` lets it end.
    """

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        answers: Callable[[], bool],
        environment: Mapping[str, str] | None = None,
        *,
        user: str | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
    ) -> None:
        self._command = list(command)
        self._folder = folder
        self._answers = answers
        self._environment = environment
        self._user = user
        self._stop_signal = stop_signal
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "log.txt").open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._folder,
                env=self._environment,
                user=self._user,
                group=None if self._user is None else getpwnam(self._user).pw_gid,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        end = monotonic() + PATIENCE
        while not self._answers():
            try:
                self._process.wait(LOOK)
            except subprocess.TimeoutExpired:
                if monotonic() < end:
                    continue
            self.kill()
            raise RuntimeError(f"{self._command[0]} does not answer:\n{self._last_words()}")

    def stop(self) -> None:
        """Let it end by itself, with all that it has stored."""
        if self._process is not None:
            self._process.send_signal(self._stop_signal)
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Within the block it has its connections, and answers nobody."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """``kill -9``."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _last_words(self) -> str:
        return "\n".join((self._folder / "log.txt").read_text(errors="replace").splitlines()[-20:])


@contextmanager
def running(server: ServerProcess) -> Iterator[ServerProcess]:
    """``server``, until the end of the block."""
    server.start()
    try:
        yield server
    finally:
        server.stop()
