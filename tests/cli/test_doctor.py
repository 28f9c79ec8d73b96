"""``penstock doctor`` names what is missing and the command that fixes it."""

from __future__ import annotations

import json
import socket
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from packaging.requirements import Requirement

from penstock.cli import doctor
from penstock.cli.application import application
from penstock.cli.doctor import EXTRAS, Package
from penstock.java import JavaUnavailable
from penstock.spark.session import reachable
from tests.cli.processes import ROOT, penstock_command


def consult(*arguments: str) -> Result:
    return CliRunner().invoke(application, ["doctor", *arguments])


def findings(*arguments: str) -> tuple[int, Mapping[str, Mapping[str, Any]]]:
    done = consult("--json", *arguments)
    return done.exit_code, {each["subject"]: each for each in json.loads(done.stdout)}


@pytest.fixture(autouse=True)
def _a_sound_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    versions = {"pyspark": "4.3.0", "pandas": "2.3.3" if sys.version_info < (3, 15) else "3.1.1"}
    monkeypatch.setattr(reachable, "version", lambda name: versions.get(name, "99.1"))


def test_a_sound_machine_is_exit_code_0(monkeypatch: pytest.MonkeyPatch) -> None:
    done = consult()
    assert done.exit_code == 0
    assert not any(line.startswith("problem") for line in done.stdout.splitlines())


def test_a_missing_spark_is_a_problem_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "pyspark":
            raise PackageNotFoundError(name)
        return "2.5"

    monkeypatch.setattr(reachable, "version", version)
    code, found = findings()
    assert code == 1
    assert found["spark"]["state"] == "problem"
    assert "pyspark 4.0 or newer, below 4.4 is needed, and none" in found["spark"]["text"]
    assert found["spark"]["remedy"] == "pip install 'penstock[spark]'"


def test_a_package_that_is_too_new_is_named_with_its_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "installed", {"pandas": "3.0.1"}.get)
    (finding,) = doctor.findings_for({"spark": (Package("pandas", "2.2", "3"),)})
    assert finding.text == "pandas 2.2 or newer, below 3 is needed, and 3.0.1 is installed"


def test_a_missing_dashboard_is_only_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "installed", lambda name: None)
    (finding,) = doctor.findings_for({"dashboard": (Package("starlette"),)})
    assert (finding.state, finding.remedy) == ("warning", "pip install 'penstock[dashboard]'")


def test_a_machine_without_java_is_told_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_runtime(user: str) -> None:
        raise JavaUnavailable(f"{user} needs Java, and there is none")

    monkeypatch.setattr(doctor, "find_runtime", find_runtime)
    code, found = findings()
    assert code == 1
    assert found["java"]["text"] == "Spark needs Java, and there is none"
    assert found["java"]["remedy"] == "pip install 'penstock[java]'"


def test_workers_of_another_python_are_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 3.9\n")
    other.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(other))
    code, found = findings()
    assert code == 0
    assert found["workers"]["state"] == "warning"
    assert "which is 3.9" in found["workers"]["text"]
    assert found["workers"]["remedy"] == f"export PYSPARK_PYTHON={sys.executable}"
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert findings()[1]["workers"]["state"] == "ok"


def test_a_spark_home_of_another_version_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert "there is no Spark" in findings()[1]["spark home"]["text"]
    (tmp_path / "jars").mkdir()
    jar = tmp_path / "jars" / "spark-core_2.13-3.5.1.jar"
    jar.touch()
    code, found = findings()
    assert code == 1
    assert found["spark home"]["text"] == "SPARK_HOME has Spark 3.5.1, and pyspark is 4.3.0"
    assert found["spark home"]["remedy"] == "unset SPARK_HOME"
    jar.rename(jar.with_name("spark-core_2.13-4.3.0.jar"))
    assert findings()[1]["spark home"]["state"] == "ok"


def test_a_checkpoint_place_is_written_and_left_as_it_was(tmp_path: Path) -> None:
    code, found = findings("--checkpoint", str(tmp_path / "new"))
    assert code == 0
    assert found["checkpoint"]["text"].startswith(f"{tmp_path}: write and sync in ")
    assert list(tmp_path.iterdir()) == []


def test_a_place_elsewhere_is_tried_out_as_well(tmp_path: Path) -> None:
    code, found = findings("--checkpoint", "nowhere://bucket/checkpoint")
    assert code == 1
    assert "nowhere://bucket/checkpoint cannot be written" in found["checkpoint"]["text"]


def test_a_place_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    code, found = findings("--checkpoint", str(file / "checkpoint"))
    assert code == 1
    assert f"{file} is a file, not a folder" in found["checkpoint"]["text"]


def test_little_space_and_a_slow_sync_are_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "free_bytes", lambda path: 1000)
    assert findings()[1]["checkpoint"]["state"] == "warning"
    monkeypatch.setattr(doctor, "free_bytes", lambda path: 1 << 40)
    monkeypatch.setattr(doctor, "SLOW_SYNC", -1.0)
    assert "bounds the pace" in findings()[1]["checkpoint"]["text"]


def test_a_port_in_use_is_a_problem_and_a_free_one_is_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, found = findings("--port", port)
        assert (code, found["port"]["state"]) == (1, "problem")
        assert f"{port} cannot be had: Address already in use" in found["port"]["text"]
    assert findings("--port", port)[1]["port"]["state"] == "ok"


def test_a_hostname_that_nobody_knows_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "nobody.invalid")
    code, found = findings()
    assert (code, found["hostname"]["state"]) == (0, "warning")
    assert found["hostname"]["remedy"] == "echo '127.0.0.1 nobody.invalid' | sudo tee -a /etc/hosts"


@pytest.mark.parametrize(("available", "state"), [(None, "ok"), (1 << 20, "warning")])
def test_little_memory_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, available: int | None, state: str
) -> None:
    monkeypatch.setattr(doctor, "available_bytes", lambda: available)
    assert findings()[1]["memory"]["state"] == state


def test_what_spark_connect_lacks_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "missing_for_connect", lambda: ["zstandard"])
    finding = findings()[1]["spark connect"]
    assert finding["state"] == "warning"
    assert "zstandard is needed, and not installed" in finding["text"]


def test_a_real_process_prints_json_and_nothing_else() -> None:
    done = penstock_command("doctor", "--json")
    assert done.err == ""
    assert json.loads(done.out)[0]["subject"] == "python"


def test_the_packages_are_those_of_the_project() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for extra, known in EXTRAS.items():
        wanted = filter(is_for_this_python, map(Requirement, extras[extra]))
        declared = {each.name: each.specifier for each in wanted}
        assert {package.name for package in known} == declared.keys()
        for package in known:
            specifier = declared[package.name]
            assert specifier.contains(package.oldest)
            assert not specifier.contains("0.0.1")
            assert specifier.contains("1000") != bool(package.below)
            assert not package.below or not specifier.contains(package.below)


def is_for_this_python(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate()
