"""The schedule explorer: runs code that uses `threading` under all schedules that matter.

From the bottom up:

- `cores`, `workers`: the system threads;
- `task`, `timers`, `endings`, `scheduler`: the threads of one run, and the baton that they pass;
- `trail`, `real_waits`: the story of a run in words;
- `locks`, `primitives`, `threads`, `clocks`: what a subject uses instead of the real ones;
- `bases`: what its own subclasses of the real ones inherit instead;
- `places`, `copies`, `loops`, `patching`: how it gets them, and how they are taken away again;
- `tracing`, `tracers`: switch points in the subject's own code, by `settrace` with `opcodes`,
  `inlining` and `untraced` on Python 3.11, by `monitoring` from 3.12 on;
- `environment`: what a scenario can do;
- `interrupts`, `budget`, `watchdog`, `session`: runs within a budget, one after the other;
- `search`, `options`, `exploration`: which schedules are run, and the verdict;
- `schedules`, `report`: both as text.

``exploration.py``  `explore` and `replay`: runs schedules until there is something to say, and says
                    it
``options.py``      the options of an exploration, checked before anything starts
``search.py``       which schedules to run: depth first by number of preemptions, then at random, or
                    one by heart
``schedules.py``    schedules as text, such as ``v1:py3.11:gil:12>2,15>1``: at decision 12 thread 2
                    goes on,
``scheduler.py``    one run of a scenario: the baton, blocking and waking, virtual time, quiescence
``task.py``         the threads of a run, what they can wait for, and how a run can end
``session.py``      runs a scenario again and again in a prepared process, each time under another
                    strategy
``environment.py``  what a scenario gets to steer its threads
``patching.py``     puts the explorer's primitives where a subject looks for the real ones, and
                    takes them back
``places.py``       finds the places where a subject's modules hold values: names, attributes,
                    defaults, closures
``bases.py``        stand-ins for methods of the real `threading` classes, which subclasses of a
                    subject inherit
``copies.py``       fresh explorer primitives in the state of real ones that a subject made before
                    the run
``primitives.py``   events, semaphores and queues whose every wait the scheduler owns; `locks` has
                    the others
``locks.py``        locks and conditions whose every wait the scheduler owns
``threads.py``      stand-ins for the methods of `threading.Thread`, which keep subclasses of it
                    working
``timers.py``       the threads of a run that wait with a deadline
``clocks.py``       stand-ins for C functions of `time`, `threading` and `_thread`: clocks, sleep,
                    raw threads
``loops.py``        asyncio loops that a run leaves behind: what becomes of their tasks is no fault
                    of anybody
``interrupts.py``   raises an exception in another thread, and leaves no trace of it if the thread
                    does not end
``real_waits.py``   notices when the holder of the baton waits in real time, for something outside
                    the run
``workers.py``      the system threads of an exploration: each serves one task of a run after the
                    other
``tracing.py``      levels, and the tracers that add switch points inside the subject's own code
``tracers.py``      the tracer for a level on the running version of Python
``settrace.py``     tracing for Python 3.11: `sys.settrace` reports every instruction of the subject
``monitoring.py``   tracing for Python 3.12 and later: `sys.monitoring` reports just the events that
                    matter
``opcodes.py``      which instructions of a code object are places where threads can be switched
``inlining.py``     whether CPython 3.11 entered a Python function directly or by way of C
``untraced.py``     switches tracing off on Python 3.11 while a thread is inside the explorer's own
                    operations
``trail.py``        the trail of a run in words: which thread did what and where, switch by switch
``report.py``       what an exploration found: its verdict, the violation if there is one, and both
                    in words
``endings.py``      how a run ends on its own: all threads wait, or they run on and on
``budget.py``       the time that an exploration may take
``watchdog.py``     runs one schedule within a budget, and ends its threads whatever they do
``cores.py``        keeps the threads of an exploration on one processor core, where passing the
                    baton is cheapest
"""

from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.exploration import explore, replay
from penstock.tck.explorer.report import Exploration, Verdict, Violation
from penstock.tck.explorer.tracing import Level

__all__ = ["Environment", "Exploration", "Level", "Verdict", "Violation", "explore", "replay"]
