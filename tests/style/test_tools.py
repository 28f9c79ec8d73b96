"""The linter, the formatter, the type checker and the import contracts, as ``dev.py check``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dev import ROOT, TOOLS


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_finds_nothing_to_object_to(name: str) -> None:
    script, *options = TOOLS[name]
    command = [str(Path(sys.executable).with_name(script)), *options]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
