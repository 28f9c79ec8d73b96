"""The words of the ledger, which page, terminal, summary, metrics and documentation share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from penstock.observe.ledger import Cause, Ledger

__all__ = [
    "NOT_KNOWN",
    "WORDS",
    "LedgerEntry",
    "LedgerWord",
    "entries",
    "equation",
    "figure",
    "in_short",
]

NOT_KNOWN: Final = "not known"

Verdict = Literal["", "good", "unknown", "notable", "bad"]
Shown = Literal["always", "unless 0", "if known and not 0", "elsewhere"]


class LedgerWord(NamedTuple):
    """A number of the ledger.

    ``field``  its name in ``Ledger``
    ``unit``   of the metric
    ``shown``  when one line has to do for all of them
    """

    name: str
    field: str
    unit: str
    meaning: str
    shown: Shown

    @property
    def metric(self) -> str:
        """The name of its metric."""
        ledger = "" if self.field == "dead_letters" else "ledger."
        return f"penstock.{ledger}{self.field}"


WORDS: Final = (
    LedgerWord(
        "taken",
        "taken",
        "{element}",
        "elements that were taken from the sources, over all restarts",
        "always",
    ),
    LedgerWord(
        "delivered",
        "delivered",
        "{row}",
        "rows that every sink has taken, each counted once, over all restarts",
        "always",
    ),
    LedgerWord(
        "filtered or aggregated",
        "filtered",
        "{row}",
        "rows that functions on Spark left out; not known where SQL, an aggregation, a join or "
        "an operator in this program changes how many there are",
        "if known and not 0",
    ),
    LedgerWord(
        "late",
        "late",
        "{row}",
        "rows that Spark dropped because they came when the watermark had passed them",
        "unless 0",
    ),
    LedgerWord(
        "dead letters",
        "dead_letters",
        "{element}",
        "elements that could not be processed and were put aside, over all restarts",
        "unless 0",
    ),
    LedgerWord(
        "in flight",
        "in_flight",
        "{row}",
        "what was taken and has not come to its end: rows that wait in a journal or are in a batch",
        "unless 0",
    ),
    LedgerWord(
        "replayed",
        "replayed",
        "{row}",
        "rows that Spark did once more, since a run had ended before they were done",
        "unless 0",
    ),
    LedgerWord(
        "recognised",
        "recognised",
        "{row}",
        "rows that came again to a sink that had them, and left them out",
        "elsewhere",
    ),
    LedgerWord(
        "lost",
        "lost",
        "{element}",
        "elements that went in and are nowhere: more than 0 is a fault",
        "always",
    ),
    LedgerWord(
        "duplicated",
        "duplicated",
        "{row}",
        "rows that came again and that a sink says it did not recognise",
        "always",
    ),
    LedgerWord(
        "possibly duplicated",
        "possibly_duplicated",
        "{row}",
        "rows of a batch that was done once more, given to a sink that cannot tell which it has",
        "unless 0",
    ),
    LedgerWord(
        "restarts",
        "restarts",
        "{restart}",
        "how often the pipeline went on from its checkpoint",
        "elsewhere",
    ),
)

TERMS: Final = ("delivered", "filtered", "late", "dead_letters", "in_flight")
"""What has become of all that was taken."""
FAULTS: Final = ("lost", "duplicated")
NOTABLE: Final = ("late", "dead_letters", "possibly_duplicated")


class LedgerEntry(NamedTuple):
    """A number as it is shown, with the places of its causes."""

    name: str
    field: str
    text: str
    note: str
    verdict: Verdict
    meaning: str


def figure(ledger: Ledger, field: str) -> str:
    """A number, or what is known of it."""
    number: int | None = getattr(ledger, field)
    if number is None:
        return NOT_KNOWN
    return f"{number:,} or more" if field in ledger.at_least else f"{number:,}"


def entries(ledger: Ledger) -> tuple[LedgerEntry, ...]:
    """All numbers, in the order of the equation."""
    return tuple(
        LedgerEntry(
            word.name,
            word.field,
            figure(ledger, word.field),
            note(ledger, word.field),
            verdict(ledger, word.field),
            word.meaning,
        )
        for word in WORDS
    )


def note(ledger: Ledger, field: str) -> str:
    """Where it happened, or where nobody can tell."""
    return ", ".join(f"{each.figure} at {each.place}" for each in causes_of(ledger, field))


def causes_of(ledger: Ledger, field: str) -> Iterator[Cause]:
    """Why a number is not 0, or not known."""
    return (each for each in ledger.causes if each.field == field)


def verdict(ledger: Ledger, field: str) -> Verdict:
    """Whether it is good or bad news."""
    number = getattr(ledger, field)
    if number is None:
        return "unknown"
    if field in FAULTS:
        return "bad" if number else "good"
    return "notable" if field in NOTABLE and number else ""


def in_short(ledger: Ledger) -> str:
    """The ledger in one line: what is always worth a word, and what is not 0."""
    return ", ".join(
        f"{word.name} {figure(ledger, word.field)}{place(ledger, word)}"
        for word in WORDS
        if is_worth_a_word(ledger, word)
    )


def place(ledger: Ledger, word: LedgerWord) -> str:
    """Where rows may have come twice: that names the sink to look at."""
    if word.field != "possibly_duplicated":
        return ""
    places = dict.fromkeys(each.place for each in causes_of(ledger, word.field))
    return f" at {', '.join(places)}" if places else ""


def is_worth_a_word(ledger: Ledger, word: LedgerWord) -> bool:
    """Whether one line has room for it."""
    number = getattr(ledger, word.field)
    if word.shown == "if known and not 0":
        return bool(number)
    return word.shown == "always" or (word.shown == "unless 0" and number != 0)


def equation(ledger: Ledger) -> str:
    """What was taken, and what has become of it."""
    names = {word.field: word.name for word in WORDS}
    terms = " + ".join(f"{names[field]} {figure(ledger, field)}" for field in TERMS)
    words = f"taken {figure(ledger, 'taken')} = {terms}"
    if ledger.difference:
        more = "more" if ledger.difference > 0 else "fewer"
        words += f"; {abs(ledger.difference):,} {more} were taken than that"
    return words
