"""A failure in words: the rule, what happened, what to change, and how to see it again."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from penstock.rules import RULES

if TYPE_CHECKING:
    from penstock.tck.outcome import Failure

__all__ = ["WIDTH", "explain"]

WIDTH: Final = 80
_LABEL_WIDTH: Final = 16


def explain(
    failure: Failure,
    *,
    width: int = WIDTH,
    rule: bool = True,
    also_seen_by: Sequence[str] = (),
    replay: str = "",
    trail: bool = False,
) -> str:
    """Say all that is known of a failure.

    ``also_seen_by`` names further checks that ended by it, ``replay`` is the command that shows
    it again. ``rule`` and ``trail`` say whether to show the rule, and what each thread did.
    """
    return "\n".join(
        [
            failure.title,
            *_paragraph("The rule", _rule_of(failure) if rule else "", width),
            *_paragraph("The check", _check_of(failure), width),
            *_paragraph("Seen as well by", ", ".join(also_seen_by), width),
            *_listing("What happened", failure.timeline),
            *_listing("Thread by thread", failure.trail if trail else ()),
            *_paragraph("What to change", failure.remedy, width),
            *_listing("To replay it", [replay or _schedule_of(failure)]),
        ]
    )


def _rule_of(failure: Failure) -> str:
    return RULES[failure.rule].text if failure.rule in RULES else ""


def _check_of(failure: Failure) -> str:
    return f"{failure.check}. {failure.verifies}" if failure.verifies else failure.check


def _schedule_of(failure: Failure) -> str:
    return f"check {failure.check}, schedule {failure.schedule}" if failure.schedule else ""


def _paragraph(label: str, text: str, width: int) -> Iterator[str]:
    if text:
        lead = f"  {label:<{_LABEL_WIDTH}}"
        yield textwrap.fill(
            text.replace("``", ""),  # the mark of code in a docstring
            width,
            initial_indent=lead,
            subsequent_indent=" " * len(lead),
            break_long_words=False,
            break_on_hyphens=False,
        )


def _listing(label: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that are not wrapped: they are columns, or to be copied."""
    shown = [line for line in lines if line]
    if shown:
        yield f"  {label}:"
        yield from (f"    {line}" for line in shown)
