"""A live pipeline to attack: a real ``penstock run`` with its page, in processes of its own."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.cli.processes import RunningCommand

__all__ = ["Target", "live"]

PIPELINES = "tests.attacks.pipelines"


@dataclass(frozen=True)
class Target:
    """Where the pipeline is, and what its owner knows of it.

    ``address``     opens the page, once
    ``token``       stays valid
    ``output``      where its sink writes numbers, from 0 on
    ``checkpoint``  its folder, if it goes through Spark
    """

    command: RunningCommand
    address: str
    token: str
    output: Path
    checkpoint: Path | None

    @property
    def port(self) -> int:
        """That of the page."""
        return int(re.findall(r":(\d+)/", self.address)[0])

    @property
    def process(self) -> int:
        """The process that was started; Spark's are its descendants."""
        return self.command.pid

    def numbers(self) -> list[int]:
        """What has come through."""
        lines = self.output.read_text().splitlines() if self.output.exists() else []
        return [int(line) for line in lines]

    def goes_on(self) -> bool:
        """Wait for more to come through; whether it does, or the pipeline has ended."""
        pause, before = threading.Event(), len(self.numbers())
        while len(self.numbers()) <= before:
            if not self.command.is_running:
                return False
            pause.wait(0.05)
        return True

    def end(self) -> str:
        """Let it drain, as Ctrl-C does; what is wrong with what came through, if anything is."""
        self.command.interrupt()
        ended = self.command.end()
        found = self.numbers()
        if found != [*range(len(found))]:
            return f"of {len(found)} numbers some are missing or there twice"
        if ended.code != 3 or "lost 0" not in ended.err:
            return f"exit code {ended.code}: {ended.err.splitlines()[-1:]}"
        return ""


@contextmanager
def live(folder: Path, pipeline: str) -> Iterator[Target]:
    """Run one of the pipelines until the end of the block."""
    output, token = folder / "numbers", secrets.token_urlsafe()
    checkpoint = folder / "checkpoint" if pipeline == "on_spark" else None
    arguments = ["run", f"{PIPELINES}:{pipeline}", "--dashboard", "--set", f"output={output}"]
    if checkpoint is not None:
        arguments += ["--checkpoint", str(checkpoint)]
    environment = {"PENSTOCK_DASHBOARD_TOKEN": token}
    with RunningCommand(*arguments, environment=environment) as command:
        address = command.err.wait_for("the page: ").split()[2]
        target = Target(command, address, token, output, checkpoint)
        if not target.goes_on():
            raise RuntimeError(f"the pipeline did not start: {command.err.rest()}")
        yield target
