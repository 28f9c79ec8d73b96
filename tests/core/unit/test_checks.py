"""The checks of what a foreign party hands in: the type of the error, the value, the rule."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import pytest

from penstock.api import UNBOUNDED
from penstock.core import (
    illegal_request,
    require_element,
    require_error,
    require_subscriber,
    require_subscription,
)
from penstock.rules import cite
from tests.core.unit.parties import RecordingSubscriber, RecordingSubscription


class Batch(IntEnum):
    NONE = 0
    LARGE = 64


@pytest.mark.parametrize("n", [1, 2, UNBOUNDED, 10**30, Batch.LARGE])
def test_a_positive_int_can_be_requested(n: int) -> None:
    assert illegal_request(n) is None


@pytest.mark.parametrize("n", [0, -1, -(2**63), -(10**30)])
def test_rule_3_9_a_number_below_one_is_a_value_error_with_that_number(n: int) -> None:
    error = illegal_request(n)
    assert type(error) is ValueError
    assert f"request({n})" in str(error)
    assert "rule 3.9" in str(error)


def test_rule_3_9_a_subclass_of_int_is_judged_by_its_value() -> None:
    error = illegal_request(Batch.NONE)
    assert type(error) is ValueError
    assert "request(0)" in str(error)


@pytest.mark.parametrize("n", [True, False, 1.0, 2.5, "3", None, [1], float("nan")])
def test_rule_3_9_what_is_no_int_is_a_type_error_with_value_and_type(n: object) -> None:
    error = illegal_request(n)
    assert type(error) is TypeError
    assert f"request({n!r})" in str(error)
    assert type(n).__name__ in str(error)
    assert "rule 3.9" in str(error)


class BadRepr:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise KeyError("of the repr")


class BadInt(int):
    """An int with an opinion of its own."""

    def __int__(self) -> int:
        raise KeyError("of the int")

    def __repr__(self) -> str:
        raise KeyError("of the repr")


def test_rule_3_9_a_number_with_more_digits_than_python_prints_is_a_value_error() -> None:
    error = illegal_request(-(10**5_000))
    assert type(error) is ValueError
    assert "rule 3.9" in str(error)


def test_rule_3_9_a_value_that_cannot_be_shown_is_a_type_error() -> None:
    error = illegal_request(BadRepr())
    assert type(error) is TypeError
    assert "takes an int of at least 1, not a BadRepr" in str(error)


@pytest.mark.parametrize(
    ("n", "kind"),
    [(BadInt(3), type(None)), (BadInt(-3), ValueError)],
    ids=["three", "minus three"],
)
def test_rule_3_9_of_a_subclass_of_int_only_the_value_counts(n: int, kind: type) -> None:
    assert type(illegal_request(n)) is kind


def test_a_subscriber_passes_the_check() -> None:
    require_subscriber(RecordingSubscriber())


def test_rule_1_9_none_is_no_subscriber() -> None:
    none: Any = None
    with pytest.raises(TypeError) as caught:
        require_subscriber(none)
    assert str(caught.value) == cite("1.9", "the subscriber is None")


def test_rule_1_9_an_object_without_the_signals_is_told_which_are_missing() -> None:
    class Half:
        def on_subscribe(self) -> None: ...
        def on_next(self) -> None: ...

    half: Any = Half()
    with pytest.raises(TypeError) as caught:
        require_subscriber(half)
    expected = "Half is no subscriber: it has no on_error, on_complete"
    assert str(caught.value) == cite("1.9", expected)


@pytest.mark.parametrize("value", [3, "subscriber", print])
def test_rule_1_9_something_else_is_no_subscriber_either(value: Any) -> None:
    with pytest.raises(TypeError, match=f"^{type(value).__name__} is no subscriber"):
        require_subscriber(value)


def test_rule_1_9_the_class_of_a_subscriber_is_no_subscriber_itself() -> None:
    kind: Any = RecordingSubscriber
    with pytest.raises(TypeError) as caught:
        require_subscriber(kind)
    assert str(caught.value) == cite("1.9", "RecordingSubscriber is a class, not a subscriber")


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (require_subscription, "on_subscribe got None instead of a subscription"),
        (require_element, "on_next got None, which is not an element"),
        (require_error, "on_error got None instead of an exception"),
    ],
)
def test_rule_2_13_none_in_a_signal_is_a_type_error(
    check: Callable[[Any], None], message: str
) -> None:
    with pytest.raises(TypeError) as caught:
        check(None)
    assert str(caught.value) == cite("2.13", message)


@pytest.mark.parametrize("element", [0, "", False, [], 0.0, object()])
def test_everything_but_none_is_an_element(element: object) -> None:
    require_element(element)


def test_a_subscription_and_an_error_pass_the_check() -> None:
    require_subscription(RecordingSubscription())
    require_error(ValueError())
