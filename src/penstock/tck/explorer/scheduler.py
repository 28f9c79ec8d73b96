"""One run of a scenario: the baton, blocking and waking, virtual time, quiescence.

Every thread of a run is a real thread, but only the holder of the baton runs; all others wait for
their own baton lock. The holder gives the baton away in `point`, where a switch is possible, in
`block`, where it is forced, and when it ends. So the strategy's answers decide the whole run.

Virtual time stands still while a thread can run. When none can, a thread that waits for quiescence
goes on first; only then does time jump to the next deadline. If timers race, each decision can
also be answered by the thread whose deadline comes next.
"""

from __future__ import annotations

import _thread
from _thread import get_ident
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, NoReturn

from penstock.tck.explorer.task import (
    Abort,
    Awaited,
    End,
    RunEnd,
    RunnableTasks,
    Timers,
    TracedThread,
    controlled_threads,
    park,
)
from penstock.tck.explorer.tracing import Tracer
from penstock.tck.explorer.trail import TrailRecorder, describe_error, idle_outcome, livelock
from penstock.tck.explorer.workers import Workers

if TYPE_CHECKING:
    from penstock.tck.explorer.search import Strategy

__all__ = ["ScheduledRun"]

FAIR_STREAK = 100
"""Points that a thread may pass while others could run, before the next one gets a turn.

A loop that waits for another thread's write ends that way without a preemption."""

PATIENCE = 20
"""How often a thread may swallow `Abort` before it is parked for good."""


