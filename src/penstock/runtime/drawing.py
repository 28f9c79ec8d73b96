"""Pictures for notebooks: HTML that needs nothing else, readable on light and on dark ground.

Colours are those of the text around, and shades of grey that let the ground through. All text is
escaped here, so what others say can neither be markup nor command anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from penstock.runtime.shown_text import printable

__all__ = ["box", "chain", "figure", "line", "stack", "table"]

LINE: Final = "1px solid rgba(128,128,128,.55)"
GROUND: Final = "rgba(128,128,128,.13)"
MARKED: Final = "rgba(214,120,20,.28)"
SPACED: Final = "white-space:pre-wrap"
FAINT: Final = "opacity:.72;font-size:.88em"
BOX: Final = f"border:{LINE};border-radius:6px;padding:.2em .6em;text-align:center;line-height:1.4"
ROW: Final = "display:flex;flex-wrap:wrap;align-items:center;gap:.35em"
STACK: Final = "display:flex;flex-direction:column;align-items:stretch;gap:.35em"
NAME: Final = "background:none;color:inherit;padding:0 .15em"
CELL: Final = f"border:0;border-bottom:{LINE};padding:.2em .8em .2em 0;background:none"


def figure(title: str, *parts: str) -> str:
    """The whole picture: a title, and parts below each other."""
    heading = f'<div style="font-weight:600;{SPACED}">{text(title)}</div>' if title else ""
    style = f"{STACK};align-items:flex-start;margin:.2em 0"
    return f'<div style="{style}">{heading}{"".join(parts)}</div>'


def box(*names: str, caption: str = "", marked: bool = False) -> str:
    """Names in a frame, with a few words below them."""
    code = " ".join(f'<code style="{NAME}">{text(name)}</code>' for name in names)
    ground = MARKED if marked else GROUND
    below = f'<div style="{FAINT}">{text(caption)}</div>' if caption else ""
    return f'<div style="{BOX};background:{ground}">{code}{below}</div>'


def chain(parts: Iterable[str]) -> str:
    """Parts from left to right, with an arrow between each two."""
    arrow = '<span aria-hidden="true">&rarr;</span>'
    return f'<div style="{ROW}">{arrow.join(parts)}</div>'


def stack(parts: Iterable[str]) -> str:
    """Parts below each other."""
    return f'<div style="{STACK}">{"".join(parts)}</div>'


def line(words: str, *, faint: bool = False) -> str:
    """A line of text."""
    style = f"{SPACED};{FAINT}" if faint else SPACED
    return f'<div style="{style}">{text(words)}</div>'


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[int] = ()
) -> str:
    """A table; the columns ``numbers`` are set flush right."""
    body = "".join(f"<tr>{cells('td', row, numbers)}</tr>" for row in rows)
    return (
        '<table style="border-collapse:collapse;margin:.2em 0;font-size:inherit">'
        f"<thead><tr>{cells('th', heads, numbers)}</tr></thead><tbody>{body}</tbody></table>"
    )


def cells(tag: str, row: Sequence[str], numbers: Sequence[int]) -> str:
    """The cells of a row."""
    style = f"{CELL};font-weight:normal;opacity:.72" if tag == "th" else CELL
    sides = ("right" if number in numbers else "left" for number in range(len(row)))
    return "".join(
        f'<{tag} style="{style};text-align:{side}">{text(cell)}</{tag}>'
        for cell, side in zip(row, sides, strict=True)
    )


def text(words: str) -> str:
    """Words that are no markup, whoever wrote them."""
    return escape(printable(words))
