"""``module:name`` on the command line: what it refers to, or one sentence on why there is none."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.rules.lookup import unknown

__all__ = ["load"]


def load(reference: str) -> Any:
    """The object that ``module:name`` refers to; a ``ValueError`` says what is wrong.

    Modules of the current directory are found as well.
    """
    module_name, _, path = reference.partition(":")
    if not (module_name and path):
        raise ValueError(
            f"{reference!r} refers to nothing; write module:name, as in prices:make_publisher"
        )
    found: Any = _import(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise _no_such_name(module_name, name, found)
        found = getattr(found, name)
    return found


def _import(name: str) -> ModuleType:
    # As python -m does, and a script that pip installs does not.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name and f"{name}.".startswith(f"{missing.name}."):
            raise ValueError(f"there is no module {missing.name!r}, here or installed") from None
        raise ValueError(f"{name} needs {missing.name!r}, which is not installed") from None
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"importing {name} raised {what}{_place(error)}") from None


def _place(error: BaseException) -> str:
    """Where a module raised; the message of a syntax error says that by itself."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    is_importing = frame.filename == importlib.__file__ or frame.filename.startswith("<")
    return "" if is_importing else f", at {Path(frame.filename).name}:{frame.lineno}"


def _no_such_name(module: str, name: str, owner: object) -> ValueError:
    made_there = [
        public
        for public, thing in vars(owner).items()
        if not public.startswith("_") and getattr(thing, "__module__", None) == module
    ]
    allowed = f"these in {module}: {', '.join(made_there) or 'none'}"
    return unknown("name", name, allowed=allowed, names=made_there)
