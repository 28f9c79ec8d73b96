"""The page docs/mutants.md: for each check the mutants that it kills.

A mutant is an implementation that breaks one rule on purpose. It proves that the checks of that
rule can fail. ``python -m tests.tck.mutants.matrix``, run from the root of the repository, writes
the page again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from penstock.tck.checks.suites import Check
from penstock.tck.outcome import sortable
from penstock.tck.verifying import KINDS
from tests.style.project import ROOT
from tests.tck.mutants.gates import GATES

Matrix: TypeAlias = Mapping[str, Sequence[str]]
"""The names of the mutants that each check kills, by the name of the check."""

PAGE = ROOT / "docs" / "mutants.md"
REGENERATE = "python -m tests.tck.mutants.matrix"

INTRODUCTION = """\
A check that cannot fail verifies nothing. So the project keeps implementations that break one rule
each, on purpose, and a test proves that the kit rejects every one of them, by a check of the rule
that it breaks. The tables name, for each check of the [conformance kit](conformance.md), the
mutants that it rejects.

The sides of a processor are those of a publisher and of a subscriber. So many of its mutants are
one of theirs, joined to a sound other side. Their names end in *Downstream* and *Upstream*."""


def matrices() -> dict[str, Matrix]:
    """What all gates have found, by kind of party."""
    return {kind: gate.matrix() for kind, gate in GATES.items()}


def render(found: Mapping[str, Matrix]) -> str:
    """The page as Markdown."""
    blocks = ["# Mutants", INTRODUCTION]
    for name, matrix in found.items():
        checks = checks_of(name)
        mutants = {mutant for check in checks for mutant in matrix.get(check.name, ())}
        blocks.append(f"## {name.capitalize()}")
        blocks.append(f"{len(checks)} checks, {len(mutants)} mutants.")
        blocks.append("\n".join(_table(checks, matrix)))
    return "\n\n".join(blocks) + "\n"


def read(page: str) -> dict[str, Matrix]:
    """What a page says, by kind of party."""
    found: dict[str, Matrix] = {}
    for section in page.split("\n## ")[1:]:
        rows = [line.split("|") for line in section.splitlines() if line.startswith("| ")][1:]
        found[section.split()[0].lower()] = {
            check.strip(" `"): [name.strip(" `") for name in mutants.split(",") if name.strip()]
            for _, _, check, mutants, _ in rows
        }
    return found


def checks_of(kind: str) -> list[Check]:
    """The checks of a suite, in the order of the page."""
    return sorted(KINDS[kind].suite, key=lambda check: (sortable(check.rule), check.name))


def _table(checks: Iterable[Check], matrix: Matrix) -> Iterator[str]:
    yield "| rule | check | mutants that it rejects |"
    yield "|---|---|---|"
    for check in checks:
        killed = ", ".join(f"`{mutant}`" for mutant in sorted(matrix.get(check.name, ())))
        yield f"| {check.rule} | `{check.name}` | {killed} |"


if __name__ == "__main__":
    PAGE.write_text(render(matrices()), encoding="utf-8")
