"""The schedule explorer: runs code that uses `threading` under all schedules that matter.

``exploration.py``  `explore` and `replay`: runs schedules until there is something to say, and says
                    it
``options.py``      the options of an exploration, checked before anything starts
``search.py``       which schedules to run, and schedules as text, such as
                    ``v1:py3.11:gil:12>2,15>1``
``scheduler.py``    one run of a scenario: the baton, blocking and waking, virtual time, quiescence
``task.py``         the threads of a run, what they can wait for and until when, and how a run can
                    end
``session.py``      runs a scenario again and again in a prepared process, each time under another
                    strategy
``environment.py``  what a scenario gets to steer its threads
``patching.py``     puts the explorer's primitives where a subject looks for the real ones, and
                    takes them back
``places.py``       finds the places where a subject's modules hold values: names, attributes,
                    defaults, closures
``copies.py``       fresh explorer primitives in the state of real ones that a subject made before
                    the run
``primitives.py``   events, semaphores and queues whose every wait the scheduler owns; `locks` has
                    the others
``locks.py``        locks and conditions whose every wait the scheduler owns
``threads.py``      stand-ins for methods of the `threading` classes, which keep subclasses of them
                    working
``clocks.py``       stand-ins for C functions of `time`, `threading` and `_thread`: clocks, sleep,
                    raw threads
``workers.py``      the system threads of an exploration, on one core: each serves one task after
                    the other
``tracing.py``      levels, and the tracers that add switch points inside the subject's own code
``tracers.py``      the tracer for a level on the running version of Python
``settrace.py``     tracing for Python 3.11: `sys.settrace` reports every instruction of the subject
``monitoring.py``   tracing for Python 3.12 and later: `sys.monitoring` reports just the events that
                    matter
``opcodes.py``      which instructions of a code object are places where threads can be switched
``trail.py``        the trail of a run in words: which thread did what and where, switch by switch
``report.py``       what an exploration found: its verdict, the violation if there is one, and both
                    in words
``endings.py``      how a run ends on its own: all threads wait, or they run on and on
``watchdog.py``     runs one schedule within a budget, and ends its threads whatever they do
"""

from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.exploration import explore, replay
from penstock.tck.explorer.report import Exploration, Verdict, Violation
from penstock.tck.explorer.tracing import Level

__all__ = ["Environment", "Exploration", "Level", "Verdict", "Violation", "explore", "replay"]
