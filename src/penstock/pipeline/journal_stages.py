"""The journals of a way through Spark as stages: their names, what they hold, their edges."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.observe.meters import SourceMeter, signals
from penstock.observe.samples import sampled
from penstock.observe.status import EdgeStatus, StageStatus
from penstock.pipeline.spark_ledger import JournalPassages
from penstock.spark.run_counts import InputCounts

__all__ = ["edge_into", "edge_out_of", "journal_names", "stage_of_journal"]

MEGABYTE: Final = 1 << 20


def journal_names(sources: Iterable[str], journals: int) -> list[tuple[str, tuple[str, ...]]]:
    """The names of the journals, each with those of the sources that lead there."""
    names = tuple(sources)
    if journals == 1:
        return [("journal", names)]
    if journals == len(names):
        return [(f"{name} journal", (name,)) for name in names]
    return [(f"journal {number}", names) for number in range(1, journals + 1)]


def edge_into(name: str, source: SourceMeter, journal: InputCounts) -> EdgeStatus:
    """From a source to its journal."""
    return EdgeStatus(
        source.name,
        name,
        journal.requested,
        journal.admitted,
        # One that has ended waits for nobody, though what is kept for a rewind may leave no room.
        held_up=journal.full and not journal.over,
        idle=not (journal.full or journal.over),
        sample=sampled(source.recent.last),
        unit=source.unit,
    )


def edge_out_of(
    each: JournalPassages, taker: str, batch_rows: int, *, is_under_way: bool
) -> EdgeStatus:
    """From a journal to Spark, which asks for a batch."""
    journal = each.reading
    return EdgeStatus(
        each.name,
        taker,
        journal.done + min(batch_rows, journal.max_rows),
        journal.done,
        journal.waiting,
        journal.max_rows,
        held_up=journal.waiting > 0 and (journal.full or not is_under_way),
        idle=not journal.waiting,
        sample=() if each.source is None else sampled(each.source.recent.last),
        unit="rows",
    )


def stage_of_journal(each: JournalPassages) -> StageStatus:
    """A journal as a stage; what it got last is what its source gave last."""
    journal = each.reading
    held = f"{journal.bytes / MEGABYTE:.1f} of {journal.max_bytes / MEGABYTE:.0f} MB"
    rows = f"{journal.waiting:,} of {journal.max_rows:,} rows"
    return StageStatus(
        each.name,
        "journal",
        journal.done,
        detail=f"{rows}, {held}",
        recent=() if each.source is None else each.source.recent.signals(),
        dead_letters=journal.all_dead_letters,
        last_dead_letters=signals(journal.last_dead_letters),
        unit="rows",
    )
