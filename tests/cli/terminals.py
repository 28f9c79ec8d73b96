"""What a wide terminal shows."""

from __future__ import annotations

from typing import Final

from rich.console import Console

from penstock.cli.progress import picture
from penstock.observe import Status

__all__ = ["in_a_terminal"]

WIDE: Final = 400


def in_a_terminal(status: Status) -> str:
    """The table of a status, as text."""
    console = Console(width=WIDE)
    with console.capture() as captured:
        console.print(picture(status))
    return captured.get()
