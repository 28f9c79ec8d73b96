"""Expressions over the current element, which are written into the loop of a flow.

``X`` stands for the element: ``flow.map(X + 1).filter(X % 2 == 0)`` runs without calling a function
per element. An expression is the text of a Python expression, with ``{x}`` where the element goes
and ``{0}``, ``{1}``, ... where its constants go.

That text is run. So nothing that a user hands over becomes a part of it: values are constants,
which have a name of ours, and the names of attributes and keywords have to be names.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from penstock.core import is_identifier
from penstock.runtime import shorten

__all__ = ["Expression", "X", "calculates", "constants_of", "inlined", "text_of"]


MOST_OPERATIONS: Final = 100
"""Python reads 200 nested parentheses, and an operator of the loop may add its own."""


class Expression:
    """A calculation with the current element. Make one from ``X``, by operators or attributes."""

    __slots__ = ("_calculates", "_constants", "_text")
    __hash__ = None  # type: ignore[assignment]  # == makes an expression

    def __init__(
        self, text: str, constants: tuple[object, ...] = (), *, calculates: bool = False
    ) -> None:
        self._text = text
        self._constants = constants
        self._calculates = calculates

    def __getattr__(self, name: str) -> Expression:
        if name.startswith("__"):
            raise AttributeError(name)
        if not is_identifier(name):
            raise AttributeError(not_a_name("an attribute", name))
        return Expression(f"{self._text}.{name}", self._constants)

    def __getitem__(self, key: object) -> Expression:
        return _combine("{}[{}]", self, key)

    def __call__(self, *arguments: object, **keywords: object) -> Expression:
        for name in keywords:
            if not is_identifier(name) or name == "__debug__":  # to which Python assigns nothing
                raise TypeError(not_a_name("a keyword", name))
        places = ", ".join(["{}"] * len(arguments) + [f"{name}={{}}" for name in keywords])
        return _combine(f"{{}}({places})", self, *arguments, *keywords.values())

    def __bool__(self) -> bool:
        raise TypeError(
            "an expression has no truth value before there is an element: "
            "combine conditions with & and |, or use a lambda"
        )

    def __iter__(self) -> object:
        raise TypeError("an expression cannot be iterated: use a lambda")

    def __contains__(self, element: object) -> bool:
        raise TypeError("an expression cannot be asked with in: use a lambda")

    def __repr__(self) -> str:
        constants = (repr(constant) for constant in self._constants)
        return f"<{self._text.format(*constants, x='X')}>"


def not_a_name(what: str, name: str) -> str:
    """Why the name of an attribute or keyword is refused."""
    return (
        f"X takes a name as {what}, which is no word of Python and in its NFKC form, "
        f"not {shorten(name)}: use a lambda with getattr"
    )


def _combine(pattern: str, *parts: object, calculates: bool = False) -> Expression:
    """An expression of parts, some of which are expressions and the others constants."""
    texts: list[str] = []
    constants: tuple[object, ...] = ()
    for part in parts:
        if isinstance(part, Expression):
            texts.append(_renumbered(part, len(constants)))
            constants += part._constants
        else:
            texts.append(f"{{{len(constants)}}}")
            constants += (part,)
    text = pattern.format(*texts)
    if text.count("(") > MOST_OPERATIONS:
        raise ValueError(f"an expression has at most {MOST_OPERATIONS} operations: use a lambda")
    return Expression(text, constants, calculates=calculates)


def _renumbered(part: Expression, first: int) -> str:
    numbers = (f"{{{first + number}}}" for number in range(len(part._constants)))
    return part._text.format(*numbers, x="{x}")


BINARY: Final = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "matmul": "@",
}  # fmt: skip
COMPARISONS: Final = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
UNARY: Final = {"neg": "(-{})", "pos": "(+{})", "invert": "(~{})", "abs": "abs({})"}


def _define_operators() -> None:
    for name, sign in (BINARY | COMPARISONS).items():
        pattern = f"({{}} {sign} {{}})"
        setattr(Expression, f"__{name}__", _binary(pattern))
        if name in BINARY:
            setattr(Expression, f"__r{name}__", _reflected(pattern))
    for name, pattern in UNARY.items():
        setattr(Expression, f"__{name}__", _unary(pattern))


def _binary(pattern: str) -> Callable[[Expression, object], Expression]:
    return lambda self, other: _combine(pattern, self, other, calculates=True)


def _reflected(pattern: str) -> Callable[[Expression, object], Expression]:
    return lambda self, other: _combine(pattern, other, self, calculates=True)


def _unary(pattern: str) -> Callable[[Expression], Expression]:
    return lambda self: _combine(pattern, self, calculates=True)


_define_operators()

X: Final[Any] = Expression("{x}")
"""The current element; typed ``Any``, so that ``X.name`` and ``X + 1`` pass a type checker."""


def _signs() -> dict[object, str]:
    signs: dict[object, str] = {}
    for name, sign in (BINARY | COMPARISONS).items():
        function = getattr(operator, name, None) or getattr(operator, f"{name}_")
        signs[function] = f"({{a}} {sign} {{x}})"
    return signs


INLINED: Final = _signs()
"""Functions of two arguments that are as good as an operator in the text."""


def inlined(function: object, *, arguments: tuple[str, ...] = ("{x}",)) -> Expression:
    """The text that calls ``function`` in a loop, or does without a call where that is possible.

    ``arguments`` are the places of what it is called with.
    """
    if isinstance(function, Expression):
        return function
    try:
        text = INLINED.get(function) if len(arguments) == 2 else None
    except TypeError:  # a callable that cannot be hashed
        text = None
    if text is not None:
        return Expression(text)
    return Expression(f"{{0}}({', '.join(arguments)})", (function,))


def text_of(expression: Expression) -> str:
    """The text, with places for the element and for the constants."""
    return expression._text


def calculates(expression: Expression) -> bool:
    """Whether it is the result of an arithmetic operator, which as good as never is ``None``."""
    return expression._calculates


def constants_of(expression: Expression) -> tuple[object, ...]:
    """What goes into the places of the constants."""
    return expression._constants
