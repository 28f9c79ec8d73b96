"""Batches: their sizes, and what else closes them. The clock stands still, or hurries."""

from __future__ import annotations

from typing import Any

from penstock import VirtualTime
from penstock.flow import Flow
from tests.flow.case import Case
from tests.flow.hurrying import Hurrying

__all__ = ["CASES"]

HOUR = 3600


def threes(given: list[int]) -> list[list[int]]:
    return [given[at : at + 3] for at in range(0, len(given), 3)]


def ones(given: list[int]) -> list[Any]:
    return [[x] for x in given]


def up_to_even(given: list[int]) -> list[list[int]]:
    batches: list[list[int]] = []
    is_open = False
    for x in given:
        if not is_open:
            batches.append([])
        batches[-1].append(x)
        is_open = x % 2 == 1 and len(batches[-1]) < 3
    return batches


CASES = [
    Case("buffer by size", lambda flow: flow.buffer(3), threes, prefetch=3),
    Case("buffer of one", lambda flow: flow.buffer(1), ones, prefetch=1),
    Case(
        "buffer until a condition holds",
        lambda flow: flow.buffer(3, until=lambda x: x % 2 == 0),
        up_to_even,
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
        up_to_even,
        prefetch=3,
    ),
    Case(
        "buffer until a publisher says so, which never does",
        lambda flow: flow.buffer(3, until=Flow.never()),
        threes,
        prefetch=3,
    ),
    Case(
        "buffer until a publisher says so, which is over soon",
        lambda flow: flow.buffer(3, until=Flow.empty()),
        threes,
        prefetch=3,
    ),
]
