"""What the arguments of ``penstock tck`` say of its subject: the factory, its kind, its claims."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any, Final, get_args, get_type_hints

from penstock.cli.loading import load
from penstock.rules.catalogue import unknown
from penstock.runtime import shorten
from penstock.tck.real_environment import DisposableThread
from penstock.tck.verifying import KINDS, Kind

__all__ = ["load_factory", "load_kind", "read_claims"]

_LIMIT: Final = 3.0
"""Seconds after which a factory counts as hanging."""
_ELEMENTS: Final = 3
_WORDS: Final = {"true": True, "yes": True, "false": False, "no": False}
_SIGNALS: Final = ("on_subscribe", "on_next", "on_error", "on_complete")


def load_factory(reference: str) -> Callable[..., Any]:
    """The factory that ``module:name`` refers to."""
    factory: Callable[..., Any] = load(reference)
    if not callable(factory):
        raise ValueError(f"{reference} is {shorten(factory)}, which is no function and no class")
    return factory


def load_kind(name: str | None, reference: str, factory: Callable[..., Any]) -> Kind:
    """The kind of that name, or the kind of what ``factory`` makes."""
    if name is None:
        # A class shows what its instances can do, and need not be called.
        name = _party(factory) if inspect.isclass(factory) else None
        name = name or _party_made_by(reference, factory)
    return KINDS[name]


def read_claims(kind: Kind, texts: Iterable[str]) -> dict[str, Any]:
    """The claims from texts such as ``multicast=true``."""
    return dict(_read_claim(kind, text) for text in texts)


def _read_claim(kind: Kind, text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    names = [field.name for field in fields(kind.claims)]
    if name not in names:
        raise unknown("claim", name, allowed=", ".join(names), names=names)
    hint = get_type_hints(kind.claims)[name]
    if hint is bool:
        return name, _read_bool(name, value)
    if int in (hint, *get_args(hint)):
        return name, _read_int(name, value)
    function = load(value)
    if not callable(function):
        raise ValueError(f"the claim {name} takes a function, and {value} is {shorten(function)}")
    return name, function


def _read_bool(name: str, value: str) -> bool:
    if value.lower() not in _WORDS:
        raise ValueError(f"the claim {name} is {' or '.join(_WORDS)}, not {value!r}")
    return _WORDS[value.lower()]


def _read_int(name: str, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ValueError(f"the claim {name} is a number above zero, not {value!r}")
    return number


def _party_made_by(reference: str, factory: Callable[..., Any]) -> str:
    arguments = (_ELEMENTS,) if _takes_an_argument(factory) else ()
    call = f"{reference}({', '.join(map(str, arguments))})"
    made = _called(call, lambda: factory(*arguments))
    party = _party(made)
    if party is None:
        raise ValueError(
            f"{call} returned {shorten(made)}, which is neither a publisher (subscribe) nor a "
            f"subscriber ({', '.join(_SIGNALS)})"
        )
    return party


def _party(thing: object) -> str | None:
    """What a thing is by its methods: a processor has those of both."""
    publishes = callable(getattr(thing, "subscribe", None))
    subscribes = all(callable(getattr(thing, signal, None)) for signal in _SIGNALS)
    if publishes and subscribes:
        return "processor"
    return "publisher" if publishes else "subscriber" if subscribes else None


def _takes_an_argument(factory: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except ValueError:
        return True  # written in C, without a signature
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(each.kind in positional and each.default is each.empty for each in parameters)


def _called(what: str, call: Callable[[], Any]) -> Any:
    """The result of a call that may raise or hang."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = DisposableThread(body, name="factory")
    thread.start()
    if not thread.returns_within(_LIMIT):
        place = thread.place
        thread.end()
        raise ValueError(f"{what} did not return within {_LIMIT:g} s; it is at {place}")
    if errors:
        raise ValueError(f"{what} raised {shorten(errors[0])}")
    return results[0]
