"""The Dockerfile, carried out without an engine: what it describes runs, drains and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.systemd_machine import NAMESPACES
from tests.deploy.test_files import deploy
from tests.deploy.test_systemd_machine import PIPELINE
from tests.style.project import ROOT


@pytest.mark.full
@pytest.mark.systemd_machine
@pytest.mark.timeout(1800)
def test_the_image_runs_a_pipeline_as_a_user_without_rights(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, check=True, cwd=ROOT, capture_output=True)
    deploy("docker", tmp_path)
    (tmp_path / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "penstock.toml").touch()
    command = [*NAMESPACES, "--mount-proc", sys.executable, "-m", "tests.deploy.container"]
    arguments = [str(tmp_path), "/", str(Path(sys.executable).resolve())]
    done = subprocess.run([*command, *arguments], check=False, cwd=ROOT, stdout=subprocess.PIPE)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    for run in found["runs"]:
        assert run == {"code": 3, "health": 0, "user": ["10001"], "health_after": 1}
    numbers = [row["number"] for row in found["rows"]]
    assert numbers == [2 * place for place in range(len(numbers))]
    assert len(numbers) > 200
