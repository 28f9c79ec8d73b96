"""The schedule explorer: runs code that uses `threading` under all schedules that matter.

``exploration.py``  `explore` and `replay`: run schedules until there is something to say, and say
                    it in words
``search.py``       which schedules to run, and schedules as text, such as
                    ``v1:py3.11:gil:12>2,15>1``
``scheduler.py``    one run of a scenario: the baton, blocking and waking, virtual time, quiescence
``task.py``         the threads of a run, what they can wait for and until when, and how a run can
                    end
``session.py``      runs a scenario again and again in a prepared process, as its options say
``environment.py``  what a scenario gets to steer its threads
``patching.py``     puts the explorer's primitives where a subject looks for the real ones, and
                    takes them back
``primitives.py``   events, semaphores and queues whose every wait the scheduler owns; `locks` has
                    the others
``locks.py``        locks and conditions whose every wait the scheduler owns
``threads.py``      stand-ins for methods of the `threading` classes, which keep subclasses of them
                    working
``clocks.py``       stand-ins for C functions of `time`, `threading` and `_thread`: clocks, sleep,
                    raw threads
``workers.py``      the system threads of an exploration, on one core: each serves one task after
                    the other
``tracing.py``      levels of tracing, and the instructions at which each of them lets threads be
                    switched
``settrace.py``     tracing for Python 3.11: `sys.settrace` reports every instruction of the subject
``monitoring.py``   tracing for Python 3.12 and later: `sys.monitoring` reports just the events that
                    matter
``trail.py``        the trail of a run in words: which thread did what and where, and how a run
                    ended on its own
``watchdog.py``     runs one schedule within a budget, and ends its threads whatever they do
"""

from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.exploration import Exploration, Verdict, Violation, explore, replay
from penstock.tck.explorer.tracing import Level

__all__ = ["Environment", "Exploration", "Level", "Verdict", "Violation", "explore", "replay"]
