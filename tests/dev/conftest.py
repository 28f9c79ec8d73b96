"""A small checkout with the real ``dev.py``, whose tools only write down that they were called."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dev import REQUIREMENT_SETS, ROOT

PROJECT = """
[build-system]
requires = []
[project]
name = "small"
[tool.hatch.build]
[tool.ruff]
line-length = 100
"""

# Makes the environment that the real uv would make; waits or fails where a test wants it to.
UV = """#!/bin/sh
trap 'echo Traceback >&2; exit 1' INT
echo "$*" >> calls
if [ -p gate ]; then read line < gate; fi
if [ -e "fail-$1" ]; then echo "no space left"; exit 3; fi
case "$*" in
    *.venv-spark-4.0*) folder=.venv-spark-4.0 ;;
    *) folder=.venv ;;
esac
case "$1" in
    venv) mkdir -p $folder/bin $folder/lib/python/site-packages && cp tool $folder/bin/python ;;
    pip)  mkdir -p $folder/lib/python/site-packages/thing-1.0.dist-info ;;
esac
"""

TOOL = """#!/bin/sh
echo "$(basename "$0") $*"
if [ -e "fail-$(basename "$0")" ]; then exit 7; fi
"""


class Checkout:
    """The folder, and the ways in which the tests run ``dev.py`` in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands = root / "commands"
        self.environment = root / ".venv"
        self.variables = {"PATH": os.pathsep.join([str(self.commands), os.defpath])}

    def write_script(self, path: str, content: str) -> Path:
        script = self.root / path
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(content)
        script.chmod(0o755)
        return script

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return self.start_python("dev.py", *arguments)

    def start_python(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,  # as in a terminal, where Ctrl-C reaches the tools, too
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return finish(self.start(*arguments))

    def run_altered(self, alteration: str, *arguments: str) -> tuple[int, str, str]:
        """Run ``dev.py`` in a Python that the statement made another one."""
        program = (
            f"import runpy, sys; {alteration}; sys.argv = ['dev.py', *{arguments!r}]; "
            "runpy.run_path('dev.py', run_name='__main__')"
        )
        return finish(self.start_python("-c", program))

    def set_ups(self) -> int:
        """How often the environment was made from nothing."""
        calls = self.root / "calls"
        lines = calls.read_text().splitlines() if calls.exists() else []
        return sum(line.startswith("venv") for line in lines)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    output, errors = process.communicate()
    return process.returncode, output, errors


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    created = Checkout(tmp_path / "checkout")
    shutil.copytree(
        ROOT / "tools", created.root / "tools", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "dev.py", created.root)
    (created.root / "pyproject.toml").write_text(PROJECT)
    (created.root / "requirements").mkdir()
    for name in REQUIREMENT_SETS:
        (created.root / "requirements" / f"{name}.txt").write_text("thing==1.0\n")
    created.write_script("commands/uv", UV)
    created.write_script("tool", TOOL)
    return created
