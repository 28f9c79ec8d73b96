"""A small tree for each difference that is meant: it gives one thing here, another one there."""

from __future__ import annotations

from itertools import count

from tests.peers.trees import TICK, Node, Source, Tree

__all__ = ["EXAMPLES"]

OFFSETS = count(1_000, 37)


def source(
    *elements: tuple[int, int],
    end: int | None = None,
    error: str | None = None,
    hot: bool = False,
) -> Source:
    """Elements and an end after so many ticks, each source a little later than the one before."""
    offset = next(OFFSETS)
    return Source(
        f"source {offset}",
        hot=hot,
        elements=tuple((at * TICK + offset, element) for at, element in elements),
        end=None if end is None else end * TICK + offset,
        error=error,
    )


def apply(operator: str, *inputs: Tree, number: int = 1, ticks: int = 2) -> Node:
    return Node(operator, number, ticks * TICK + next(OFFSETS), inputs)


EXAMPLES: dict[str, Tree] = {
    "what is held comes before an error": apply(
        "buffer", source((0, 1), end=1, error="broken"), number=2
    ),
    "delay delays no end": apply("delay", source((0, 1), end=5)),
    "with_latest_from ends with a publisher that gave nothing": apply(
        "with_latest_from", source((0, 1), end=9), source(end=3)
    ),
    "combine_latest ends with a publisher that gave nothing": apply(
        "combine_latest", source((0, 1), end=9), source(end=3)
    ),
    "a share that has ended runs again": apply("repeat", apply("share", source(end=1)), number=2),
    "elements that are there at once come when they are pulled": apply(
        "combine_latest",
        apply("start_with", source(end=1)),
        apply("start_with", source(end=1)),
    ),
    "the end of the other one ends take_until": apply(
        "take_until", source((0, 1), (4, 2), end=9), source(end=2)
    ),
    "skip_until begins and ends with the end": apply(
        "skip_until", source((0, 1), (4, 2), end=9), source(end=2)
    ),
    "upstream of busy inner flows nothing moves": apply(
        "concat_map",
        apply("throttle", source((0, 1), (1, 2), (4, 3), end=5), ticks=2),
        source((3, 1), end=6),
    ),
    "inner flows are woken in another order": apply(
        "flat_map_sequential",
        source((0, 8), (0, 9), end=0),
        apply(
            "expand",
            source((0, 0), (0, 4), (0, 5), (0, 6), end=1, hot=True),
            source((0, 5), (2, 4), (3, 6), (4, 7), end=7),
            number=4,
        ),
    ),
    "an error overtakes no element that a delayed subscription gives": apply(
        "elapsed", apply("delay_subscription", source((0, 1), end=0, error="broken"))
    ),
    "upstream of a zip that waits for partners nothing moves": apply(
        "zip",
        apply("merge", source((0, 1), (1, 2), (2, 3)), source((0, 4))),
        source((5, 5), (6, 6), (7, 7)),
    ),
}
