"""``penstock tck --jvm``: has the official kit judge what ``module:factory`` makes.

The subject is loaded in the process that runs the kit, and nowhere else: its threads live there.
"""

from __future__ import annotations

from functools import partial

from penstock.cli.subject import load_factory, load_kind, read_claims
from penstock.tck.jvm.runner import judge
from penstock.tck.jvm.subject import Subject, opens_the_box, subject_of
from penstock.tck.report import Report

__all__ = ["judge_outside"]


def judge_outside(
    reference: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    tests: tuple[str, ...],
    command: str,
) -> Report:
    """The verdict of the official kit."""
    load = partial(_load, reference, kind, claims, rules, tests)
    (report,) = judge(load, fresh=True, command=command)
    return report


def _load(
    reference: str,
    kind: str | None,
    claims: tuple[str, ...],
    rules: tuple[str, ...],
    tests: tuple[str, ...],
) -> list[Subject]:
    factory = load_factory(reference)
    party = load_kind(kind, reference, factory)
    claimed = read_claims(party, claims)
    whitebox = party.name == "subscriber" and opens_the_box(claimed)
    return [
        subject_of(
            party.name,
            factory,
            claimed,
            whitebox=whitebox,
            rules=rules or None,
            tests=tests or None,
        )
    ]
