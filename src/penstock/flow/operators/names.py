"""Names and checkpoints: what the user calls a flow, or a place in it. They cost nothing."""

from __future__ import annotations

from penstock.demand import shorten
from penstock.flow.stage import EACH_ALONE, Woven
from penstock.flow.weaving import Loop

__all__ = ["Checkpoint", "Label", "Named"]


class Label(Woven):
    """A place that elements pass as if it were not there."""

    rerun = EACH_ALONE
    level = True

    def weave(self, loop: Loop, *values: str) -> None:
        """Nothing."""


class Named(Label):
    """The name of the flow that ends here."""

    def __init__(self, title: str, tags: dict[str, object]) -> None:
        super().__init__("named")
        self.title = title + tags_in_words(tags)
        self.mark = f"in the flow {self.title}"


class Checkpoint(Label):
    """A text for the errors that pass it."""

    def __init__(self, text: str) -> None:
        super().__init__("checkpoint")
        self.mark = f"passed the checkpoint {text!r}, assembled at {self.site}"


def tags_in_words(tags: dict[str, object]) -> str:
    """``(key=value, ...)``, or nothing."""
    if not tags:
        return ""
    return f" ({', '.join(f'{key}={shorten(value)}' for key, value in tags.items())})"
