"""What holds for every module of the package."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.style.project import python_files, syntax, text

NAMES_THAT_SAY_NOTHING = {"common", "helper", "helpers", "misc", "util", "utils"}
CORE = {
    "api", "java", "rules", "runtime", "core", "delivery", "examples", "guard", "flow",
    "testing", "tck",
}  # fmt: skip
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
SILENCED_WITHOUT_REASON = re.compile(r"#\s*(type: ignore(\[[^]]*\])?|noqa(:[\w, ]*)?)\s*$")


def test_every_module_name_says_something() -> None:
    parts = {path: {*path.parts, path.stem} for path in python_files("src", "tests", "tools")}
    assert [path for path, names in parts.items() if names & NAMES_THAT_SAY_NOTHING] == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in python_files("src") if not ast.get_docstring(syntax(path))]
    assert silent == []


def test_every_folder_of_the_package_is_a_package() -> None:
    modules = python_files("src")
    packages = {path.parent for path in modules if path.name == "__init__.py"}
    assert {path.parent for path in modules} - packages == set()


def test_no_module_is_longer_than_400_lines() -> None:
    assert [path for path in python_files("src") if len(text(path).splitlines()) > 400] == []


def test_the_core_imports_nothing_but_the_standard_library() -> None:
    core = [path for path in python_files("src") if path.with_suffix("").parts[2] in CORE]
    foreign = {path: set(imports(path)) - sys.stdlib_module_names - {"penstock"} for path in core}
    assert {path: names for path, names in foreign.items() if names - guests_of(path)} == {}


def test_nothing_in_the_package_is_unfinished_or_silenced_without_a_reason() -> None:
    lines = [
        (path, line)
        for path in python_files("src")
        for line in text(path).splitlines()
        if UNFINISHED.search(line) or SILENCED_WITHOUT_REASON.search(line)
    ]
    assert lines == []


def guests_of(path: Path) -> set[str]:
    """What is loaded late, or named in types only.

    The kit is a pytest plugin, too, and runs the official kit on a JVM; a flow can go onto Spark.
    """
    if path.parts[2:] == ("flow", "methods", "spark.py"):
        return {"pyspark"}
    if path.parts[2:4] == ("tck", "jvm"):
        return {"jpype"}
    return {"pytest", "_pytest"} if path.parts[2] == "tck" else set()


def imports(path: Path) -> Iterator[str]:
    """The top-level names of all that a module imports, wherever in the module it does."""
    for node in ast.walk(syntax(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]
