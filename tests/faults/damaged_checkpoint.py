"""Files of a checkpoint that are cut, emptied or gone, one at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from penstock.spark import CheckpointError, Positioned, SparkFailed
from penstock.testing import ManualSubscriber
from tests.faults.numbers import PATIENCE, all_of, join_runs, numbers_on_spark

__all__ = ["COUNT", "DAMAGES", "Damaged", "damage", "damages", "make_checkpoint"]

COUNT: Final = 30
MORE: Final = 50


def cut(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def delete(file: Path) -> None:
    file.unlink()


DAMAGES: Final[dict[str, Callable[[Path], None]]] = {"cut": cut, "emptied": empty, "gone": delete}


class Damaged(NamedTuple):
    """What came of a damage: a refusal, or rows from batch to batch."""

    refusal: str
    lost: int
    duplicated: int
    changed: int

    @property
    def is_harmless(self) -> bool:
        """Nothing is lost, and what comes again is what the sink has already."""
        return not self.refusal and not self.lost and not self.changed

    @property
    def is_refused(self) -> bool:
        """The text says what to do."""
        return "start with a new checkpoint" in self.refusal


def make_checkpoint(place: Path) -> list[tuple[int, int, int]]:
    """A checkpoint of a pipeline that was cancelled between two batches; what was delivered."""
    subscriber: ManualSubscriber[Positioned] = ManualSubscriber(request=COUNT)
    numbers_on_spark(MORE, place).positioned().subscribe(subscriber)
    subscriber.await_elements(COUNT, PATIENCE)
    subscriber.cancel()
    join_runs()
    return [(each.value.number, each.batch, each.row) for each in subscriber.elements]


def files_of(place: Path) -> Iterator[str]:
    """The files of the checkpoint, without those of the journal."""
    for file in sorted(place.rglob("*")):
        name = file.relative_to(place)
        if file.is_file() and not name.parts[0].startswith("journal"):
            yield name.as_posix()


def damages(place: Path) -> list[tuple[str, str]]:
    """Every file, and every damage."""
    return [(file, how) for file in files_of(place) for how in DAMAGES]


def damage(
    place: Path, copy: Path, file: str, how: str, before: list[tuple[int, int, int]]
) -> Damaged:
    """Damage one file of a copy of the checkpoint, and go on with it."""
    shutil.copytree(place, copy)
    DAMAGES[how](copy / file)
    try:
        after = all_of(numbers_on_spark(MORE, copy))
    except (CheckpointError, SparkFailed) as refused:
        return Damaged(str(refused), 0, 0, 0)
    places = {(batch, row): number for number, batch, row in before}
    numbers = [number for number, _, _ in [*before, *after]]
    return Damaged(
        refusal="",
        lost=len({*range(MORE)} - {*numbers}),
        duplicated=len(numbers) - len({*numbers}),
        changed=sum(places.get((batch, row), number) != number for number, batch, row in after),
    )
