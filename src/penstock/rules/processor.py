"""Chapter 4: what a processor, both subscriber and publisher, owes to both sides."""

from __future__ import annotations

from typing import Final

from penstock.rules.model import Party, Rule, Strength, history

__all__ = ["PROCESSOR_RULES"]

PROCESSOR_RULES: Final = (
    Rule(
        number="4.1",
        binds=Party.PROCESSOR,
        strength=Strength.MUST,
        summary="a processor obeys subscriber and publisher rules",
        text="A processor, being subscriber and publisher in one, MUST obey the rules of each.",
        intent=(
            "A stage in the middle is no exception: upstream sees an ordinary subscriber, "
            "downstream an ordinary publisher."
        ),
        related=("4.2",),
        history=history(
            notes=(
                "More than that: it should wait for a subscriber before it subscribes upstream, "
                "wait for a request before it requests, and cancel upstream with its last "
                "subscriber. It must take elements that come without demand, or after that cancel."
            ),
            draft=(
                "Cancelling upstream with the last subscriber is mandatory, and the processor "
                "shuts down. The advice to wait is gone; elements without demand are still to be "
                "taken."
            ),
            v1_0_0=(
                "The rules of both sides, and no more. Besides the rules, the document calls it a "
                "good idea to pass the last cancel on upstream."
            ),
            checklist=None,
        ),
    ),
    Rule(
        number="4.2",
        binds=Party.PROCESSOR,
        strength=Strength.MUST,
        summary="a processor handles on_error or passes it on at once",
        text=(
            "A processor MAY recover from an on_error that it gets; its upstream subscription MUST "
            "then be treated as cancelled. Otherwise it MUST pass the error on to its subscribers "
            "at once."
        ),
        intent=(
            "A processor can do more than transform: it can replace a source that failed. An error "
            "that it does not handle needs no demand and does not wait for buffered elements."
        ),
        related=("1.4", "2.10", "4.1"),
        history=history(
            draft="Errors go on downstream immediately; unlike elements they are never buffered.",
            v1_0_0=(
                "Recovery is allowed. The review notes ask whether on_complete should be mentioned "
                "as well; no release took that up."
            ),
            checklist=None,
        ),
    ),
)
