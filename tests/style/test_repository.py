"""What holds for the repository as a whole."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dev import REQUIREMENT_SETS
from tests.style.project import files, text

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|farm|root|tmp|home|Users)/[\w.-]+")
REGISTRY = re.compile(r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|maven\.org)\b")
PROJECT = tomllib.loads(text(Path("pyproject.toml")))
PYTHONS = [
    words.rpartition(" ")[2]
    for words in PROJECT["project"]["classifiers"]
    if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", words)
]
FRAGMENT_KINDS = [kind["directory"] for kind in PROJECT["tool"]["towncrier"]["type"]]


@pytest.mark.parametrize("forbidden", [MACHINE_PATH, REGISTRY], ids=["machine path", "registry"])
def test_no_file_depends_on_one_machine_or_registry(forbidden: re.Pattern[str]) -> None:
    assert list(lines_with(forbidden)) == []


def test_the_readme_names_the_commands_to_see_and_to_test_it() -> None:
    readme = text(Path("README.md"))
    assert "python3 dev.py demo" in readme
    assert "python3 dev.py test" in readme


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    assert "python3 dev.py test" in text(Path(".ci/run")).splitlines()


def test_every_news_fragment_has_a_kind_and_full_sentences() -> None:
    fragments = [path for path in files() if path.parts[0] == "newsfragments"]
    name = re.compile(rf"\+[a-z0-9-]+\.({'|'.join(FRAGMENT_KINDS)})\.md")
    odd = [
        path
        for path in fragments
        if path.name != "README.md"
        if not name.fullmatch(path.name) or not text(path).endswith(".\n")
    ]
    assert odd == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", REQUIREMENT_SETS)
def test_every_locked_requirement_has_one_version_and_its_hashes(name: str, python: str) -> None:
    entries = locked(name, python)
    assert entries or (name, python) == ("jvm", "3.15")  # which has no wheels
    assert [entry for entry in entries.values() if "--hash=sha256:" not in entry] == []


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("dev", PROJECT["dependency-groups"]["dev"]),
        ("dev", PROJECT["project"]["optional-dependencies"]["cli"]),
        ("java", PROJECT["project"]["optional-dependencies"]["java"]),
        ("jvm", PROJECT["project"]["optional-dependencies"]["jvm"]),
        ("spark", PROJECT["project"]["optional-dependencies"]["spark"]),
    ],
    ids=["dev", "cli", "java", "jvm", "spark"],
)
def test_the_lock_files_fit_the_project(name: str, wanted: Iterable[str], python: str) -> None:
    entries = locked(name, python)
    for requirement in map(Requirement, wanted):
        if is_for(python, requirement):
            pinned = pinned_by(entries[requirement.name])
            (version,) = (specifier.version for specifier in pinned.specifier)
            words = f"run `python3 dev.py lock`: {requirement}"
            assert requirement.specifier.contains(version), words


def locked(name: str, python: str) -> dict[str, str]:
    """The entries of a lock file for that Python by the names of the requirements."""
    found = re.findall(r"^[\w.-]+==.*(?:\n    .*)*", text(lock_file(name)), re.MULTILINE)
    entries = [entry for entry in found if is_for(python, pinned_by(entry))]
    by_name = {pinned_by(entry).name: entry for entry in entries}
    assert len(entries) == len(by_name), "a requirement is locked twice"
    return by_name


def pinned_by(entry: str) -> Requirement:
    """The requirement of an entry, without its hashes."""
    return Requirement(entry.partition(" \\")[0])


def is_for(python: str, requirement: Requirement) -> bool:
    """Whether that version of Python needs it."""
    versions = {"python_version": python, "python_full_version": f"{python}.0"}
    return requirement.marker is None or requirement.marker.evaluate(versions)


def lock_file(name: str) -> Path:
    return Path("requirements", f"{name}.txt")


def lines_with(pattern: re.Pattern[str]) -> Iterable[tuple[Path, int, str]]:
    for path in files():
        try:
            lines = text(path).splitlines()
        except UnicodeDecodeError:  # a picture, say
            continue
        for number, line in enumerate(lines, start=1):
            if pattern.search(line):
                yield path, number, line
