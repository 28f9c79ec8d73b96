"""The checks of arguments: the type of the error, and that it names the value."""

from __future__ import annotations

from enum import IntEnum
from typing import cast

import pytest

from penstock.api import UNBOUNDED
from penstock.runtime import (
    AsyncioLoop,
    CallingThread,
    Clock,
    Executor,
    SystemClock,
    ThreadPool,
    VirtualTime,
)
from penstock.runtime.arguments import require_executor, require_int


class Size(IntEnum):
    LARGE = 64


@pytest.mark.parametrize("value", [1, 2, UNBOUNDED, Size.LARGE])
def test_a_count_of_at_least_one_is_returned_as_it_is(value: int) -> None:
    assert require_int("Buffer", "capacity", value) is value


@pytest.mark.parametrize("value", [0, -1, -(2**63)])
def test_a_count_below_one_is_a_value_error_with_name_and_value(value: int) -> None:
    with pytest.raises(ValueError, match=f"^Buffer: capacity must be at least 1, not {value}$"):
        require_int("Buffer", "capacity", value)


def test_a_count_beyond_what_is_as_good_as_no_bound_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="^Buffer: capacity must be at most UNBOUNDED, not 1000"):
        require_int("Buffer", "capacity", 10**30)


@pytest.mark.parametrize("value", [True, False, 1.0, "1", None, [1], float("inf")])
def test_a_count_that_is_no_int_is_a_type_error_with_name_and_value(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        require_int("Buffer", "capacity", value)
    assert str(caught.value) == f"Buffer: capacity must be an int of at least 1, not {value!r}"


def test_an_executor_is_returned_as_it_is() -> None:
    executor = CallingThread()
    assert require_executor("Pool", executor) is executor


def test_anything_with_a_method_execute_is_an_executor() -> None:
    class Foreign:
        def execute(self, task: object) -> None:
            raise NotImplementedError

    executor = Foreign()
    assert require_executor("Pool", executor) is executor


@pytest.mark.parametrize("value", [None, 3, "threads", print])
def test_something_without_execute_is_a_type_error_that_names_it(value: object) -> None:
    with pytest.raises(TypeError) as caught:
        require_executor("publish_on", cast(Executor, value))
    assert str(caught.value) == (
        "publish_on needs an executor, such as ThreadPool(), which has a method execute(task), "
        f"not {value!r}"
    )


@pytest.mark.parametrize("kind", [CallingThread, ThreadPool, AsyncioLoop])
def test_the_class_of_an_executor_is_no_executor_itself(kind: type) -> None:
    with pytest.raises(TypeError, match=f"^publish_on needs an executor, .+{kind.__name__}"):
        require_executor("publish_on", cast(Executor, kind))


@pytest.mark.parametrize("kind", [CallingThread, VirtualTime, AsyncioLoop])
def test_every_executor_of_ours_fits_the_protocol(kind: type) -> None:
    assert issubclass(kind, Executor)


@pytest.mark.parametrize("kind", [SystemClock, VirtualTime, AsyncioLoop])
def test_every_clock_of_ours_fits_the_protocol(kind: type) -> None:
    assert issubclass(kind, Clock)
