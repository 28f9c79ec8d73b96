"""Stack traces that begin with the user's code."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from penstock.core import BoundedBuffer, require_element, without_own_frames
from penstock.runtime import CallingThread, collect_undelivered


def caught(call: Callable[[], object]) -> Exception:
    """What ``call`` raises, with a traceback that begins after this function."""
    with pytest.raises(Exception) as info:  # noqa: PT011
        call()
    return info.value.with_traceback(info.tb.tb_next)


def functions(error: Exception) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def code_of_the_user() -> None:
    deeper()


def deeper() -> None:
    raise ValueError("of the user")


def through_our_code(call: Callable[[], object]) -> Exception:
    """What ``call`` raises, with frames of ours at the start."""
    with collect_undelivered() as lost:
        CallingThread().execute(call)
    (undelivered,) = lost
    assert isinstance(undelivered.error, Exception)
    return undelivered.error


def test_our_frames_at_the_start_are_taken_off_and_those_of_the_user_stay() -> None:
    error = through_our_code(code_of_the_user)
    assert functions(error)[0] == "run_reporting"
    without_own_frames(error)
    assert functions(error) == ["code_of_the_user", "deeper"]


def test_our_frames_after_the_users_code_stay() -> None:
    def user_calls_us() -> None:
        BoundedBuffer(0)

    error = without_own_frames(through_our_code(user_calls_us))
    assert functions(error) == ["user_calls_us", "__init__", "require_int"]


def test_an_error_of_the_user_alone_stays_as_it_is() -> None:
    error = without_own_frames(caught(code_of_the_user))
    assert functions(error) == ["code_of_the_user", "deeper"]


def test_an_error_of_ours_alone_has_no_trace_left() -> None:
    error = caught(lambda: require_element(None))
    assert error.__traceback__ is not None
    ours = error.with_traceback(error.__traceback__.tb_next)
    assert functions(ours) == ["require_element"]
    assert without_own_frames(ours).__traceback__ is None


def test_an_error_that_was_never_raised_is_fine() -> None:
    error = ValueError("never raised")
    assert without_own_frames(error) is error
    assert error.__traceback__ is None


def test_the_same_error_comes_back() -> None:
    error = caught(code_of_the_user)
    assert without_own_frames(error) is error


def test_trimming_again_changes_nothing() -> None:
    error = without_own_frames(without_own_frames(through_our_code(code_of_the_user)))
    assert functions(error) == ["code_of_the_user", "deeper"]


@pytest.mark.parametrize("name", ["penstockish", "my.penstock.tool", "", 5, None])
def test_a_module_of_another_name_counts_as_the_users(name: object) -> None:
    namespace: dict[str, object] = {"__name__": name}
    exec("def foreign():\n    raise ValueError('of a foreign module')", namespace)
    foreign = namespace["foreign"]
    assert callable(foreign)
    error = without_own_frames(through_our_code(foreign))
    assert functions(error) == ["foreign"]
