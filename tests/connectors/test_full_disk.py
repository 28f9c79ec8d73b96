"""A full disk under a sink: one line that names the file, and no row lost when there is space."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.connectors.full_disk import MEANS, numbers_of, run

SYSTEM = {"small disk": "No space left on device", "file size limit": "File too large"}


@pytest.mark.parametrize("means", MEANS)
def test_the_error_names_the_file_and_the_sink_goes_on_when_there_is_space(
    means: str, tmp_path: Path
) -> None:
    found = run(means, tmp_path)
    words = {name: (each["kind"], each["words"]) for name, each in found.items()}
    assert words == {
        "lines": ("OSError", no_space("write_json_lines", tmp_path / "lines/rows.jsonl", means)),
        "csv": ("OSError", no_space("write_csv", tmp_path / "csv/rows.csv", means)),
        "sqlite": sqlite_words(tmp_path / "sqlite/rows.db", means),
        "parquet": (
            "OSError",
            no_space("write_parquet", tmp_path / "parquet/rows/.unfinished.parquet.new", means),
        ),
    }
    for each in found.values():
        assert each["numbers"] == numbers_of()
    assert found["parquet"]["files"] == ["batch-0000000000.parquet"]  # nothing takes space


def no_space(connector: str, path: Path, means: str) -> str:
    return f"{connector}: there is no space left for {path}: {SYSTEM[means]}"


def sqlite_words(path: Path, means: str) -> tuple[str, str]:
    """SQLite itself knows a full disk, and takes any other limit for a disk that is broken."""
    if means == "small disk":
        words = f"write_sqlite: there is no space left for {path}: database or disk is full"
        return "OSError", words
    return "OperationalError", f"write_sqlite: the table rows in {path}: disk I/O error"
