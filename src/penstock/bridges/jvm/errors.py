"""Errors both ways; one that crosses twice is the same one again."""

from __future__ import annotations

from typing import Any

import jpype

from penstock.bridges.jvm.jvm_process import java_class
from penstock.bridges.jvm.registry import held, hold

__all__ = ["JavaError", "error_to_java", "error_to_python"]


class JavaError(Exception):
    """A stream of Java failed; the throwable of Java is the ``__cause__``."""


def error_to_python(throwable: Any) -> Exception:
    """A throwable of Java as an exception of Python."""
    if isinstance(throwable, java_class("PythonException")):
        error: Exception = held(int(throwable.original.identity))
        return error
    wrapped = JavaError(str(throwable.toString()))
    wrapped.__cause__ = throwable
    return wrapped


def error_to_java(error: Exception) -> Any:
    """An exception of Python as a throwable of Java."""
    if isinstance(error, JavaError) and _is_throwable(error.__cause__):
        return error.__cause__
    if _is_throwable(error):
        return error
    cause = error.__cause__ if _is_throwable(error.__cause__) else None
    message = f"{type(error).__name__}: {error}"
    return java_class("PythonException")(message, cause, hold(error))


def _is_throwable(error: object) -> bool:
    return isinstance(error, jpype.JClass("java.lang.Throwable"))
