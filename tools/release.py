"""A release: the version, the changelog, both distributions, and a try of them as a stranger.

Only the standard library, and no syntax newer than Python 3.8: see ``dev.py``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.environment import Environment, Problem

VERSION_LINE = re.compile(r'^version = "(\d+)\.(\d+)\.(\d+)"$', re.MULTILINE)
FORM = re.compile(r"(\d+)\.(\d+)\.(\d+)")
TRIES = (("--version",), ("doctor",), ("demo", "--no-browser"))
UNDO = "git restore --staged --worktree ."


def set_release(environment: Environment, version: str) -> None:
    """Write the version and the changelog, which takes in all news fragments."""
    project = environment.root / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    require_later(version, text)
    require_clean(environment.root)
    project.write_text(VERSION_LINE.sub(f'version = "{version}"', text), encoding="utf-8")
    must(environment, "towncrier", "build", "--yes", "--version", version)


def require_later(version: str, text: str) -> None:
    """Refuse what is no version, or not a later one than that of the project."""
    asked, found = FORM.fullmatch(version), VERSION_LINE.search(text)
    if found is None:
        raise Problem('pyproject.toml has no line such as version = "0.1.0".')
    if asked is None or numbers(asked) <= numbers(found):
        present = ".".join(found.groups())
        raise Problem(f"a release is three numbers and later than {present}, not {version!r}.")


def numbers(match: re.Match[str]) -> tuple[int, ...]:
    """The parts of a version as they are compared."""
    return tuple(map(int, match.groups()))


def require_clean(root: Path) -> None:
    """Refuse a checkout in which something would be lost, or released without being committed."""
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=root, stdout=subprocess.PIPE, check=False
    )
    if status.returncode:
        raise Problem("a release is made in a checkout of git.")
    if status.stdout:
        raise Problem("there are changes that are not committed; a release has none but its own.")


def try_as_stranger(environment: Environment, folder: Path) -> None:
    """See that the distributions are sound, and run the demo from the wheel, in an empty place."""
    files = sorted(map(str, folder.iterdir()))
    must(environment, "twine", "check", "--strict", *files)
    (wheel,) = folder.glob("*.whl")
    with tempfile.TemporaryDirectory(prefix="penstock-release-") as place:
        scripts = Path(place, "venv", "bin")
        run(place, sys.executable, "-m", "venv", "venv")
        run(place, str(scripts / "pip"), "install", "--quiet", f"{wheel}[demo]")
        for arguments in TRIES:
            run(place, str(scripts / "penstock"), *arguments)


def run(folder: str, *command: str) -> None:
    """Run a command of a stranger, who sees nothing of the checkout."""
    print(" ".join([Path(command[0]).name, *command[1:]]), flush=True)
    if subprocess.call(command, cwd=folder):
        raise Problem(f"{Path(command[0]).name} failed; to undo the release: {UNDO}")


def must(environment: Environment, script: str, *arguments: str) -> None:
    """Run a tool of ours, which says what is wrong if something is."""
    code, output = environment.call(script, *arguments)
    if code:
        print(output)
        raise Problem(f"{script} failed; to undo the release: {UNDO}")


def what_is_left(version: str) -> str:
    """What only a maintainer can do."""
    return f"""{version} is in dist, and was tried. What is left:
  git commit --all --message "Release {version}"
  git tag --annotate v{version} --message "{version}"
  git push --follow-tags
  .venv/bin/twine upload dist/*"""
