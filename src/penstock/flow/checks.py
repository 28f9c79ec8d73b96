"""The checks of what is given to an operator: errors at assembly, in the words of the operator."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.expression import Expression, inlined
from penstock.flow.operators.transforming import NO_SEED
from penstock.runtime import shorten

__all__ = [
    "is_publisher",
    "require_async_iterable",
    "require_awaitable",
    "require_awaiting_function",
    "require_callable",
    "require_combination",
    "require_element",
    "require_function",
    "require_inner_publisher",
    "require_iterable",
    "require_listener",
    "require_publisher",
]

T = TypeVar("T")

# What awaits where the operator does not; for others a plain function has to do.
AWAITS_INSTEAD: Final = {
    "create": "from_async_iterable",
    "defer": "from_awaitable",
    "from_callable": "from_awaitable",
    "generate": "from_async_iterable",
}
ITERABLES_INSTEAD: Final = dict.fromkeys(
    ("exhaust_map", "expand", "switch_map"), "from_iterable makes a flow of"
)
TAKES_NO_ELEMENTS: Final = (
    "collect", "conflate", "do_finally", "do_on_discard", "do_on_error", "on_backpressure_drop",
    "on_error_continue", "on_error_map", "on_error_resume", "pipe", "Retry", "using",
    "watch_stalls",
)  # fmt: skip


def require_callable(operator: str, function: Callable[..., T]) -> Callable[..., T]:
    """``function``, when it can be called and gives its result at once."""
    if isinstance(function, Expression):
        raise TypeError(f"{operator} takes no expression here; use a lambda")
    if not callable(function):
        raise TypeError(f"{operator} needs a function, not {shorten(function)}")
    if is_made_by(inspect.iscoroutinefunction, function):
        instead = AWAITS_INSTEAD.get(operator, "map_async")
        hint = "give a plain function" if operator in TAKES_NO_ELEMENTS else f"use {instead}"
        raise TypeError(
            f"{operator} got the coroutine function {shorten(function)}, "
            f"whose result is not there yet; {hint}"
        )
    refuse_async_generator(operator, function)
    return function


def is_made_by(asked: Callable[[object], bool], function: object) -> bool:
    """Whether a function, or an object that is called like one, is of some kind."""
    return asked(function) or (callable(function) and asked(function.__call__))


def refuse_async_generator(operator: str, function: object) -> None:
    """No operator iterates over what an asynchronous generator function returns."""
    if is_made_by(inspect.isasyncgenfunction, function):
        raise TypeError(
            f"{operator} got the asynchronous generator function {shorten(function)}; "
            "make a flow of what it returns by from_async_iterable, in a flat_map for instance"
        )


def require_function(
    operator: str, function: object, *, arguments: tuple[str, ...] = ("{x}",)
) -> Expression:
    """The text that calls ``function`` in a loop; one of a single argument may be an expression."""
    if isinstance(function, Expression) and len(arguments) == 1:
        return function
    if not callable(function):
        raise TypeError(f"{operator} needs a function, not {shorten(function)}")
    return inlined(require_callable(operator, function), arguments=arguments)


def require_combination(operator: str, seed: object, function: object) -> tuple[object, Expression]:
    """A seed, and the text that calls a function of two arguments; one alone is the function."""
    if function is None:
        seed, function = NO_SEED, seed
    return seed, require_function(operator, function, arguments=("{a}", "{x}"))


def require_iterable(operator: str, iterable: Iterable[T]) -> Iterable[T]:
    """``iterable``, when it is one, be it by ``__iter__`` or by ``__getitem__``."""
    kind = type(iterable)
    if isinstance(iterable, Expression):
        raise TypeError(f"{operator} needs an iterable, and takes no expression")
    is_iterable = hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")
    if is_iterable and not isinstance(iterable, BaseFlow):  # whose __iter__ says what to do instead
        return iterable
    if is_publisher(iterable):
        hint = "; use from_publisher"
    else:
        hint = "; use from_async_iterable" if hasattr(kind, "__aiter__") else ""
    raise TypeError(f"{operator} needs an iterable, not {shorten(iterable)}{hint}")


def require_publisher(operator: str, publisher: Publisher[T]) -> Publisher[T]:
    """``publisher``, when it is one."""
    if not is_publisher(publisher):
        several = isinstance(publisher, list | tuple) and all(map(is_publisher, publisher))
        hint = f"; give them one by one: {operator}(*publishers)" if several else ""
        raise TypeError(f"{operator} needs a publisher, not {shorten(publisher)}{hint}")
    return publisher


def require_inner_publisher(operator: str, made: Any) -> Publisher[Any]:
    """``made``, when it is a publisher: what a function of the user returned for an element."""
    if is_publisher(made) or not isinstance(made, Iterable):
        return require_publisher(operator, made)
    instead = ITERABLES_INSTEAD.get(operator, "flat_map_iterable takes a function that returns")
    raise TypeError(
        f"{operator} needs a publisher, not {shorten(made)}; {instead} a list or another iterable"
    )


def is_publisher(candidate: object) -> bool:
    """Whether something can be subscribed to."""
    # A question to the protocol would take longer than to subscribe, and flat_map asks often.
    if isinstance(candidate, type | Expression):
        return False
    return callable(getattr(candidate, "subscribe", None))


def require_element(operator: str, element: T) -> T:
    """``element``, when it can be one."""
    if element is None:
        raise TypeError(f"{operator} needs an element, and None is not one")
    return element


def require_awaiting_function(
    operator: str, function: Callable[..., Awaitable[T]]
) -> Callable[..., Awaitable[T]]:
    """``function``, when it can be called; what it returns is seen later."""
    if isinstance(function, Expression):
        raise TypeError(f"{operator} takes no expression; give a coroutine function, or use map")
    if not callable(function):
        raise TypeError(f"{operator} needs a coroutine function, not {shorten(function)}")
    refuse_async_generator(operator, function)
    return function


def require_awaitable(
    operator: str, awaitable: Awaitable[T] | Callable[[], Awaitable[T]]
) -> Awaitable[T] | Callable[[], Awaitable[T]]:
    """``awaitable``, when it is one, or a function that may make one."""
    refuse_async_generator(operator, awaitable)
    is_expression = isinstance(awaitable, Expression)
    if is_expression or not (inspect.isawaitable(awaitable) or callable(awaitable)):
        raise TypeError(
            f"{operator} needs an awaitable, or a function that makes one, not {shorten(awaitable)}"
        )
    return awaitable


def require_async_iterable(operator: str, iterable: AsyncIterable[T]) -> AsyncIterable[T]:
    """``iterable``, when it is an asynchronous one."""
    if hasattr(type(iterable), "__aiter__"):
        return iterable
    hint = ""
    if inspect.isasyncgenfunction(iterable):
        hint = "; call the function"
    elif hasattr(type(iterable), "__iter__") and not isinstance(iterable, Expression):
        hint = "; use from_iterable"
    raise TypeError(f"{operator} needs an asynchronous iterable, not {shorten(iterable)}{hint}")


def require_listener(operator: str, listener: object, methods: Iterable[str]) -> object:
    """``listener``, when it has any of ``methods``."""
    if isinstance(listener, type | Expression) or not any(
        callable(getattr(listener, method, None)) for method in methods
    ):
        raise TypeError(
            f"{operator} needs an object with any of {', '.join(methods)}, not {shorten(listener)}"
        )
    return listener
