"""A secret comes from where nobody else can read it, and is never shown."""

from __future__ import annotations

import copy
import os
import pickle
import pty
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from penstock.pipeline import Secret
from penstock.pipeline.settings import SettingsError, filled, read_assignments
from tests.attacks.another_user import NOBODY, can_be_nobody
from tests.cli.processes import RUN, penstock_command
from tests.style.project import ROOT

HUNTER = "hunter2"
GUARDED = "tests.cli.pipelines:guarded"


@dataclass(frozen=True)
class Settings:
    password: Secret
    other: Secret | None = None


def assigned(*texts: str) -> Settings:
    return filled(Settings, read_assignments(texts), "--set")


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text(f"{HUNTER}\n")
    path.chmod(0o600)
    return path


# Where it comes from.


def test_a_secret_is_read_from_the_environment_and_from_a_file(
    secret_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEED_PASSWORD", HUNTER)
    expected = Settings(Secret(HUNTER))
    assert assigned("password=env:FEED_PASSWORD") == expected
    assert assigned('password="env:FEED_PASSWORD"') == expected
    assert assigned(f"password=file:{secret_file}") == expected
    assert filled(Settings, {"password": f"file:{secret_file}"}, "a.toml") == expected
    both = assigned("password=env:FEED_PASSWORD", f"other=file:{secret_file}")
    assert both.other == Secret(HUNTER)


@pytest.mark.parametrize(
    "text", [HUNTER, "", "7", "env", "env:", "file:", "prompt:x", f"text:{HUNTER}", "true"]
)
def test_a_secret_that_is_written_down_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        assigned(f"password={text}")
    assert str(caught.value) == (
        "--set: password is a secret, and all users of this machine could read it here; say where "
        "it is: password=env:VARIABLE, password=file:PATH or password=prompt"
    )


@pytest.mark.parametrize("value", [HUNTER, 7, [HUNTER], {"env": HUNTER}, None])
def test_a_secret_in_the_settings_file_is_refused_as_well(value: Any) -> None:
    with pytest.raises(SettingsError, match="all who have the file could read it here") as caught:
        filled(Settings, {"password": value}, "a.toml")
    assert HUNTER not in str(caught.value)


def test_a_missing_secret_says_how_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="password must be set .a secret: env:VARIABLE"):
        assigned()
    monkeypatch.delenv("FEED_PASSWORD", raising=False)
    with pytest.raises(SettingsError, match="there is no environment variable FEED_PASSWORD"):
        assigned("password=env:FEED_PASSWORD")
    monkeypatch.setenv("FEED_PASSWORD", "")
    with pytest.raises(SettingsError, match="the secret is empty"):
        assigned("password=env:FEED_PASSWORD")


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o602, 0o620, 0o601])
def test_a_file_that_others_can_use_is_refused(secret_file: Path, mode: int) -> None:
    secret_file.chmod(mode)
    with pytest.raises(SettingsError, match="others can use .*chmod 600") as caught:
        assigned(f"password=file:{secret_file}")
    assert HUNTER not in str(caught.value)


def test_a_file_of_another_user_is_refused(secret_file: Path) -> None:
    if can_be_nobody():
        os.chown(secret_file, NOBODY.pw_uid, NOBODY.pw_gid)
    theirs = secret_file if can_be_nobody() else Path("/etc/hostname")
    with pytest.raises(SettingsError, match="belongs to another user"):
        assigned(f"password=file:{theirs}")


def test_a_file_that_holds_no_secret_is_refused(tmp_path: Path, secret_file: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, words in (("nowhere", "No such file"), ("pipe", "is not a file"), ("", "not a file")):
        with pytest.raises(SettingsError, match=words):
            assigned(f"password=file:{tmp_path / name}")
    secret_file.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match="not text in UTF-8"):
        assigned(f"password=file:{secret_file}")
    secret_file.write_bytes(b"x" * 70_000)
    with pytest.raises(SettingsError, match="holds no secret"):
        assigned(f"password=file:{secret_file}")


# It is never shown.


def test_a_secret_is_shown_as_such_and_its_text_is_not() -> None:
    settings = Settings(Secret(HUNTER))
    shown = [repr(settings), str(settings), f"{settings.password:>20}", f"{settings.password!s}"]
    shown += [str(asdict(settings)), str(replace(settings)), str(copy.deepcopy(settings))]
    assert not [text for text in shown if HUNTER in text]
    assert all("Secret(***)" in text for text in shown)
    assert not hasattr(settings.password, "__dict__")


def test_a_secret_does_not_leave_its_process() -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="does not leave its process"):
            pickle.dumps(Settings(Secret(HUNTER)), protocol)


def test_secrets_are_compared_and_found() -> None:
    assert Secret("a") == Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert {Secret("a"): 1}[Secret("a")] == 1
    wrong: Any = 7
    with pytest.raises(TypeError, match="a Secret is a text, not a int"):
        Secret(wrong)


@pytest.mark.parametrize("command", ["run", "check"])
def test_the_command_line_never_says_a_secret(command: str, secret_file: Path) -> None:
    refused = penstock_command(command, GUARDED, "--set", f"password={HUNTER}")
    assert refused.code == 2
    assert "password=env:VARIABLE, password=file:PATH or password=prompt" in refused.err
    taken = penstock_command(command, GUARDED, "--set", f"password=file:{secret_file}")
    assert taken.code == 0
    wrong = ("--set", "length=6", "--debug")
    failed = penstock_command(command, GUARDED, "--set", f"password=file:{secret_file}", *wrong)
    assert failed.code != 0
    assert "these settings do not do" in failed.out + failed.err
    for ended in (refused, taken, failed):
        assert HUNTER not in ended.out + ended.err


def test_a_secret_can_be_typed_and_is_not_shown_while_that_is_done() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", RUN, "run", GUARDED, "--set", "password=prompt"],
        cwd=ROOT,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        os.close(theirs)
        assert process.stderr is not None
        asked = ""
        while not asked.endswith("password: "):
            asked += process.stderr.read(1)
        os.write(ours, f"{HUNTER}\n".encode())
        out, err = process.communicate()
        echoed = echo_of(ours)
    assert process.returncode == 0, err
    assert "2 Secret(***)" in out
    assert HUNTER not in out + err + echoed


def echo_of(terminal: int) -> str:
    """What a terminal has shown, until its other end is closed."""
    shown = b""
    try:
        while part := os.read(terminal, 1024):
            shown += part
    except OSError:  # what Linux says at the end
        pass
    os.close(terminal)
    return shown.decode()


def test_without_a_terminal_nobody_is_asked() -> None:
    ended = penstock_command("run", GUARDED, "--set", "password=prompt")
    assert ended.code == 2
    assert "there is no terminal at which to ask for it" in ended.err
