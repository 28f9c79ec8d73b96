"""What is private to Spark and py4j is touched by one module, which Spark may break alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.style.project import python_files, syntax

TOUCHES = Path("src/penstock/spark/private_api.py")
PUBLIC = {
    "py4j.protocol": {"Py4JError", "Py4JJavaError"},
    "pyspark": {"TaskContext"},
    "pyspark.errors": {"PySparkException"},
    "pyspark.logger": {"PySparkLogger"},
    "pyspark.sql": {"Column", "DataFrame", "GroupedData", "Row", "SparkSession"},
    "pyspark.sql.datasource": {"DataSource", "DataSourceStreamReader", "InputPartition"},
    "pyspark.sql.functions": {"*"},
    "pyspark.sql.streaming": {"DataStreamWriter", "StatefulProcessor", "StreamingQuery"},
    "pyspark.sql.streaming.datasource": {
        "ReadAllAvailable", "ReadLimit", "ReadMaxRows", "SupportsTriggerAvailableNow",
    },
    "pyspark.sql.types": {"*"},
}  # fmt: skip
"""What Spark's documentation shows, as far as it is used; ``*`` is all of a module."""
NOT_PRIVATE = {"_asdict", "_exit", "_fields", "_from", "_make", "_names", "_replace"}
"""Of named tuples and our own rows, of ``os``, and of our own flows."""


def modules() -> list[Path]:
    files = python_files("src")
    return [path for path in files if path.parts[2] == "spark" and path != TOUCHES]


def test_only_one_module_imports_what_is_private_to_spark() -> None:
    assert {path: found for path in modules() if (found := [*private_imports(syntax(path))])} == {}


def test_only_one_module_touches_names_that_are_private_to_spark() -> None:
    found = {path: [*private_names(syntax(path))] for path in modules()}
    assert {path: names for path, names in found.items() if names} == {}


def private_imports(tree: ast.Module) -> Iterator[str]:
    """What is imported of Spark and py4j and is not listed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_sparks(node.module or ""):
            public = PUBLIC.get(node.module or "", set())
            names = {each.name for each in node.names}
            if not (names <= public or "*" in public):
                yield ast.unparse(node)
        elif isinstance(node, ast.Import):
            yield from (
                each.name for each in node.names if is_sparks(each.name) and each.name not in PUBLIC
            )


def is_sparks(module: str) -> bool:
    return module.partition(".")[0] in ("pyspark", "py4j")


def private_names(tree: ast.Module) -> Iterator[str]:
    """The names with an underscore that belong to nothing of the same module."""
    own = set(defined(tree)) | NOT_PRIVATE
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if not is_own_object(node.value) and node.attr not in own:
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and node.value in TOUCHED and node.value not in own:
            yield ast.unparse(node)


def is_private(name: object) -> bool:
    return isinstance(name, str) and name.startswith("_") and not name.startswith("__")


def is_own_object(node: ast.expr) -> bool:
    """``self``, ``cls`` or ``super()``: what it has is our own, or that of our base class."""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "super")


def defined(tree: ast.Module) -> Iterator[str]:
    """What a module defines: its functions and methods, and what its objects are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if is_own_object(node.value):
                yield node.attr
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__slots__":
            yield from ast.literal_eval(node.value)


def touched(tree: ast.Module) -> Iterator[str]:
    """The private names in the one module, written as names or as texts."""
    for node in ast.walk(tree):
        name = getattr(node, "attr", getattr(node, "value", None))
        if is_private(name):
            yield str(name)


TOUCHED = set(touched(syntax(TOUCHES)))


@pytest.mark.parametrize(
    "line",
    [
        "from pyspark import daemon",
        "from pyspark.sql.pandas.types import to_arrow_type",
        "import pyspark.worker",
        "from py4j.java_gateway import JavaObject",
        "def f():\n    from pyspark.util import local_connect_and_auth",
    ],
)
def test_an_import_of_something_private_is_found(line: str) -> None:
    assert len([*private_imports(ast.parse(line))]) == 1


@pytest.mark.parametrize(
    "line",
    [
        "session._jvm.java",
        "self._session._jvm",
        "getattr(frame, '_jdf', None)",
        "context._gateway = None",
        "vars(gateway)['_callback_server']",
    ],
)
def test_a_name_that_is_private_is_found(line: str) -> None:
    assert len([*private_names(ast.parse(line))]) == 1


def test_names_of_our_own_are_no_offence() -> None:
    lines = "class A:\n    def __init__(self, other):\n        self._b = other._b"
    assert [*private_names(ast.parse(lines))] == []
