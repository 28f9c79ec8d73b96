"""The notation of marble diagrams: a stream as a line of text.

``-``      a frame, the unit of time, in which nothing happens
``a``      an element, in a frame of its own; any letter or digit
``|``      the stream completes
``#``      the stream fails
``(ab|)``  several signals in one frame

Spaces mean nothing, not even a frame. So in ``a-(bc)|`` the element a comes in frame 0, b and c
in frame 2, and the end in frame 3.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Final, Generic, NoReturn, TypeAlias, TypeVar, cast

from penstock.runtime import shorten

__all__ = [
    "COMPLETION",
    "FAILURE",
    "Alphabet",
    "Frames",
    "draw_marbles",
    "is_letter",
    "read_marbles",
]

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


COMPLETION: Final = "|"
FAILURE: Final = "#"

Frames: TypeAlias = tuple[tuple[str, ...], ...]
"""The signals of each frame, by the characters that stand for them."""


def read_marbles(diagram: str, known: Container[str] | None = None) -> Frames:
    """The frames of a diagram; a ``ValueError`` points at what is wrong with it.

    ``known`` are the letters that have a meaning, if not all have.
    """
    if not isinstance(diagram, str):
        raise TypeError(f"a marble diagram is a str, not {diagram!r}")
    return Reader(diagram, known).read()


def draw_marbles(frames: Iterable[tuple[str, ...]]) -> str:
    """The diagram of the frames."""
    return "".join(_draw(frame) for frame in frames)


def is_letter(text: str) -> bool:
    """Whether ``text`` can stand for an element."""
    return len(text) == 1 and text.isascii() and text.isalnum()


def _draw(frame: tuple[str, ...]) -> str:
    if not frame:
        return "-"
    return frame[0] if len(frame) == 1 else f"({''.join(frame)})"


class Reader:
    """Reads one diagram from left to right."""

    def __init__(self, diagram: str, known: Container[str] | None) -> None:
        self._diagram = diagram
        self._known = known
        self._position = 0
        self._frames: list[tuple[str, ...]] = []
        self._group: list[str] | None = None
        self._group_begins = 0
        self._ended = False

    def read(self) -> Frames:
        for position, character in enumerate(self._diagram):
            self._position = position
            if character != " ":
                self._take(character)
        if self._group is not None:
            self._complain("this group is never closed", self._group_begins)
        if not self._frames:
            raise ValueError("a marble diagram has at least one frame, such as '-'")
        return tuple(self._frames)

    def _take(self, character: str) -> None:
        if character == ")" and self._group is not None:
            self._close_group(self._group)
        elif self._ended:
            self._complain("nothing can follow the end of the stream")
        elif character == "(":
            self._open_group()
        elif character == ")":
            self._complain("no group is open that could be closed here")
        elif character == "-":
            self._pass_frame()
        else:
            self._take_signal(character)

    def _open_group(self) -> None:
        if self._group is not None:
            self._complain("a group cannot hold another one")
        self._group = []
        self._group_begins = self._position

    def _close_group(self, group: list[str]) -> None:
        if not group:
            self._complain("this group is empty; a frame without signals is '-'")
        self._frames.append(tuple(group))
        self._group = None

    def _pass_frame(self) -> None:
        if self._group is not None:
            self._complain("no time passes within a group")
        self._frames.append(())

    def _take_signal(self, character: str) -> None:
        self._require_meaning(character)
        self._ended = character in (COMPLETION, FAILURE)
        if self._group is None:
            self._frames.append((character,))
        else:
            self._group.append(character)

    def _require_meaning(self, character: str) -> None:
        if character in (COMPLETION, FAILURE):
            return
        if not is_letter(character):
            self._complain(f"{character!r} has no meaning; letters, digits and - ( ) | # have")
        if self._known is not None and character not in self._known:
            self._complain(f"values has no element for {character!r}")

    def _complain(self, problem: str, position: int | None = None) -> NoReturn:
        at = self._position if position is None else position
        shown = "".join(each if each.isprintable() else "?" for each in self._diagram)
        pointer = f"    {shown}\n    {' ' * at}^"
        raise ValueError(f"position {at} of the marble diagram: {problem}\n{pointer}")
