"""The journals of a way through Spark as stages: their names, what they hold, what goes in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from penstock.observe.meters import SourceMeter, signals
from penstock.observe.samples import sampled
from penstock.observe.status import EdgeStatus, StageStatus
from penstock.pipeline.spark_ledger import JournalPassages
from penstock.spark.run_counts import InputCounts

__all__ = ["edge_into", "journal_names", "stage_of_journal"]

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
        held_up=journal.full,
        idle=not (journal.full or journal.sealed),
        sample=sampled(source.recent.last),
        unit=source.unit,
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
