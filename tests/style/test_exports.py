"""Every public name exists and says what it is for; that all are typed, mypy proves."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType

import pytest

import penstock

PROGRAMS = {"cli", "demo", "__main__"}
PUBLIC_MODULES = ["penstock"] + [
    f"penstock.{found.name}"
    for found in pkgutil.iter_modules(penstock.__path__)
    if found.name not in PROGRAMS
]

# Explained once, in penstock.api, and the same for everybody who has them.
SIGNALS = {"subscribe", "on_subscribe", "on_next", "on_error", "on_complete", "request", "cancel"}


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_module_lists_names_that_exist(name: str) -> None:
    module = importlib.import_module(name)
    assert [public for public in names_here(module) if not hasattr(module, public)] == []


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_every_public_name_says_what_it_is_for(name: str) -> None:
    module = importlib.import_module(name)
    assert [path for path, thing in public_things(module) if not is_explained(thing)] == []


def names_here(module: ModuleType) -> list[str]:
    """All but those of libraries that are not there for this Python, and so not installed."""
    return [name for name in module.__all__ if not lacks_a_library(module, name)]


def lacks_a_library(module: ModuleType, name: str) -> bool:
    try:
        hasattr(module, name)
    except ModuleNotFoundError as error:
        return find_spec(str(error.name).partition(".")[0]) is None
    return False


def public_things(module: ModuleType) -> Iterator[tuple[str, object]]:
    yield module.__name__, module
    for name in names_here(module):
        thing = getattr(module, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            yield name, thing
        if inspect.isclass(thing):
            yield from public_methods(thing)


def public_methods(of: type) -> Iterator[tuple[str, object]]:
    for name in vars(of):
        member = getattr(of, name)
        if inspect.isroutine(member) and not name.startswith("_") and name not in SIGNALS:
            yield f"{of.__name__}.{name}", member


def is_explained(thing: object) -> bool:
    documentation = inspect.getdoc(thing)
    # A dataclass or a named tuple without a docstring gets its signature as one.
    return bool(documentation) and not str(documentation).startswith(
        f"{getattr(thing, '__name__', '')}("
    )
