"""Settings that are shown to nobody: where they come from, and what is made of them."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Callable, Mapping
from getpass import getpass
from pathlib import Path
from typing import Any, Final, NoReturn

__all__ = ["Secret", "SecretRefused", "secret_from"]

LONGEST: Final = 1 << 16
HIDDEN: Final = "Secret(***)"


class SecretRefused(ValueError):
    """A secret that cannot be had, or must not be had this way. Its text is not in the message."""


class Secret:
    """A text that is shown to nobody: a password, a token.

    As the type of a field in the settings of a pipeline it is read from where the settings say:
    ``env:NAME``, ``file:PATH`` or ``prompt``. Wherever it is shown, it is shown as ``Secret(***)``;
    ``reveal`` gives the text itself.

    >>> password = Secret("hunter2")
    >>> password
    Secret(***)
    >>> f"{password}"
    'Secret(***)'
    >>> password.reveal()
    'hunter2'
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a Secret is a text, not a {type(text).__name__}")
        self._text = text

    def reveal(self) -> str:
        """The text itself. Do not keep it, and do not write it down."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __format__(self, form: str) -> str:
        return format(HIDDEN, form)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return secrets.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: object) -> Secret:
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        # It would stand in the plan of a query, or in a file, where others can read it.
        raise TypeError(
            "a Secret does not leave its process: use it there, or let the workers read it "
            "themselves"
        )


def secret_from(given: object, what: str, *, on_command_line: bool) -> Secret:
    """The secret that is to be read from where ``given`` says; ``what`` names it in errors."""
    source, colon, rest = given.partition(":") if isinstance(given, str) else ("", "", "")
    read = SOURCES.get(source)
    if read is None or bool(colon) != (source != "prompt") or (colon and not rest):
        raise SecretRefused(_how_to_write(what, on_command_line=on_command_line))
    text = read(rest, what)
    if not text:
        raise SecretRefused(f"{what}: the secret is empty")
    return Secret(text)


def _how_to_write(what: str, *, on_command_line: bool) -> str:
    name = what.rpartition(": ")[2]
    readers = "all users of this machine" if on_command_line else "all who have the file"
    return (
        f"{what} is a secret, and {readers} could read it here; say where it is: "
        f"{name}=env:VARIABLE, {name}=file:PATH or {name}=prompt"
    )


def _from_environment(name: str, what: str) -> str:
    try:
        return os.environ[name]
    except KeyError:
        raise SecretRefused(f"{what}: there is no environment variable {name}") from None


def _from_file(name: str, what: str) -> str:
    path = Path(name).expanduser()
    try:
        # Without waiting for the process at the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            _require_own(os.fstat(descriptor), path, what)
            content = os.read(descriptor, LONGEST + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SecretRefused(f"{what}: {path} cannot be read: {error.strerror}") from None
    if len(content) > LONGEST:
        raise SecretRefused(f"{what}: {path} has more than {LONGEST:,} bytes, and holds no secret")
    try:
        return content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise SecretRefused(f"{what}: {path} is not text in UTF-8") from None


def _require_own(found: os.stat_result, path: Path, what: str) -> None:
    """Refuse a file that others can read, or can have written."""
    if not stat.S_ISREG(found.st_mode):
        raise SecretRefused(f"{what}: {path} is not a file")
    if found.st_uid != os.geteuid():
        raise SecretRefused(
            f"{what}: {path} belongs to another user; a secret is for its owner alone"
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise SecretRefused(
            f"{what}: others can use {path}, and may know the secret; change it, and close the "
            f"file: chmod 600 {path}"
        )


def _from_terminal(_: str, what: str) -> str:
    if not sys.stdin.isatty():
        raise SecretRefused(f"{what}: there is no terminal at which to ask for it")
    return getpass(f"{what.rpartition(': ')[2]}: ", stream=sys.stderr)


SOURCES: Final[Mapping[str, Callable[[str, str], str]]] = {
    "env": _from_environment,
    "file": _from_file,
    "prompt": _from_terminal,
}
