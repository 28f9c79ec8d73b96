"""Finds the places where a subject's modules hold values: names, attributes, defaults, closures.

A subject may bind a lock class long before it is explored: by ``from threading import Lock``, as
the default of an argument, as a class attribute, or in a closure as dataclasses do. Each such
place can be read and written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

__all__ = ["PatchedPlace", "places_in"]


@dataclass(frozen=True)
class PatchedPlace:
    """One place in the subject: what it held when it was found, and how to put something else."""

    value: Any
    put: Callable[[Any], None]


def places_in(modules: Sequence[ModuleType]) -> Iterator[PatchedPlace]:
    """Yield every place in ``modules``, and in the classes, functions and objects they define."""
    walk = _Walk({module.__name__ for module in modules})
    for module in modules:
        yield from walk.through_namespace(module)


class _Walk:
    def __init__(self, module_names: set[str]) -> None:
        self._module_names = module_names
        self._seen: set[int] = set()

    def through_namespace(self, owner: Any) -> Iterator[PatchedPlace]:
        """Yield the attributes of a module, a class or an object, and what is inside them."""
        for name, value in _attributes(owner).items():
            if isinstance(value, staticmethod):
                yield PatchedPlace(value.__func__, _static_setter(owner, name))
            else:
                yield PatchedPlace(value, _setter(owner, name))
            yield from self._inside(value)

    def _inside(self, value: Any) -> Iterator[PatchedPlace]:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        if isinstance(value, (staticmethod, classmethod)):
            yield from self._inside(value.__func__)
        elif isinstance(value, property):
            for function in (value.fget, value.fset, value.fdel):
                yield from self._inside(function)
        elif isinstance(value, FunctionType):
            yield from self._through_function(value)
        elif self._is_ours(value):
            yield from self.through_namespace(value)

    def _is_ours(self, value: Any) -> bool:
        kind = value if isinstance(value, type) else type(value)
        return kind.__module__ in self._module_names

    def _through_function(self, function: FunctionType) -> Iterator[PatchedPlace]:
        if function.__module__ not in self._module_names:
            return
        for index, value in enumerate(function.__defaults__ or ()):
            yield PatchedPlace(value, _default_setter(function, index))
            yield from self._inside(value)
        for name, value in (function.__kwdefaults__ or {}).items():
            yield PatchedPlace(value, _keyword_default_setter(function, name))
            yield from self._inside(value)
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:  # a name that is not bound yet
                continue
            yield PatchedPlace(value, _cell_setter(cell))
            yield from self._inside(value)


def _attributes(owner: Any) -> dict[str, Any]:
    attributes = dict(getattr(owner, "__dict__", {}))
    if not isinstance(owner, (type, ModuleType)):
        for kind in type(owner).__mro__:
            slots = vars(kind).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if name in vars(kind) and hasattr(owner, name):
                    attributes[name] = getattr(owner, name)
    return attributes


def _setter(owner: Any, name: str) -> Callable[[Any], None]:
    if isinstance(owner, (type, ModuleType)):
        return lambda value: setattr(owner, name, value)
    # An object may refuse assignment, as frozen dataclasses do.
    return lambda value: object.__setattr__(owner, name, value)


def _static_setter(owner: Any, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(owner, name, staticmethod(value))


def _default_setter(function: FunctionType, index: int) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        defaults = list(function.__defaults__ or ())
        defaults[index] = value
        function.__defaults__ = tuple(defaults)

    return put


def _keyword_default_setter(function: FunctionType, name: str) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), name: value}

    return put


def _cell_setter(cell: Any) -> Callable[[Any], None]:
    def put(value: Any) -> None:
        cell.cell_contents = value

    return put
