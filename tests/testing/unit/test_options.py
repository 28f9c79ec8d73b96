"""How long a test waits if it does not say so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.testing import ManualPublisher, ManualSubscriber, StepVerifier
from penstock.testing.expectation import TIMEOUT, require_timeout

WAITS: dict[str, Callable[[], object]] = {
    "await_subscriber": lambda: ManualPublisher[int]().await_subscriber(),
    "await_requested": lambda: ManualPublisher[int]().await_requested(1),
    "await_cancelled": lambda: ManualPublisher[int]().await_cancelled(),
    "await_subscription": lambda: ManualSubscriber[int]().await_subscription(),
    "await_elements": lambda: ManualSubscriber[int]().await_elements(1),
    "await_end": lambda: ManualSubscriber[int]().await_end(),
    "verify": lambda: StepVerifier(ManualPublisher[int]()).expect_complete().verify(),
}


def test_a_wait_lasts_five_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TIMEOUT, raising=False)
    assert require_timeout("await_end", "timeout", None) == 5


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_the_environment_says_how_long_to_wait(
    wait: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TIMEOUT, "0")
    with pytest.raises(AssertionError, match="(waited|within) 0 s"):
        wait()


def test_a_wait_that_names_its_time_is_not_changed_by_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(TIMEOUT, "600")
    with pytest.raises(AssertionError, match="waited 0 s"):
        ManualPublisher[int]().await_cancelled(timeout=0)


@pytest.mark.parametrize("given", ["soon", "", "-1", "inf", "nan"])
def test_a_time_in_the_environment_that_makes_no_sense_is_refused_by_name(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TIMEOUT, given)
    with pytest.raises(ValueError, match=f"{TIMEOUT} must be a number of .*, not '{given}'"):
        ManualPublisher[int]().await_cancelled()
