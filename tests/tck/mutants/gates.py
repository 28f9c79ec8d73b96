"""One gate for each kind of party, with all its mutants."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tck.mutants import composed_processors, operators, publishers, subscribers
from tests.tck.mutants.gate import Gate, Mutant, broken_in, rule_of


def processors() -> Iterator[Mutant]:
    """The mutants of processors: by hand, and composed of others."""
    for module in ("processors", "processor_sides"):
        for name, broken in broken_in(f"tests.tck.mutants.{module}").items():
            yield Mutant(name, rule_of(broken), broken, getattr(broken, "claims", {}))
    yield from composed_processors.mutants()


GATES = {
    "publisher": Gate("publisher", publishers.mutants()),
    "subscriber": Gate("subscriber", subscribers.mutants()),
    "processor": Gate("processor", processors()),
    "operator": Gate("operator", operators.mutants()),
}
"""All gates, by kind of party."""
