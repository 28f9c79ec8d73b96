"""What ``check`` and ``doctor`` find, one line for each thing they check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import click

from penstock.runtime import printable

__all__ = ["Finding", "State", "as_data", "has_problem", "lines"]

State = Literal["ok", "warning", "problem"]
COLOURS: Final = {"ok": "green", "warning": "yellow", "problem": "red"}


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: whether it is as it should be, and if not, what to do.

    A ``warning`` is about something that not every pipeline needs, or that works and should be
    changed.
    """

    subject: str
    state: State
    text: str
    remedy: str = ""


def has_problem(findings: Iterable[Finding]) -> bool:
    """Whether something must be fixed first."""
    return any(finding.state == "problem" for finding in findings)


def lines(findings: Sequence[Finding]) -> str:
    """A line for each, with its remedy on the next one."""
    widths = [max(len(word) for word in COLOURS), max(len(each.subject) for each in findings)]
    return "\n".join(line(each, *widths) for each in findings)


def line(finding: Finding, state_width: int, subject_width: int) -> str:
    """A finding in one line, with its remedy in a second one."""
    state = click.style(f"{finding.state:<{state_width}}", fg=COLOURS[finding.state])
    margin = " " * (state_width + subject_width + 4)
    text = "\n".join([finding.text, *([f"-> {finding.remedy}"] if finding.remedy else [])])
    text = printable(text, lines=True)
    return f"{state}  {finding.subject:<{subject_width}}  " + text.replace("\n", f"\n{margin}")


def as_data(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [asdict(finding) for finding in findings]
