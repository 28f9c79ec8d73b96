"""The command line loads little, knows its version, and says what it lacks."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

import penstock
from penstock.cli import main
from penstock.cli.application import COMMANDS, application

RUN = "from penstock.cli import main; main()"


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    source = str(Path(penstock.__path__[0]).parent)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=False,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": source},
    )


def test_a_real_process_shows_a_rule() -> None:
    done = python(RUN, "spec", "3.9")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.startswith("Rule 3.9: request takes a positive number\n")


def test_a_real_process_reports_an_unknown_rule_by_exit_code_2() -> None:
    done = python(RUN, "spec", "9.9")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: there is no rule '9.9'")


def test_help_loads_no_command_and_nothing_heavy() -> None:
    report = "import atexit, sys; atexit.register(lambda: print(*sys.modules)); "
    done = python(report + RUN, "--help")
    assert done.returncode == 0
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "penstock.cli.application" in loaded
    assert (
        loaded & {"rich", "pyspark", "pytest", *(f"penstock.cli.{name}" for name in COMMANDS)}
        == set()
    )


def test_help_lists_every_command_with_its_line() -> None:
    output = CliRunner().invoke(application, ["--help"]).output
    width = max(map(len, COMMANDS))
    for name, line in COMMANDS.items():
        assert f"  {name:<{width}}  {line}\n" in output


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_list_is_the_one_of_the_command_itself(name: str) -> None:
    command = importlib.import_module(f"penstock.cli.{name}").command
    assert isinstance(command, click.Command)
    assert command.name == name
    assert (command.help or "").partition("\n")[0] == COMMANDS[name]


def test_an_unknown_command_is_refused_with_exit_code_2() -> None:
    done = CliRunner().invoke(application, ["spce"])
    assert done.exit_code == 2
    assert "No such command 'spce'" in done.stderr


def test_the_version_is_that_of_the_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"penstock": "1.2.3"}.__getitem__)
    done = CliRunner().invoke(application, ["--version"])
    assert (done.exit_code, done.output) == (0, "penstock 1.2.3\n")


def test_without_installation_the_version_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    done = CliRunner().invoke(application, ["--version"])
    assert (done.exit_code, done.output) == (0, "penstock, version unknown: not installed\n")


def test_without_click_one_sentence_says_what_to_install() -> None:
    done = python(f"import sys; sys.modules['click'] = None; {RUN}", "--help")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "penstock: the command line needs click; pip install 'penstock[cli]'\n"


def test_without_rich_a_command_that_needs_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replace_application_by_one_that_imports("rich", monkeypatch)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "needs rich; pip install 'penstock[cli]'" in capsys.readouterr().err


def test_any_other_missing_module_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_application_by_one_that_imports("a_module_of_the_user", monkeypatch)
    with pytest.raises(ModuleNotFoundError, match="a_module_of_the_user"):
        main()


def replace_application_by_one_that_imports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ModuleType("penstock.cli.application")
    stand_in.__dict__["application"] = lambda prog_name: importlib.import_module(name)
    monkeypatch.setitem(sys.modules, "penstock.cli.application", stand_in)
    monkeypatch.setitem(sys.modules, name, None)
