"""The virtual environment is made when it has to be, and only then."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.dev.conftest import Checkout, finish


def test_the_first_run_sets_up_and_the_second_one_reuses_it(checkout: Checkout) -> None:
    first = checkout.run("test")
    second = checkout.run("test")
    assert "setting up .venv" in first[2]
    assert second == (0, "python -m pytest -n4 --dist=worksteal\n", "")
    assert checkout.set_ups() == 1


def test_the_set_up_installs_the_locked_versions_and_then_the_project(checkout: Checkout) -> None:
    checkout.run("test")
    _, locked, project, *_ = (checkout.root / "calls").read_text().splitlines()
    assert "--require-hashes" in locked
    assert locked.endswith("requirements/dev.txt")
    assert project.endswith(f"--no-deps --no-build-isolation --editable {checkout.root}")


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("requirements/dev.txt", "1.0", "1.1"),
        ("pyproject.toml", 'name = "small"', 'name = "smaller"'),
        ("tools/environment.py", "SETUP_VERSION = ", "SETUP_VERSION = 100 + "),
    ],
)
def test_a_change_of_what_was_installed_sets_up_anew(
    checkout: Checkout, file: str, before: str, after: str
) -> None:
    checkout.run("test")
    replace(checkout.root / file, before, after)
    checkout.run("test")
    assert checkout.set_ups() == 2


def test_a_change_of_a_tools_settings_keeps_the_environment(checkout: Checkout) -> None:
    checkout.run("test")
    replace(checkout.root / "pyproject.toml", "line-length = 100", "line-length = 90")
    checkout.run("test")
    assert checkout.set_ups() == 1


def test_another_version_of_python_sets_up_anew(checkout: Checkout) -> None:
    checkout.run("test")
    checkout.run_altered("sys.version_info = (3, 99, 0, 'final', 0)", "test")
    assert checkout.set_ups() == 2


def test_an_environment_of_unknown_origin_is_replaced(checkout: Checkout) -> None:
    foreign = checkout.environment / "lib" / "foreign"
    foreign.mkdir(parents=True)
    assert "anew" in checkout.run("test")[2]
    assert not foreign.exists()


@pytest.mark.parametrize("lost", ["bin/python", "lib/python/site-packages/thing-1.0.dist-info"])
def test_an_environment_that_lost_a_part_is_replaced(checkout: Checkout, lost: str) -> None:
    checkout.run("test")
    part = checkout.environment / lost
    part.rename(part.with_name("lost"))
    assert checkout.run("test")[0] == 0
    assert checkout.set_ups() == 2


def test_a_copied_checkout_does_not_use_the_environment_of_the_first(checkout: Checkout) -> None:
    checkout.run("test")
    shutil.copytree(checkout.root, checkout.root.with_name("copy"))
    copy = Checkout(checkout.root.with_name("copy"))
    copy.run("test")
    assert copy.set_ups() == 2


@pytest.mark.parametrize("step", ["venv", "pip"])
def test_a_set_up_that_failed_starts_from_the_beginning_next_time(
    checkout: Checkout, step: str
) -> None:
    failure = checkout.root / f"fail-{step}"
    failure.touch()
    code, output, errors = checkout.run("test")
    assert (code, output) == (2, "")
    assert "exit code 3" in errors
    assert "no space left" in errors
    failure.unlink()
    assert checkout.run("test")[0] == 0
    assert checkout.set_ups() == 2


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Programs heed SIGINT, also where the tests were started in the background."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_set_up_leaves_no_traceback_and_starts_anew(checkout: Checkout) -> None:
    os.mkfifo(checkout.root / "gate")
    process = checkout.start("test")
    with (checkout.root / "gate").open("w"):  # open, because uv has begun to read
        os.killpg(process.pid, signal.SIGINT)
        code, _, errors = finish(process)
    assert code == 130
    assert "Traceback" not in errors
    (checkout.root / "gate").unlink()
    assert checkout.run("test")[0] == 0


def test_two_runs_at_once_share_one_set_up(checkout: Checkout) -> None:
    gate = checkout.root / "gate"
    os.mkfifo(gate)
    first = checkout.start("test")
    with gate.open("w") as opened:
        second = checkout.start("test")
        assert second.stderr is not None
        assert "waiting" in second.stderr.readline()
        gate.unlink()
        opened.write("go\n")
    assert [finish(first)[0], finish(second)[0]] == [0, 0]
    assert checkout.set_ups() == 1


def test_an_environment_in_use_is_not_replaced(checkout: Checkout) -> None:
    gate = checkout.root / "gate"
    os.mkfifo(gate)
    checkout.write_script("tool", "#!/bin/sh\nread line < gate\n")
    checkout.write_script(
        "commands/uv", (checkout.commands / "uv").read_text().replace("-p gate", "-p no")
    )
    using = checkout.start("test")
    with gate.open("w") as opened:
        replace(checkout.root / "requirements/dev.txt", "1.0", "1.1")
        changing = checkout.start("test")
        assert changing.stderr is not None
        assert "waiting" in changing.stderr.readline()
        assert checkout.set_ups() == 1
        checkout.write_script("tool", "#!/bin/sh\n")
        opened.write("go\n")
    assert [finish(using)[0], finish(changing)[0]] == [0, 0]
    assert checkout.set_ups() == 2


def test_what_was_compiled_is_kept_for_the_next_process(checkout: Checkout) -> None:
    checkout.write_script("tool", "#!/bin/sh\necho kept: ${PYTHONDONTWRITEBYTECODE:-yes}\n")
    checkout.variables["PYTHONDONTWRITEBYTECODE"] = "1"
    _, output, _ = checkout.run("test")
    assert output == "kept: yes\n"


def test_a_python_without_ensurepip_is_told_which_package_to_install(checkout: Checkout) -> None:
    (checkout.commands / "uv").unlink()
    code, output, errors = checkout.run_altered("sys.modules['ensurepip'] = None", "test")
    assert (code, output) == (2, "")
    assert "apt install python3." in errors
    assert "Traceback" not in errors
    assert not checkout.environment.exists()


def replace(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
