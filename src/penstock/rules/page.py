"""The catalogue as one Markdown page; ``python -m penstock.rules.page`` prints it.

The links between rules are MyST targets, which Sphinx resolves.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from penstock.rules.catalogue import CHAPTERS, RULES
from penstock.rules.glossary import GLOSSARY
from penstock.rules.model import DocumentStage, Rule, Term

__all__ = ["render"]

_CHAPTER_TITLES: Final = ("Publisher", "Subscriber", "Subscription", "Processor")
_INTRODUCTION: Final = (
    "Reactive Streams 1.0.4 in our own words. `penstock spec 3.9` shows a rule in the terminal.\n"
    "MUST, SHOULD and MAY are those of RFC 2119; a rule that mixes them is listed under the\n"
    "strongest, and its text says which part is bound how."
)
# Calls, names with underscores and powers: as plain Markdown, _ and * would turn into emphasis.
_CODE: Final = re.compile(r"\w+\([^()]+\)|[\w.]*_[\w.]*\w|2\*\*63 - 1|n <= 0")


def render(verified_by: Mapping[str, Sequence[str]] | None = None) -> str:
    """The whole page.

    ``verified_by`` gives the names of the tests that verify a rule, by its number. With it, the
    overview gets one more column, where a rule without any test shows an empty cell.
    """
    blocks = ["# The 43 rules", _INTRODUCTION, "## Overview", _overview(verified_by)]
    for title, (chapter, rules) in zip(_CHAPTER_TITLES, CHAPTERS.items(), strict=True):
        blocks.append(f"## {chapter}. {title}")
        for rule in rules:
            blocks.extend(_rule(rule))
    blocks.extend(_stages())
    blocks.append("## Glossary")
    for term in GLOSSARY.values():
        blocks.extend(_term(term))
    return "\n\n".join(blocks) + "\n"


def _overview(verified_by: Mapping[str, Sequence[str]] | None) -> str:
    header = ["Rule", "Level", "Binds", "In short"]
    if verified_by is not None:
        header.append("Verified by")
    rows = [header, ["---"] * len(header)]
    for rule in RULES.values():
        row = [_link(rule.number), rule.strength, rule.binds, _code(rule.summary)]
        if verified_by is not None:
            row.append(", ".join(f"`{test}`" for test in verified_by.get(rule.number, ())))
        rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _rule(rule: Rule) -> Iterator[str]:
    yield f"({_target(rule.number)})="
    yield f"### {rule.number} {_code(rule.summary)}"
    mark = f" Marked `{rule.checklist}` in the checklist." if rule.checklist else ""
    yield f"**{rule.strength}**, binds the {rule.binds}.{mark}"
    yield _code(rule.text)
    yield f"**Why.** {_code(rule.intent)}"
    if rule.python:
        yield f"**In Python.** {_code(rule.python)}"
    yield "**History.**"
    changes = [f"- *{each.stage.title}*: {_code(each.text)}" for each in rule.changes]
    yield "\n".join([*changes, f"- Unchanged since {rule.unchanged_since.title}."])
    yield f"**Related.** {_links(rule.related)}"


def _stages() -> Iterator[str]:
    yield "## Stages of the document"
    yield "A stage that a rule's history does not list left its wording as it was."
    yield "\n".join(f"- *{stage.title}*: {_code(stage.about)}." for stage in DocumentStage)


def _term(term: Term) -> Iterator[str]:
    yield f"### {term.name}"
    yield _code(term.meaning)
    if term.usage:
        yield _code(term.usage)
    if term.aliases:
        yield f"**Also.** {', '.join(term.aliases)}"
    if term.rules:
        yield f"**Rules.** {_links(term.rules)}"


def _links(numbers: Iterable[str]) -> str:
    return ", ".join(map(_link, numbers))


def _link(number: str) -> str:
    return f"[{number}](#{_target(number)})"


def _target(number: str) -> str:
    return f"rule-{number.replace('.', '-')}"


def _code(text: str) -> str:
    return _CODE.sub(lambda match: f"`{match[0]}`", text)


if __name__ == "__main__":
    sys.stdout.write(render())
