"""Where work runs and how time passes: executors, clocks, locks, and the hook for lost errors.

``executor.py``      the ``Executor`` and ``Clock`` protocols and the trampoline ``CallingThread``
``thread_pool.py``   ``ThreadPool``
``event_loop.py``    ``AsyncioLoop``, executor and clock on a running asyncio loop
``system_clock.py``  ``SystemClock``, real time for programs without an event loop
``virtual_time.py``  ``VirtualTime``, executor and clock that a test owns
``undelivered.py``   the one place for errors that have nowhere else to go
``options.py``       the checks of options
``locks.py``         the shape of a lock, so that a test can hand in its own
``addresses.py``     addresses as they may be shown, without what opens them
``foreign_text.py``  text of others as it may be shown, without what commands a terminal
"""

from penstock.runtime.addresses import shown_address
from penstock.runtime.event_loop import AsyncioLoop
from penstock.runtime.executor import CallingThread, Clock, Executor, Task, Timer
from penstock.runtime.foreign_text import printable
from penstock.runtime.locks import Lock, NewLock
from penstock.runtime.options import require_count, require_executor
from penstock.runtime.system_clock import SystemClock
from penstock.runtime.thread_pool import ThreadPool
from penstock.runtime.undelivered import (
    Undelivered,
    collect_undelivered,
    report_undelivered,
    set_undelivered_hook,
)
from penstock.runtime.virtual_time import VirtualTime

__all__ = [
    "AsyncioLoop",
    "CallingThread",
    "Clock",
    "Executor",
    "Lock",
    "NewLock",
    "SystemClock",
    "Task",
    "ThreadPool",
    "Timer",
    "Undelivered",
    "VirtualTime",
    "collect_undelivered",
    "printable",
    "report_undelivered",
    "require_count",
    "require_executor",
    "set_undelivered_hook",
    "shown_address",
]
