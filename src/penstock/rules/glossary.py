"""The words that the rules use, what we mean by them, and which of several we chose."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from penstock.rules.catalogue import unknown
from penstock.rules.model import Term

__all__ = ["GLOSSARY", "term"]

_TERMS: Final = (
    Term(
        name="asynchronous",
        meaning="Done later or elsewhere: the call returns before the work is over.",
        usage="The document explains only its opposite.",
        aliases=("asynchronously",),
        rules=("2.2", "2.11"),
    ),
    Term(
        name="call",
        meaning="As a verb, to run a method; as a noun, one run of it.",
        usage="We use call. The review notes asked to choose between it and invoke.",
        aliases=("invoke",),
        rules=(
            "1.6",
            "1.9",
            "1.10",
            "2.1",
            "2.3",
            "2.5",
            "2.6",
            "2.7",
            "2.8",
            "2.11",
            "2.12",
            "2.13",
            "3.1",
            "3.2",
            "3.3",
            "3.5",
            "3.7",
            "3.14",
        ),
    ),
    Term(
        name="demand",
        meaning="What a subscriber has requested so far, minus what it has received.",
        usage=(
            "We use the noun only; the verb is request. The SPI draft spoke of the pending element "
            "count."
        ),
        aliases=("pending element count",),
        rules=("1.1", "1.2", "2.1", "2.9", "2.10", "3.3", "3.8", "3.17", "4.2"),
    ),
    Term(
        name="downstream",
        meaning=(
            "The direction in which elements flow, and the party that is next in that direction."
        ),
        usage="The review notes wanted it defined; 1.0.1 names the subscriber instead.",
        rules=("4.1",),
    ),
    Term(
        name="element",
        meaning="One value of a stream, carried by on_next. None is not an element.",
        usage="We use element. The review notes asked to choose one of element, item and data.",
        aliases=("item", "data"),
        rules=(
            "1.1",
            "1.11",
            "2.1",
            "2.5",
            "2.6",
            "2.8",
            "2.9",
            "2.10",
            "3.3",
            "3.10",
            "3.16",
            "3.17",
            "4.2",
        ),
    ),
    Term(
        name="external synchronization",
        meaning="Order among threads that the parties arrange by means outside the rules.",
        usage="We say serial, as the document has done since 1.0.3, which dropped this entry.",
    ),
    Term(
        name="failure",
        meaning=(
            "The state of a publisher that cannot go on. Its subscribers learn of it by on_error."
        ),
        usage="The review notes wanted it defined; 1.0.1 does not do so.",
        aliases=("fail", "failing"),
        rules=("1.2", "1.4", "1.9", "2.10", "2.13", "3.16", "4.2"),
    ),
    Term(
        name="happens before",
        meaning=(
            "One action is over, and all that it did is visible, when the other starts, even on "
            "another thread."
        ),
        usage="Java defines it in its language specification; for Python see rule 2.11.",
        aliases=("happens-before", "happen-before"),
        rules=("1.1", "1.3", "2.7", "2.11"),
    ),
    Term(
        name="multicast",
        meaning="Said of a subscription that shares its elements with others.",
        usage="The document uses the word without defining it.",
        rules=("1.11",),
    ),
    Term(
        name="no-op",
        meaning="A call without any effect that its caller could notice, however often it is made.",
        usage="The document writes NOP.",
        aliases=("NOP", "no operation"),
        rules=("1.6", "3.6", "3.7"),
    ),
    Term(
        name="non-obstructing",
        meaning=(
            "Said of a method that takes as little time of its caller's thread as it can: it "
            "neither waits nor computes at length."
        ),
        usage=(
            "We say it of methods, and responsivity of parties. The review notes asked to choose "
            "one of the two; 1.0.1 defines both."
        ),
        rules=("2.2", "3.4", "3.5"),
    ),
    Term(
        name="responsivity",
        meaning="The ability to answer promptly, which no party may take from another.",
        usage=(
            "We say it of parties, and non-obstructing of methods. The review notes asked to "
            "choose one of the two; 1.0.1 defines both."
        ),
        aliases=("responsive", "responsiveness"),
        rules=("3.4",),
    ),
    Term(
        name="return normally",
        meaning=(
            "To give control back without an exception; failures are signalled by on_error. An "
            "argument that is None is the one reason to raise, and TypeError the exception."
        ),
        usage="The review notes wanted it defined; 1.0.1 does so.",
        aliases=("returns normally", "returning normally"),
        rules=("1.9", "2.13", "3.15", "3.16"),
    ),
    Term(
        name="send",
        meaning="To signal, said of a publisher.",
        usage=(
            "We use send. The review notes asked to choose between it and emit; 1.0.1 says signal "
            "instead."
        ),
        aliases=("emit",),
        rules=("1.1", "1.3", "1.6", "1.9", "2.8", "3.3", "3.10", "3.11"),
    ),
    Term(
        name="serial",
        meaning=(
            "Said of calls that never overlap and of which each happens before the next. They may "
            "come from several threads if a lock, a queue or the like orders them."
        ),
        usage="1.0.0 said sequentially, 1.0.1 external synchronization; serially since 1.0.3.",
        aliases=("serially", "sequentially"),
        rules=("1.3", "2.7"),
    ),
    Term(
        name="shut-down state",
        meaning="The state of a publisher that has closed for good without a failure.",
        usage="The document uses the word without defining it.",
        aliases=("shut-down", "shut down"),
        rules=("3.14",),
    ),
    Term(
        name="signal",
        meaning=(
            "As a noun, a call of on_subscribe, on_next, on_error, on_complete, request or cancel; "
            "as a verb, to make one."
        ),
        usage="Where nothing else is said, we mean the four that a subscriber gets.",
        rules=(
            "1.2",
            "1.3",
            "1.6",
            "1.7",
            "1.8",
            "1.9",
            "2.1",
            "2.2",
            "2.4",
            "2.11",
            "2.12",
            "3.12",
        ),
    ),
    Term(
        name="signaller",
        meaning="The party that makes a signal.",
        usage="We name the party. The review notes wanted it defined; 1.0.1 does not use it.",
    ),
    Term(
        name="synchronous",
        meaning="Done on the caller's thread, before the call returns.",
        aliases=("synchronously",),
        rules=("2.1", "3.2", "3.3", "3.10", "3.11"),
    ),
    Term(
        name="terminal state",
        meaning=(
            "The state of a stream after on_complete or on_error: of its publisher once it has "
            "sent one, of its subscriber once it has received one."
        ),
        usage=(
            "We use terminal state, and terminal signal for what leads to it. The review notes "
            "asked to choose between it and end-of-stream; 1.0.1 chose as we do."
        ),
        aliases=("terminal signal", "end of stream", "end-of-stream"),
        rules=("1.2", "1.6", "1.7", "1.9", "2.4"),
    ),
    Term(
        name="thread-safe",
        meaning="Said of what several threads may call at the same time, in no particular order.",
        usage="In the document's glossary since 1.0.2.",
        aliases=("thread safety",),
        rules=("2.11", "3.5"),
    ),
    Term(
        name="unicast",
        meaning="Said of a subscription that has elements of its own.",
        usage="The document uses the word without defining it.",
        rules=("1.11",),
    ),
    Term(
        name="upstream",
        meaning=(
            "The direction from which elements come, and the party that is next in that direction."
        ),
        usage="The review notes wanted it defined; 1.0.1 names the publisher instead.",
        rules=("4.1", "4.2"),
    ),
)

GLOSSARY: Final[Mapping[str, Term]] = MappingProxyType({entry.name: entry for entry in _TERMS})
"""The terms by name, in alphabetical order."""

_BY_ANY_NAME: Final = {
    name.lower(): entry for entry in _TERMS for name in (entry.name, *entry.aliases)
}


def term(name: str) -> Term:
    """The term of that name or alias; upper and lower case are the same."""
    try:
        return _BY_ANY_NAME[name.lower()]
    except KeyError:
        raise unknown("term", name, allowed=", ".join(GLOSSARY), names=_BY_ANY_NAME) from None
