"""Draws a soak: ``python -m tests.soak.picture FOLDER PICTURE.svg``.

One panel below the other, over the same time, and with a line at each kill. The colours are right
in the light and in the dark, wherever the picture is shown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from statistics import median
from typing import Final

from tests.soak.verdict import OUTCOME, Sample, read_samples

__all__ = ["picture_of"]

WIDTH: Final = 760
LEFT: Final = 62
RIGHT: Final = 16
TOP: Final = 30
PANEL: Final = 84
GAP: Final = 30
POINTS: Final = 240
"""The most points of a line."""
MEGABYTE: Final = 1 << 20

STYLE: Final = """
.back { fill: #ffffff; }
text { font: 12px system-ui, sans-serif; fill: #3c4043; }
.title { font-weight: 600; }
.scale { text-anchor: end; fill: #5f6368; }
.minute { text-anchor: middle; fill: #5f6368; }
.grid { stroke: #e3e5e8; stroke-width: 1; }
.kill { stroke: #c5221f; stroke-width: 1; stroke-dasharray: 2 3; opacity: .7; }
.line { fill: none; stroke-width: 1.5; stroke-linejoin: round; }
.a { stroke: #1a5fb4; } text.a { stroke: none; fill: #1a5fb4; }
.b { stroke: #b45309; } text.b { stroke: none; fill: #b45309; }
.c { stroke: #16794a; } text.c { stroke: none; fill: #16794a; }
@media (prefers-color-scheme: dark) {
  .back { fill: #16181b; }
  text { fill: #d7dade; }
  .scale, .minute { fill: #a4a9b0; }
  .grid { stroke: #2e3237; }
  .kill { stroke: #ff8a80; }
  .a { stroke: #78aeff; } text.a { fill: #78aeff; }
  .b { stroke: #f0a653; } text.b { fill: #f0a653; }
  .c { stroke: #5fd39b; } text.c { fill: #5fd39b; }
}
"""


@dataclass(frozen=True)
class Panel:
    """A title, the lines by their names, what is taken of several samples, and the scale."""

    title: str
    lines: dict[str, str]
    unit: float = 1.0
    summary: Callable[[list[float]], float] = median
    logarithmic: bool = False


OF_PROCESSES: Final = ("program", "JVM", "workers")
PANELS: Final = (
    Panel("rows a second", {"into the pipeline": "rate_taken", "found in the sink": "rate_found"}),
    Panel(
        "seconds from the feed to the sink",
        {"half of the rows": "p50", "99 of 100": "p99"},
        logarithmic=True,
    ),
    Panel("memory, MB", {name: f"{name.lower()}_rss" for name in OF_PROCESSES}, MEGABYTE),
    Panel("descriptors", {name: f"{name.lower()}_descriptors" for name in OF_PROCESSES}),
    Panel("threads", {name: f"{name.lower()}_threads" for name in OF_PROCESSES}),
    Panel("journal, MB", {"on disk": "journal_bytes"}, MEGABYTE),
    Panel("files", {"of the checkpoint": "checkpoint_files", "temporary": "temporary_files"}),
)

Point = tuple[float, float]


def picture_of(folder: Path) -> str:
    """The picture of the soak that has written into this folder."""
    samples = read_samples(folder)
    add_rate_taken(samples)
    outcome = json.loads((folder / OUTCOME).read_text())
    length = samples[-1]["seconds"] or 1.0
    kills = [kill["at"] - outcome["began"] for kill in outcome["kills"]]
    height = TOP + len(PANELS) * (PANEL + GAP) + 2
    panels = (
        drawn_panel(panel, samples, kills, length, TOP + number * (PANEL + GAP))
        for number, panel in enumerate(PANELS)
    )
    words = f"{outcome['rate']:,} rows a second for {length / 3600:.1f} hours, {len(kills)} kills"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}"><title>{words}</title><style>{STYLE}</style>'
        f'<rect class="back" width="{WIDTH}" height="{height}" rx="6"/>'
        f"{''.join(panels)}{''.join(minutes(length, height - 8))}</svg>\n"
    )


def add_rate_taken(samples: list[Sample]) -> None:
    """What was read of the feed between two samples; the first one has none."""
    samples[0]["rate_taken"] = None
    for before, after in pairwise(samples):
        passed = (after["seconds"] or 0.0) - (before["seconds"] or 0.0)
        taken = (after["taken"] or 0.0) - (before["taken"] or 0.0)
        after["rate_taken"] = taken / passed if passed else None


def drawn_panel(
    panel: Panel, samples: Sequence[Sample], kills: list[float], length: float, top: int
) -> str:
    """One panel, whose title is above it."""
    lines = {name: points_of(samples, field, panel, length) for name, field in panel.lines.items()}
    scale = Scale.of([value for points in lines.values() for _, value in points], panel)
    parts = [label(LEFT, top - 8, panel.title, "title")]
    parts += [legend(panel, top)]
    parts += scale_lines(scale, top)
    for kill in kills:
        parts.append(vertical(across(kill, length), top, "kill"))
    for colour, points in zip("abc", lines.values(), strict=False):
        parts.append(drawn_line(points, scale, length, top, colour))
    return "".join(parts)


def points_of(samples: Sequence[Sample], field: str, panel: Panel, length: float) -> list[Point]:
    """Several samples as one point, so that a line has no more than fit."""
    found: dict[int, list[Point]] = {}
    for each in samples:
        value, seconds = each[field], each["seconds"]
        if value is not None and seconds is not None:
            place = int(seconds / length * (POINTS - 1))
            found.setdefault(place, []).append((seconds, value / panel.unit))
    return [
        (median(seconds for seconds, _ in each), panel.summary([value for _, value in each]))
        for each in found.values()
    ]


@dataclass(frozen=True)
class Scale:
    """From the lowest value of a panel to the highest, with the values that are written."""

    lowest: float
    highest: float
    marks: tuple[float, ...]
    logarithmic: bool

    @classmethod
    def of(cls, values: Sequence[float], panel: Panel) -> Scale:
        """One that has room for all of these."""
        highest = max(values, default=1.0) or 1.0
        if panel.logarithmic:
            first = floor(log10(max(min(values, default=1.0), 0.01)))
            last = max(ceil(log10(highest)), first + 1)
            marks = tuple(10.0**power for power in range(first, last + 1))
            return cls(marks[0], marks[-1], marks, logarithmic=True)
        step = step_for(highest)
        count = ceil(highest / step)
        return cls(0.0, count * step, tuple(step * n for n in range(count + 1)), logarithmic=False)

    def height_of(self, value: float) -> float:
        """From 0, for the lowest value, to 1."""
        if not self.logarithmic:
            return value / self.highest
        span = log10(self.highest) - log10(self.lowest)
        return (log10(max(value, self.lowest)) - log10(self.lowest)) / span


def step_for(highest: float) -> float:
    """A round number of which two to four make the highest value."""
    rough = highest / 3
    power: float = 10.0 ** floor(log10(rough))
    return next((n * power for n in (1, 2, 2.5, 5) if n * power >= rough), 10 * power)


def scale_lines(scale: Scale, top: int) -> Iterator[str]:
    for mark in scale.marks:
        y = down(scale.height_of(mark), top)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        yield label(LEFT - 6, y + 4, f"{mark:,g}" if mark < 1000 else f"{mark:,.0f}", "scale")


def minutes(length: float, y: float) -> Iterator[str]:
    """The scale of the time, below all panels."""
    most = length / 60
    step = next((each for each in (0.5, 1, 2, 5, 10, 20, 30, 60) if most / each <= 9), 120)
    for number in range(int(most / step) + 1):
        words = f"{number * step:g}" + (" min" if not number else "")
        yield label(across(number * step * 60, length), y, words, "minute")


def legend(panel: Panel, top: int) -> str:
    """The names of the lines, in their colours, at the right of the title."""
    parts, x = [], float(WIDTH - RIGHT)
    for colour, name in reversed([*zip("abc", panel.lines, strict=False)]):
        parts.append(label(x, top - 8, name, colour, ' text-anchor="end"'))
        x -= len(name) * 6.2 + 18
    return "".join(parts)


def drawn_line(points: Sequence[Point], scale: Scale, length: float, top: int, colour: str) -> str:
    """Broken where there was nothing for a while."""
    pieces: list[list[str]] = [[]]
    before = 0.0
    for seconds, value in points:
        if seconds - before > 4 * length / POINTS:
            pieces.append([])
        pieces[-1].append(f"{across(seconds, length)},{down(scale.height_of(value), top)}")
        before = seconds
    lines = (f'<polyline points="{" ".join(piece)}"/>' for piece in pieces if piece)
    return f'<g class="line {colour}">{"".join(lines)}</g>'


def label(x: float, y: float, words: str, kind: str, more: str = "") -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{more}>{words}</text>'


def vertical(x: float, top: int, kind: str) -> str:
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="{top}" y2="{top + PANEL}"/>'


def across(seconds: float, length: float) -> float:
    return round(LEFT + seconds / length * (WIDTH - LEFT - RIGHT), 1)


def down(height: float, top: int) -> float:
    return round(top + PANEL * (1 - height), 1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak.picture", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("picture", type=Path)
    given = parser.parse_args()
    given.picture.write_text(picture_of(given.folder), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
