"""``module:name`` on the command line: what it refers to, or one sentence on why there is none."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock.rules.catalogue import unknown

__all__ = ["load"]


def load(reference: str, wanted: type | None = None) -> Any:
    """The object that ``module:name`` refers to; a ``ValueError`` says what is wrong.

    Modules of the current directory are found as well. If there is no such name, the error lists
    those of what is ``wanted``, or else of all that the module defines.
    """
    module_name, _, path = reference.partition(":")
    if not (module_name and path):
        raise ValueError(
            f"{reference!r} refers to nothing; write module:name, as in prices:make_publisher"
        )
    found: Any = _import(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise _no_such_name(module_name, name, found, wanted)
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
        raise ValueError(f"importing {name} raised {what}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """Where a module raised; the message of a syntax error already says that."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    is_importing = frame.filename == importlib.__file__ or frame.filename.startswith("<")
    return "" if is_importing else f", at {Path(frame.filename).name}:{frame.lineno}"


def _no_such_name(module: str, name: str, owner: object, wanted: type | None) -> ValueError:
    def fits(thing: object) -> bool:
        if wanted is not None:
            return isinstance(thing, wanted)
        return getattr(thing, "__module__", None) == module

    names = [
        public
        for public, thing in getattr(owner, "__dict__", {}).items()
        if not public.startswith("_") and fits(thing)
    ]
    allowed = f"these in {module}: {', '.join(names) or 'none'}"
    return unknown("name", name, allowed=allowed, names=names)
