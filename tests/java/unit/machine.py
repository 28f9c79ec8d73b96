"""A machine with nothing on it but what a test puts there."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["Machine", "bare_machine"]


class Machine:
    """Commands on ``PATH``, a cache, and no ``JAVA_HOME``, all in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        (folder / "bin").mkdir()

    def command(self, name: str, *lines: str) -> None:
        path = self.folder / "bin" / name
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        path.chmod(0o755)

    def java(self, version: str, home: Path | None = None) -> None:
        """A command ``java`` of that version."""
        settings = f"    java.home = {home or self.folder}\\n    java.version = {version}\\n"
        self.command("java", f"printf '{settings}' >&2")


def bare_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """This machine, as the code under test sees it."""
    monkeypatch.setenv("PATH", str(folder / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return Machine(folder)
