"""Each of the 43 rules has a test that is named after it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from penstock.rules import CHAPTERS, RULES

CHAPTER_FILES = {path.stem[11]: path for path in Path(__file__).parent.glob("test_rules_*.py")}
NAMED_AFTER_A_RULE = re.compile(r"test_rule_(\d)_(\d\d)_")


def named_tests(chapter: str) -> dict[str, list[str]]:
    """The names of the tests in a chapter's file, by the number of the rule that they name."""
    by_rule: dict[str, list[str]] = {}
    for node in ast.parse(CHAPTER_FILES[chapter].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            match = NAMED_AFTER_A_RULE.match(node.name)
            number = f"{match[1]}.{int(match[2])}" if match else node.name
            by_rule.setdefault(number, []).append(node.name)
    return by_rule


def test_every_chapter_has_its_file() -> None:
    assert CHAPTER_FILES.keys() == CHAPTERS.keys()


@pytest.mark.parametrize("number", RULES)
def test_every_rule_has_a_test_named_after_it(number: str) -> None:
    assert named_tests(number.partition(".")[0]).get(number)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_test_of_a_chapter_is_named_after_one_of_its_rules(chapter: str) -> None:
    rules = {rule.number for rule in CHAPTERS[chapter]}
    assert {
        number: names for number, names in named_tests(chapter).items() if number not in rules
    } == {}
