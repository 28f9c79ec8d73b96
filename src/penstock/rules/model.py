"""What a rule and a term of the glossary are made of."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from penstock.rules.history import DocumentStage, Wording

__all__ = ["Checkmark", "Party", "Rule", "Strength", "Term"]

Checkmark: TypeAlias = Literal["+", "-", ""]
"""What the implementer's checklist put before a rule. It has no legend, so we give it none."""


class Party(StrEnum):
    """The party that a rule binds."""

    PUBLISHER = "publisher"
    SUBSCRIBER = "subscriber"
    SUBSCRIPTION = "subscription"
    PROCESSOR = "processor"
    CALLER = "caller"
    """The caller of ``subscribe``."""


class Strength(StrEnum):
    """How firmly a rule binds, in the sense of RFC 2119.

    REQUIRED counts as MUST and RECOMMENDED as SHOULD. A rule that mixes words has the strongest
    of them; its text says which part is bound how.
    """

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One of the 43 rules, in our own words."""

    number: str
    binds: Party
    """The party with the main duty; the text names the others, where there are any."""
    strength: Strength
    summary: str
    """One short sentence, made to stand inside an error message."""
    text: str
    intent: str
    """Why the rule exists."""
    python: str = ""
    """What Python does where the language matters. Empty: nothing special."""
    related: tuple[str, ...]
    checklist: Checkmark = ""
    history: tuple[Wording, ...]

    @property
    def chapter(self) -> str:
        """The part of the number before the dot."""
        return self.number.partition(".")[0]

    @property
    def changes(self) -> tuple[Wording, ...]:
        """The stages of the history at which the wording changed."""
        return tuple(wording for wording in self.history if wording.changed)

    @property
    def unchanged_since(self) -> DocumentStage:
        """The last stage of the document itself that changed the wording."""
        stages = [change.stage for change in self.changes]
        return [stage for stage in stages if stage is not DocumentStage.CHECKLIST][-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One word of the glossary."""

    name: str
    meaning: str
    usage: str = ""
    """Which of several words we use, and what became of the word in the document."""
    aliases: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """The rules whose text or intent uses the word."""
