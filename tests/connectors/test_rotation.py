"""Logs that are rotated while they are followed, or while nobody follows them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, VirtualTime
from penstock.connectors import Line, tail_json_lines
from penstock.connectors.files import followed_log as following
from penstock.connectors.files.tailed_file import TailedFile
from penstock.connectors.shared.reconnecting import listening
from penstock.observe import Ledger
from penstock.observe.meters import SourceMeter
from penstock.pipeline import NoSettings, Pipeline, PipelineRun
from penstock.testing import ManualSubscriber

POLL = 0.5


class Follower:
    """Somebody who follows a log in virtual time, and may go on where another one has stopped."""

    def __init__(self, log: Path, before: Follower | None = None, wanted: int = 10_000) -> None:
        self.time = VirtualTime()
        self.gauge = SourceMeter("log")
        self.subscriber: ManualSubscriber[Line] = ManualSubscriber(request=wanted)
        after: Any = 0 if before is None else before.lines[-1].position
        with listening(self.gauge):
            flow = tail_json_lines(log, after=after, poll=POLL, clock=self.time)
        flow.subscribe(self.subscriber)

    @property
    def lines(self) -> Sequence[Line]:
        return self.subscriber.elements

    @property
    def numbers(self) -> list[int]:
        """What it has read, after one more poll."""
        self.time.advance(POLL)
        self.subscriber.assert_not_ended()
        return [line.value for line in self.lines]

    def stopped(self) -> Follower:
        self.subscriber.cancel()
        return self


class Log:
    """A log, the program that writes it and the one that rotates it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written = 0
        self.path.touch()

    def write(self, count: int, to: Path | None = None) -> None:
        """Append numbers that go on from the last ones."""
        numbers = range(self.written, self.written + count)
        self.written += count
        with (to or self.path).open("a") as file:
            file.writelines(f"{number}\n" for number in numbers)

    def numbered(self, number: int) -> Path:
        return Path(f"{self.path}.{number}")

    def make_room(self) -> None:
        """The names of those that were rotated before get larger numbers."""
        for number in range(8, 0, -1):
            for suffix in ("", ".gz"):
                old, new = (Path(f"{self.numbered(each)}{suffix}") for each in (number, number + 1))
                if old.exists():
                    old.rename(new)

    def rename(self) -> None:
        self.make_room()
        self.path.rename(self.numbered(1))
        self.path.touch()

    def rename_and_compress(self) -> None:
        self.rename()
        subprocess.run(["gzip", self.numbered(1)], check=True)

    def copy_and_cut(self) -> None:
        self.make_room()
        shutil.copyfile(self.path, self.numbered(1))
        os.truncate(self.path, 0)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "app.jsonl")


def numbers(start: int, end: int) -> list[int]:
    return [*range(start, end)]


# What another program sees.


