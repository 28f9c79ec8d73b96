"""What the letters of a marble diagram stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar, cast

from penstock.runtime import shorten
from penstock.testing.marbles import is_letter

__all__ = ["Alphabet"]

T = TypeVar("T")


class Alphabet(Generic[T]):
    """From letters to elements and back. Without ``values``, each letter stands for itself."""

    def __init__(self, values: Mapping[str, T] | None) -> None:
        if values is not None:
            _require_values(values)
        self._values = values

    def __contains__(self, letter: object) -> bool:
        return self._values is None or letter in self._values

    def element(self, letter: str) -> T:
        """What ``letter``, which is in the alphabet, stands for."""
        return cast(T, letter) if self._values is None else self._values[letter]

    def letter(self, element: T) -> str:
        """The first letter that stands for ``element``."""
        if self._values is None:
            if isinstance(element, str) and is_letter(element):
                return element
        else:
            for letter, value in self._values.items():
                if value is element or value == element:
                    return letter
        raise ValueError(
            f"no letter stands for the element {shorten(element)};"
            f" name one, as in values={{'a': {shorten(element)}}}"
        )


def _require_values(values: object) -> None:
    if not isinstance(values, Mapping):
        raise TypeError(f"values must map letters to elements, such as {{'a': 1}}, not {values!r}")
    for letter, element in values.items():
        if not isinstance(letter, str) or not is_letter(letter):
            raise ValueError(f"values must have letters or digits as keys, not {letter!r}")
        if element is None:
            raise TypeError(f"values must have no None, which is not an element, for {letter!r}")
