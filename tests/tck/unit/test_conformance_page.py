"""The page on the kit explains every claim and every class."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from pathlib import Path

import pytest

from penstock.tck import verification
from penstock.tck.verifying import KINDS
from tests.style.project import text

PAGE = text(Path("docs/conformance.md"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_is_explained_and_none_that_does_not_exist(kind: str) -> None:
    article = "an" if kind[0] in "aeiou" else "a"
    section = PAGE.partition(f"### of {article} {kind}\n")[2].partition("\n#")[0]
    explained = {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}
    inherited = {field.name for base in KINDS[kind].claims.__bases__ for field in own_fields(base)}
    assert explained == {field.name for field in fields(KINDS[kind].claims)} - inherited


def own_fields(claims: type) -> tuple[Field[object], ...]:
    return fields(claims) if is_dataclass(claims) else ()


def test_every_class_to_inherit_from_is_named() -> None:
    classes = set(verification.__all__) - {"Verification"}
    assert {name for name in classes if f"| `{name}` |" not in PAGE} == set()
