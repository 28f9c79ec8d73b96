"""What ``dev.py release`` refuses, in which order it does things, and what it leaves to others."""

from __future__ import annotations

import subprocess

import pytest

from tests.dev.conftest import Checkout

NOTE = """#!/bin/sh
echo "$(basename "$0") $*" >> noted
"""
BUILD = NOTE + "mkdir -p dist; touch dist/small-0.2.0.tar.gz\n"
WHEEL = NOTE + "touch dist/small-0.2.0-py3-none-any.whl\n"


def git(checkout: Checkout, *arguments: str) -> str:
    names = ("-c", "user.name=us", "-c", "user.email=us@example.org")
    done = subprocess.run(
        ["git", *names, *arguments],
        cwd=checkout.root,
        check=True,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    return done.stdout


@pytest.fixture
def released(checkout: Checkout) -> Checkout:
    """A checkout that is committed, whose tools note that they were called."""
    project = checkout.root / "pyproject.toml"
    text = project.read_text()
    project.write_text(text.replace('name = "small"', 'name = "small"\nversion = "0.1.0"'))
    checkout.run("test")
    for name in ("towncrier", "twine"):
        checkout.write_script(f".venv/bin/{name}", NOTE)
    checkout.write_script(".venv/bin/hatchling", BUILD)
    checkout.write_script(".venv/bin/pip", WHEEL)
    (checkout.root / ".gitignore").write_text("/*\n!/pyproject.toml\n!/.gitignore\n")
    git(checkout, "init", "--quiet")
    git(checkout, "add", "--all")
    git(checkout, "commit", "--quiet", "--message", "a beginning")
    return checkout


@pytest.mark.parametrize("version", ["0.1.0", "0.0.9", "v0.2.0", "0.2", "0.2.0rc1"])
def test_a_version_that_is_none_or_not_later_is_refused(released: Checkout, version: str) -> None:
    code, _, errors = released.run("release", version)
    assert code == 2
    assert f"three numbers and later than 0.1.0, not {version!r}" in errors
    assert git(released, "status", "--porcelain") == ""


def test_a_release_without_a_version_is_refused(released: Checkout) -> None:
    assert released.run("release")[0] == 2


def test_changes_that_are_not_committed_are_refused(released: Checkout) -> None:
    with (released.root / "pyproject.toml").open("a") as file:
        file.write("# more\n")
    code, _, errors = released.run("release", "0.2.0")
    assert code == 2
    assert "not committed" in errors
    assert 'version = "0.1.0"' in (released.root / "pyproject.toml").read_text()


def test_version_changelog_and_dist_come_before_the_try_of_a_stranger(released: Checkout) -> None:
    # The wheel is empty, so that the stranger cannot install it.
    code, _, errors = released.run("release", "0.2.0")
    assert code == 2
    assert "to undo the release: git restore --staged --worktree ." in errors
    assert 'version = "0.2.0"' in (released.root / "pyproject.toml").read_text()
    noted = (released.root / "noted").read_text().splitlines()
    assert [line.split()[0] for line in noted] == ["towncrier", "hatchling", "pip", "twine"]
    assert noted[0] == "towncrier build --yes --version 0.2.0"
    assert noted[-1].startswith("twine check --strict")
