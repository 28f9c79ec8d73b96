"""A recorder between a publisher and a journal in memory, driven by the test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyarrow import fs

from penstock import VirtualTime
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.journal import Journal, NoSpace, Place
from penstock.testing import ManualPublisher
from tests.spark.journals import Numbers, all_rows, open_journal

__all__ = ["Run", "new_run"]


@dataclass
class Run:
    """A recorder between a publisher and a journal in memory."""

    place: Place
    journal: Journal
    time: VirtualTime = field(default_factory=VirtualTime)
    publisher: ManualPublisher[Any] = field(default_factory=ManualPublisher)
    failures: list[Exception] = field(default_factory=list)
    dead_letters: list[Any] = field(default_factory=list)
    space: list[NoSpace | None] = field(default_factory=list)
    completions: list[str] = field(default_factory=list)

    def begin(self, **options: Any) -> JournalSubscriber:
        """Make a recorder and subscribe it."""
        usual: dict[str, Any] = {
            "converter": Numbers(),
            "executor": self.time,
            "clock": self.time,
            "on_failure": self.failures.append,
            "on_completed": lambda: self.completions.append("completed"),
            "on_space": self.space.append,
        }
        recorder = JournalSubscriber(self.journal, **(usual | options))
        self.publisher.subscribe(recorder)
        self.time.settle()
        return recorder

    def send(self, *elements: Any) -> None:
        """Send elements in one go, and let the worker do its work."""
        self.publisher.next(*elements)
        self.time.settle()

    @property
    def rows(self) -> list[int]:
        """All that is in the journal and not committed."""
        return all_rows(self.place)


def new_run(**bounds: int) -> Run:
    place = fs._MockFileSystem()
    return Run(place, open_journal(place, **bounds))
