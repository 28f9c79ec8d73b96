"""How the wording of a rule changed: the stages of the document and what each of them said."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["DocumentStage", "Wording", "history"]


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
