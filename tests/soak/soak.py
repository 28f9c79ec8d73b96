"""The course of a soak: sample, check, kill, start again, until all rows are through."""

from __future__ import annotations

import csv
import json
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy

from tests.soak.checker import Checker, Found
from tests.soak.picture import picture_of
from tests.soak.pipeline import BATCH_ROWS, FACTOR, MODULUS
from tests.soak.program import FeedProcess, PipelineProgram
from tests.soak.sampling import Usage, files_under, usage_of
from tests.soak.verdict import OUTCOME, SAMPLES, verdict_of

__all__ = ["Kill", "Soak"]

VERDICT: Final = "verdict.txt"
PICTURE: Final = "picture.svg"
STUCK: Final = 300.0
"""After so many seconds without a new row, the soak has failed."""


@dataclass
class Kill:
    """One kill: when, how many processes survived it, and how long the sink got nothing.

    ``recovered`` is the first row that was there again, ``caught_up`` the first sample in which the
    sink was as close behind the feed as usual; both in seconds after the kill.
    """

    at: float
    survivors: int
    recovered: float | None = None
    caught_up: float | None = None


@dataclass
class Soak:
    """One run of it."""

    folder: Path
    rate: int
    rows: int
    kill_every: float
    sample_every: float
    batch_rows: int = BATCH_ROWS
    kills: list[Kill] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def run(self) -> bool:
        """Whether all rows were there, each once."""
        self._pause = threading.Event()
        self._found_at_start = 0
        self._usage = {"program": Usage(), "jvm": Usage(), "workers": Usage()}
        feed = FeedProcess(self.folder, self.rate, self.rows)
        try:
            self._feed = feed
            self._program = PipelineProgram(self.folder, feed.port, self.batch_rows)
            self._checker = Checker(self._program.sink, feed.clockwork, FACTOR, MODULUS)
            self._began = self._sampled = self._grown = feed.clockwork.began / 1e6
            with (self.folder / SAMPLES).open("w", newline="") as file:
                self._samples: csv.DictWriter[str] | None = None
                self._file = file
                self._run()
            return self._judge()
        finally:
            feed.end()

    def _run(self) -> None:
        self._program.start()
        next_kill = self._began + self.kill_every
        try:
            while self._program.exit_code is None and not self._is_stuck():
                self._pause.wait(self.sample_every)
                self._sample()
                if time.time() >= next_kill and self._can_be_killed():
                    next_kill = time.time() + self.kill_every
                    self._kill()
            if self._program.exit_code != 0:
                code, said = self._program.exit_code, self._program.last_word()
                self.failures.append(f"the pipeline ended with {code}: {said}")
            self._sample()
        finally:
            if self._program.exit_code is None:
                self._program.kill()

    def _can_be_killed(self) -> bool:
        """Not before it has recovered from the kill before; once at least, while rows are made."""
        if self._program.exit_code is not None:
            return False
        has_recovered = self._checker.numbers.count > self._found_at_start
        are_made = self._feed.clockwork.made_by(time.time()) < self.rows
        return has_recovered and (are_made or not self.kills)

    def _is_stuck(self) -> bool:
        stuck = time.time() - self._grown > STUCK
        if stuck:
            self.failures.append(f"no row came for {STUCK:.0f} s")
        return stuck

    def _kill(self) -> None:
        at = time.time()
        survivors = self._program.kill()
        self._sample()  # what it had delivered after the last one is no recovery
        self._found_at_start = self._checker.numbers.count
        self.kills.append(Kill(at, survivors))
        self._program.start()
        self._usage = {"program": Usage(), "jvm": Usage(), "workers": Usage()}

    def _sample(self) -> None:
        found = self._checker.look()
        now = time.time()
        if found.rows:
            self._grown = now
        made = self._feed.clockwork.made_by(now)
        behind = made - self._checker.numbers.count
        self._note_recovery(found, now, behind)
        row: dict[str, Any] = {
            "seconds": round(now - self._began, 3),
            "made": made,
            "taken": self._feed.taken(),
            "found": self._checker.numbers.count,
            "behind": behind,
            "rate_found": round(found.rows / max(now - self._sampled, 1e-9)),
            "kills": len(self.kills),
            **latencies(found),
            **self._processes(now - self._sampled),
            **self._places(),
        }
        self._sampled = now
        if self._samples is None:
            self._samples = csv.DictWriter(self._file, row.keys())
            self._samples.writeheader()
        self._samples.writerow(row)
        self._file.flush()

    def _note_recovery(self, found: Found, now: float, behind: int) -> None:
        if not self.kills:
            return
        kill = self.kills[-1]
        after = [moment for moment in found.appeared if moment > kill.at]
        if after and kill.recovered is None:
            kill.recovered = round(min(after) - kill.at, 3)
        if after and kill.caught_up is None and behind < 5 * self.rate:
            kill.caught_up = round(now - kill.at, 3)

    def _processes(self, passed: float) -> dict[str, float]:
        row: dict[str, float] = {}
        for kind, usage in usage_of(self._program.number).items():
            cpu = (usage.seconds - self._usage[kind].seconds) / max(passed, 1e-9)
            row[f"{kind}_processes"] = usage.processes
            row[f"{kind}_rss"] = usage.resident
            row[f"{kind}_descriptors"] = usage.descriptors
            row[f"{kind}_threads"] = usage.threads
            row[f"{kind}_cpu"] = round(max(cpu, 0.0), 3)
            self._usage[kind] = usage
        return row

    def _places(self) -> dict[str, int]:
        row = {}
        for name, folder in {
            "checkpoint": self._program.checkpoint,
            "sink": self._program.sink,
            "temporary": self._program.temporary,
        }.items():
            files = files_under(folder)
            row[f"{name}_files"] = files.count
            row[f"{name}_bytes"] = files.size
        journals = [files_under(path) for path in self._program.checkpoint.glob("journal-*")]
        row["journal_files"] = sum(each.count for each in journals)
        row["journal_bytes"] = sum(each.size for each in journals)
        row["temporary_folders"] = len([*self._program.temporary.iterdir()])
        return row

    def _judge(self) -> bool:
        """Write down what has become of it, the verdict and the picture."""
        (self.folder / OUTCOME).write_text(json.dumps(self._outcome(), indent=2))
        sound, lines = verdict_of(self.folder)
        (self.folder / VERDICT).write_text("\n".join([*lines, ""]))
        (self.folder / PICTURE).write_text(picture_of(self.folder))
        sys.stdout.write("\n".join([*lines, f"{self.folder / PICTURE} shows it", ""]))
        return sound

    def _outcome(self) -> dict[str, Any]:
        numbers = self._checker.numbers
        missing = [*numbers.missing(self.rows)]
        return {
            "began": self._began,
            "seconds": round(time.time() - self._began, 3),
            "rate": self.rate,
            "kill_every": self.kill_every,
            "expected": self.rows,
            "found": numbers.count,
            "missing": sum(end - start for start, end in missing),
            "first_missing": missing[:10],
            "doubled": numbers.doubled,
            "beyond": numbers.beyond(self.rows),
            "wrong": self._checker.wrong,
            "files": self._checker.files,
            "survivors": self._program.survivors(),
            "kills": [asdict(kill) for kill in self.kills],
            "failures": self.failures,
        }


def latencies(found: Found) -> dict[str, float | str]:
    """In seconds, from the feed to the sink; empty where nothing has come."""
    if not len(found.latencies):
        return {"p50": "", "p99": ""}
    p50, p99 = numpy.percentile(found.latencies, [50, 99])
    return {"p50": round(float(p50), 3), "p99": round(float(p99), 3)}
