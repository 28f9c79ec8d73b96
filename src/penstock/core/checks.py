"""The checks of what a foreign party hands in, in the words of the rule that it concerns."""

from __future__ import annotations

import keyword
import unicodedata
from operator import attrgetter
from typing import TypeVar

from penstock.api import Subscriber, Subscription
from penstock.rules import cite
from penstock.runtime import shorten

__all__ = [
    "illegal_request",
    "is_identifier",
    "require_element",
    "require_error",
    "require_subscriber",
    "require_subscription",
]

T = TypeVar("T")

SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")
get_signals = attrgetter(*SIGNALS)


def illegal_request(n: object) -> Exception | None:
    """The error to signal for ``request(n)``, or ``None`` when ``n`` is fine (rule 3.9)."""
    # type() and not isinstance: True is an int to Python and a mistake to everybody else.
    if type(n) is int:
        if n > 0:
            return None
        detail = f"request({shorten(n)}) asks for no element; at least 1 is allowed"
        return ValueError(cite("3.9", detail))
    if isinstance(n, int) and not isinstance(n, bool):
        return illegal_request(int.__add__(n, 0))  # a plain int, whatever the subclass does
    detail = f"request({shorten(n)}) takes an int of at least 1, not a {type(n).__name__}"
    return TypeError(cite("3.9", detail))


def is_identifier(text: str) -> bool:
    """Whether ``text`` can be written in code as the name of an attribute, and means just itself.

    Python normalises names to NFKC: a name that is not in that form would become another one, so
    that two could become the same, or one of them a keyword.
    """
    return (
        text.isidentifier()
        and not keyword.iskeyword(text)
        and unicodedata.normalize("NFKC", text) == text
    )


def require_subscriber(subscriber: Subscriber[T]) -> None:
    """Raise ``TypeError`` unless this is a subscriber (rule 1.9)."""
    try:
        get_signals(subscriber)
    except AttributeError:
        raise TypeError(cite("1.9", _what_is_missing(subscriber))) from None
    if isinstance(subscriber, type):
        raise TypeError(cite("1.9", f"{subscriber.__name__} is a class, not a subscriber"))


def _what_is_missing(subscriber: object) -> str:
    if subscriber is None:
        return "the subscriber is None"
    missing = [name for name in SIGNALS if not hasattr(subscriber, name)]
    return f"{type(subscriber).__name__} is no subscriber: it has no {', '.join(missing)}"


def require_subscription(subscription: Subscription) -> None:
    """Raise ``TypeError`` when there is no subscription (rule 2.13)."""
    if subscription is None:
        raise TypeError(cite("2.13", "on_subscribe got None instead of a subscription"))


def require_element(element: object) -> None:
    """Raise ``TypeError`` when there is no element (rule 2.13)."""
    if element is None:
        raise TypeError(cite("2.13", "on_next got None, which is not an element"))


def require_error(error: Exception) -> None:
    """Raise ``TypeError`` when there is no error (rule 2.13)."""
    if error is None:
        raise TypeError(cite("2.13", "on_error got None instead of an exception"))
