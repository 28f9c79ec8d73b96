"""The fault series for a sink: what it has stored after second runs, kills and other lives."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, Final

from penstock.delivery import DeliveryRefused, Epoch, Level
from penstock.testing.sink_program import (
    BATCHES,
    BatchLog,
    SinkParty,
    made,
    numbers_of,
    write_all,
)

__all__ = ["SinkReport", "verify_sink"]

KILLED: Final = -9
PATIENCE: Final = 120.0
ALL: Final = range(sum(BATCHES))
PROGRAM: Final = "import sys; from penstock.testing.sink_program import main; main(*sys.argv[1:])"


@dataclass(frozen=True)
class SinkReport:
    """What a series has found.

    ``level``     what the sink declares
    ``verdicts``  for each experiment what went wrong, empty if nothing did
    ``kills``     how many processes were killed while they wrote
    """

    subject: str
    level: Level
    verdicts: dict[str, str]
    kills: int

    @property
    def passed(self) -> bool:
        """Whether the sink keeps what it promises in all experiments."""
        return not any(self.verdicts.values())

    def raise_if_failed(self) -> None:
        """``AssertionError`` with the whole report, if the sink breaks its promise."""
        if not self.passed:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        lines = [f"{self.subject}, which promises {self.level}; {self.kills} kills"]
        for name, trouble in self.verdicts.items():
            lines.append(f"  {'FAILED' if trouble else 'ok    '} {name}")
            lines += [f"         {trouble}"] if trouble else []
        return "\n".join(lines)


def verify_sink(
    party: SinkParty,
    folder: Path,
    *,
    steps: int | None = None,
    moments: int = 10,
    seed: int = 1,
) -> SinkReport:
    """Put a sink through second runs, kills, other checkpoints and a rival.

    ``folder`` is an empty one, for the places that the sink writes to. Processes are killed at
    each step of a run, before and after calls of the sink, or at so many ``steps`` that are spread
    over it, and at random ``moments``. After each kill a run to the end follows, and then what is
    stored is compared with what was given, element by element. With the level "exactly once" each
    has to be there once, with "at least once" each has to be there. It takes about half a minute.

    >>> from penstock.testing import SinkParty, verify_sink
    >>> verify_sink(MySink(), tmp_path).raise_if_failed()  # doctest: +SKIP
    """
    require_loadable(party)
    series = SinkSeries(party, folder, Random(seed), steps, moments)
    verdicts = {name: series.verdict(experiment) for name, experiment in series.experiments()}
    return SinkReport(type(party).__name__, series.level, verdicts, series.killed)


def require_loadable(party: object) -> None:
    """Another process has to find the class, and make an object of it."""
    kind = type(party)
    if not isinstance(party, SinkParty) or "." in kind.__qualname__:
        raise TypeError(
            f"verify_sink needs an object of a class at the top of a module, derived from "
            f"SinkParty, not {party!r}"
        )


class SinkSeries:
    """The experiments with one sink, which is called on the thread that runs them."""

    def __init__(
        self, party: SinkParty, folder: Path, random: Random, steps: int | None, moments: int
    ) -> None:
        self._party = party
        self._folder = folder
        self._random = random
        self._most_steps = steps
        self._moments = moments
        self._places = 0
        self.killed = 0
        place = self._new_place()
        self.level: Level = made(party, place).level
        self._steps = 0

    def experiments(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Those that a sink of this level has to stand, by name."""
        yield "without a checkpoint, all elements are there", self._without_checkpoint
        yield "all elements of all batches are there", self._all_batches
        yield "a batch that is begun again counts once", self._begun_again
        yield "after a kill at a step of a run", self._killed_at_steps
        yield "after a kill at any moment", self._killed_at_any_moment
        if self.level == "exactly once":
            yield "a batch that comes again is known", self._comes_again
            yield "what is not committed leaves no trace", self._given_up
            yield "what another checkpoint wrote is refused", self._another_checkpoint
            yield "an older checkpoint is refused", self._older_checkpoint
            yield "a sink that has lost batches is refused", self._lost_batches
            yield "of two that write at once, one is refused", self._rival

    def verdict(self, experiment: Callable[[], None]) -> str:
        """What goes wrong in an experiment."""
        try:
            experiment()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    # The experiments. What they raise is the verdict.

    def _without_checkpoint(self) -> None:
        place = self._new_place()
        with self._opened(place, None) as sink:
            for number in numbers_of(0):
                sink(self._party.element(number))
        self._require(place, numbers_of(0))

    def _all_batches(self) -> None:
        place = self._new_place()
        write_all(self._party, place, self._count)
        self._require(place, ALL)
        self._run(place)
        self._require(place, ALL)

    def _begun_again(self) -> None:
        place = self._new_place()
        with self._opened(place, Epoch.begun()) as sink:
            sink.begin(0)
            sink(self._party.element(0))
            self._give(sink, 0)
        self._require(place, numbers_of(0))

    def _killed_at_steps(self) -> None:
        count = min(self._most_steps or self._steps, self._steps)
        for number in range(count):
            place = self._new_place()
            step = 1 + number * (self._steps - 1) // max(count - 1, 1)
            self._expect_kill(self._start(place, str(step)).wait(PATIENCE))
            self._run(place)
            self._require(place, ALL, f" after a kill at step {step} of {self._steps}")

    def _killed_at_any_moment(self) -> None:
        began = monotonic()
        self._run(self._new_place())
        duration = monotonic() - began
        for _ in range(self._moments):
            place = self._new_place()
            moment = self._random.uniform(0.3, 1) * duration
            program = self._start(place)
            try:
                program.wait(moment)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
                self.killed += 1
            self._run(place)
            self._require(place, ALL, f" after a kill at {moment:.2f} s")

    def _comes_again(self) -> None:
        place = self._new_place()
        write_all(self._party, place, lambda: None)
        log = BatchLog(place)
        last = len(BATCHES) - 1
        with self._opened(place, log.begin_run()) as sink:
            if sink.begin(last):
                raise AssertionError(f"begin({last}) returned True for a batch that it has")
        self._require(place, ALL)

    def _given_up(self) -> None:
        place = self._new_place()
        with self._opened(place, Epoch.begun()) as sink:
            self._give(sink, 0)
            sink.begin(2)
            for number in numbers_of(2):
                sink(self._party.element(number))
        self._require(place, numbers_of(0))

    def _another_checkpoint(self) -> None:
        place = self._new_place()
        write_all(self._party, place, lambda: None)
        self._require_refused(place, Epoch.begun())

    def _older_checkpoint(self) -> None:
        place = self._new_place()
        first = Epoch.begun()
        later = Epoch.begun(first.starts, 0)
        with self._opened(place, first) as sink:
            self._give(sink, 0)
            self._give(sink, 2)
        self._require_refused(place, later)

    def _lost_batches(self) -> None:
        place = self._new_place()
        first = Epoch.begun()
        with self._opened(place, first) as sink:
            self._give(sink, 0)
        later = Epoch.begun(first.starts, 2)
        self._require_refused(place, later.for_sink(2))

    def _rival(self) -> None:
        place = self._new_place()
        epoch = Epoch.begun()
        refused: list[Exception] = []
        with self._opened(place, epoch) as sink:
            sink.begin(0)
            try:
                with self._opened(place, epoch) as rival:
                    self._give(rival, 0)
            except Exception as error:
                refused.append(error)
            try:
                for number in numbers_of(0):
                    sink(self._party.element(number))
                sink.commit(0)
            except Exception as error:
                refused.append(error)
        self._require(place, numbers_of(0), f"; {len(refused)} of 2 were refused")

    # What they are made of.

    def _new_place(self) -> Path:
        self._places += 1
        place = self._folder / f"{self._folder.name}_{self._places}"
        place.mkdir(parents=True)
        return place

    @contextmanager
    def _opened(self, place: Path, epoch: Epoch | None) -> Iterator[Any]:
        sink = made(self._party, place)
        try:
            sink.open(epoch)
            yield sink
        finally:
            sink.close()

    def _give(self, sink: Any, batch: int) -> None:
        sink.begin(batch)
        for number in numbers_of(batch):
            sink(self._party.element(number))
        sink.commit(batch)

    def _count(self) -> None:
        self._steps += 1

    def _start(self, place: Path, *options: str) -> subprocess.Popen[bytes]:
        kind = type(self._party)
        program = [sys.executable, "-c", PROGRAM]
        paths = os.pathsep.join(path for path in sys.path if path)
        return subprocess.Popen(
            [*program, inspect.getfile(kind), kind.__name__, str(place), *options],
            env={**os.environ, "PYTHONPATH": paths},
        )

    def _run(self, place: Path) -> None:
        """A run to the end, in a process of its own."""
        if code := self._start(place).wait(PATIENCE):
            raise AssertionError(f"a run to the end failed with the exit code {code}")

    def _expect_kill(self, code: int) -> None:
        if code != KILLED:
            raise AssertionError(f"the run that was to be killed ended with the exit code {code}")
        self.killed += 1

    def _require_refused(self, place: Path, epoch: Epoch) -> None:
        before = Counter(map(repr, self._party.stored(place)))
        try:
            with self._opened(place, epoch) as sink:
                sink.begin(1)
        except DeliveryRefused:
            pass
        else:
            raise AssertionError("open and begin raised no DeliveryRefused")
        if Counter(map(repr, self._party.stored(place))) != before:
            raise AssertionError("it was refused, and what is stored has changed")

    def _require(self, place: Path, numbers: range, when: str = "") -> None:
        """Compare what is stored with what was given."""
        given = Counter(repr(self._party.element(number)) for number in numbers)
        found = Counter(map(repr, self._party.stored(place)))
        if missing := given - found:
            raise AssertionError(f"{missing.total()} elements are missing{when}: {shown(missing)}")
        if strange := found.keys() - given.keys():
            raise AssertionError(f"it has what was never given{when}: {min(strange)[:200]}")
        twice = found - given
        if twice and self.level == "exactly once":
            raise AssertionError(f"{twice.total()} elements are there twice{when}: {shown(twice)}")


def shown(elements: Counter[str]) -> str:
    """The first of them."""
    return min(elements)[:200]
