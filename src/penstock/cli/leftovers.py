"""What a pipeline has not got through when it is stopped, and where that is."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.cli.figures import count
from penstock.observe.reading import Edge, Reading

__all__ = ["leftovers"]


def leftovers(reading: Reading) -> list[str]:
    """A line for each journal that holds rows, and for each sink that does not take any."""
    kinds = {stage.name: stage.kind for stage in reading.stages}
    lines: list[str] = []
    for edge in reading.edges:
        if kinds.get(edge.giver) == "journal" and edge.in_flight:
            lines.append(f"{count(edge.in_flight)} rows in the {edge.giver}, {fate(reading)}")
    edges = {edge.taker: edge for edge in reading.edges if kinds.get(edge.taker) == "sink"}
    return lines + [line for edge in edges.values() for line in of_sink(edge)]


def fate(reading: Reading) -> str:
    """What becomes of the rows in a journal."""
    if reading.checkpoint == "none":
        return "which are lost, since there is no checkpoint"
    return "with which the next run goes on"


def of_sink(edge: Edge) -> Iterator[str]:
    """Whose turn it is at a sink, if it is the sink's."""
    if edge.in_flight:
        yield f"the sink {edge.taker} is not done with {count(edge.in_flight)} that it was given"
    elif edge.requested <= edge.delivered:
        yield f"the sink {edge.taker} does not ask for more"
