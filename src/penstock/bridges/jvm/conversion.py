"""What crosses between Python and Java: elements by columns, errors, and objects that are held.

A crossing costs as much for one element as for many. An error that crosses twice is the same one
again.
"""

from __future__ import annotations

import struct
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import jpype

from penstock.bridges.jvm.jvm_process import java_class

__all__ = [
    "JavaError",
    "elements_of",
    "error_to_java",
    "error_to_python",
    "held",
    "hold",
    "numbers_of",
    "release",
    "to_columns",
]

LONG, DOUBLE, BOOLEAN, STRING, BYTES, OPAQUE, OTHER = range(7)

Columns: TypeAlias = tuple[Any, Any, Any, Any]
"""Kinds, numbers, text and objects, as arrays of Java."""

_UTF_16: Final = ("utf-16-le", "surrogatepass")  # Java has halves of characters, too
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
NOTHING: Final[Mapping[int, Any]] = MappingProxyType({})
_LARGE: Final = 2**20
"""Bytes of text in a chunk with which it is large enough."""


def elements_of(chunk: Any) -> Sequence[Any]:
    """The elements of a chunk that Java has made."""
    kinds = bytes(memoryview(chunk.kinds))
    if not kinds:
        return ()
    if kinds.count(kinds[0]) == len(kinds):  # mostly all are of one kind
        if kinds[0] == LONG:
            return numbers_of(chunk.numbers)
        if kinds[0] == DOUBLE:
            return memoryview(chunk.numbers).cast("B").cast("d").tolist()
    return list(_read(kinds, numbers_of(chunk.numbers), chunk))


def numbers_of(longs: Any) -> list[int]:
    """The numbers of an array of Java."""
    return memoryview(longs).cast("B").cast("q").tolist()


def _read(kinds: bytes, numbers: list[int], chunk: Any) -> Iterator[Any]:
    text = b"" if chunk.text is None else bytes(memoryview(chunk.text))
    objects = chunk.objects
    start = 0
    for index, (kind, number) in enumerate(zip(kinds, numbers, strict=True)):
        if kind == STRING:
            yield text[start:number].decode(*_UTF_16)
            start = number
        elif kind == BYTES:
            yield text[start:number]
            start = number
        elif kind == OTHER:
            yield objects[index]
        else:
            yield _number_to_element(kind, number)


def _number_to_element(kind: int, number: int) -> Any:
    if kind == DOUBLE:
        return struct.unpack("d", struct.pack("q", number))[0]
    if kind == BOOLEAN:
        return number != 0
    return held(number) if kind == OPAQUE else number


def to_columns(elements: list[Any]) -> Iterator[Columns]:
    """The columns for Java: those of one chunk, or of several ones if there is much text."""
    types = set(map(type, elements))
    if types == {float}:
        bits = array("q", array("d", elements).tobytes())
        yield _to_java(bytes([DOUBLE]) * len(elements), bits)
    elif types == {int} and min(elements) >= _SMALLEST and max(elements) <= _LARGEST:
        yield _to_java(bytes(len(elements)), array("q", elements))
    else:
        rest = iter(elements)
        while (columns := _write(rest)) is not None:
            yield columns


def _write(elements: Iterator[Any]) -> Columns | None:
    """Take elements for one chunk; nothing if there are none left."""
    kinds, numbers = bytearray(), array("q")
    text: list[bytes] = []
    others: dict[int, Any] = {}
    size = 0
    for element in elements:
        kind, content = _classified(element)
        if isinstance(content, bytes):
            text.append(content)
            size += len(content)
            content = size
        elif kind == OTHER:
            others[len(kinds)] = element
        kinds.append(kind)
        numbers.append(content)
        if size >= _LARGE:
            break
    return _to_java(kinds, numbers, b"".join(text), others) if kinds else None


def _classified(element: Any) -> tuple[int, int | bytes]:
    """The kind of an element, and its number, or its text."""
    kind = type(element)  # what is derived from it is something else, and comes back as it was
    found: tuple[int, int | bytes]
    if kind is str:
        found = STRING, element.encode(*_UTF_16)
    elif kind is bytes:
        found = BYTES, element
    elif kind is float:
        found = DOUBLE, struct.unpack("q", struct.pack("d", element))[0]
    elif kind is bool:
        found = BOOLEAN, int(element)
    elif kind is int and _SMALLEST <= element <= _LARGEST:
        found = LONG, element
    elif isinstance(element, jpype.JObject):
        found = OTHER, 0
    else:
        found = OPAQUE, hold(element)
    return found


def _to_java(
    kinds: bytes | bytearray,
    numbers: array[int],
    text: bytes | None = None,
    others: Mapping[int, Any] = NOTHING,
) -> Columns:
    objects: Any = None
    if others:
        objects = jpype.JArray(jpype.JObject)(len(kinds))
        for index, element in others.items():
            objects[index] = element
    return (
        jpype.JArray(jpype.JByte)(kinds),
        jpype.JArray(jpype.JLong)(numbers),
        None if text is None else jpype.JArray(jpype.JByte)(text),
        objects,
    )


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


_objects: dict[int, list[Any]] = {}
_lock = threading.Lock()


def hold(thing: Any) -> int:
    """Keep an object for Java once more; its identity there."""
    identity = id(thing)
    with _lock:
        # As many references as Java has, so that the last one to be released frees the object.
        _objects.setdefault(identity, []).append(thing)
    return identity


def held(identity: int) -> Any:
    """The object with that identity, which Java holds."""
    return _objects[identity][0]


def release(identities: Iterable[int]) -> None:
    """Java holds each of these once less."""
    with _lock:
        for identity in identities:
            references = _objects[identity]
            references.pop()
            if not references:
                del _objects[identity]
