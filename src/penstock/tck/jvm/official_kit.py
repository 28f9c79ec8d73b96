"""The official conformance kit of Reactive Streams: the files of its publishers, unmodified."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from penstock.java import Library, read_checksums

__all__ = ["KIT", "VERSION"]

VERSION: Final = "1.0.4"
KIT: Final = Library(
    name=f"the official kit {VERSION}",
    folder=f"kit-{VERSION}",
    artifacts=(f"org.reactivestreams:reactive-streams-tck:{VERSION}",),
    checksums=read_checksums(Path(__file__).with_suffix(".sha256")),
)
