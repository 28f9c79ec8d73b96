"""The settings of a pipeline: its dataclass, filled from a file and from the command line."""

from __future__ import annotations

import tomllib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import (
    Any,
    Final,
    NamedTuple,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from penstock.pipeline.secret import Secret, SecretRefused, secret_from
from penstock.rules.catalogue import unknown
from penstock.runtime import shorten

__all__ = ["SettingsError", "filled", "read_assignments", "read_file"]

T = TypeVar("T")

WORDS: Final = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
    list: "a list",
    dict: "a table",
    Secret: "a secret: env:VARIABLE, file:PATH or prompt",
}


class SettingsError(ValueError):
    """Settings that cannot be; one sentence says why."""


def read_file(path: Path) -> dict[str, Any]:
    """What a TOML file says."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not text in UTF-8") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


class Assignment(NamedTuple):
    """A value from the command line, where a text needs no quotes."""

    text: str

    @property
    def value(self) -> Any:
        """What TOML makes of it, or the text itself."""
        try:
            found = tomllib.loads(f"value = {self.text}")
        except tomllib.TOMLDecodeError:
            return self.text
        return found["value"] if len(found) == 1 else self.text

    def __repr__(self) -> str:
        return repr(self.text)


def read_assignments(texts: Iterable[str]) -> dict[str, Assignment]:
    """Values from texts such as ``rate=50``."""
    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (equals and name.strip()):
            raise SettingsError(f"--set takes key=value, not {text!r}")
        values[name.strip()] = Assignment(value)
    return values


def filled(kind: type[T], given: Mapping[str, Any], place: str) -> T:
    """An instance of the dataclass ``kind`` with the values that ``place`` gives."""
    hints, known = get_type_hints(kind), {field.name: field for field in _fields(kind)}
    values = {}
    for name, value in given.items():
        where = "--set" if isinstance(value, Assignment) else place
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise SettingsError(f"{where}: {unknown('key', name, allowed=allowed, names=known)}")
        values[name] = _fitting(value, hints[name], f"{where}: {name}")
    for name, field in known.items():
        required = field.default is MISSING and field.default_factory is MISSING
        if required and name not in values:
            raise SettingsError(f"{place}: {name} must be set ({_words(hints[name])})")
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"{place}: {error}") from error


def _fields(kind: Any) -> Iterable[Any]:
    return (field for field in fields(kind) if field.init)


def _fitting(value: Any, hint: Any, what: str) -> Any:
    """``value`` as the type that the field has."""
    if Secret in _alternatives(hint):
        return _secret(value, what)
    for allowed in _alternatives(hint):
        convert = CONVERSIONS.get(get_origin(allowed) or allowed)
        if convert is None:
            # A type of the user's own, whose dataclass has to judge.
            return value.value if isinstance(value, Assignment) else value
        try:
            return convert(value)
        except TypeError:
            continue
    raise SettingsError(f"{what} must be {_words(hint)}, not {shorten(value)}")


def _secret(given: Any, what: str) -> Secret:
    on_command_line = isinstance(given, Assignment)
    try:
        return secret_from(
            _text(given) if on_command_line else given, what, on_command_line=on_command_line
        )
    except SecretRefused as refused:
        raise SettingsError(str(refused)) from None


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(each for each in get_args(hint) if each is not type(None))
    return (hint,)


def _words(hint: Any) -> str:
    names = [
        WORDS.get(get_origin(each) or each, getattr(each, "__name__", str(each)))
        for each in _alternatives(hint)
    ]
    return " or ".join(names)


def _exactly(kind: type) -> Callable[[Any], Any]:
    def convert(given: Any) -> Any:
        value = given.value if isinstance(given, Assignment) else given
        if type(value) is not kind:
            raise TypeError
        return value

    return convert


def _number(given: Any) -> float:
    value = given.value if isinstance(given, Assignment) else given
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


def _text(given: Any) -> str:
    """A text; one from the command line may look like a number, and stays as it was written."""
    if isinstance(given, Assignment):
        return given.value if isinstance(given.value, str) else given.text
    if not isinstance(given, str):
        raise TypeError
    return given


CONVERSIONS: Final[Mapping[Any, Callable[[Any], Any]]] = {
    str: _text,
    int: _exactly(int),
    float: _number,
    bool: _exactly(bool),
    Path: lambda value: Path(_text(value)),
    list: _exactly(list),
    tuple: lambda value: tuple(_exactly(list)(value)),
    dict: _exactly(dict),
}
