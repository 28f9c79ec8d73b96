"""The Markdown page holds the whole catalogue, and its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import penstock
from penstock.rules import GLOSSARY, RULES
from penstock.rules.page import render

PAGE = render()


def test_the_page_has_a_heading_and_a_target_for_every_rule() -> None:
    targets = re.findall(r"^\(rule-(\d)-(\d+)\)=$", PAGE, re.MULTILINE)
    assert [".".join(target) for target in targets] == list(RULES)
    assert re.findall(r"^### (\d\.\d+) ", PAGE, re.MULTILINE) == list(RULES)


def test_the_page_explains_every_term() -> None:
    assert [name for name in GLOSSARY if f"\n### {name}\n" not in PAGE] == []


def test_every_link_on_the_page_has_a_target() -> None:
    links = set(re.findall(r"\]\(#([\w-]+)\)", PAGE))
    targets = set(re.findall(r"^\(([\w-]+)\)=$", PAGE, re.MULTILINE))
    assert links == targets


def test_names_and_powers_are_code_so_that_markdown_keeps_them() -> None:
    prose = re.sub(r"`[^`]*`", "", PAGE)
    assert re.findall(r"\w*_\w*", prose) == []
    assert re.findall(r"\d\*\*\d", prose) == []


def test_without_tests_the_overview_has_no_column_for_them() -> None:
    assert "| Rule | Level | Binds | In short |\n" in PAGE
    assert "Verified by" not in PAGE


def test_with_tests_the_overview_shows_what_verifies_each_rule() -> None:
    page = render({"3.9": ["request_zero", "request_negative"]})
    assert "| Rule | Level | Binds | In short | Verified by |\n" in page
    row = next(line for line in page.splitlines() if line.startswith("| [3.9]"))
    assert row.endswith("| `request_zero`, `request_negative` |")
    unverified = next(line for line in page.splitlines() if line.startswith("| [3.8]"))
    assert unverified.endswith("|  |")


def test_the_module_prints_the_page() -> None:
    source = str(Path(penstock.__path__[0]).parent)
    done = subprocess.run(
        [sys.executable, "-m", "penstock.rules.page"],
        check=True,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": source},
    )
    assert done.stdout == PAGE
    assert done.stderr == ""
