"""The checks of arguments: errors at assembly that name the place, the value and what is allowed.

Each takes ``where`` the argument was given: an operator, a connector, a class. The functions that
operators take are checked in ``penstock.flow.checks``, what comes with signals in
``penstock.core.checks``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from inspect import getattr_static
from operator import index
from os import PathLike
from pathlib import Path
from threading import TIMEOUT_MAX
from typing import Any, SupportsIndex, TypeAlias
from urllib.parse import urlsplit

from penstock.api import UNBOUNDED
from penstock.runtime.executor import Clock, Executor
from penstock.runtime.shown_text import shorten, shown_address

__all__ = [
    "ErrorKinds",
    "PathGiven",
    "require_choice",
    "require_clock",
    "require_delay",
    "require_error",
    "require_error_kinds",
    "require_executor",
    "require_file",
    "require_flag",
    "require_folder_path",
    "require_int",
    "require_integers",
    "require_kinds",
    "require_path",
    "require_port",
    "require_seconds",
    "require_text",
    "require_texts",
    "require_url",
]

ErrorKinds: TypeAlias = type[Exception] | tuple[type[Exception], ...]
"""A class of errors, or several, as ``except`` takes them."""

PathGiven: TypeAlias = str | PathLike[str]
"""A path as the user gives it."""


# Numbers.


def require_int(where: str, name: str, value: object, *, least: int = 1) -> int:
    """``value``, when it is an ``int`` from ``least`` to what is as good as no bound."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{where}: {name} must be an int of at least {least}, not {shorten(value)}")
    if value < least:
        raise ValueError(f"{where}: {name} must be at least {least}, not {shorten(value)}")
    if value > UNBOUNDED:
        raise ValueError(f"{where}: {name} must be at most UNBOUNDED, not {shorten(value)}")
    return value


def require_integers(where: str, values: Iterable[SupportsIndex]) -> list[int]:
    """``values`` as whole numbers, when they are."""
    for value in values:
        if not hasattr(value, "__index__"):
            raise TypeError(f"{where} needs whole numbers, not {shorten(value)}")
    return [index(value) for value in values]


def require_seconds(
    where: str, name: str, value: float | timedelta, *, or_zero: bool = False
) -> float:
    """``value`` in seconds, when it is a duration above zero, or zero where that has a meaning."""
    seconds: Any = value.total_seconds() if isinstance(value, timedelta) else value
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        raise TypeError(f"{where}: {name} must be seconds or a timedelta, not {shorten(value)}")
    if not (0 < seconds < TIMEOUT_MAX or (or_zero and seconds == 0)):
        least = "0 seconds or more" if or_zero else "above 0 seconds"
        most = f" and below {TIMEOUT_MAX:.0f}" if seconds != seconds or seconds > 0 else ""
        raise ValueError(f"{where}: {name} must be {least}{most}, not {shorten(value)}")
    return float(seconds)


def require_delay(seconds: float) -> float:
    """``seconds``, when a clock can wait for them; below zero counts as zero."""
    if not seconds <= TIMEOUT_MAX:
        raise ValueError(f"{seconds!r} is no number of seconds that can be waited for")
    return max(seconds, 0.0)


def require_port(where: str, port: object) -> int:
    """``port``, when it is one; 0 stands for any that is free."""
    if not isinstance(port, int) or isinstance(port, bool):
        raise TypeError(f"{where}: port must be an int, not {shorten(port)}")
    if not 0 <= port <= 65535:
        raise ValueError(f"{where}: port must be from 0, for any, to 65535, not {port}")
    return port


# Words.


def require_flag(where: str, name: str, value: object) -> bool:
    """``value``, when it is a ``bool``: a text that says no would count as yes."""
    if not isinstance(value, bool):
        raise TypeError(f"{where}: {name} must be True or False, not {shorten(value)}")
    return value


def require_text(where: str, name: str, value: str) -> str:
    """``value``, when it is a ``str`` that says something."""
    if not isinstance(value, str):
        raise TypeError(f"{where}: {name} must be a str, not {shorten(value)}")
    if not value.strip():
        raise ValueError(f"{where}: {name} must not be empty")
    return value


