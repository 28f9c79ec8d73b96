"""The judge of the soak sees what is wrong: a judge that finds nothing would be content as well."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import numpy
import pyarrow
import pytest
from pyarrow.parquet import write_table

from tests.soak.checker import KEPT, Checker, Numbers
from tests.soak.feed import TICK, Clockwork
from tests.soak.verdict import faults_of

CLOCKWORK = Clockwork(began=1_000_000_000, rate=1_000, rows=1_000)
FACTOR, MODULUS = 7, 101


def write_batch(folder: Path, batch: int, numbers: list[int], *, late: int = 0) -> Path:
    """A file as the sink makes it; ``late`` falsifies its last row."""
    column = numpy.array(numbers, dtype=numpy.int64)
    made = CLOCKWORK.made_at(column)
    made[-1] += late
    path = folder / f"batch-{batch:010}.parquet"
    tags = column * FACTOR % MODULUS
    write_table(pyarrow.table({"number": column, "made": made, "tag": tags}), path)
    return path


@pytest.fixture
def checker(tmp_path: Path) -> Checker:
    return Checker(tmp_path, CLOCKWORK, FACTOR, MODULUS)


def test_rows_that_are_all_there_once_are_found_in_any_order(
    checker: Checker, tmp_path: Path
) -> None:
    numbers = [*range(1_000)]
    Random(3).shuffle(numbers)
    for batch in range(10):
        write_batch(tmp_path, batch, numbers[batch::10])
    (tmp_path / ".unfinished.parquet.new").write_bytes(b"half a file")
    found = checker.look()
    assert (found.rows, checker.numbers.count, checker.files) == (1_000, 1_000, 10)
    assert (checker.numbers.doubled, checker.wrong) == (0, 0)
    assert [*checker.numbers.missing(1_000)] == []
    assert len(found.latencies) == 1_000


def test_a_row_that_is_missing_is_found(checker: Checker, tmp_path: Path) -> None:
    write_batch(tmp_path, 0, [*range(500)])
    write_batch(tmp_path, 1, [*range(501, 999)])
    checker.look()
    assert [*checker.numbers.missing(1_000)] == [(500, 501), (999, 1_000)]


@pytest.mark.parametrize("batch", [0, 1])
def test_a_row_that_is_there_twice_is_found_within_a_file_and_across_files(
    batch: int, checker: Checker, tmp_path: Path
) -> None:
    files = [[*range(500)], [*range(500, 1_000)]]
    files[batch].append(17)
    for number, numbers in enumerate(files):
        write_batch(tmp_path, number, numbers)
    checker.look()
    assert (checker.numbers.count, checker.numbers.doubled) == (1_000, 1)


def test_a_batch_that_is_written_again_counts_as_doubled_even_if_it_was_removed(
    checker: Checker, tmp_path: Path
) -> None:
    for batch in range(KEPT + 1):
        write_batch(tmp_path, batch, [batch])
    assert checker.look().rows == KEPT + 1
    assert checker.look().rows == 0
    assert len([*tmp_path.iterdir()]) == KEPT  # as many as the sink may need
    write_batch(tmp_path, 0, [0])
    write_batch(tmp_path, KEPT + 1, [7])
    write_batch(tmp_path, KEPT, [KEPT]).touch()
    checker.look()
    assert checker.numbers.doubled == 2


def test_a_row_that_has_changed_or_was_never_made_is_found(
    checker: Checker, tmp_path: Path
) -> None:
    write_batch(tmp_path, 0, [*range(10)], late=1)
    write_batch(tmp_path, 1, [-1, 1_000])
    checker.look()
    assert (checker.wrong, checker.numbers.beyond(1_000)) == (1, 2)


def test_numbers_are_counted_as_by_a_plain_counter() -> None:
    random = Random(11)
    numbers, counter = Numbers(), Counter[int]()
    for _ in range(300):
        start = random.randrange(120)
        some = [random.randrange(start, start + 12) for _ in range(random.randrange(9))]
        numbers.add(numpy.array(some, dtype=numpy.int64))
        counter.update(some)
        assert numbers.count == len(counter)
        assert numbers.doubled == counter.total() - len(counter)
        missing = [n for start, end in numbers.missing(100) for n in range(start, end)]
        assert missing == [n for n in range(100) if n not in counter]
        assert numbers.beyond(100) == sum(n >= 100 for n in counter)


def test_rows_are_made_by_the_clock_and_not_before() -> None:
    began = CLOCKWORK.began / 1e6
    assert CLOCKWORK.made_by(began - 5) == CLOCKWORK.made_by(began) == 0
    assert CLOCKWORK.made_by(began + 10.01 * TICK) == 200
    assert CLOCKWORK.made_by(began + 500) == 1_000
    assert CLOCKWORK.made_at(numpy.array([999]))[0] / 1e6 <= began + 1


@pytest.mark.parametrize("what", ["missing", "doubled", "beyond", "wrong", "survivors"])
def test_one_row_or_process_too_many_or_too_few_is_a_fault(what: str) -> None:
    sound = {"missing": 0, "doubled": 0, "beyond": 0, "wrong": 0, "survivors": 0}
    rest = {"kills": [{"survivors": 0, "recovered": 3.0}], "failures": []}
    assert [*faults_of({**sound, **rest})] == []
    assert [*faults_of({**sound, **rest, what: 1})] == [f"{what}: 1"]
    assert len([*faults_of({**sound, **rest, "kills": [{"survivors": 0, "recovered": None}]})]) == 1
