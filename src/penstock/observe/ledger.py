"""The ledger: whether all that went in came out, the sum that makes ``lost``, and its words.

Page, terminal, summary, metrics and documentation share the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from penstock.observe.units import Unit, common_unit, counted

__all__ = [
    "NOT_KNOWN",
    "WORDS",
    "Cause",
    "Conservation",
    "Ledger",
    "LedgerEntry",
    "LedgerLine",
    "LedgerWord",
    "Passage",
    "difference",
    "entries",
    "equation",
    "figure",
    "in_short",
]

NOT_KNOWN: Final = "not known"
Verdict = Literal["", "good", "unknown", "notable", "bad"]
Shown = Literal["always", "unless 0", "if known and not 0", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the way on which elements become neither more nor fewer.

    ``entered``  elements that were accepted at its beginning
    ``left``     those that were handed on at its end
    ``held``     those that are on it, or that will come again
    ``aside``    dead letters: they were taken out on purpose
    ``failing``  what has happened to those that are missing, in words
    ``unit``     what is counted, where that has to be said
    """

    giver: str
    taker: str
    entered: int
    left: int
    held: int = 0
    aside: int = 0
    failing: str = ""
    unit: Unit = ""

    @property
    def words(self) -> str:
        """What has happened to those that are missing."""
        if self.failing:
            return self.failing
        if self.giver == self.taker:
            return f"entered {self.giver} and never left it"
        return f"left {self.giver} and never reached {self.taker}"

    @property
    def missing(self) -> int:
        """What went in and is nowhere."""
        return max(self.entered - self.left - self.held - self.aside, 0)


class Conservation:
    """Finds what is missing, sample after sample."""

    def __init__(self) -> None:
        self._missing: dict[tuple[str, str], int] = {}

    def missing(
        self, passages: Iterable[Passage], *, settled: bool
    ) -> list[tuple[Passage, int]] | None:
        """How many each of them misses; ``None`` if there is no passage that could tell.

        The meters of a passage are read one after the other. While elements move, one of them may
        be between two meters: then only what two samples in a row find missing is lost.
        """
        before, known = self._missing, list(passages)
        self._missing = {key_of(each): each.missing for each in known}
        if not known:
            return None
        return [
            (each, each.missing if settled else min(each.missing, before.get(key_of(each), 0)))
            for each in known
        ]


def key_of(passage: Passage) -> tuple[str, str]:
    """What tells a passage from the others of a pipeline."""
    return passage.giver, passage.words


def difference(taken: int | None, terms: Sequence[int | None], *, settled: bool) -> int | None:
    """What was taken and is in no term; ``None`` if one is not known, and while they move."""
    known = [each for each in (taken, *terms) if each is not None]
    if not settled or len(known) < len((taken, *terms)):
        return None
    total, *parts = known
    return total - sum(parts)


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """Something that the ledger must say, such as a restart; ``at`` in seconds since 1970."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a number of the ledger is not 0, or not known.

    ``field``  the number
    ``count``  its part of that; ``None`` if nobody can tell
    ``place``  the stage where it was counted
    ``words``  what happened there
    ``unit``   what is counted, where that has to be said
    """

    field: str
    count: int | None
    place: str
    words: str
    unit: Unit = ""

    @property
    def figure(self) -> str:
        """How many."""
        return NOT_KNOWN if self.count is None else counted(f"{self.count:,}", self.unit)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was taken, and what became of it; ``words.py`` explains each number.

    Those that are ``None`` nobody can tell, and those that ``at_least`` names may be more.
    ``difference`` is what was taken and is in none of the terms, once nothing moves any more.
    ``lost``, ``duplicated``, ``possibly_duplicated`` and ``late`` are the sums of their ``causes``.
    ``units`` say what each number counts, where an element is not a row.
    """

    taken: int | None = 0
    delivered: int | None = 0
    filtered: int | None = None
    late: int | None = 0
    dead_letters: int = 0
    in_flight: int | None = 0
    replayed: int = 0
    recognised: int = 0
    lost: int | None = None
    duplicated: int | None = None
    possibly_duplicated: int | None = 0
    restarts: int = 0
    difference: int | None = None
    at_least: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    passages: tuple[Passage, ...] = ()
    lines: tuple[LedgerLine, ...] = ()
    units: Mapping[str, Unit] = field(default_factory=dict)

    def in_units(self, elements: Unit, **others: Unit) -> Ledger:
        """The same where an element is no row: each number says what it counts."""
        of_words: dict[str, Unit] = {"{element}": elements, "{row}": "rows"}
        said = {word.field: of_words.get(word.unit, "") for word in WORDS}
        lost = {each.unit or "rows" for each in causes_of(self, "lost") if each.count}
        return replace(
            self,
            units={**said, "lost": common_unit(lost), **others},
            causes=tuple(replace(each, unit=each.unit or "rows") for each in self.causes),
            passages=tuple(replace(each, unit=each.unit or "rows") for each in self.passages),
        )


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
        "elements that were taken from the sources, over all restarts; of a stream that Spark "
        "itself reads, the rows that it says it has read",
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
    text = counted(f"{number:,}", ledger.units.get(field, ""))
    return f"{text} or more" if field in ledger.at_least else text


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
