"""Stand-ins for C functions of `time`, `threading` and `_thread`: clocks, sleep, raw threads.

They are objects, not functions: like the real ones they do not turn into methods when a class
holds them, and the tracers treat their end as the end of a C call. Each asks first whether a run
controls the calling thread; if none does, the real function answers.
"""

from __future__ import annotations

import _thread
import threading
import time
from _thread import get_ident
from collections.abc import Callable, Mapping
from typing import Any

from penstock.tck.explorer.task import Deadline, TracedThread, controlled_threads

__all__ = ["stand_ins_for_functions"]

_EPOCH = 1_700_000_000.0
"""What `time.time` says when virtual time begins."""


class _Query:
    """Answers from the run of the calling thread."""

    def __init__(self, real: Callable[[], Any], answer: Callable[[TracedThread], Any]) -> None:
        self._real = real
        self._answer = answer

    def __call__(self) -> Any:
        task = controlled_threads.get(get_ident())
        return self._real() if task is None else self._answer(task)


class _Sleep:
    """Waits in virtual time; ``sleep(0)`` gives way to the next thread."""

    def __init__(self, real: Callable[[float], None]) -> None:
        self._real = real

    def __call__(self, seconds: float, /) -> None:
        me = controlled_threads.get(get_ident())
        if me is None:
            self._real(seconds)
        elif seconds < 0:
            raise ValueError("sleep length must be non-negative")
        elif seconds == 0:
            me.run.give_way()
        else:
            moment = me.run.now + seconds
            me.run.block(Deadline(moment), [], moment)


class _StartNewThread:
    """Starts a thread without an object of `threading`."""

    def __init__(self, real: Callable[..., int]) -> None:
        self._real = real

    def __call__(
        self,
        function: Callable[..., object],
        arguments: tuple[Any, ...],
        options: Mapping[str, Any] | None = None,
        /,
    ) -> int:
        me = controlled_threads.get(get_ident())
        options = {} if options is None else options
        if me is None:
            return self._real(function, arguments, options)
        run = me.run
        child = run.start(me, lambda: run.traced(lambda: function(*arguments, **options)))
        run.point("started")
        return child.number + 1


def stand_ins_for_functions() -> Mapping[Callable[..., Any], Callable[..., Any]]:
    """Return what replaces each function."""
    return {
        threading.get_ident: _Query(threading.get_ident, lambda task: task.number + 1),
        time.monotonic: _Query(time.monotonic, lambda task: task.run.now),
        time.monotonic_ns: _Query(time.monotonic_ns, lambda task: round(task.run.now * 1e9)),
        time.perf_counter: _Query(time.perf_counter, lambda task: task.run.now),
        time.perf_counter_ns: _Query(time.perf_counter_ns, lambda task: round(task.run.now * 1e9)),
        time.time: _Query(time.time, lambda task: _EPOCH + task.run.now),
        time.time_ns: _Query(time.time_ns, lambda task: round((_EPOCH + task.run.now) * 1e9)),
        time.sleep: _Sleep(time.sleep),
        _thread.start_new_thread: _StartNewThread(_thread.start_new_thread),
    }
