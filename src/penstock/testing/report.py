"""The form of every failure message: what went wrong, then all that helps."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["report"]


def report(headline: str, **sections: Iterable[str]) -> str:
    """A headline, then each section that has lines under its title, indented."""
    parts = [headline]
    for title, lines in sections.items():
        body = "".join(f"\n    {line}" for line in lines)
        if body:
            parts.append(f"{title.replace('_', ' ').capitalize()}:{body}")
    return "\n\n".join(parts)
