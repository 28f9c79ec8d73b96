"""The functions of the user that keep state themselves, known by what they do.

Two functions are the same if their code is, whatever line it stands on. Only a classic session
gives them back; over Spark Connect nobody here can see them.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from hashlib import sha256
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["code_of_functions", "digest_of"]

WITH_FUNCTION: Final = {"FlatMapGroupsInPandasWithState", "TransformWithStateInPySpark"}
OWN: Final = ("pyspark.", "builtins", "pandas.", "pyarrow.", "penstock.")


def code_of_functions(frame: DataFrame) -> list[str]:
    """A line for each function that keeps state."""
    java: Any = getattr(frame, "_jdf", None)
    if java is None:
        return []
    return [
        f"the code of {node.nodeName()}: {digest_of(function_in(node))}"
        for node in plan_nodes(java.queryExecution().analyzed())
        if node.nodeName() in WITH_FUNCTION
    ]


def plan_nodes(node: Any) -> Iterator[Any]:
    """A plan in the JVM, each operator before those upstream of it."""
    yield node
    upstream = node.children()
    for number in range(upstream.size()):
        yield from plan_nodes(upstream.apply(number))


def function_in(node: Any) -> Any:
    """The function that a worker will get, as this program has just pickled it."""
    function, *_ = pickle.loads(bytes(node.functionExpr().func().command().unsafeArray()))
    return function


def digest_of(function: Any) -> str:
    """Tells functions that do something else from each other."""
    return sha256("\n".join(code_in(function, set())).encode()).hexdigest()[:16]


def code_in(thing: Any, seen: set[int]) -> Iterator[str]:
    """The code of the user that can be reached from ``thing``."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, MethodType):
        yield from code_in(thing.__func__, seen)
        yield from code_in(thing.__self__, seen)
    elif isinstance(thing, FunctionType):
        if not thing.__module__.startswith(OWN):
            yield from lines_of(thing.__code__)
        for cell in thing.__closure__ or ():
            yield from code_in(cell.cell_contents, seen)
    elif isinstance(thing, type):
        if not thing.__module__.startswith(OWN):
            for name, value in sorted(vars(thing).items(), key=lambda item: item[0]):
                yield from code_in(getattr(value, "__func__", value), seen)
                yield name if callable(value) else ""
    else:
        yield from code_in(type(thing), seen)
        for _, value in sorted(getattr(thing, "__dict__", {}).items()):
            yield from code_in(value, seen)


def lines_of(code: CodeType) -> Iterator[str]:
    """What a piece of code does, and the names and constants that it does it with."""
    yield code.co_code.hex()
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from lines_of(constant)
        elif isinstance(constant, frozenset):
            yield from sorted(map(repr, constant))
        else:
            yield repr(constant)
