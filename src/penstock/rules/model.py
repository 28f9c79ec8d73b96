"""What a rule is made of: its words, its reason, the stages that its wording went through."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Literal, TypeAlias

__all__ = [
    "Checkmark",
    "DocumentStage",
    "Party",
    "Rule",
    "Strength",
    "Term",
    "Wording",
    "history",
]

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


class DocumentStage(Enum):
    """The stages of the document, oldest first."""

    NOTES = ("earliest notes", "a first list of demands on publishers, subscribers, processors")
    DRAFT = ("SPI draft", "the first full text, with footnotes; request is named requestMore")
    V1_0_0 = ("1.0.0", "the first release, here with the notes of a review of its wording")
    V1_0_1 = ("1.0.1", "adds a glossary, and to each rule its intent")
    V1_0_2 = ("1.0.2", "clarifies two intents and adds thread-safe to the glossary")
    V1_0_3 = ("1.0.3", "replaces external synchronization by serial")
    # The checklist has no date. It says "serially", so it follows 1.0.3.
    CHECKLIST = ("checklist", "chapters 1 to 3 as an implementer's list, some marked + or -")
    V1_0_4 = ("1.0.4", "changes one intent, and the licence to MIT-0")

    def __init__(self, title: str, about: str) -> None:
        self.title = title
        self.about = about


@dataclass(frozen=True, slots=True)
class Wording:
    """What a rule, or its ancestor, said at one stage, in our words."""

    stage: DocumentStage
    text: str
    """What it said, or how it changed. Empty: the same as at the stage before."""

    @property
    def changed(self) -> bool:
        """Whether the wording differs from the stage before."""
        return bool(self.text)


def history(
    *,
    v1_0_0: str,
    notes: str | None = None,
    draft: str | None = None,
    v1_0_1: str = "",
    v1_0_2: str = "",
    v1_0_3: str = "",
    checklist: str | None = "",
    v1_0_4: str = "",
) -> tuple[Wording, ...]:
    """The stages at which a rule occurs, oldest first: ``None`` where it does not occur.

    An empty text says that the stage left the wording as it was.
    """
    texts = {
        DocumentStage.NOTES: notes,
        DocumentStage.DRAFT: draft,
        DocumentStage.V1_0_0: v1_0_0,
        DocumentStage.V1_0_1: v1_0_1,
        DocumentStage.V1_0_2: v1_0_2,
        DocumentStage.V1_0_3: v1_0_3,
        DocumentStage.CHECKLIST: checklist,
        DocumentStage.V1_0_4: v1_0_4,
    }
    return tuple(Wording(stage, text) for stage, text in texts.items() if text is not None)
