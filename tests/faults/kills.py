"""Lives of a pipeline that end by ``kill -9`` of its whole process group."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from tests.faults.ledger import Verdict, judge
from tests.faults.pipeline_process import PipelineProcess, batch_rows

__all__ = ["Killing", "Lives", "kill_at_points", "kill_at_random"]

PATIENCE: Final = 600.0
LOOK: Final = 0.005
EARLY: Final = 0.1
"""The part of the kills that come while the program is still starting."""
ORPHANS_LIVE: Final = 120.0


class Lives(NamedTuple):
    """What came of it.

    ``numbers``     how many numbers went through
    ``kills``       how often the program was killed
    ``worst_start`` the most seconds from the start of a program to its first row
    ``orphans``     processes that outlived the program that had started them
    ``verdict``     what the ledger says in the end
    """

    numbers: int
    kills: int
    worst_start: float
    orphans: int
    verdict: Verdict

    @property
    def keeps_the_promise(self) -> bool:
        """Nothing is lost, and what comes again is at most one batch for each kill."""
        batch = batch_rows(self.numbers)
        return (
            self.verdict.is_clean
            and self.verdict.largest_repetition <= batch
            and self.verdict.duplicated <= self.kills * batch
            and not self.orphans
        )


class Life:
    """One start of the program, which is looked at until it is over."""

    def __init__(self, folder: Path, count: int, source: str, crash: str = "") -> None:
        self._process = PipelineProcess(folder, count, source=source, crash=crash)
        self._began = time.monotonic()
        self._pause = threading.Event()
        self.seconds_to_first_row = 0.0

    def watch(self, until_rows: float, and_then: float) -> None:
        """Wait until so many rows are delivered, and so many seconds more, or for the end."""
        self._wait(lambda: self._process.delivered >= until_rows, PATIENCE)
        self._wait(lambda: False, and_then)

    def _wait(self, condition: Callable[[], bool], patience: float) -> None:
        until = time.monotonic() + patience
        while not condition() and not self._process.has_ended and time.monotonic() < until:
            if not self.seconds_to_first_row and self._process.delivered:
                self.seconds_to_first_row = time.monotonic() - self._began
            self._pause.wait(LOOK)

    def kill(self, *, alone: bool) -> None:
        """Kill it, alone or with all that it has started in its group."""
        self._process.kill(alone=alone)
        self._process.wait(PATIENCE)

    def orphans(self) -> int:
        """How many processes are left of a program that is dead."""
        return len(self._process.orphans(ORPHANS_LIVE))

    def end(self) -> int:
        """Wait for its end; the exit code."""
        self.watch(float("inf"), 0.0)
        return self._process.wait(PATIENCE)

    @property
    def last_word(self) -> str:
        return self._process.last_word

    @property
    def said(self) -> str:
        return self._process.said


class Killing:
    """One life after the other, all but the last ended by force."""

    def __init__(self, folder: Path, count: int, source: str = "range") -> None:
        self._folder = folder
        self._count = count
        self._source = source
        self._kills = self._orphans = 0
        self._worst_start = 0.0

    def at_point(self, point: str) -> None:
        """Let the program kill its process group when it comes to a point."""
        life = Life(self._folder, self._count, self._source, crash=point)
        code = life.end()
        assert code == -9, f"{point}: ended with {code}\n{life.said}"
        assert life.last_word == point
        self._note(life)

    def at_random(self, random: Random, most_rows: int, *, alone: bool = False) -> None:
        """Kill it at any moment: the process group, or the program alone."""
        life = Life(self._folder, self._count, self._source)
        if random.random() < EARLY:
            life.watch(0, random.uniform(0.0, 10.0))
        else:
            life.watch(random.randrange(1, most_rows), random.uniform(0.0, 0.5))
        life.kill(alone=alone)
        self._note(life)

    def finish(self) -> Lives:
        """Let the last life come to its end, and judge."""
        life = Life(self._folder, self._count, self._source)
        code = life.end()
        assert code == 0, f"ended with {code}\n{life.said}"
        worst = max(self._worst_start, life.seconds_to_first_row)
        verdict = judge(self._folder / "ledger", self._count)
        return Lives(self._count, self._kills, worst, self._orphans, verdict)

    def _note(self, life: Life) -> None:
        self._kills += 1
        self._orphans += life.orphans()
        self._worst_start = max(self._worst_start, life.seconds_to_first_row)


def kill_at_random(
    folder: Path,
    count: int,
    kills: int,
    random: Random,
    *,
    alone: bool = False,
    source: str = "range",
) -> Lives:
    """Kill the program again and again, at any moment, and let it come to its end at last."""
    killing = Killing(folder, count, source)
    for _ in range(kills):
        killing.at_random(random, 2 * count // (kills + 1), alone=alone)
    return killing.finish()


def kill_at_points(folder: Path, count: int, points: Iterable[str]) -> Lives:
    """Let the program kill itself at one point after the other, and come to its end at last."""
    killing = Killing(folder, count)
    for point in points:
        killing.at_point(point)
    return killing.finish()
