"""Attacks on a checkpoint: by another user, by links, and by somebody who can write into it."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock.spark.checkpoint import Checkpoint, CheckpointError
from penstock.spark.journal import Journal, JournalError, JournalReader
from tests.attacks.another_user import as_nobody, can_be_nobody
from tests.attacks.attack import Attack

__all__ = ["attacks", "plant_pickles", "planted_pickles"]

LOOK: Final = """
import sys
for path in sys.argv[1:]:
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            descriptor = os.open(path, flags)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            print(path)
        except OSError:
            pass
"""


class Bomb:
    """Runs code when it is unpickled: it makes a file."""

    def __init__(self, mark: Path) -> None:
        self._mark = str(mark)

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path(self._mark),)


def attacks(checkpoint: Path) -> Iterator[Attack]:
    """All of them, on the checkpoint of a pipeline that may run."""
    found = [checkpoint, *sorted(checkpoint.rglob("*"))]
    loose = [path for path in found if path.stat().st_mode & 0o077 and path.name != "spark"]
    ours = [path for path in loose if "spark" not in path.relative_to(checkpoint).parts]
    yield Attack(
        "files that others may read", f"the modes of {len(found)}", f"{len(ours)} of ours", not ours
    )
    if can_be_nobody():
        got = as_nobody(LOOK, *map(str, found)).splitlines()
        yield Attack(
            "another user",
            "opens, changes and locks each, as nobody",
            f"has got {len(got)} of {len(found)}",
            not got,
        )


def planted_pickles(folder: Path) -> Iterator[Attack]:
    """A pickle in the place of each file of a checkpoint, which is then opened."""
    rows, mark = pa.record_batch({"number": [1, 2, 3]}), folder / "was-run"
    whole = folder / "whole"
    written(whole, rows)
    names = sorted(str(path.relative_to(whole)) for path in whole.rglob("*") if path.is_file())
    refused, ignored = 0, 0
    for name in names:
        attacked = folder / "attacked"
        shutil.copytree(whole, attacked)
        (attacked / name).write_bytes(pickle.dumps(Bomb(mark)))
        try:
            written(attacked, rows)
            list(JournalReader(str(attacked / "journal-0")).read(0, 3))
            ignored += 1
        except (CheckpointError, JournalError):
            refused += 1
        shutil.rmtree(attacked)
    yield Attack(
        "pickles in the place of files",
        f"{len(names)} of a checkpoint, one by one",
        "IT WAS RUN" if mark.exists() else f"{refused} refused, {ignored} of no use to it",
        not mark.exists() and refused > 0,
    )
    pickle.loads(pickle.dumps(Bomb(mark)))
    yield Attack("the same pickle", "unpickled, to see that it is one", "it was run", mark.exists())


def written(folder: Path, rows: pa.RecordBatch) -> None:
    """Open a checkpoint, or make one, with a journal and what Spark writes."""
    checkpoint = Checkpoint(folder)
    checkpoint.claim("numbers", ["number bigint"])
    with Journal.open(checkpoint.for_journal(0), rows.schema) as journal:
        if journal.end == 0:
            journal.append(rows)
        spark = Path(checkpoint.for_spark)
        if not spark.exists():
            position = f'{{"journal": "{journal.identity}", "position": 3}}'
            for name, text in (
                ("metadata", '{"id": "7"}'),
                ("offsets/0", f"v1\n{{}}\n{position}"),
                ("commits/0", "v1\n{}"),
            ):
                (spark / name).parent.mkdir(parents=True, exist_ok=True)
                (spark / name).write_text(text)
        checkpoint.require_whole([journal])
        checkpoint.progress([journal])


def plant_pickles(checkpoint: Path, mark: Path) -> int:
    """Put pickles beside all files of a checkpoint, under names that somebody might load."""
    bomb, count = pickle.dumps(Bomb(mark)), 0
    for folder, _, names in os.walk(checkpoint):
        for name in ["state.pkl", "offsets.pickle", *(f"{each}.pkl" for each in names)]:
            Path(folder, name).write_bytes(bomb)
            count += 1
    return count
