"""The trail of a run in words: which thread did what and where, and how a run ended on its own."""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import NamedTuple

from penstock.tck.explorer.task import End, RunEnd, TracedThread

__all__ = [
    "TrailRecorder",
    "describe_error",
    "idle_outcome",
    "livelock",
    "locate_thread",
    "who_is_where",
]

if sys.platform == "linux":
    import resource

    def _times_blocked() -> int:
        """How often the calling thread gave its core up because it had to wait."""
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

    def _time_queued() -> float:
        """The seconds for which the calling thread could run, and others had all the cores."""
        try:
            return int(_STATISTICS.read_bytes().split()[1]) / 1e9
        except OSError:
            return 0.0  # not every kernel counts

else:

    def _times_blocked() -> int:
        """The system does not say: only the clocks do."""
        return time.monotonic_ns()

    def _time_queued() -> float:
        """The system does not say."""
        return 0.0


_LONG = 0.01
_STATISTICS = Path("/proc/thread-self/schedstat")

# Taken before any exploration replaces them.
_wall_time = time.perf_counter
_thread_time = time.thread_time


class _Reading(NamedTuple):
    wall: float
    used: float
    queued: float
    blocked: int


def _read() -> _Reading:
    return _Reading(_wall_time(), _thread_time(), _time_queued(), _times_blocked())


class RealWaits:
    """Watches the calling thread between `resume` and `seconds_waited`."""

    def __init__(self) -> None:
        self._last: _Reading | None = None

    def resume(self) -> None:
        """Begin to watch the calling thread, which just got the baton."""
        self._last = _read()

    def seconds_waited(self) -> float:
        """Return the seconds that the calling thread waited since the last call, if it did."""
        now = _read()
        last, self._last = self._last or now, now
        idle = (now.wall - last.wall) - (now.used - last.used) - (now.queued - last.queued)
        return idle if idle > _LONG and now.blocked > last.blocked else 0.0


_EXPLORER = str(Path(__file__).parent) + os.sep
_KIT = str(Path(__file__).parent.parent) + os.sep
_STANDARD_LIBRARY = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib"))

LINES_PER_TURN = 12
"""Lines that the trail shows of one thread's turn; what lies between is counted."""


@dataclass
class _Step:
    text: str
    place: str

    def describe(self) -> str:
        return f"{self.text}  [{self.place}]" if self.place else self.text


@dataclass
class _Turn:
    thread: str
    steps: list[_Step] = field(default_factory=list)


class TrailRecorder:
    """Listens to a run and turns it into readable lines."""

    def __init__(self) -> None:
        self.real_wait = ""
        """The first wait in real time that was seen, in words."""
        self._turns: list[_Turn] = [_Turn("scenario")]
        self._waits = RealWaits()

    def resume(self) -> None:
        """Listen to the calling thread, which just got the baton."""
        self._waits.resume()

    def pause(self, thread: str) -> None:
        """Stop listening to the calling thread, which is about to give the baton away."""
        waited = self._waits.seconds_waited()
        if waited and not self.real_wait:
            place = _describe(_user_frame(sys._getframe()))
            where = f" before {place}" if place else ""
            self.real_wait = f"{thread} waited {waited:.2f} s in real time{where}"

    def note(self, thread: str, text: str) -> None:
        """Add an event of ``thread`` at the line of the user's code that caused it."""
        self._add(thread, text, _describe(_user_frame(sys._getframe())))

    def visit(self, thread: str, place: Hashable) -> None:
        """Remember that ``thread`` passed a switch point inside a function."""
        self.pause(thread)
        frame = _user_frame(sys._getframe())
        if frame is not None and not isinstance(place, str):
            function = frame.f_code.co_qualname.rpartition("<locals>.")[2]
            self._add(thread, f"runs {function}", _describe(frame))

    def switch(self, thread: str) -> None:
        """Begin the turn of ``thread``."""
        self._turns.append(_Turn(thread))

    def lines(self) -> tuple[str, ...]:
        """Return the trail, one line for each thing done."""
        width = max(len(turn.thread) for turn in self._turns)
        lines = []
        for number, turn in enumerate((turn for turn in self._turns if turn.steps), 1):
            head = f"{number:>3}. {turn.thread:<{width}}"
            for text in _shortened([step.describe() for step in turn.steps]):
                lines.append(f"{head}  {text}")
                head = " " * len(head)
        return tuple(lines)

    def _add(self, thread: str, text: str, place: str) -> None:
        turn = self._turns[-1]
        if turn.thread != thread:
            turn = _Turn(thread)
            self._turns.append(turn)
        if not turn.steps or (turn.steps[-1].text, turn.steps[-1].place) != (text, place):
            turn.steps.append(_Step(text, place))


def locate_thread(ident: int) -> str:
    """Return ``file:line`` of the user's code that a thread is in."""
    return _describe(_user_frame(sys._current_frames().get(ident))) or "an unknown place"


def who_is_where(tasks: Sequence[TracedThread]) -> str:
    """Say of each thread that did not end what it waits for, and where."""
    lines = []
    for task in tasks:
        if not task.finished:
            state = f"waits for {task.awaits.describe()}" if task.awaits else "can run"
            place = locate_thread(task.ident) if task.launched else "its start"
            lines.append(f"  {task.name} {state}, at {place}")
    return "\n".join(lines)


def describe_error(error: BaseException) -> str:
    """Name ``error``, its text and the line of the user's code that raised it."""
    try:
        text = str(error)
    except Exception as unprintable:
        text = f"(its text raises {type(unprintable).__name__})"
    return f"{type(error).__name__}: {text}\n  at {_locate_error(error)}"


def _locate_error(error: BaseException) -> str:
    found = "an unknown place"
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if _is_users(trace.tb_frame):
            found = _place(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _shortened(lines: list[str]) -> list[str]:
    if len(lines) <= LINES_PER_TURN:
        return lines
    half = LINES_PER_TURN // 2
    return [*lines[:half], f"... {len(lines) - 2 * half} more ...", *lines[-half:]]


def _user_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the user's code, else of a library outside the explorer."""
    library: FrameType | None = None
    while frame is not None:
        if _is_users(frame):
            return frame
        if library is None and not frame.f_code.co_filename.startswith(_EXPLORER):
            library = frame
        frame = frame.f_back
    return library


def _is_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file.startswith((_KIT, "<")):
        return False
    return file.startswith(_INSTALLED) or not file.startswith(_STANDARD_LIBRARY)


def _describe(frame: FrameType | None) -> str:
    return "" if frame is None else _place(frame, frame.f_lineno)


def _place(frame: FrameType, line: int) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{line}"


def idle_outcome(tasks: Sequence[TracedThread], timer_pending: bool) -> RunEnd:
    """Judge a run in which no thread can go on."""
    stuck = any(
        task.awaits is not None and task.awaits.exclusive for task in tasks if not task.finished
    )
    if tasks[0].finished and (timer_pending or not stuck):
        return RunEnd(End.FINISHED)
    return RunEnd(
        End.VIOLATED, f"deadlock: no thread can run, no timer is pending\n{who_is_where(tasks)}"
    )


def livelock(tasks: Sequence[TracedThread], max_steps: int) -> RunEnd:
    """Judge a run that took too many steps."""
    return RunEnd(
        End.VIOLATED,
        f"livelock: no end after {max_steps} steps (max_steps); virtual time stands still "
        f"while a thread can run\n{who_is_where(tasks)}",
    )
