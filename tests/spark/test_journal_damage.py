"""A journal that is not as it was written: refused, unless nothing that counted is concerned."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from penstock.spark.journal import JournalDamaged, JournalReader
from penstock.spark.journal.record import HEADER_BYTES
from tests.spark.damage import Specimen
from tests.spark.journals import all_rows, append_rows, open_journal, read_rows, segment_files


def test_no_random_damage_leads_to_a_wrong_row_or_a_loss_in_silence(tmp_path: Path) -> None:
    specimen, random = Specimen(tmp_path), Random(20)
    outcomes = {specimen.suffer(random)[1] for _ in range(200)}
    assert {"refused", "no row lost"} <= outcomes


@pytest.mark.full
@pytest.mark.parametrize("seed", range(5))
def test_no_damage_of_a_thousand_leads_to_a_wrong_row_or_a_loss_in_silence(
    tmp_path: Path, seed: int
) -> None:
    specimen, random = Specimen(tmp_path), Random(seed)
    for _ in range(1000):
        specimen.suffer(random)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal of 15 rows in 3 records, each in a segment of its own."""
    with open_journal(tmp_path, max_bytes=8_000) as journal:
        append_rows(journal, 5, 5, 5)
    assert len(segment_files(tmp_path)) == 3
    return tmp_path


def refusal(folder: Path) -> str:
    """The words in which the journal is refused."""
    with pytest.raises(JournalDamaged) as raised:
        open_journal(folder)
    return str(raised.value)


def unpublished(folder: Path, appended: bytes) -> None:
    """Append to the last segment without a word to anybody."""
    last = segment_files(folder)[-1]
    last.write_bytes(last.read_bytes() + appended)


def next_record(folder: Path) -> bytes:
    """A record as the writer would append it to the last segment."""
    last = segment_files(folder)[-1]
    before = {file: file.read_bytes() for file in (last, folder / "bounds")}
    with open_journal(folder) as journal:
        append_rows(journal, 5)
    record = last.read_bytes()[len(before[last]) :]
    for file, content in before.items():
        file.write_bytes(content)
    return record


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.99])
def test_a_record_that_was_not_written_to_its_end_is_dropped(folder: Path, share: float) -> None:
    record = next_record(folder)
    unpublished(folder, record[: int(len(record) * share)])
    with open_journal(folder) as journal:
        assert journal.end == 15
        append_rows(journal, 5)
    assert all_rows(folder) == list(range(20))


def test_zeros_after_the_last_record_are_dropped(folder: Path) -> None:
    unpublished(folder, bytes(4096))
    with open_journal(folder) as journal:
        append_rows(journal, 5)
    assert all_rows(folder) == list(range(20))


def test_a_last_record_whose_pages_did_not_all_reach_the_disk_is_dropped(folder: Path) -> None:
    record = bytearray(next_record(folder))
    record[HEADER_BYTES + 64 : HEADER_BYTES + 128] = bytes(64)
    unpublished(folder, bytes(record))
    with open_journal(folder) as journal:
        assert journal.end == 15
    assert all_rows(folder) == list(range(15))


def test_the_same_record_is_refused_once_it_was_published(folder: Path) -> None:
    with open_journal(folder) as journal:
        append_rows(journal, 5)
    last = segment_files(folder)[-1]
    content = bytearray(last.read_bytes())
    content[-100] ^= 1
    last.write_bytes(content)
    assert "(row 15): the checksum of a record does not fit" in refusal(folder)
    with pytest.raises(JournalDamaged, match="row 15"):
        read_rows(folder, 0, 20)
    assert read_rows(folder, 0, 15) == list(range(15))


def test_every_byte_of_a_header_counts(folder: Path) -> None:
    first = segment_files(folder)[0]
    content = first.read_bytes()
    for offset in range(HEADER_BYTES):
        damaged = bytearray(content)
        damaged[offset] ^= 1
        first.write_bytes(damaged)
        assert "(row 0): the checksum of a record's header does not fit" in refusal(folder)


