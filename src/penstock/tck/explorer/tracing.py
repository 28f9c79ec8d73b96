"""Levels of tracing, and the instructions at which each of them lets threads be switched."""

from __future__ import annotations

import builtins
import dis
import os
import sys
from _thread import get_ident
from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Self

from penstock.tck.explorer.task import controlled_threads

__all__ = [
    "BACK_JUMP",
    "CALL",
    "VISIBLE",
    "Level",
    "TracedSubject",
    "Tracer",
    "count_step",
    "imported",
    "is_explorers",
    "switch_point",
    "switch_table",
    "visible_table",
    "with_submodules",
]

_EXPLORER = str(Path(__file__).parent) + os.sep

CALL = 1
"""A call: CPython may switch after it, unless it entered a Python function."""
BACK_JUMP = 2
"""A jump backwards: CPython may switch on arrival."""
VISIBLE = 4
"""An instruction that reads or writes what other threads can see."""
_CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}
_SHARED_ACCESS = {
    "LOAD_ATTR",
    "LOAD_METHOD",
    "LOAD_SUPER_ATTR",
    "STORE_ATTR",
    "DELETE_ATTR",
    "STORE_GLOBAL",
    "DELETE_GLOBAL",
    "LOAD_DEREF",
    "STORE_DEREF",
    "DELETE_DEREF",
    "LOAD_CLASSDEREF",
    "LOAD_FROM_DICT_OR_DEREF",
    "BINARY_SUBSCR",
    "STORE_SUBSCR",
    "DELETE_SUBSCR",
    "BINARY_SLICE",
    "STORE_SLICE",
    "CONTAINS_OP",
    "FOR_ITER",
    "UNPACK_SEQUENCE",
    "UNPACK_EX",
    "LIST_EXTEND",
    "SET_UPDATE",
    "DICT_UPDATE",
    "DICT_MERGE",
}
_CONSTANTS = {"LOAD_CONST", "LOAD_SMALL_INT"}
_MARKS_METHODS = sys.version_info >= (3, 12)
_CONSTANT_KINDS = (ModuleType, type, FunctionType, BuiltinFunctionType)


class Level(Enum):
    """Where threads may be switched."""

    GIL = "gil"
    """At operations on primitives, and where CPython with its global lock can switch."""
    VISIBLE = "visible"
    """Before everything that other threads can see: what the language allows."""
    SYNC = "sync"
    """Only at primitives; quick, and blind to unlocked data."""


class Tracer:
    """Switch points in the subject's code; this one, for level ``sync``, adds none."""

    def __enter__(self) -> Self:
        """Prepare the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the process as it was."""

    def begin(self) -> None:
        """Prepare for a new run."""

    def attach(self) -> None:
        """Begin to trace the calling thread."""

    def detach(self) -> None:
        """Stop tracing the calling thread."""


def with_submodules(module: ModuleType) -> tuple[ModuleType, ...]:
    """The module, and of a package also those modules in it that are loaded.

    A package holds its modules by their names. Where it gives such a name to something else, as to
    a function of that module, the functions and classes that it has say where they come from.
    """
    prefix = module.__name__ + "."
    found: dict[str, ModuleType | None] = {module.__name__: module}
    waiting = [module] if hasattr(module, "__path__") else []
    while waiting:
        for known, part in _modules_seen_by(waiting.pop(), prefix).items():
            for name in _up_to(prefix, known):
                if name not in found:
                    found[name] = (part if name == known else None) or imported(name)
                    waiting += filter(None, [found[name]])
    return tuple(part for part in found.values() if part is not None)


def _up_to(prefix: str, name: str) -> Iterator[str]:
    """The name of a module, and those of the packages that it is in."""
    while name.startswith(prefix):
        yield name
        name = name.rpartition(".")[0]


def _modules_seen_by(module: ModuleType, prefix: str) -> dict[str, ModuleType | None]:
    """The modules that a module has; of others, from which it has something, the names."""
    names: dict[str, ModuleType | None] = {}
    for value in list(vars(module).values()):
        if isinstance(value, ModuleType):
            names[value.__name__] = value
        elif isinstance(value, (type, FunctionType)):
            names.setdefault(str(getattr(value, "__module__", "")))
    return {name: part for name, part in names.items() if name.startswith(prefix)}


