"""``penstock spec``: the 43 rules and the glossary, for people and, by --json, for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Final

import click

from penstock.rules import CHAPTERS, GLOSSARY, RULES, DocumentStage, Rule, Term, rule, term

__all__ = ["command"]

_PIPED_WIDTH: Final = 80
_WIDEST: Final = 100
_GAP: Final = "  "


class _NotFound(click.ClickException):
    """One sentence on stderr, without the usage of the command."""

    exit_code = 2


@click.command(name="spec")
@click.argument("names", nargs=-1, metavar="[NUMBER | CHAPTER | TERM]...")
@click.option("--glossary", is_flag=True, help="Explain terms instead of rules.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with every field.")
def command(names: tuple[str, ...], glossary: bool, as_json: bool) -> None:
    """Explain the 43 rules of Reactive Streams.

    Without a name, list them all. For a number (3.9) or a chapter (3), show everything: the rule,
    why it exists, what Python does, how its wording changed, related rules. The history runs from
    the earliest notes and the SPI draft to 1.0.4; a stage that is not shown changed nothing.

    \b
    Examples:
      penstock spec
      penstock spec 3.9 3.16
      penstock spec 3
      penstock spec --glossary
      penstock spec --glossary demand
    """
    try:
        found = _find_terms(names) if glossary else _find_rules(names)
    except ValueError as error:
        raise _NotFound(str(error)) from None
    if as_json:
        lines: Iterable[str] = [_as_json(found)]
    elif names:
        lines = _explanations(found)
    else:
        lines = _term_list() if glossary else _rule_list()
    click.echo("\n".join(lines))


def _find_rules(names: Sequence[str]) -> Sequence[Rule]:
    if not names:
        return list(RULES.values())
    found = [entry for name in names for entry in CHAPTERS.get(name) or (rule(name),)]
    return list(dict.fromkeys(found))


def _find_terms(names: Sequence[str]) -> Sequence[Term]:
    if not names:
        return list(GLOSSARY.values())
    return list(dict.fromkeys(term(name) for name in names))


def _as_json(entries: Iterable[Rule | Term]) -> str:
    def title(stage: DocumentStage) -> str:
        return stage.title

    return json.dumps([asdict(entry) for entry in entries], indent=2, default=title)


def _rule_list() -> Iterator[str]:
    rows = {
        chapter: [(entry.number, entry.strength, entry.binds, entry.summary) for entry in entries]
        for chapter, entries in CHAPTERS.items()
    }
    header = ("Rule", "Level", "Binds", "In short")
    widths = _widths([header, *(row for chapter in rows.values() for row in chapter)])
    yield click.style(_row(header, widths), bold=True)
    for chapter, entries in rows.items():
        if chapter != "1":
            yield ""
        yield from (_highlight(_row(entry, widths), entry[0]) for entry in entries)


def _term_list() -> Iterator[str]:
    return _table((entry.name, entry.meaning) for entry in GLOSSARY.values())


def _explanations(entries: Iterable[Rule | Term]) -> Iterator[str]:
    for index, entry in enumerate(entries):
        if index:
            yield ""
        yield from _explain_rule(entry) if isinstance(entry, Rule) else _explain_term(entry)


def _explain_rule(entry: Rule) -> Iterator[str]:
    yield click.style(f"Rule {entry.number}: {entry.summary}", bold=True)
    mark = f"; marked {entry.checklist} in the checklist" if entry.checklist else ""
    yield f"{entry.strength}, binds the {entry.binds}{mark}"
    yield ""
    yield _paragraph(entry.text)
    yield from _section("Why", [_paragraph(entry.intent, _GAP)])
    if entry.python:
        yield from _section("In Python", [_paragraph(entry.python, _GAP)])
    changes = [(each.stage.title, each.text) for each in entry.changes]
    since = f"Unchanged since {entry.unchanged_since.title}."
    yield from _section("History", [*_table(changes, _GAP), _paragraph(since, _GAP)])
    yield from _section("Related", _summaries(entry.related))


def _explain_term(entry: Term) -> Iterator[str]:
    yield click.style(entry.name, bold=True)
    yield ""
    yield _paragraph(entry.meaning)
    if entry.usage:
        yield from _section("Usage", [_paragraph(entry.usage, _GAP)])
    if entry.aliases:
        yield from _section("Also", [_paragraph(", ".join(entry.aliases), _GAP)])
    if entry.rules:
        yield from _section("Rules", _summaries(entry.rules))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    yield ""
    yield click.style(title, bold=True)
    yield from lines


def _summaries(numbers: Iterable[str]) -> Iterator[str]:
    return _table(((number, RULES[number].summary) for number in numbers), _GAP)


def _table(rows: Iterable[Sequence[str]], indent: str = "") -> Iterator[str]:
    rows = list(rows)
    widths = _widths(rows)
    return (_highlight(_row(row, widths, indent), row[0]) for row in rows)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _row(cells: Sequence[str], widths: Sequence[int], indent: str = "") -> str:
    """The cells side by side; the lines of the last one are indented to where it begins."""
    *left, last = cells
    padded = (cell.ljust(width) + _GAP for cell, width in zip(left, widths, strict=False))
    return _paragraph(last, indent + "".join(padded))


def _paragraph(text: str, lead: str = "") -> str:
    return textwrap.fill(
        text,
        _page_width(),
        initial_indent=lead,
        subsequent_indent=" " * len(lead),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _page_width() -> int:
    if not sys.stdout.isatty():
        # A pipe has no width, and COLUMNS describes another terminal.
        return _PIPED_WIDTH
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _highlight(line: str, name: str) -> str:
    return line.replace(name, click.style(name, fg="cyan"), 1)