def test_an_empty_last_segment_is_no_damage(folder: Path) -> None:
    (folder / f"{15:020d}.segment").touch()
    with open_journal(folder) as journal:
        append_rows(journal, 5)
    assert all_rows(folder) == list(range(20))


def test_a_truncated_last_segment_is_refused_since_its_rows_were_durable(folder: Path) -> None:
    last = segment_files(folder)[-1]
    last.write_bytes(last.read_bytes()[:-1])
    assert "the rows up to 15 were durable, and are gone" in refusal(folder)


def test_a_segment_that_is_cut_short_is_refused_where_it_is_cut(folder: Path) -> None:
    first = segment_files(folder)[0]
    first.write_bytes(first.read_bytes()[:-1])
    words = refusal(folder)
    assert f"{first} is damaged at byte 0 (row 0): the file ends within a record" in words


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_missing_segment_is_refused(folder: Path, number: int) -> None:
    segment_files(folder)[number].unlink()
    assert re.search(rf"\(row {number * 5}\): .*(should follow|are gone)", refusal(folder))


def test_missing_segments_without_the_bounds_are_refused_within(folder: Path) -> None:
    (folder / "bounds").unlink()
    segment_files(folder)[1].unlink()
    assert "it begins with row 10, where row 5 should follow" in refusal(folder)


def test_a_reader_gives_no_row_after_a_gap(folder: Path) -> None:
    segment_files(folder)[1].unlink()
    batches = JournalReader(folder).read(0, 15)
    assert next(batches).column("number").to_pylist() == [0, 1, 2, 3, 4]
    with pytest.raises(JournalDamaged, match=r"\(row 5\): row 5 is in no file"):
        next(batches)


def test_swapped_segments_are_refused(folder: Path) -> None:
    first, second, _ = segment_files(folder)
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    assert "here is row 5 where row 0 should be" in refusal(folder)


def test_a_segment_of_another_journal_is_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with open_journal(other) as journal:
        append_rows(journal, 5)
    segment_files(folder)[0].write_bytes(segment_files(other)[0].read_bytes())
    assert "the record belongs to another journal" in refusal(folder)


def test_the_bounds_of_another_journal_are_refused(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    open_journal(other).close()
    (folder / "bounds").write_bytes((other / "bounds").read_bytes())
    assert "bounds is damaged at byte 0: it belongs to another journal" in refusal(folder)


def test_rows_without_the_schema_are_refused(folder: Path) -> None:
    (folder / "schema").unlink()
    assert "schema is damaged at byte 0: there are rows, but this file is gone" in refusal(folder)


def test_all_rows_gone_is_refused(folder: Path) -> None:
    for segment in segment_files(folder):
        segment.unlink()
    assert "the rows up to 15 were durable, and are gone" in refusal(folder)


def test_a_seal_that_is_gone_is_refused(folder: Path) -> None:
    last = segment_files(folder)[-1]
    unsealed = last.read_bytes()
    with open_journal(folder) as journal:
        journal.seal()
    last.write_bytes(unsealed)
    assert "the journal was sealed, and the seal is gone" in refusal(folder)


def test_a_record_after_the_seal_is_refused(folder: Path) -> None:
    record = next_record(folder)
    with open_journal(folder) as journal:
        journal.seal()
    unpublished(folder, record)
    assert "a record follows the seal" in refusal(folder)


def test_a_refusal_says_what_to_do(folder: Path) -> None:
    segment_files(folder)[0].write_bytes(b"garbage")
    assert "Restore the file from a copy, or move the journal away" in refusal(folder)


def test_without_bounds_they_are_made_anew(folder: Path) -> None:
    (folder / "bounds").unlink()
    open_journal(folder).close()
    assert (folder / "bounds").exists()
    assert all_rows(folder) == list(range(15))
