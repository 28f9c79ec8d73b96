"""The tables of the page on the outside judge, written from the verdicts of both kits.

The own kit takes minutes for all implementations, so that not every run of the tests asks it. The
verdicts of the official one are compared in every run. ``python -m tests.tck.jvm.page``, run from
the root of the repository, writes the tables again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.rules import RULES
from penstock.tck.outcome import RuleStatus
from penstock.tck.report import Report
from tests.style.project import ROOT
from tests.tck.jvm.judging import judge_all, judge_all_by_the_own_kit, tally
from tests.tck.jvm.subjects import flows, from_java, processors, publishers, subscribers, to_java

__all__ = [
    "NOTHING",
    "PAGE",
    "Table",
    "official_verdicts",
    "own_verdicts",
    "verdicts_by_implementation",
    "verdicts_by_rule",
]

Reports = Mapping[str, Report]

PAGE = ROOT / "docs" / "outside-judge.md"
NOTHING = "-"
PARTIES = (
    "publisher",
    "subscriber",
    "subscriber, whitebox",
    "processor for one",
    "processor",
)
"""As what an implementation is judged."""


@dataclass(frozen=True)
class Table:
    """A table, by rows of cells; the first row names the columns."""

    rows: list[list[str]]

    def __str__(self) -> str:
        head, *body = self.rows
        return "\n".join(_line(row) for row in [head, ["---"] * len(head), *body])

    def as_in(self, page: str) -> Table:
        """The table with the same first row that stands on a page."""
        found = [line.strip("| ").split(" | ") for line in self._text_in(page).splitlines()]
        return Table([found[0], *found[2:]])

    def replaced_in(self, page: str) -> str:
        """The page with this table in place of the one that has the same first row."""
        return page.replace(self._text_in(page), str(self))

    def _text_in(self, page: str) -> str:
        head = _line(self.rows[0])
        return head + page.partition(head)[2].partition("\n\n")[0].rstrip("\n")

    def of_the_official_kit(self) -> Table:
        """Without what the own kit says: a column of that name, and what stands before a slash."""
        keep = [index for index, name in enumerate(self.rows[0]) if name != "own kit"]
        return Table([[row[index].rpartition(" / ")[2] for index in keep] for row in self.rows])


def official_verdicts() -> dict[str, Report]:
    """What the official kit says of all implementations, by name."""
    return judge_all(publishers, subscribers, processors, flows, to_java, from_java)


def own_verdicts() -> dict[str, Report]:
    """What the own kit says of them; it cannot judge what is made for Java."""
    return judge_all_by_the_own_kit(publishers, subscribers, processors, flows, from_java)


def verdicts_by_implementation(official: Reports, own: Reports) -> Table:
    """What both kits say of each implementation."""
    rows = [
        [
            name,
            judged_as(name, report),
            checks(own[name]) if name in own else NOTHING,
            tally(report),
        ]
        for name, report in official.items()
    ]
    return Table([["implementation", "judged as", "own kit", "official kit"], *rows])


def verdicts_by_rule(official: Reports, own: Reports) -> Table:
    """For each rule how many checks of the own kit and tests of the official one were passed.

    Where implementations that are judged as the same party differ, each of the counts is there.
    """
    rows = [
        [number, RULES[number].summary]
        + [counts(own, official, number, party) for party in PARTIES]
        for number in RULES
    ]
    return Table([["rule", "in short", *PARTIES], *rows])


def counts(own: Reports, official: Reports, number: str, party: str) -> str:
    """The counts for one rule and all of one party: own / official."""
    names = [name for name, report in official.items() if judged_as(name, report) == party]
    of_own = {passed(own[name], number) for name in names if name in own} or {NOTHING}
    of_official = {passed(official[name], number) for name in names}
    if of_own == of_official == {NOTHING}:
        return NOTHING
    return f"{' or '.join(sorted(of_own))} / {' or '.join(sorted(of_official))}"


def judged_as(name: str, report: Report) -> str:
    """The party, by the report of the official kit."""
    if name.endswith("whitebox"):
        return "subscriber, whitebox"
    if report.kind == "processor" and "not claimed" in tally(report):
        return "processor for one"
    return report.kind


def passed(report: Report, number: str) -> str:
    """How many checks of a rule were passed, or that one was not."""
    found = Counter(outcome.status for outcome in report.outcomes if outcome.rule == number)
    if found[RuleStatus.FAILED] or found[RuleStatus.UNDECIDED]:
        return "failed"
    return str(found[RuleStatus.VERIFIED] or NOTHING)


def checks(report: Report | None) -> str:
    """The verdicts of the own kit, counted."""
    if report is None:
        return NOTHING
    found = Counter(outcome.status.value for outcome in report.outcomes)
    return ", ".join(f"{found[status]} {status}" for status in sorted(found, reverse=True))


def _line(row: list[str]) -> str:
    return f"| {' | '.join(row)} |" if row[0] != "---" else f"|{'|'.join(row)}|"


def write() -> None:
    """Write the tables again."""
    official, own = official_verdicts(), own_verdicts()
    page = PAGE.read_text(encoding="utf-8")
    for table in (verdicts_by_implementation(official, own), verdicts_by_rule(official, own)):
        page = table.replaced_in(page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    write()
