"""A schedule is a text, and the text replays exactly what was seen."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

import pytest

from penstock.tck import Environment, Level, Verdict, explore, replay
from penstock.tck.explorer.search import Guided, RandomWalk, SchedulePlan
from penstock.tck.explorer.session import Result, Session, checked_options, open_session
from penstock.tck.explorer.task import End
from tests.tck.explorer import scenarios, subjects

PYTHON = f"py{sys.version_info.major}.{sys.version_info.minor}"

FAULTY = [
    scenarios.racy_demand,
    scenarios.capped_demand,
    scenarios.missed_signal,
    scenarios.opposite_locks,
    scenarios.lost_wake_up,
    scenarios.overlapping_on_next,
    scenarios.pool_of_two,
]


def random_failures(session: Session, seeds: range) -> Iterator[Result]:
    for seed in seeds:
        result = session.run(RandomWalk(seed))
        if result.outcome.end is End.VIOLATED:
            yield result


@pytest.mark.parametrize("level", list(Level))
def test_more_than_a_hundred_random_failures_replay_exactly(level: Level) -> None:
    replayed = 0
    for scenario in FAULTY:
        options = checked_options(
            scenario,
            subject=subjects,
            level=level,
            bound=0,
            seeds=(),
            max_steps=5000,
            budget=60,
        )
        with open_session(scenario, options) as session:
            for failure in random_failures(session, range(400)):
                deviations = tuple(failure.run.deviations)
                again = session.run(Guided(SchedulePlan(deviations)))
                assert again.outcome == failure.outcome
                assert again.run.signature() == failure.run.signature()
                assert tuple(again.run.deviations) == deviations
                replayed += 1
    assert replayed > 100


def test_a_violation_of_the_search_replays_exactly() -> None:
    for scenario in FAULTY:
        found = explore(scenario, subject=subjects)
        assert found.violation is not None
        again = replay(scenario, found.violation.schedule, subject=subjects)
        assert again.violation == found.violation
        assert again.schedules == 1


def test_a_schedule_without_deviations_replays_the_default() -> None:
    found = replay(scenarios.racy_demand, f"v1:{PYTHON}:gil:-", subject=subjects)
    assert found.verdict is Verdict.HELD_SO_FAR, found.explain()


def test_the_schedule_names_format_python_level_and_deviations() -> None:
    found = explore(scenarios.opposite_locks, subject=subjects)
    assert found.violation is not None
    version, python, level, steps = found.violation.schedule.split(":")
    assert (version, python, level) == ("v1", PYTHON, "gil")
    assert all(step.count(">") == 1 for step in steps.split(","))


def test_a_schedule_of_another_subject_does_not_fit() -> None:
    beyond = replay(scenarios.racy_demand, f"v1:{PYTHON}:gil:900>1", subject=subjects)
    assert beyond.verdict is Verdict.NONDETERMINISTIC, beyond.explain()
    absent = replay(scenarios.racy_demand, f"v1:{PYTHON}:gil:0>7", subject=subjects)
    assert absent.verdict is Verdict.NONDETERMINISTIC, absent.explain()
    assert "cannot go to thread 7" in absent.detail


MALFORMED = {
    "": "four parts",
    "v1:gil:1>2": "four parts",
    f"v2:{PYTHON}:gil:1>2": "format 'v2'",
    "v1:py3.9:gil:1>2": "recorded on 'py3.9'",
    f"v1:{PYTHON}:line:1>2": "level 'line'; allowed are ['gil', 'visible', 'sync']",
    f"v1:{PYTHON}:gil:": "a step is 'decision>thread'",
    f"v1:{PYTHON}:gil:1>2,x": "holds 'x'",
    f"v1:{PYTHON}:gil:1>2;3>1": "holds '1>2;3>1'",
    f"v1:{PYTHON}:gil:-1>2": "holds '-1>2'",
    f"v1:{PYTHON}:gil:5>2,5>1": "decision 5 out of order",
}


@pytest.mark.parametrize(("text", "complaint"), MALFORMED.items())
def test_a_malformed_schedule_is_refused_with_what_is_allowed(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)) as error:
        replay(scenarios.racy_demand, text)
    assert repr(text) in str(error.value)


def test_a_schedule_must_be_a_text() -> None:
    def scenario(env: Environment) -> None:
        raise AssertionError("must not run")

    with pytest.raises(TypeError, match="not 12"):
        replay(scenario, 12)  # type: ignore[arg-type]  # the point of the test
