"""The page of the mutants names every check, and claims no more than the kit can show."""

from __future__ import annotations

import pytest

from penstock.tck.verifying import KINDS
from tests.tck.mutants.matrix import PAGE, REGENERATE, checks_of, matrices, read, render


def test_the_page_has_one_row_for_each_check_with_its_mutants() -> None:
    first, second, *_ = checks_of("publisher")
    page = render({"publisher": {first.name: ["Late", "Greedy"], second.name: ["Greedy"]}})
    rows = [line for line in page.splitlines() if " | `" in line]
    assert len(rows) == len(KINDS["publisher"].suite)
    assert rows[0] == f"| {first.rule} | `{first.name}` | `Greedy`, `Late` |"
    assert f"{len(rows)} checks, 2 mutants." in page


def test_a_page_that_is_read_says_what_was_written() -> None:
    written = {
        kind: {check.name: ["A", "B"] if check.explored else [] for check in checks_of(kind)}
        for kind in KINDS
    }
    assert read(render(written)) == written


def test_the_page_in_the_docs_names_all_checks_and_a_mutant_for_each() -> None:
    found = read(PAGE.read_text(encoding="utf-8"))
    checks = {kind: [check.name for check in checks_of(kind)] for kind in KINDS}
    assert {kind: list(rows) for kind, rows in found.items()} == checks, f"run `{REGENERATE}`"
    assert [
        check for rows in found.values() for check, mutants in rows.items() if not mutants
    ] == []


@pytest.mark.full
@pytest.mark.timeout(900)
def test_every_mutant_on_the_page_is_rejected_by_its_check() -> None:
    found = matrices()
    claimed = {
        (kind, check, mutant)
        for kind, rows in read(PAGE.read_text(encoding="utf-8")).items()
        for check, mutants in rows.items()
        for mutant in mutants
    }
    wrong = {each for each in claimed if each[2] not in found[each[0]].get(each[1], ())}
    assert wrong == set(), f"run `{REGENERATE}`"
