"""Wrong options are refused before anything runs, and the error names what is allowed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

import penstock
from penstock.tck import Environment, Level, Verdict, explore
from penstock.tck.explorer.tracing import with_submodules
from tests.tck.explorer import scenarios, subjects


def never(env: Environment) -> None:
    raise AssertionError("must not run")


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"scenario": "text"}, TypeError, "scenario must be a function of one argument, not 'text'"),
    ({"subject": 5}, TypeError, "subject must be iterable, not 5"),
    ({"subject": ["penstock"]}, TypeError, "subject must be a module or several, not 'penstock'"),
    ({"level": "line"}, ValueError, "level must be one of ['gil', 'visible', 'sync'], not 'line'"),
    ({"level": None}, ValueError, "not None"),
    ({"bound": -1}, ValueError, "bound must be at least 0, not -1"),
    ({"bound": 1.5}, TypeError, "bound must be an int, not 1.5"),
    ({"bound": True}, TypeError, "bound must be an int, not True"),
    ({"seeds": 200}, TypeError, "seeds must be iterable, not 200"),
    ({"seeds": ["a"]}, TypeError, "seeds must be an int, not 'a'"),
    ({"max_steps": 0}, ValueError, "max_steps must be at least 1, not 0"),
    ({"budget": 0}, ValueError, "budget must be a positive number of seconds, not 0"),
    ({"budget": "5"}, TypeError, "budget must be a number of seconds, not '5'"),
    ({"race_timers": 1}, TypeError, "race_timers must be True or False, not 1"),
    ({"budget": float("nan")}, ValueError, "budget must be a positive number of seconds"),
]


@pytest.mark.parametrize(("options", "error", "complaint"), WRONG)
def test_a_wrong_option_is_refused(
    options: dict[str, Any], error: type[Exception], complaint: str
) -> None:
    with pytest.raises(error) as refused:
        explore(**{"scenario": never, **options})
    assert complaint in str(refused.value)


def test_a_level_can_be_given_by_name_or_by_member() -> None:
    by_name = explore(scenarios.racy_demand, subject=subjects, level="visible")
    by_member = explore(scenarios.racy_demand, subject=subjects, level=Level.VISIBLE)
    assert by_name.violation == by_member.violation


def test_a_package_as_subject_includes_its_loaded_modules() -> None:
    import tests.tck.explorer as package

    found = explore(scenarios.racy_demand, subject=[package])
    assert found.verdict is Verdict.VIOLATED, found.explain()


def test_without_a_subject_the_module_of_the_scenario_is_explored() -> None:
    class Counter:
        value = 0

        def add(self) -> None:
            before = self.value
            self.value = max(before + 1, 0)

    def scenario(env: Environment) -> None:
        counter = Counter()
        env.par(counter.add, counter.add)
        assert counter.value == 2

    found = explore(scenario)
    assert found.verdict is Verdict.VIOLATED, found.explain()


def test_a_module_is_found_though_its_package_gives_its_name_to_a_function_of_it() -> None:
    assert not isinstance(penstock.guard, ModuleType)
    found = {module.__name__ for module in with_submodules(penstock)}
    assert {"penstock", "penstock.guard", "penstock.guard.wrapping", "penstock.core"} <= found


def test_a_scenario_without_a_module_has_no_code_of_its_own_to_explore() -> None:
    namespace: dict[str, Any] = {"__name__": "of_no_module"}
    exec("def scenario(env): pass", namespace)
    assert explore(namespace["scenario"]).verdict is Verdict.HELD_EXHAUSTIVELY
