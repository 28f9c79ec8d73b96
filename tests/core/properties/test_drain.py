"""The drain for any schedule of wakes and tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core import Drain
from penstock.runtime import Executor, Task, VirtualTime


class Scripted(Drain):
    """Wakes itself in its rounds as often as a script says; knows of wakes nobody answered."""

    def __init__(self, script: list[int], executor: Executor | None = None) -> None:
        super().__init__(executor)
        self.script = iter(script)
        self.unanswered = False
        self.inside = False
        self.rounds = 0

    def poke(self) -> None:
        self.unanswered = True
        self.wake()

    def _work(self) -> None:
        assert not self.inside
        self.inside = True
        self.unanswered = False
        self.rounds += 1
        for _ in range(next(self.script, 0)):
            self.poke()
        self.inside = False


class CountingTime(VirtualTime):
    """Counts the tasks in line."""

    in_line = 0

    def execute(self, task: Task) -> None:
        self.in_line += 1

        def counted() -> None:
            self.in_line -= 1
            task()

        super().execute(counted)


SCRIPTS = st.lists(st.integers(0, 3), max_size=20)


@given(SCRIPTS, st.integers(1, 10))
def test_on_the_calling_thread_every_wake_is_answered_before_it_returns(
    script: list[int], wakes: int
) -> None:
    drain = Scripted(script)
    for _ in range(wakes):
        rounds = drain.rounds
        drain.poke()
        assert drain.rounds > rounds
        assert not drain.unanswered


@given(SCRIPTS, st.lists(st.booleans(), max_size=40))
def test_on_an_executor_every_wake_is_answered_by_one_task_at_a_time(
    script: list[int], schedule: list[bool]
) -> None:
    time = CountingTime()
    drain = Scripted(script, time)
    for wake in schedule:
        if wake:
            drain.poke()
        else:
            time.step()
        assert time.in_line == 1 or (time.in_line == 0 and not drain.unanswered)
    time.settle()
    assert not drain.unanswered
    assert time.in_line == 0