def require_texts(where: str, name: str, values: Iterable[str]) -> list[str]:
    """``values``, when they are texts, and not one text."""
    texts = [values] if isinstance(values, str) else list(values)
    if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{where}: {name} must be a list of texts, not {shorten(values)}")
    return texts


def require_choice(where: str, name: str, value: str, allowed: Iterable[str]) -> str:
    """``value``, when it is one of ``allowed``."""
    choices = list(allowed)
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{where}: {name} must be one of {listed}, not {shorten(value)}")
    return value


# Classes and objects.


def require_error(where: str, error: Exception) -> Exception:
    """``error``, when it is one that can be signalled."""
    if not isinstance(error, Exception):
        raise TypeError(f"{where} needs an instance of Exception, not {shorten(error)}")
    return error


def require_error_kinds(where: str, kinds: ErrorKinds) -> ErrorKinds:
    """``kinds``, when they are classes of errors that can be handled."""
    each: tuple[object, ...] = kinds if isinstance(kinds, tuple) else (kinds,)
    if not each:
        raise ValueError(f"{where} handles at least one subclass of Exception, not ()")
    for kind in each:
        if not isinstance(kind, type) or not issubclass(kind, Exception):
            raise TypeError(f"{where} handles subclasses of Exception, not {shorten(kind)}")
    return kinds


def require_kinds(where: str, kinds: type | tuple[type, ...]) -> type | tuple[type, ...]:
    """``kinds``, when they are classes, as ``isinstance`` takes them."""
    each: tuple[object, ...] = kinds if isinstance(kinds, tuple) else (kinds,)
    if not each:
        raise ValueError(f"{where}: only must be a class, or several, not ()")
    for kind in each:
        if not isinstance(kind, type):
            raise TypeError(f"{where}: only must be a class, or several, not {shorten(kind)}")
    return kinds


def require_executor(where: str, executor: Executor) -> Executor:
    """``executor``, when it is one."""
    if not _has_methods(executor, "execute"):
        raise TypeError(
            f"{where} needs an executor, such as ThreadPool(), which has a method execute(task), "
            f"not {shorten(executor)}"
        )
    return executor


def require_clock(where: str, clock: Clock | None) -> Clock | None:
    """``clock``, when it is one, or none for real time."""
    if clock is not None and not _has_methods(clock, "now", "call_later"):
        raise TypeError(
            f"{where} needs a clock, such as VirtualTime(), or None for real time, "
            f"not {shorten(clock)}"
        )
    return clock


# Files and addresses.


def require_path(where: str, path: PathGiven) -> Path:
    """``path``, when it is one and not that of a folder."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"{where} needs the path of a file, not {shorten(path)}")
    found = Path(path)
    if found.is_dir():
        raise IsADirectoryError(f"{where} needs a file, and {found} is a folder")
    return found


def require_folder_path(where: str, path: PathGiven) -> Path:
    """``path``, when it is one and not that of a file."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"{where} needs the path of a folder, not {shorten(path)}")
    found = Path(path)
    if found.exists() and not found.is_dir():
        raise NotADirectoryError(f"{where} needs a folder, and {found} is a file")
    return found


def require_file(where: str, path: PathGiven) -> Path:
    """``path``, when there is a file."""
    found = require_path(where, path)
    if not found.exists():
        raise FileNotFoundError(f"{where}: there is no file {found}")
    return found


def require_url(where: str, url: str, schemes: Sequence[str]) -> str:
    """``url``, when it has one of ``schemes`` and a host."""
    allowed = " or ".join(f"{scheme}://" for scheme in schemes)
    if not isinstance(url, str):
        raise TypeError(f"{where} needs a url that begins with {allowed}, not {shorten(url)}")
    shown = shorten(shown_address(url))
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:  # whose text may show a part of a password
        raise ValueError(
            f"{where}: the url {shown} is none: a port is a number from 0 to 65535, and in a "
            "password / ? # and @ are written as %2F %3F %23 and %40"
        ) from None
    if parts.scheme not in schemes:
        raise ValueError(f"{where}: a url begins with {allowed}, not so {shown}")
    if not host:
        raise ValueError(f"{where}: the url {shown} names no host")
    return url


def _has_methods(thing: object, *names: str) -> bool:
    """Whether a class gives them to ``thing``; one that answers any name does not count."""
    return not isinstance(thing, type) and all(getattr_static(thing, name, None) for name in names)
