"""The checks of what is given to a connector: errors at assembly, in the words of the connector."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from penstock.api import Publisher
from penstock.core import shorten
from penstock.flow import Flow
from penstock.runtime import shown_address

__all__ = [
    "PathGiven",
    "require_choice",
    "require_file",
    "require_flow",
    "require_folder_path",
    "require_path",
    "require_port",
    "require_texts",
    "require_url",
]

PathGiven = str | PathLike[str]
"""A path as the user gives it."""


def require_path(connector: str, path: PathGiven) -> Path:
    """``path``, when it is one and not that of a folder."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"{connector} needs the path of a file, not {shorten(path)}")
    found = Path(path)
    if found.is_dir():
        raise IsADirectoryError(f"{connector} needs a file, and {found} is a folder")
    return found


def require_folder_path(connector: str, path: PathGiven) -> Path:
    """``path``, when it is one and not that of a file."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"{connector} needs the path of a folder, not {shorten(path)}")
    found = Path(path)
    if found.exists() and not found.is_dir():
        raise NotADirectoryError(f"{connector} needs a folder, and {found} is a file")
    return found


def require_file(connector: str, path: PathGiven) -> Path:
    """``path``, when there is a file."""
    found = require_path(connector, path)
    if not found.exists():
        raise FileNotFoundError(f"{connector}: there is no file {found}")
    return found


def require_flow(connector: str, flow: Publisher[Any]) -> Flow[Any]:
    """``flow``, when it is one; only a flow knows how to go on after a restart."""
    if not isinstance(flow, Flow):
        raise TypeError(f"{connector} needs a Flow, not {shorten(flow)}")
    return flow


def require_url(connector: str, url: str, schemes: Sequence[str]) -> str:
    """``url``, when it has one of ``schemes`` and a host."""
    allowed = " or ".join(f"{scheme}://" for scheme in schemes)
    if not isinstance(url, str):
        raise TypeError(f"{connector} needs a url that begins with {allowed}, not {shorten(url)}")
    shown = shorten(shown_address(url))
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:  # whose text may show a part of a password
        raise ValueError(
            f"{connector}: the url {shown} is none: a port is a number from 0 to 65535, and in a "
            "password / ? # and @ are written as %2F %3F %23 and %40"
        ) from None
    if parts.scheme not in schemes:
        raise ValueError(f"{connector}: a url begins with {allowed}, not so {shown}")
    if not host:
        raise ValueError(f"{connector}: the url {shown} names no host")
    return url


def require_port(connector: str, port: object) -> int:
    """``port``, when it is one; 0 stands for any that is free."""
    if not isinstance(port, int) or isinstance(port, bool):
        raise TypeError(f"{connector}: port must be an int, not {shorten(port)}")
    if not 0 <= port <= 65535:
        raise ValueError(f"{connector}: port must be from 0, for any, to 65535, not {port}")
    return port


def require_choice(connector: str, name: str, value: str, allowed: Iterable[str]) -> str:
    """``value``, when it is one of ``allowed``."""
    choices = list(allowed)
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{connector}: {name} must be one of {listed}, not {shorten(value)}")
    return value


def require_texts(connector: str, name: str, values: Iterable[str]) -> list[str]:
    """``values``, when they are texts, and not one text."""
    texts = [values] if isinstance(values, str) else list(values)
    if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"{connector}: {name} must be a list of texts, not {shorten(values)}")
    return texts
