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
INSIDES = re.compile(r"\b(?:gi_frame|gi_yieldfrom|f_locals|get_referents|get_referrers)\b")
"""How to learn what other code keeps to itself: its variables, and what its objects refer to."""
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


def test_nothing_depends_on_what_else_the_program_has_loaded() -> None:
    assert [path for path in python_files("src") if "sys.modules" in text(path)] == []


def test_what_other_code_keeps_to_itself_is_read_where_this_list_says() -> None:
    readers = {path.as_posix() for path in python_files("src") if INSIDES.search(text(path))}
    assert readers == MAY_LOOK_INSIDE.keys()


MAY_LOOK_INSIDE = {
    "src/penstock/flow/engine/call_site.py": (
        "the frames of a traceback, or of a thread, belong to operators and to the user's code, "
        "and an element must not pay for saying to which"
    ),
    "src/penstock/tck/real_environment.py": (
        "a stranger's thread that waits in the standard library can be woken by nothing else"
    ),
    "src/penstock/tck/holders.py": (
        "a report about an object that is not freed says what refers to it, in a stranger's code"
    ),
}
"""All modules that do, and why; whatever another part of the package has to tell, it exposes."""


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
