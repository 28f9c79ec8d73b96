"""Where work runs and how time passes: executors, clocks, locks, and the hook for lost errors.

``executor.py``       what executors, clocks and locks are, so that a test can bring its own; and
                      `CallingThread`
``thread_pool.py``    a pool of threads as an executor
``event_loop.py``     an asyncio event loop as executor and clock
``system_clock.py``   real time, for programs that have no event loop
``virtual_time.py``   time that a test owns: nothing runs but what it lets run, and waiting costs
                      nothing
``undelivered.py``    errors with nowhere to go: one hook for all of them, so that none is lost in
                      silence
``arguments.py``      the checks of arguments: errors at assembly that name the place, the value and
                      what is allowed
``secret_fields.py``  fields whose values are shown to nobody: not in an error or a log, and not on
                      the page
``shown_text.py``     text of others and addresses, as they may be shown: on a terminal, in a log,
                      in an error
``program_exit.py``   what has to come to its end before Python does
``drawing.py``        pictures for notebooks: HTML that needs nothing else, readable on light and on
                      dark ground
"""

from penstock.runtime.arguments import require_executor, require_int
from penstock.runtime.event_loop import AsyncioLoop
from penstock.runtime.executor import CallingThread, Clock, Executor, Lock, NewLock, Task, Timer
from penstock.runtime.secret_fields import hidden_fields, hide_fields, hide_only
from penstock.runtime.shown_text import printable, shorten, shown_address, shown_element
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
    "hidden_fields",
    "hide_fields",
    "hide_only",
    "printable",
    "report_undelivered",
    "require_executor",
    "require_int",
    "set_undelivered_hook",
    "shorten",
    "shown_address",
    "shown_element",
]
