"""The bare machine of these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.unit.machine import Machine, bare_machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return bare_machine(tmp_path, monkeypatch)
