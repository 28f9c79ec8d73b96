"""Carries out a Dockerfile without an engine, and runs what it describes; in namespaces of its own.

    unshare --mount --pid --fork --mount-proc python -m tests.deploy.container CONTEXT BASE PYTHON

The images that it begins with are BASE, a folder with a system, which has Python at PYTHON; the
root of this machine will do. What it writes is in memory, and gone when it ends.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

LINE: Final = re.compile(r"^([A-Z]+)\s+((?:.*\\\n)*.*)$", re.MULTILINE)
COMMAND: Final = re.compile(r"\[.*\]", re.DOTALL)
MEMORY: Final = Path("/mnt")
ROWS: Final = 100
"""After so many more of them, a run is stopped."""


@dataclass
class Image:
    """A system as far as the Dockerfile has come with it."""

    root: Path
    folder: str = "/"
    user: str = "0:0"
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": os.defpath})
    commands: dict[str, list[str]] = field(default_factory=dict)

    def started(self, command: list[str], **more: str) -> subprocess.Popen[bytes]:
        """A program in it, as its user."""
        words = shlex.join(["cd", self.folder]) + " && exec " + shlex.join(command)
        return subprocess.Popen(
            ["chroot", f"--userspec={self.user}", "--groups=", str(self.root), "sh", "-c", words],
            env={**self.environment, **more},
        )


class Builder:
    """Carries out one instruction after the other."""

    def __init__(self, context: Path, base: Path, python: str) -> None:
        self._context = context
        self._base = base
        self._python = python
        self._named: dict[str, Image] = {}
        self._arguments: dict[str, str] = {}
        self.image = Image(MEMORY)

    def build(self, text: str) -> Image:
        """The image of the last stage."""
        without_comments = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
        for instruction, rest in LINE.findall(without_comments):
            words = rest.replace("\\\n", " ")
            getattr(self, f"_{instruction.lower()}")(words)
        return self.image

    def _arg(self, words: str) -> None:
        """Known to the steps; which Python it is, the base says."""
        name, _, value = words.partition("=")
        self._arguments.setdefault(name, value)
        self.image.environment[name] = self._arguments[name]

    def _volume(self, words: str) -> None:
        """Mounted when it runs."""

    def _from(self, words: str) -> None:
        name = words.rpartition(" AS ")[2] if " AS " in words else "last"
        layer = MEMORY / name
        for folder in ("upper", "work", "root"):
            (layer / folder).mkdir(parents=True)
        options = f"lowerdir={self._base},upperdir={layer}/upper,workdir={layer}/work"
        call("mount", "-t", "overlay", "overlay", "-o", options, str(layer / "root"))
        for system in ("dev", "proc"):
            call("mount", "--rbind", f"/{system}", str(layer / "root" / system))
        self.image = self._named[name] = Image(layer / "root")
        self.image.environment["PATH"] = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        (self.image.root / "root").chmod(0o711)  # Python may be in the home of who runs the tests
        python = self.image.root / "usr/local/bin/python"
        python.unlink(missing_ok=True)
        python.write_text(f'#!/bin/sh\nexec {self._python} "$@"\n')  # a link would mislead venv
        python.chmod(0o755)

    def _workdir(self, words: str) -> None:
        self.image.folder = words
        (self.image.root / words[1:]).mkdir(parents=True, exist_ok=True)

    def _copy(self, words: str) -> None:
        *sources, target = words.split()
        into = self.image.root / (target if target[0] == "/" else self.image.folder)[1:].rstrip("/")
        if sources[0].startswith("--from="):
            image = self._named[sources[0].removeprefix("--from=")]
            call("cp", "-a", f"{image.root}{sources[1]}", str(into))
            return
        for path in self._context.iterdir():
            wanted = any(source == "." or fnmatch(path.name, source) for source in sources)
            if wanted and not path.name.startswith("."):
                call("cp", "-r", str(path), str(into))

    def _run(self, words: str) -> None:
        done = self.image.started(["sh", "-ec", words]).wait()
        if done:
            raise SystemExit(f"RUN {words} ended with {done}")

    def _env(self, words: str) -> None:
        for assignment in shlex.split(words):
            name, _, value = assignment.partition("=")
            path = self.image.environment["PATH"]
            self.image.environment[name] = value.replace("$PATH", path)

    def _user(self, words: str) -> None:
        self.image.user = words

    def _healthcheck(self, words: str) -> None:
        self.image.commands["healthcheck"] = in_brackets(words)

    def _entrypoint(self, words: str) -> None:
        self.image.commands["entrypoint"] = in_brackets(words)

    def _cmd(self, words: str) -> None:
        self.image.commands["cmd"] = in_brackets(words)


def in_brackets(words: str) -> list[str]:
    found = COMMAND.search(words)
    assert found is not None
    return [*json.loads(found[0])]


def call(*command: str) -> None:
    subprocess.run(command, check=True)


def run_until(image: Image, file: Path) -> dict[str, Any]:
    """Run it until it is healthy and has written more rows; then stop it."""
    pause = threading.Event()
    before = lines_of(file)
    main = image.started([*image.commands["entrypoint"], *image.commands["cmd"]])
    probe = image.started(image.commands["healthcheck"]).wait()
    while main.poll() is None and (probe or lines_of(file) <= before + ROWS):
        pause.wait(0.5)
        probe = probe and image.started(image.commands["healthcheck"]).wait()
    status = Path(f"/proc/{main.pid}/status").read_text()
    main.send_signal(signal.SIGTERM)
    code = main.wait()
    return {
        "code": code,
        "health": probe,
        "user": re.findall(r"^Uid:\s+(\d+)", status, re.MULTILINE),
        "health_after": image.started(image.commands["healthcheck"]).wait(),
    }


def lines_of(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def main(context: Path, base: Path, python: str) -> None:
    """Build and run it twice; what came of it goes to the standard output as JSON."""
    call("mount", "--make-rprivate", "/")
    call("mount", "-t", "tmpfs", "tmpfs", str(MEMORY))
    output = os.dup(1)
    os.dup2(2, 1)  # for what the steps write
    image = Builder(context, base, python).build((context / "Dockerfile").read_text())
    # As docker run --read-only --tmpfs /tmp --volume ...:/checkpoint has it.
    for folder, mode in (("tmp", "1777"), ("checkpoint", "0700")):
        owner = "uid=10001,gid=10001," if folder == "checkpoint" else ""
        where = str(image.root / folder)
        call("mount", "-t", "tmpfs", "-o", f"{owner}mode={mode}", "tmpfs", where)
    call("mount", "-o", "remount,ro", str(image.root))
    image = replace(image, environment={**image.environment, "STATE_DIRECTORY": "/checkpoint"})
    file = image.root / "checkpoint" / "numbers.jsonl"
    runs = [run_until(image, file), run_until(image, file)]
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    os.write(output, json.dumps({"runs": runs, "rows": rows}).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
