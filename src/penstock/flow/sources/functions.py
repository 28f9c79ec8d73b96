"""Flows from functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import Publisher
from penstock.demand import shorten
from penstock.flow.arguments import require_publisher
from penstock.flow.elements import Elements, Host
from penstock.flow.fluent import opened
from penstock.flow.stage import Origin

__all__ = ["Defer", "FromCallable", "Generate"]


class FromCallable(Origin):
    """What a function returns, once it is wanted."""

    waits = False
    checked = True

    def __init__(self, function: Callable[[], Any]) -> None:
        super().__init__("from_callable")
        self._function = function

    def open(self, host: Host, each: int) -> Elements:
        """Nothing is called before the first pull."""
        return self._result(host)

    def _result(self, host: Host) -> Elements:
        result = self._function()
        if result is not None:
            host.sized = results = iter((result,))
            yield from results


class Generate(Origin):
    """Elements of a state that each step replaces by the next one."""

    waits = False

    def __init__(self, seed: Any, step: Callable[[Any], Any]) -> None:
        super().__init__("generate")
        self._seed = seed
        self._step = step

    def open(self, host: Host, each: int) -> Elements:
        """Start with the seed."""
        state = self._seed
        while (pair := self._step(state)) is not None:
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(
                    "generate: the step must return (element, next state), "
                    f"or None at the end, not {shorten(pair)}"
                )
            element, state = pair
            yield element


class Defer(Origin):
    """The elements of a publisher that is made anew for each host."""

    def __init__(self, factory: Callable[[], Publisher[Any]]) -> None:
        super().__init__("defer")
        self._factory = factory

    def open(self, host: Host, each: int) -> Elements:
        """Make it and subscribe to it, at once."""
        return opened(require_publisher("defer", self._factory()), host, each)
