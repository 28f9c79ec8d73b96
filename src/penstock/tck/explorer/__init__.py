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
"""

from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.exploration import explore, replay
from penstock.tck.explorer.report import Exploration, Verdict, Violation
from penstock.tck.explorer.tracing import Level

__all__ = ["Environment", "Exploration", "Level", "Verdict", "Violation", "explore", "replay"]