def imported(name: str) -> ModuleType | None:
    """The module of an object that exists, by the name that it gives; code can be without one."""
    try:
        return import_module(name)
    except (ImportError, ValueError):
        return None


class TracedSubject:
    """Tells the subject's code from all other."""

    def __init__(self, modules: Sequence[ModuleType]) -> None:
        # By globals, since names of files are not unique: generated code has "<string>".
        self._namespaces = {id(vars(module)) for module in modules}

    def owns(self, frame: FrameType) -> bool:
        return id(frame.f_globals) in self._namespaces and frame.f_code.co_name != "<module>"


def switch_point(place: Hashable) -> None:
    """Offer the run that controls the calling thread to switch."""
    task = controlled_threads.get(get_ident())
    if task is not None:
        task.run.point(place)


def count_step() -> None:
    """Count a step of the run that controls the calling thread."""
    task = controlled_threads.get(get_ident())
    if task is not None:
        task.run.step()


def is_explorers(code: CodeType) -> bool:
    """Say whether code belongs to the explorer, which places its own switch points."""
    return code.co_filename.startswith(_EXPLORER)


def switch_table(code: CodeType) -> bytes:
    """Mark by offset the calls and back jumps of ``code``."""
    table = bytearray(len(code.co_code))
    for instruction in dis.get_instructions(code):
        if instruction.opname in _CALLS:
            table[instruction.offset] = CALL
        elif "JUMP_BACKWARD" in instruction.opname and "NO_INTERRUPT" not in instruction.opname:
            table[instruction.offset] = BACK_JUMP
    return bytes(table)


def visible_table(code: CodeType, names: Mapping[str, Any]) -> bytes:
    """Mark by offset the visible instructions of ``code``, whose globals are ``names``."""
    table = bytearray(len(code.co_code))
    visible_before: dis.Instruction | None = None
    before: dis.Instruction | None = None
    for instruction in dis.get_instructions(code):
        if _is_visible(instruction, before, visible_before, names):
            table[instruction.offset] = VISIBLE
            visible_before = instruction
        elif "JUMP_BACKWARD" in instruction.opname:
            table[instruction.offset] = BACK_JUMP
        if instruction.opname not in ("PRECALL", "CACHE", "EXTENDED_ARG", "COPY", "TO_BOOL"):
            before = instruction
    return bytes(table)


def _is_visible(
    instruction: dis.Instruction,
    before: dis.Instruction | None,
    visible_before: dis.Instruction | None,
    names: Mapping[str, Any],
) -> bool:
    name = instruction.opname
    if name in _SHARED_ACCESS:
        return True
    if name in _CALLS:
        # Finding a method and calling it is one step unless something visible lies between.
        return visible_before is None or not _loads_method(visible_before)
    if name == "LOAD_GLOBAL":
        value = names.get(instruction.argval, vars(builtins).get(instruction.argval))
        return not isinstance(value, _CONSTANT_KINDS)
    if name == "BINARY_OP" and instruction.argrepr == "[]":
        return True  # a subscript, from Python 3.14 on
    if name == "BINARY_OP" and instruction.argrepr.endswith("="):
        return before is None or before.opname not in _CONSTANTS
    # The truth of a container in a local variable may depend on other threads.
    tests_truth = name.startswith("POP_JUMP") and "NONE" not in name
    return tests_truth and before is not None and before.opname.startswith("LOAD_FAST")


def _loads_method(instruction: dis.Instruction) -> bool:
    if instruction.opname == "LOAD_METHOD":
        return True
    # From 3.12 on, the lowest bit says that an attribute is loaded to be called.
    loads_attribute = instruction.opname in ("LOAD_ATTR", "LOAD_SUPER_ATTR")
    return _MARKS_METHODS and loads_attribute and bool((instruction.arg or 0) & 1)
