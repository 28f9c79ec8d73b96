"""A pipeline as data: where elements come from, what happens to them, and where they go."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.checks import require_callable
from penstock.runtime import shorten
from penstock.runtime.arguments import require_text, require_texts
from penstock.runtime.drawing import box, chain, figure, stack

__all__ = ["NoSettings", "Pipeline"]

SETTINGS: Final = "settings"


@dataclass(frozen=True)
class NoSettings:
    """For pipelines in which nothing can be set."""


class Pipeline:
    """What ``penstock run`` runs.

    ``name``       stands on the page and in the checkpoint, which belongs to that name
    ``sources``    functions by name, each of which makes a flow of the settings
    ``transform``  makes one flow of those of the sources, which it takes by their names, and of
                   ``settings`` if it has a parameter of that name; one source alone needs none
    ``sinks``      functions by name, each of which makes a sink of the settings: a function that
                   takes an element, a ``Subscriber``, or one that Spark serves
                   (``penstock.spark.write_with_spark``, ``for_each_batch``). All of them see all
                   elements; the slowest sets the pace
    ``settings``   a dataclass, whose fields a file or the command line can set

    ``secret_fields``  names of fields whose values are shown nowhere: not on the page, in dead
                       letters, errors or logs. Where there are any, an element without fields, such
                       as a line of text, is not shown at all

    The functions are called once for each run, on the thread that makes the ``PipelineRun``.

    >>> from penstock import Flow
    >>> pipeline = Pipeline(
    ...     "squares",
    ...     sources={"numbers": lambda settings: Flow.range(3)},
    ...     transform=lambda numbers: numbers.map(lambda number: number * number),
    ...     sinks={"terminal": lambda settings: print},
    ... )
    >>> pipeline
    <Pipeline squares: numbers -> terminal>
    """

    def __init__(
        self,
        name: str,
        *,
        sources: Mapping[str, Callable[[Any], Publisher[Any]]],
        sinks: Mapping[str, Callable[[Any], Any]],
        transform: Callable[..., Publisher[Any]] | None = None,
        settings: type[Any] = NoSettings,
        secret_fields: Sequence[str] = (),
    ) -> None:
        self.name = require_text("Pipeline", "name", name)
        self.sources = require_functions("sources", sources)
        self.sinks = require_functions("sinks", sinks)
        self.transform = transform
        self.settings = settings
        self.secret_fields = tuple(require_texts("Pipeline", "secret_fields", secret_fields))
        if both := self.sources.keys() & self.sinks.keys():
            raise ValueError(f"{min(both)!r} is a source and a sink; give them two names")
        if not is_dataclass(settings):
            raise TypeError(f"settings must be a dataclass, not {shorten(settings)}")
        if transform is None and len(self.sources) > 1:
            raise ValueError(
                f"{len(self.sources)} sources ({', '.join(self.sources)}) need transform=, a "
                "function that makes one flow of them"
            )
        if transform is not None:
            self._require_takes_sources(require_callable("Pipeline(transform=)", transform))

    def flow(self, settings: Any, sources: Mapping[str, Publisher[Any]]) -> Publisher[Any]:
        """One flow of those of the sources."""
        if self.transform is None:
            (flow,) = sources.values()
            return flow
        arguments = dict(sources)
        if SETTINGS in inspect.signature(self.transform).parameters:
            arguments[SETTINGS] = settings
        flow = self.transform(**arguments)
        if not callable(getattr(flow, "subscribe", None)):
            raise TypeError(f"transform must return a flow, and returned {shorten(flow)}")
        return flow

    def _require_takes_sources(self, transform: Callable[..., object]) -> None:
        names = [*self.sources]
        parameters = inspect.signature(transform).parameters
        if SETTINGS in parameters:
            names.append(SETTINGS)
        try:
            inspect.signature(transform).bind(**dict.fromkeys(names))
        except TypeError as error:
            raise TypeError(
                f"transform takes ({', '.join(parameters)}), and must take the sources "
                f"{', '.join(self.sources)} by their names: {error}"
            ) from None

    def __repr__(self) -> str:
        return f"<Pipeline {self.name}: {', '.join(self.sources)} -> {', '.join(self.sinks)}>"

    def _repr_html_(self) -> str:
        between = [] if self.transform is None else [box(name_of(self.transform))]
        return figure(
            f"the pipeline {self.name}",
            chain([stack(map(box, self.sources)), *between, stack(map(box, self.sinks))]),
        )


def name_of(function: Callable[..., object]) -> str:
    """What a picture calls a function; a lambda has no name."""
    name = getattr(function, "__name__", "<lambda>")
    return "transform" if name == "<lambda>" else name


def require_functions(what: str, given: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions by name, at least one."""
    if not isinstance(given, Mapping) or not given:
        raise TypeError(f"{what} must be functions by name, at least one, not {shorten(given)}")
    for name, function in given.items():
        require_text(what, "name", name)
        require_callable(f"{what}[{name!r}]", function)
    return dict(given)
