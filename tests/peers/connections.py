"""A model of shared flows with connections, as their documentation has it: lists and loops.

A run of the source gives a number in the middle of each second, ``LENGTH`` of them, and completes
with the last one. All subscribers want all that comes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["LENGTH", "Guest", "ModelRun", "SharedModel"]

LENGTH: Final = 8


@dataclass(eq=False)
class Guest:
    """A subscriber: what it got, and how that ended; nothing if it goes on, or left by itself."""

    received: list[int] = field(default_factory=list)
    ending: str = ""


@dataclass
class ModelRun:
    """A run: who is there, and what has come while nobody was, which waits for the next one."""

    guests: list[Guest] = field(default_factory=list)
    seconds: int | None = None
    waiting: list[int] = field(default_factory=list)
    ending: str = ""

    def connect(self) -> None:
        if self.seconds is None:
            self.seconds = 0

    def pass_second(self) -> None:
        if self.seconds is None or self.ending:
            return
        if self.seconds < LENGTH:
            self.waiting.append(self.seconds)
            self.seconds += 1
        self.hand_out()

    def hand_out(self) -> None:
        if self.guests:
            for guest in self.guests:
                guest.received += self.waiting
            self.waiting.clear()
        if self.seconds == LENGTH and not self.waiting:
            self.end("completed")

    def end(self, how: str) -> None:
        if not self.ending:
            self.ending = how
            for guest in self.guests:
                guest.ending = how
            self.guests.clear()


class SharedModel:
    """``publish``, ``auto_connect`` and ``ref_count``.

    ``starts``  with how many subscribers a run starts by itself, if it does
    ``stops``   whether a run stops with its last subscriber
    """

    def __init__(self, starts: int | None, *, stops: bool) -> None:
        self._starts = starts
        self._stops = stops
        self._run = ModelRun()

    def subscribe(self) -> Guest:
        run, guest = self._current(), Guest()
        if run.ending:
            guest.ending = run.ending
            return guest
        run.guests.append(guest)
        if self._starts is not None and len(run.guests) >= self._starts:
            run.connect()
        run.hand_out()
        return guest

    def leave(self, guest: Guest) -> None:
        if guest in self._run.guests:
            self._run.guests.remove(guest)
            if self._stops and not self._run.guests:
                self._run = ModelRun()

    def connect(self) -> ModelRun:
        run = self._current()
        run.connect()
        return run

    def disconnect(self, run: ModelRun) -> None:
        run.end("failed")

    def pass_second(self) -> None:
        self._run.pass_second()

    def _current(self) -> ModelRun:
        """A run that was cancelled is followed by another; one that completed only if it stops."""
        if self._run.ending == "failed" or (self._run.ending and self._stops):
            self._run = ModelRun()
        return self._run
