"""Every class that calls the user's code says on which thread, loop or process it does so."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.style.project import python_files, syntax

SIGNALS = {"on_subscribe", "on_next", "on_error", "on_complete"}
NOTE = re.compile(r"\b(threads?|executors?|(event|asyncio) loops?|the loop|process(es)?)\b")
KIT = re.compile(r"(Fixture|Verification)$")
"""Classes of the conformance kit that call what a factory of the user makes."""
NOT_USER_CODE = {
    "Converter": "its own functions tell each other what does not fit",
}
"""Classes that call functions of this package only."""
NOT_THE_USERS = {"NewLock"}
"""Functions that only the tests give: they make locks."""

MODULES = python_files("src")


def callable_names() -> set[str]:
    """The type aliases of the package that stand for functions."""
    return {
        alias.target.id
        for path in MODULES
        for alias in syntax(path).body
        if isinstance(alias, ast.AnnAssign)
        and isinstance(alias.target, ast.Name)
        and ast.unparse(alias.annotation) == "TypeAlias"
        and alias.value is not None
        and ast.unparse(alias.value).startswith("Callable[")
    }


@cache
def a_callable() -> re.Pattern[str]:
    names = {"Callable", *callable_names()} - NOT_THE_USERS
    return re.compile(rf"\b({'|'.join(names)})\b")


def is_callable(annotation: ast.expr | None) -> bool:
    return annotation is not None and a_callable().search(ast.unparse(annotation)) is not None


def methods_of(cls: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [each for each in cls.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]


def functions_given_to(method: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Its parameters that are functions."""
    given = method.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return {each.arg for each in every if is_callable(each.annotation)}


def functions_kept_by(cls: ast.ClassDef) -> set[str]:
    """The fields of a dataclass that are functions."""
    return {
        each.target.id
        for each in cls.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and is_callable(each.annotation)
    }


def foreign_code_of(cls: ast.ClassDef) -> Iterator[str]:
    """What a class calls that may be the user's: signals, and functions that it was given."""
    kept = functions_kept_by(cls)
    for method in methods_of(cls):
        given = functions_given_to(method)
        if method.name == "__init__":
            yield from given  # it calls them some day, or hands them to what does
        for call in ast.walk(method):
            if not isinstance(call, ast.Call):
                continue
            called = ast.unparse(call.func)
            owner, _, name = called.rpartition(".")
            is_signal = name in SIGNALS and owner not in {"", "self", "super()"}
            if is_signal or called in given or (owner == "self" and name in kept):
                yield called


def classes_with_foreign_code() -> Iterator[tuple[Path, ast.ClassDef]]:
    for path in MODULES:
        for cls in ast.walk(syntax(path)):
            if isinstance(cls, ast.ClassDef) and (
                KIT.search(cls.name) or any(foreign_code_of(cls))
            ):
                yield path, cls


def test_a_class_that_calls_the_users_code_says_on_which_thread() -> None:
    silent = {}
    for path, cls in classes_with_foreign_code():
        said = f"{ast.get_docstring(cls)} {ast.get_docstring(syntax(path))}"
        if not NOTE.search(said) and cls.name not in NOT_USER_CODE:
            silent[f"{path}: {cls.name}"] = sorted(set(foreign_code_of(cls)))
    assert silent == {}


def test_classes_that_call_nothing_of_the_user_exist_and_call_something() -> None:
    assert NOT_USER_CODE.keys() <= {cls.name for _, cls in classes_with_foreign_code()}