class ScheduledRun:
    """One schedule from its first step to its end."""

    def __init__(
        self,
        strategy: Strategy,
        tracer: Tracer,
        workers: Workers,
        *,
        max_steps: int,
        exact: bool,
        race_timers: bool = False,
        recorder: TrailRecorder | None = None,
    ) -> None:
        self.strategy = strategy
        self.tracer = tracer
        self.workers = workers
        self.max_steps = max_steps
        self.exact = exact
        """Whether operations switch only around the places where CPython can (level gil)."""
        self.race_timers = race_timers
        """Whether a deadline may come while a thread can run, as if that thread were slow."""
        self.recorder = recorder
        self.now = 0.0
        self.steps = 0
        self.decisions = 0
        self.deviations: list[tuple[int, int]] = []
        self.fingerprint = 0
        self.tasks: list[TracedThread] = []
        self.runnable = RunnableTasks()
        self.outcome: RunEnd | None = None
        self.aborting = False
        self.over = _thread.allocate_lock()
        self.over.acquire()
        self.forgiven: tuple[type[BaseException], ...] = ()
        self.outsider = TracedThread(self, -1, "a thread outside the run", lambda: None)
        self.current = self.outsider
        self.racing: tuple[int, ...] = ()
        """The tasks whose deadline comes next, where that is another answer to a decision."""
        self._timers = Timers()
        self.settlers: list[TracedThread] = []
        self._numbers: dict[str, int] = {}
        self._stopped = _thread.allocate_lock()

    # The life of a thread.

    def spawn(self, body: Callable[[], object], name: str = "") -> TracedThread:
        """Add a thread that runs ``body``. It gets its system thread when it is first chosen."""
        number = len(self.tasks)
        label = f"T{number}" if number else "scenario"
        task = TracedThread(self, number, f"{label} ({name})" if name else label, body)
        self.tasks.append(task)
        self.runnable.add(task)
        return task

    def start(self, me: TracedThread, body: Callable[[], object], name: str = "") -> TracedThread:
        """Add a thread on behalf of ``me``."""
        if self.aborting:
            self.die(me)
        child = self.spawn(body, name)
        if self.recorder is not None:
            self.note(me, f"starts {child.name}")
        return child

    def launch(self, task: TracedThread) -> bool:
        """Start the system thread of ``task``, which begins as the holder of the baton."""
        before, self.current = self.current, task
        task.launched = True
        try:
            task.worker = self.workers.hire()
        except RuntimeError as error:
            self.current, task.launched = before, False
            self.stop(
                RunEnd(End.UNCONTROLLED, f"the system has no thread for {task.name}: {error}")
            )
        else:
            task.worker.start(lambda: self._live(task), task.ended)
        return task.launched

    def _live(self, task: TracedThread) -> None:
        task.ident = get_ident()
        controlled_threads[task.ident] = task
        try:
            if self.recorder is not None:
                self.recorder.resume()
            self._work(task)
            self._finish(task)
        except Abort:
            pass
        except BaseException as error:
            self.stop(RunEnd(End.UNCONTROLLED, f"the explorer itself failed: {error!r}"))
        finally:
            del controlled_threads[task.ident]

    def _work(self, task: TracedThread) -> None:
        try:
            try:
                task.body()
            finally:
                task.body = _nothing  # it holds the thread object, and that may hold a subscriber
                if self.recorder is not None and not self.aborting:
                    self.recorder.pause(task.name)
        except Abort:
            pass
        except KeyboardInterrupt:
            self.stop(RunEnd(End.INTERRUPTED))
        except self.forgiven:
            pass
        except BaseException as error:
            if not isinstance(error, SystemExit) or task.number == 0:
                self.stop(RunEnd(End.VIOLATED, f"{task.name} raised {describe_error(error)}"))

    def traced(self, body: Callable[[], object]) -> None:
        """Call ``body``, which is the subject's, with switch points in its code."""
        self.tracer.attach()
        try:
            body()
        finally:
            self.tracer.detach()

    def _finish(self, task: TracedThread) -> None:
        task.finished = True
        if self.aborting:
            return
        self.note(task, "ends")
        self.runnable.discard(task)
        self.wake(task.joiners)
        if task.group is not None:
            task.group.unfinished -= 1
            if not task.group.unfinished:
                self.wake(task.group.waiting)
        chosen = self._next()
        if chosen is not None:
            self._pass_baton(chosen)

    # Switching.

    def operator(self, subject: Awaited) -> TracedThread:
        """Return the task that is about to use ``subject``: the holder of the baton."""
        me = self.current
        if self.aborting or me.ident != get_ident():
            return self.stranger(subject)
        return me

    def stranger(self, subject: Awaited) -> TracedThread:
        """Unwind the calling thread of a run that is over; return `outsider` for any other."""
        me = controlled_threads.get(get_ident())
        if me is not None and me.run.aborting:
            me.run.die(me)
        if me is None and not self.aborting:
            text = f"a thread that the explorer did not start uses {subject.describe()}"
            self.stop(RunEnd(End.UNCONTROLLED, text))
        return self.outsider

    def point(self, place: Hashable) -> None:
        """Switch to another thread if the strategy says so. Only the holder may call it."""
        if self.aborting:
            self.die(controlled_threads[get_ident()])
        me = self.current
        self.steps += 1
        if self.steps > self.max_steps:
            self._livelock(me)
        if self.recorder is not None:
            self.recorder.visit(me.name, place)
        if len(self.runnable.numbers) == 1 and not self._timers_race():
            return
        me.streak += 1
        if me.streak > FAIR_STREAK:
            chosen = self.runnable.after(me)
        else:
            chosen = self._decide(me, True, place)
        if chosen is not me:
            self._switch(me, chosen)

    def step(self) -> None:
        """Count a step without the chance to switch, so that endless loops are noticed."""
        if self.aborting:
            self.die(controlled_threads[get_ident()])
        self.steps += 1
        if self.steps > self.max_steps:
            self._livelock(self.current)

    def give_way(self) -> None:
        """Switch to the next thread in turn, unless the strategy prefers another one."""
        self.step()
        me = self.current
        if len(self.runnable.numbers) > 1:
            chosen = self._decide(self.runnable.after(me), True, "gives way")
            if chosen is not me:
                self._switch(me, chosen)

    def block(
        self, awaited: Awaited, queue: list[TracedThread], deadline: float | None = None
    ) -> bool:
        """Wait in ``queue`` until woken; return False if ``deadline`` came first."""
        me = self.operator(awaited)
        if me is self.outsider:
            raise RuntimeError(f"{awaited.describe()} belongs to an explored schedule that is over")
        me.awaits, me.queue = awaited, queue
        queue.append(me)
        self._timers.start(me, deadline)
        self.runnable.discard(me)
        if self.recorder is not None:
            self.note(me, f"waits for {awaited.describe()}")
        chosen = self._next()
        if chosen is None:
            self.die(me)
        if chosen is not me:
            self._switch(me, chosen)
        return self._resume(me)

    def _resume(self, me: TracedThread) -> bool:
        if me in me.queue:
            me.queue.remove(me)
        self._timers.stop(me)
        me.awaits = None
        woken = not me.timed_out
        me.timed_out = False
        return woken

    def _next(self) -> TracedThread | None:
        while not self.runnable.numbers:
            if not self._idle():
                return None
        first = self.runnable.first()
        if len(self.runnable.numbers) == 1 and not self._timers_race():
            return first
        return self._decide(first, False, "stopped")

    def _decide(self, default: TracedThread, preempts: bool, place: Hashable) -> TracedThread:
        if self.race_timers:
            self.racing = self._timers.next_numbers() if self._timers_race() else ()
        able = self.runnable.numbers, self.racing
        self.fingerprint = hash((self.fingerprint, self.steps, place, able))
        try:
            number = self.strategy.choose(self, default.number, preempts)
        except LookupError as misfit:
            self.stop(RunEnd(End.MISFIT, str(misfit)))
            self.die(self.current)
        if number != default.number:
            self.deviations.append((self.decisions, number))
        self.decisions += 1
        if number in self.racing:
            self._let_time_pass()
            self.note(self.current, f"takes until the virtual time {self.now:g}")
        return self.tasks[number]

    def _timers_race(self) -> bool:
        # Time stands still while the scenario waits for quiescence, and ends with it.
        possible = self.race_timers and self._timers and not self.settlers
        return bool(possible) and not self.tasks[0].finished

    def _switch(self, me: TracedThread, chosen: TracedThread) -> None:
        self._pass_baton(chosen)
        me.baton.acquire()
        if self.aborting:
            self.die(me)
        if self.recorder is not None:
            self.recorder.resume()

    def _pass_baton(self, chosen: TracedThread) -> None:
        if self.recorder is not None:
            self.recorder.pause(self.current.name)
            self.recorder.switch(chosen.name)
        chosen.streak = 0
        if chosen.launched:
            self.current = chosen
            chosen.baton.release()
        elif not self.launch(chosen):
            self.die(self.current)

    # Waking.

    def wake(self, queue: list[TracedThread]) -> None:
        """Let every thread of ``queue`` go on and empty it."""
        self.invite(queue)
        queue.clear()

    def invite(self, queue: list[TracedThread]) -> None:
        """Let the threads of ``queue`` compete for what they wait for; they stay in it."""
        for task in queue:
            self.runnable.add(task)

    def dismiss(self, queue: list[TracedThread]) -> None:
        """Take an invitation back, because another thread was faster."""
        for task in queue:
            if not task.timed_out:
                self.runnable.discard(task)

    def requeue(self, task: TracedThread, awaited: Awaited, queue: list[TracedThread]) -> None:
        """Make a blocked thread wait for something else, and without a deadline."""
        self._timers.stop(task)
        task.awaits, task.queue = awaited, queue
        queue.append(task)

    # Idleness and the end.

    def _idle(self) -> bool:
        """Make a thread runnable although all of them wait; return False if that is the end."""
        if self.settlers:
            self.runnable.add(self.settlers[0])
            return True
        if self._timers and not self.tasks[0].finished:
            self._let_time_pass()
            return True
        self.stop(idle_outcome(self.tasks, timer_pending=bool(self._timers)))
        return False

    def _let_time_pass(self) -> None:
        """Go to the next deadline."""
        self.now = max(self.now, self._timers.next_moment())
        for task in self._timers.due(self.now):
            task.timed_out = True
            self.runnable.add(task)

    def _livelock(self, me: TracedThread) -> NoReturn:
        self.stop(livelock(self.tasks, self.max_steps))
        self.die(me)

    def stop(self, outcome: RunEnd) -> None:
        """End the run. The first outcome stands; from now on every operation raises `Abort`."""
        if self._stopped.acquire(blocking=False):
            self.outcome = outcome
            self.aborting = True
            self.over.release()

    def die(self, me: TracedThread) -> NoReturn:
        """Unwind the calling thread; park it for good if it keeps swallowing that."""
        me.aborts += 1
        # The garbage collector swallows what finalizers raise; parked, it would never run again.
        if me.aborts > PATIENCE and not me.collecting:
            park(me)
        raise Abort

    # What reports need.

    def note(self, me: TracedThread, text: str) -> None:
        """Add what ``me`` does to the trail, if there is one."""
        if self.recorder is not None:
            self.recorder.note(me.name, text)

    def signature(self) -> tuple[int, int, int]:
        """Sum up the way that the run took; equal schedules must have equal ones."""
        return self.fingerprint, self.decisions, self.steps

    def number(self, kind: str) -> int:
        """Return the next number of its kind: identities that do not change from run to run."""
        number = self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return number


def _nothing() -> None:
    pass