@pytest.fixture
def tail_f(log: Log) -> Iterator[Callable[[int], list[int]]]:
    """The first numbers that ``tail -F`` prints; waits until it has printed so many."""
    command = ["tail", "-F", "-n", "+1", str(log.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tail:
        seen: list[int] = []

        def first(count: int) -> list[int]:
            assert tail.stdout is not None
            while len(seen) < count:
                seen.append(int(tail.stdout.readline()))
            return seen

        yield first
        tail.kill()


@pytest.mark.parametrize(
    "rotations",
    [
        [Log.rename],
        [Log.copy_and_cut],
        [Log.rename, Log.rename],
        [Log.copy_and_cut, Log.rename, Log.copy_and_cut],
        [Log.rename_and_compress, Log.rename_and_compress],
    ],
    ids=lambda rotations: "-".join(each.__name__ for each in rotations),
)
def test_it_reads_what_tail_f_reads(
    rotations: list[Callable[[Log], None]], log: Log, tail_f: Callable[[int], list[int]]
) -> None:
    log.write(50)
    follower = Follower(log.path)
    assert follower.numbers == tail_f(log.written) == numbers(0, 50)
    for rotate in rotations:
        log.write(20)
        assert follower.numbers == tail_f(log.written)
        rotate(log)
        log.write(7)  # fewer than before: by that, tail sees that a file was cut
        assert follower.numbers == tail_f(log.written) == numbers(0, log.written)
    assert follower.gauge.lost == 0


# While it is followed.


@pytest.mark.parametrize("rotate", [Log.rename, Log.copy_and_cut, Log.rename_and_compress])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_lines_that_came_before_rotations_between_two_polls_are_read(
    rotate: Callable[[Log], None], times: int, log: Log
) -> None:
    log.write(5)
    rotate(log)
    log.write(100)
    follower = Follower(log.path)
    assert follower.numbers == numbers(5, 105)  # what was rotated before is none of its business
    for size in (300, 20, 100)[:times]:
        log.write(size)
        rotate(log)
    log.write(10)
    assert follower.numbers == numbers(5, log.written)
    log.write(10)
    assert follower.numbers == numbers(5, log.written)
    assert follower.gauge.lost == 0


def test_lines_that_still_come_to_the_old_file_are_read_until_the_new_one_has_some(
    log: Log,
) -> None:
    log.write(3)
    follower = Follower(log.path)
    log.rename()
    assert follower.numbers == numbers(0, 3)
    log.write(3, to=log.numbered(1))
    assert follower.numbers == numbers(0, 6)
    log.write(3, to=log.numbered(1))
    log.write(3)
    assert follower.numbers == numbers(0, 12)


def test_a_symbolic_link_that_leads_elsewhere_is_followed(tmp_path: Path) -> None:
    link = tmp_path / "current"
    logs = [Log(tmp_path / f"app-00{number}.jsonl") for number in (1, 2, 3)]
    written = 0

    def fill(log: Log, count: int) -> None:
        nonlocal written
        log.written = written
        log.write(count)
        written = log.written
        link.unlink(missing_ok=True)
        link.symlink_to(log.path)

    for log in logs[1:]:
        log.path.unlink()
    fill(logs[0], 10)
    follower = Follower(link)
    assert follower.numbers == numbers(0, 10)
    logs[0].written = written
    logs[0].write(5)
    written += 5
    fill(logs[1], 3)
    fill(logs[2], 4)
    assert follower.numbers == numbers(0, 22)
    assert follower.gauge.lost == 0


def test_a_file_that_was_cut_and_has_grown_again_is_not_taken_for_the_same(log: Log) -> None:
    log.write(10)
    follower = Follower(log.path)
    log.copy_and_cut()
    log.write(100)  # longer than it was
    assert follower.numbers == numbers(0, 110)
    assert follower.gauge.lost == 0


def test_a_file_that_was_cut_without_a_copy_may_have_lost_something(
    log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    log.write(10)
    follower = Follower(log.path)
    log.write(5)
    os.truncate(log.path, 0)
    log.write(2)
    assert follower.numbers == [*numbers(0, 10), 15, 16]
    assert follower.gauge.lost is None
    (signal,) = follower.gauge.errors.signals()
    assert "what followed byte 20 and was not read yet is lost" in signal.text
    assert signal.text.rstrip("…") in caplog.text  # a long one is shortened for the page


def test_a_rotated_file_that_cannot_be_read_is_told_and_the_rest_goes_on(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.write(5)
    follower = Follower(log.path)
    log.rename()
    log.write(5)
    log.rename()
    log.write(5)

    def refusing(path: Path, byte: int, max_bytes: int) -> TailedFile:
        if path == log.numbered(1):
            raise PermissionError(13, "Permission denied")
        return TailedFile(path, byte, max_bytes)

    monkeypatch.setattr(following, "TailedFile", refusing)
    assert follower.numbers == numbers(0, 5)
    assert follower.numbers == [*numbers(0, 5), *numbers(10, 15)]
    assert follower.gauge.lost is None


def cut_at_its_end(packed: Path) -> None:
    os.truncate(packed, packed.stat().st_size - 10)


def cut_near_its_beginning(packed: Path) -> None:
    os.truncate(packed, 20)


def emptied(packed: Path) -> None:
    os.truncate(packed, 0)


def overwritten(packed: Path) -> None:
    packed.write_bytes(b"\0" * packed.stat().st_size)


def with_another_checksum(packed: Path) -> None:
    content = bytearray(packed.read_bytes())
    content[-8] ^= 1
    packed.write_bytes(content)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (cut_at_its_end, "it is damaged"),
        (cut_near_its_beginning, "it is damaged"),
        (emptied, "it is damaged: it is empty"),
        (overwritten, "Not a gzipped file"),
        (with_another_checksum, "CRC check failed"),
    ],
)
def test_a_damaged_file_is_told_and_the_rest_goes_on(
    damage: Callable[[Path], None], words: str, log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    log.write(5)
    follower = Follower(log.path)
    log.rename()
    log.write(500)
    log.rename_and_compress()
    packed = Path(f"{log.numbered(1)}.gz")
    damage(packed)
    log.write(5)
    assert follower.numbers == numbers(0, 5)  # somebody may still write to it
    assert follower.gauge.lost == 0
    os.utime(packed, (1, 1))  # no more, as it seems
    assert follower.numbers == numbers(0, 5)
    assert follower.numbers == [*numbers(0, 5), *numbers(505, 510)]
    assert follower.gauge.lost is None
    (signal,) = follower.gauge.errors.signals()
    assert f"{packed} cannot be read, so its lines are lost: {words}" in signal.text
    assert caplog.text.count("cannot be read") == 1


def test_a_file_that_is_still_compressed_is_read_when_that_is_done(log: Log) -> None:
    log.write(5)
    follower = Follower(log.path)
    log.rename()
    log.write(500)
    log.rename_and_compress()
    packed = Path(f"{log.numbered(1)}.gz")
    whole = packed.read_bytes()
    log.write(5)
    for size in (0, 5, 100, len(whole) - 1):
        packed.write_bytes(whole[:size])
        assert follower.numbers == numbers(0, 5)
    packed.write_bytes(whole)
    assert follower.numbers == numbers(0, 510)
    assert follower.gauge.lost == 0


def test_a_damaged_copy_of_a_file_that_is_there_loses_nothing(log: Log) -> None:
    log.write(5)
    follower = Follower(log.path)
    log.rename()
    log.write(500)
    log.rename()
    Path(f"{log.numbered(1)}.gz").write_bytes(b"half of a file that was killed")
    log.write(5)
    assert follower.numbers == numbers(0, 510)
    assert follower.gauge.lost == 0


# While nobody follows it.


def read_in_part(log: Log, wanted: int) -> Follower:
    follower = Follower(log.path, wanted=wanted)
    assert follower.numbers == numbers(0, wanted)
    return follower.stopped()


@pytest.mark.parametrize("rotate", [Log.rename, Log.copy_and_cut, Log.rename_and_compress])
@pytest.mark.parametrize("sizes", [[10], [2_000], [20, 30, 1_500], [1_500, 1_200, 5]])
def test_after_a_restart_all_that_was_rotated_meanwhile_is_read(
    rotate: Callable[[Log], None], sizes: list[int], log: Log
) -> None:
    log.write(3)
    rotate(log)
    for each in log.path.parent.glob("app.jsonl.1*"):
        os.utime(each, (1, 1))  # long ago
    log.written = 0
    log.write(1_000)
    before = read_in_part(log, 400)
    for size in sizes:
        rotate(log)
        log.write(size)
    follower = Follower(log.path, before)
    assert follower.numbers == numbers(400, log.written)
    rotate(log)
    log.write(1)
    assert follower.numbers == numbers(400, log.written)
    assert follower.gauge.lost == 0


def test_after_a_restart_a_file_that_was_not_rotated_goes_on(log: Log) -> None:
    log.write(10)
    before = read_in_part(log, 4)
    log.write(10)
    assert Follower(log.path, before).numbers == numbers(4, 20)


def test_after_a_restart_a_log_that_was_copied_elsewhere_goes_on(log: Log, tmp_path: Path) -> None:
    log.write(500)
    before = read_in_part(log, 300)
    moved = tmp_path / "elsewhere" / "app.jsonl"
    moved.parent.mkdir()
    shutil.copyfile(log.path, moved)
    assert Follower(moved, before).numbers == numbers(300, 500)


def test_after_a_restart_a_renamed_log_without_a_new_one_is_read_to_its_end(log: Log) -> None:
    log.write(10)
    before = read_in_part(log, 4)
    log.path.rename(log.numbered(1))
    follower = Follower(log.path, before)
    assert follower.numbers == numbers(4, 10)
    log.write(3)
    assert follower.numbers == numbers(4, 13)


def test_after_a_restart_a_file_that_is_gone_is_told_and_those_after_it_are_read(
    log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    log.write(10)
    before = read_in_part(log, 4)
    log.rename()
    log.write(10)
    log.rename()
    log.write(10)
    log.numbered(2).unlink()
    follower = Follower(log.path, before)
    assert follower.numbers == numbers(10, 30)
    assert follower.gauge.lost is None
    assert "was read up to byte 8 is gone or changed" in caplog.text


def test_another_file_with_the_number_of_the_old_one_is_another_file(log: Log) -> None:
    log.write(10)
    before = read_in_part(log, 4)
    position = before.lines[-1].position
    log.path.write_text("".join(f"{number}\n" for number in range(90, 99)))
    assert log.path.stat().st_ino == position.inode
    follower = Follower(log.path, before)
    assert follower.numbers == numbers(90, 99)
    assert follower.gauge.lost is None


# In a pipeline.


def ledger_after(lose: Callable[[SourceMeter], object]) -> Ledger:
    run = PipelineRun(
        Pipeline(
            "lossy",
            sources={"log": lambda settings: Flow.range(5)},
            transform=lambda log: log,
            sinks={"sink": lambda settings: lambda element: None},
        ),
        NoSettings(),
    )
    lose(run.sources["log"])
    run.start()
    assert run.wait(60)
    return run.status().ledger


def test_what_a_source_has_lost_stands_in_the_ledger() -> None:
    assert ledger_after(lambda gauge: None).lost == 0
    assert ledger_after(lambda gauge: gauge.has_lost(3, "three lines are gone")).lost == 3
    assert ledger_after(lambda gauge: gauge.has_lost(None, "some lines are gone")).lost is None
