"""Marble diagrams as pictures, from the text that the tests run.

The notation is that of ``penstock.testing``; besides letters, an element may be a word in braces.
Colours are those of the theme, so a picture is right in the light and in the dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from penstock.testing.marbles import COMPLETION, FAILURE

__all__ = ["is_call", "picture", "read_frames"]

SIGNAL: Final = re.compile(r"\{[^}]*\}|.")
MOMENT: Final = re.compile(r"\((?:\{[^}]*\}|[^)])*\)|\{[^}]*\}|.")
ENDS: Final = (COMPLETION, FAILURE)

LETTER: Final = 8
RADIUS: Final = 12
MARGIN: Final = 12
GAP: Final = 4
BOX: Final = 32
INPUTS: Final = ("flow", "other", "third")
LABEL: Final = 52


def picture(lines: list[str]) -> str:
    """An SVG of a diagram: its inputs, the operator, its output."""
    *inputs, call, _ = lines
    streams = [read_frames(line) for line in lines if not is_call(line)]
    frame = max(half_width(signal) for signal in signals_of(streams)) * 2 + GAP
    left = MARGIN + LABEL if inputs else MARGIN
    longest = left + max(map(len, streams)) * frame + 2 * RADIUS
    width = max(longest, len(call) * LETTER + 2 * MARGIN)
    drawn, top = [], 0
    for line, name in zip(lines, [*INPUTS[: len(inputs)], "", ""], strict=True):
        part, height = box(line, top, width) if is_call(line) else stream(line, top, frame, left)
        drawn += [part, text(name, MARGIN, top + RADIUS + GAP, 'class="code"') if name else ""]
        top += height
    return (
        f'<div class="marbles"><svg role="img" width="{width}" height="{top}" '
        f'viewBox="0 0 {width} {top}"><title>{escape(" / ".join(lines))}</title>'
        f"{''.join(drawn)}</svg></div>"
    )


def read_frames(line: str) -> list[list[str]]:
    """The signals of each frame."""
    return [read_moment(found) for found in MOMENT.findall(line.replace(" ", ""))]


def read_moment(moment: str) -> list[str]:
    """The signals of one frame."""
    if moment == "-":
        return []
    return SIGNAL.findall(moment[1:-1] if moment.startswith("(") else moment)


def is_call(line: str) -> bool:
    """Whether a line of the diagram is the operator and not a stream."""
    return "." in line


def signals_of(streams: list[list[list[str]]]) -> Iterable[str]:
    """All signals of all streams, and an end, which each stream could have."""
    return [COMPLETION, *(signal for frames in streams for frame in frames for signal in frame)]


def half_width(signal: str) -> int:
    """Half the room that a signal needs."""
    return max(RADIUS, GAP + len(signal.strip("{}")) * LETTER // 2)


def box(line: str, top: int, width: int) -> tuple[str, int]:
    """The box with the call, and its height."""
    frame = f'<rect class="call" x="1" y="{top + 4}" width="{width - 2}" height="{BOX}" rx="4"/>'
    return frame + text(line, MARGIN, top + 4 + BOX // 2, 'class="code"'), BOX + 8


def stream(line: str, top: int, frame: int, left: int) -> tuple[str, int]:
    """A line with the signals of a stream, and its height. Those of one moment hang together."""
    frames = read_frames(line)
    middle = top + RADIUS + GAP
    end, tip = left + len(frames) * frame + RADIUS, "m-6 -5l6 5l-6 5"
    drawn, deepest = [], 1
    for place, signals in enumerate(frames):
        x = left + place * frame + frame // 2
        elements = [signal for signal in signals if signal not in ENDS]
        deepest = max(deepest, len(elements))
        for depth, element in enumerate(elements):
            drawn.append(marble(element, x, middle + depth * (2 * RADIUS + 2)))
        if signals and signals[-1] in ENDS:
            end, tip = x + (half_width(elements[0]) + RADIUS if elements else 0), ""
            drawn.append(ending(signals[-1], end, middle))
    axis = f'<path d="M{left - GAP} {middle}H{end}{tip}"/>'
    return axis + "".join(drawn), deepest * (2 * RADIUS + 2) + 2 * GAP - 2


def ending(signal: str, x: int, y: int) -> str:
    """The end of a stream: a bar, or a cross for a failure."""
    if signal == COMPLETION:
        return f'<path class="end" d="M{x} {y - 12}v24"/>'
    return f'<path class="failure" d="M{x - 8} {y - 8}l16 16m0 -16l-16 16"/>'


def marble(signal: str, x: int, y: int) -> str:
    """One element."""
    word, half = signal.strip("{}"), half_width(signal)
    return (
        f'<rect class="marble" x="{x - half}" y="{y - RADIUS}" width="{2 * half}" '
        f'height="{2 * RADIUS}" rx="{RADIUS}"/>'
    ) + text(word, x, y)


def text(content: str, x: int, y: int, attributes: str = "") -> str:
    """Letters, centred unless they are code."""
    return f'<text x="{x}" y="{y + 4}" {attributes}>{escape(content)}</text>'
