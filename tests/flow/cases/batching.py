"""Batches, windows and groups: their sizes, and what else closes them.

The clock stands still, or hurries.
"""

from __future__ import annotations

from typing import Any

from penstock import VirtualTime
from penstock.flow import Flow
from penstock.flow.flow import GroupedFlow
from tests.flow.case import Case
from tests.flow.hurrying import Hurrying

__all__ = ["CASES"]

HOUR = 3600


def threes(given: list[int]) -> list[list[int]]:
    return [given[at : at + 3] for at in range(0, len(given), 3)]


def ones(given: list[int]) -> list[Any]:
    return [[x] for x in given]


def up_to_even(given: list[int], most: int) -> list[list[int]]:
    batches: list[list[int]] = []
    is_open = False
    for x in given:
        if not is_open:
            batches.append([])
        batches[-1].append(x)
        is_open = x % 2 == 1 and len(batches[-1]) < most
    return batches


def with_key(group: GroupedFlow[Any, Any]) -> Flow[Any]:
    return group.map(lambda x: (group.key, x))


def in_groups(given: list[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for x in given:
        groups.setdefault(x % 3, []).append(x)
    return list(groups.values())


CASES = [
    Case("buffer by size", lambda flow: flow.buffer(3), threes, prefetch=3),
    Case("buffer of one", lambda flow: flow.buffer(1), ones, prefetch=1),
    Case(
        "buffer until a condition holds",
        lambda flow: flow.buffer(3, until=lambda x: x % 2 == 0),
        lambda given: up_to_even(given, 3),
        prefetch=3,
    ),
    Case(
        "buffer by size, in time",
        lambda flow: flow.buffer(3, every=HOUR, clock=VirtualTime()),
        threes,
        prefetch=3,
    ),
    Case(
        "buffer whose time is always up",
        lambda flow: flow.buffer(3, every=HOUR, clock=Hurrying(2 * HOUR)),
        ones,
        prefetch=3,
    ),
    Case(
        "buffer in time, until a condition holds",
        lambda flow: flow.buffer(3, HOUR, lambda x: x % 2 == 0, clock=VirtualTime()),
        lambda given: up_to_even(given, 3),
        prefetch=3,
    ),
    Case(
        "buffer until a publisher says so, which never does",
        lambda flow: flow.buffer(3, until=Flow.never()),
        threes,
        prefetch=3,
    ),
    Case(
        "buffer until a publisher says so, which is over at once",
        lambda flow: flow.buffer(3, until=Flow.empty()),
        lambda given: [],
        prefetch=3,
    ),
    Case(
        "group_by, in one group",
        lambda flow: flow.group_by(lambda x: 0).flat_map(lambda group: group),
        lambda given: given,
        prefetch=256,
        claims={"errors_overtake": True},  # as flat_map lets them
    ),
    Case(
        "group_by",
        lambda flow: flow.group_by(lambda x: x % 3).flat_map(with_key),
        lambda given: [(x % 3, x) for x in given],
        ordered=False,
        prefetch=256,
    ),
    Case(
        "group_by, one element ahead",
        lambda flow: flow.group_by(lambda x: x % 3, prefetch=1).flat_map(with_key),
        lambda given: [(x % 3, x) for x in given],
        ordered=False,
        prefetch=1,
    ),
    Case(
        "group_by, each group as a list",
        lambda flow: flow.group_by(lambda x: x % 3).flat_map(lambda group: group.to_list()),
        in_groups,
        ordered=False,
        prefetch=256,
    ),
    Case(
        "group_by, of groups that end early",
        lambda flow: flow.group_by(lambda x: x, max_groups=2, prefetch=1).flat_map(
            lambda group: group.take(1)
        ),
        lambda given: given,
        prefetch=1,
    ),
    Case(
        "group_by, of groups that end early, far ahead",
        lambda flow: flow.group_by(lambda x: x, max_groups=2).flat_map(lambda group: group.take(1)),
        lambda given: given,
        prefetch=256,
        claims={"errors_overtake": False},  # they wait for keys that wait for room
    ),
    Case(
        "buffer that overlaps",
        lambda flow: flow.buffer(3, step=2),
        lambda given: [given[at : at + 3] for at in range(0, len(given), 2)],
    ),
    Case(
        "buffer that leaves out",
        lambda flow: flow.buffer(2, step=3),
        lambda given: [given[at : at + 2] for at in range(0, len(given), 3)],
    ),
    Case(
        "buffer aligned to the clock, in time",
        lambda flow: flow.buffer(3, every=HOUR, aligned=True, clock=VirtualTime(HOUR / 2)),
        threes,
        prefetch=3,
    ),
    Case(
        "buffer aligned to the clock, whose time is always up",
        lambda flow: flow.buffer(3, every=HOUR, aligned=True, clock=Hurrying(2 * HOUR)),
        ones,
        prefetch=3,
    ),
    Case(
        "window by size",
        lambda flow: flow.window(3).flat_map(lambda window: window.to_list()),
        threes,
        prefetch=256,
    ),
    Case(
        "window by size, one element ahead",
        lambda flow: flow.window(3, prefetch=1).concat_map(lambda window: window.to_list()),
        threes,
        prefetch=1,
    ),
    Case(
        "window that overlaps",
        lambda flow: flow.window(3, step=2).flat_map(lambda window: window.to_list()),
        lambda given: [given[at : at + 3] for at in range(0, len(given), 2)],
        prefetch=257,  # one of them is in two windows
        claims={"errors_overtake": False},  # of windows that overlap, as of others
    ),
    Case(
        "window that overlaps, one element ahead",
        lambda flow: flow.window(4, step=1, prefetch=1).concat_map(lambda window: window.to_list()),
        lambda given: [given[at : at + 4] for at in range(len(given))],
        prefetch=4,
    ),
    Case(
        "window that leaves out",
        lambda flow: flow.window(2, step=3).concat_map(lambda window: window),
        lambda given: [x for at, x in enumerate(given) if at % 3 < 2],
        prefetch=384,  # of which it holds two thirds
        claims={"completes_eagerly": False},  # what is between two windows may be the last
    ),
    Case(
        "window that begins where the one before ends",
        lambda flow: flow.window(3, step=3).concat_map(lambda window: window.to_list()),
        threes,
        prefetch=256,
    ),
    Case(
        "window aligned to the clock",
        lambda flow: flow.window(2, every=HOUR, aligned=True, clock=VirtualTime()).concat_map(
            lambda window: window
        ),
        lambda given: given,
        prefetch=256,
    ),
    Case(
        "window until a condition holds",
        lambda flow: flow.window(until=lambda x: x % 2 == 0).concat_map(
            lambda window: window.to_list()
        ),
        lambda given: up_to_even(given, len(given)),
        prefetch=256,
    ),
    Case(
        "window, element by element",
        lambda flow: flow.window(2, every=HOUR).concat_map(lambda window: window),
        lambda given: given,
        prefetch=256,
    ),
]
