"""``StepVerifier``: what its steps accept, and what its failures say."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from penstock import ExecutorPublisher, IterablePublisher, Subscriber, Subscription
from penstock.runtime import AsyncioLoop, ThreadPool, VirtualTime
from penstock.testing import ManualPublisher, StepVerifier, marble


def failure_of(script: StepVerifier[Any]) -> str:
    with pytest.raises(AssertionError) as failure:
        script.verify()
    return str(failure.value)


def test_a_script_that_is_met_passes() -> None:
    (
        StepVerifier(IterablePublisher([1, 2, 3]), request=2)
        .expect_subscription()
        .expect_next(1, 2)
        .expect_nothing()
        .then_request(3)
        .expect_next(3)
        .expect_complete()
        .verify()
    )


def test_a_publisher_that_completes_without_another_request_meets_a_further_request() -> None:
    publisher = IterablePublisher([1, 2])
    for script in (StepVerifier(publisher), StepVerifier(publisher, request=2)):
        script.expect_next(1, 2).then_request(3).expect_complete().verify()


def test_rule_2_04_a_stream_that_has_ended_is_neither_asked_nor_cancelled() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    script = StepVerifier(publisher, request=1).then(publisher.complete).then_request(2)
    script.then_cancel().expect_complete().verify()
    assert publisher.requests == [1]
    assert not publisher.cancelled


def test_a_failure_shows_the_step_the_script_and_the_signals() -> None:
    time = VirtualTime()
    script = (
        StepVerifier(IterablePublisher("abc"), request=2, time=time)
        .expect_next("a", "b")
        .then_request(1)
        .expect_complete()
    )
    assert failure_of(script) == (
        "step 3, expect_complete(): expected on_complete(), but on_next('c') came\n"
        "\n"
        "Script:\n"
        "       StepVerifier(..., request=2)\n"
        "       1  .expect_next('a', 'b')\n"
        "       2  .then_request(1)\n"
        "    -> 3  .expect_complete()\n"
        "\n"
        "Signals:\n"
        "    1  0.000 s  MainThread  on_subscribe()\n"
        "    2  0.000 s  MainThread  request(2)\n"
        "    3  0.000 s  MainThread  on_next('a')\n"
        "    4  0.000 s  MainThread  on_next('b')\n"
        "    5  0.000 s  MainThread  request(1)\n"
        "    6  0.000 s  MainThread  on_next('c')\n"
        "    7  0.000 s  MainThread  on_complete()"
    )


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda it: it.expect_subscription(), "expected on_subscribe(), but on_next(7) came"),
        (lambda it: it.expect_next(8), "expected on_next(8), but on_next(7) came"),
        (lambda it: it.expect_next(7, 8), "expected on_next(8), but on_complete() came"),
        (lambda it: it.expect_next_count(2), "expected element 2 of 2, but on_complete() came"),
        (lambda it: it.expect_nothing(), "expected nothing, but on_next(7) came"),
        (lambda it: it.expect_error(OSError), "expected on_error(OSError), but on_next(7) came"),
        (lambda it: it.expect_complete(), "expected on_complete(), but on_next(7) came"),
    ],
)
def test_a_step_that_is_not_met_says_what_came_instead(
    step: Callable[[StepVerifier[int]], StepVerifier[int]], reason: str
) -> None:
    script = StepVerifier(IterablePublisher([7])).expect_subscription()
    assert reason in failure_of(step(script))


def test_counts_and_predicates_take_any_element_that_fits() -> None:
    (
        StepVerifier(IterablePublisher(range(10)))
        .expect_next_count(8)
        .expect_next_matches(lambda element: element == 8)
        .expect_next_matches(lambda element: element > 8)
        .expect_complete()
        .verify()
    )


def test_a_predicate_that_is_not_met_is_named() -> None:
    def is_even(element: int) -> bool:
        return element % 2 == 0

    script = StepVerifier(IterablePublisher([1])).expect_next_matches(is_even)
    assert "expected an element that is_even accepts, but on_next(1) came" in failure_of(script)


def test_a_predicate_that_raises_ends_the_test_with_its_own_error_and_the_script() -> None:
    script = StepVerifier(IterablePublisher([1, 0])).expect_next(1)
    script.expect_next_matches(lambda element: 1 / element > 1)
    with pytest.raises(ZeroDivisionError) as failure:
        script.verify()
    assert "step 2, expect_next_matches(<lambda>): this step" in failure.value.__notes__[0]


def test_an_error_is_compared_by_type_and_text() -> None:
    def elements() -> Iterator[int]:
        yield 1
        raise OSError("pipe 7 burst")

    publisher = IterablePublisher(elements())
    StepVerifier(publisher).expect_next(1).expect_error(OSError, match=r"pipe \d").verify()
    publisher = IterablePublisher(elements())
    script = StepVerifier(publisher).expect_next(1).expect_error(OSError, match="leak")
    assert (
        "expected on_error(OSError, match='leak'), but on_error(OSError('pipe 7 burst')) came"
        in failure_of(script)
    )


def test_rule_3_09_can_be_tested_by_an_illegal_request() -> None:
    script = StepVerifier(IterablePublisher([1]), request=0).then_request(0)
    script.expect_error(ValueError, match=r"rule 3\.9").verify()


def test_without_demand_an_element_is_not_waited_for() -> None:
    script = StepVerifier(IterablePublisher([1, 2]), request=1, within=600).expect_next(1, 2)
    assert (
        "expected on_next(2), but no more was asked for (1 requested, 1 came): then_request(n) does"
        in failure_of(script)
    )


def test_after_the_end_nothing_is_waited_for() -> None:
    script = StepVerifier(IterablePublisher([1]), within=600)
    script.expect_next(1).expect_complete().expect_next(2)
    assert "expected on_next(2), but the stream had ended with on_complete()" in failure_of(script)


def test_nothing_within_the_limit_says_how_much_was_asked_for() -> None:
    script = StepVerifier(ManualPublisher[int](), request=3, within=0).expect_next(1)
    assert "but nothing came within 0 s (3 requested, 0 came)" in failure_of(script)


def test_long_lists_of_elements_are_shown_in_part() -> None:
    script = StepVerifier(IterablePublisher([1])).expect_next(*range(20))
    assert "expect_next(0, 1, 2, 3, 4, 5, 6, 7, and 12 more)" in failure_of(script)
    script = StepVerifier(IterablePublisher([1])).expect_next(*range(8))
    assert "expect_next(0, 1, 2, 3, 4, 5, 6, 7):" in failure_of(script)


def test_actions_run_between_expectations() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    (
        StepVerifier(publisher)
        .expect_nothing()
        .then(lambda: publisher.next(1))
        .expect_next(1)
        .then(publisher.complete)
        .expect_complete()
        .verify()
    )


def test_an_action_that_raises_ends_the_test_with_its_own_error_and_the_script() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    script = StepVerifier(publisher, request=1).expect_nothing().then(lambda: publisher.next(1, 2))
    with pytest.raises(AssertionError, match=r"next\(2\) would exceed the demand") as failure:
        script.verify()
    assert "step 2, then(<lambda>): this step raised the error above" in failure.value.__notes__[0]
    assert publisher.cancelled


def test_then_cancel_reaches_the_publisher() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    script = StepVerifier(publisher).then(lambda: publisher.next(1)).expect_next(1).then_cancel()
    script.verify()
    assert publisher.cancelled


def test_a_script_without_an_end_cancels_the_stream() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    StepVerifier(publisher).then(lambda: publisher.next(1)).expect_next(1).verify()
    assert publisher.cancelled


def test_a_script_that_fails_cancels_the_stream() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    failure_of(StepVerifier(publisher).then(lambda: publisher.next(1)).expect_next(2))
    assert publisher.cancelled


def test_an_endless_publisher_is_verified_in_part() -> None:
    StepVerifier(IterablePublisher(count()), request=3).expect_next(0, 1, 2).verify()


def test_each_call_of_verify_subscribes_again() -> None:
    script = StepVerifier(IterablePublisher([1])).expect_next(1).expect_complete()
    script.verify()
    script.verify()


class Misbehaving:
    """Gives the subscriber a subscription, or not, and does to it what the test says."""

    def __init__(
        self, act: Callable[[Subscriber[int]], object], *, subscribes: bool = True
    ) -> None:
        self._act = act
        self._subscribes = subscribes

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        if self._subscribes:
            subscriber.on_subscribe(Deaf())
        self._act(subscriber)


class Deaf:
    """A subscription to a publisher that does as it likes."""

    def request(self, n: int) -> None:
        """Not heard."""

    def cancel(self) -> None:
        """Not heard."""


def signal(subscriber: Subscriber[int], *elements: int, completions: int = 0) -> None:
    for element in elements:
        subscriber.on_next(element)
    for _ in range(completions):
        subscriber.on_complete()


@pytest.mark.parametrize(
    ("rule", "detail", "publisher", "elements"),
    [
        (
            "1.1",
            "sent element number 2, beyond a demand of 1: on_next(2)",
            Misbehaving(lambda it: signal(it, 1, 2)),
            1,
        ),
        (
            "1.7",
            "called on_complete after on_complete: on_complete()",
            Misbehaving(lambda it: signal(it, 1, completions=2)),
            1,
        ),
        (
            "2.12",
            "called on_subscribe a second time: on_subscribe()",
            Misbehaving(lambda it: it.on_subscribe(Deaf())),
            0,
        ),
    ],
)
def test_a_publisher_that_breaks_a_rule_fails_though_the_script_is_met(
    rule: str, detail: str, publisher: Misbehaving, elements: int
) -> None:
    script = StepVerifier(publisher, request=1).expect_subscription()
    for _ in range(elements):
        script.expect_next(1)
    failure = failure_of(script)
    assert failure.startswith(f"the publisher broke rule {rule}: {detail}\n")
    assert f"{detail} (rule {rule}:" in failure
    assert "->" not in failure


def test_a_step_that_fails_names_the_broken_rule_as_well() -> None:
    publisher = Misbehaving(lambda it: signal(it, 1, 2))
    failure = failure_of(StepVerifier(publisher, request=1).expect_next(1).expect_complete())
    assert failure.startswith("step 2, expect_complete(): expected on_complete(), but on_next(2)")
    assert "Rules broken:\n    sent element number 2, beyond a demand of 1" in failure


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(lambda it: it, id="no step"),
        pytest.param(lambda it: it.expect_nothing(), id="expect_nothing"),
        pytest.param(lambda it: it.expect_next(1), id="expect_next"),
        pytest.param(lambda it: it.then_request(1), id="then_request"),
        pytest.param(lambda it: it.then_cancel(), id="then_cancel"),
    ],
)
def test_rule_1_09_a_publisher_without_on_subscribe_fails_any_script(
    script: Callable[[StepVerifier[int]], StepVerifier[int]],
) -> None:
    silent = Misbehaving(lambda _: None, subscribes=False)
    failure = failure_of(script(StepVerifier(silent, within=0)))
    assert "on_subscribe has not come (rule 1.9" in failure
    assert failure.endswith("Signals:\n    none")
    hasty = Misbehaving(lambda it: signal(it, 1), subscribes=False)
    failure = failure_of(script(StepVerifier(hasty, within=0)))
    assert "called on_next before on_subscribe: on_next(1) (rule 1.9" in failure


def test_rule_1_09_a_publisher_that_raises_in_subscribe_fails() -> None:
    def refuse(_: object) -> None:
        raise LookupError("no such topic")

    with pytest.raises(AssertionError, match=r"subscribe raised LookupError") as failure:
        StepVerifier(Misbehaving(refuse)).expect_complete().verify()
    assert "(rule 1.9" in str(failure.value)
    assert isinstance(failure.value.__cause__, LookupError)


def test_rules_3_15_and_3_16_a_subscription_that_raises_fails() -> None:
    class Raising:
        def request(self, n: int) -> None:
            raise ArithmeticError

        def cancel(self) -> None:
            raise ArithmeticError

    class Publisher:
        def subscribe(self, subscriber: Subscriber[int]) -> None:
            subscription: Subscription = Raising()
            subscriber.on_subscribe(subscription)

    requesting = failure_of(StepVerifier(Publisher(), request=0).then_request(1))
    assert "step 1, then_request(1): request(1) raised ArithmeticError()" in requesting
    assert "(rule 3.16" in requesting
    cancelling = failure_of(StepVerifier(Publisher(), request=0).then_cancel())
    assert "step 1, then_cancel(): cancel() raised ArithmeticError()" in cancelling
    leaving = failure_of(StepVerifier(Publisher(), request=0).expect_nothing())
    assert "the publisher broke rule 3.15: cancel() raised ArithmeticError()" in leaving


def test_a_publisher_on_another_thread_is_waited_for() -> None:
    with ThreadPool() as pool:
        (
            StepVerifier(ExecutorPublisher(range(5), pool), request=0)
            .then_request(2)
            .expect_next(0, 1)
            .then_request(1)
            .expect_next(2)
            .then_request(5)
            .expect_next(3, 4)
            .expect_complete()
            .verify()
        )


def test_silence_of_a_publisher_on_another_thread_is_over_when_a_signal_comes() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    listening = threading.Event()
    script = StepVerifier(publisher).then(listening.set).expect_nothing(during=600)
    with ThreadPool() as pool:
        pool.execute(lambda: listening.wait(600) and publisher.complete())
        assert "expected nothing, but on_complete() came" in failure_of(script)


def test_a_publisher_on_another_thread_gets_its_cancel_even_before_it_began() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    at_the_last_step = threading.Event()

    class Later:
        def subscribe(self, subscriber: Subscriber[int]) -> None:
            pool.execute(lambda: at_the_last_step.wait(600) and publisher.subscribe(subscriber))

    with ThreadPool() as pool:
        StepVerifier(Later()).then(at_the_last_step.set).verify()
    assert publisher.cancelled


def test_a_publisher_on_an_asyncio_loop_is_verified_from_a_thread() -> None:
    async def verify() -> None:
        publisher = ExecutorPublisher([1, 2], AsyncioLoop())
        script = StepVerifier(publisher, request=1).expect_next(1).then_request(1).expect_next(2)
        await asyncio.to_thread(script.expect_complete().verify)

    asyncio.run(verify())


def test_in_virtual_time_only_the_script_lets_time_pass() -> None:
    time = VirtualTime()
    (
        StepVerifier(marble("a--b|", time=time), time=time)
        .expect_next("a")
        .expect_nothing()
        .expect_nothing(during=2.5)
        .then_advance(0.5)
        .expect_next("b")
        .then_advance(1)
        .expect_complete()
        .verify()
    )
    assert time.now() == 4.0


def test_in_virtual_time_a_failure_says_what_time_it_is() -> None:
    time = VirtualTime()
    script = StepVerifier(marble("--a", time=time), time=time).then_advance(1.5).expect_next("a")
    assert (
        "nothing came by 1.5 s of virtual time (UNBOUNDED requested, 0 came):"
        " then_advance(seconds) moves it on"
    ) in failure_of(script)


def test_in_virtual_time_silence_is_exact() -> None:
    time = VirtualTime()
    script = StepVerifier(marble("--a", time=time), time=time).expect_nothing(during=2)
    assert "expect_nothing(during=2): expected nothing, but on_next('a') came" in failure_of(script)


def test_in_virtual_time_a_publisher_on_that_executor_settles_before_each_step() -> None:
    time = VirtualTime()
    (
        StepVerifier(ExecutorPublisher([1, 2], time), request=1, time=time)
        .expect_subscription()
        .expect_next(1)
        .expect_nothing()
        .then_request(1)
        .expect_next(2)
        .expect_complete()
        .verify()
    )


def test_in_virtual_time_a_late_signal_after_the_last_step_is_noticed() -> None:
    time = VirtualTime()
    publisher: ManualPublisher[int] = ManualPublisher(misbehave=True)
    script = StepVerifier(publisher, time=time).then(publisher.complete).expect_complete()
    script.then(lambda: time.execute(publisher.complete))
    assert "broke rule 1.7" in failure_of(script)


def test_a_script_that_is_never_verified_warns() -> None:
    with pytest.warns(RuntimeWarning, match=r"verify\(\) was never called: expect_next\(1\)\.exp"):
        StepVerifier(IterablePublisher([1])).expect_next(1).expect_complete()


def test_arguments_that_make_no_sense_are_refused_at_once() -> None:
    number: Any = 3
    nothing: Any = None
    script = StepVerifier(IterablePublisher([1]))
    with pytest.raises(TypeError, match="a publisher has a method subscribe; 3 has none"):
        StepVerifier(number)
    with pytest.raises(TypeError, match="time must be a VirtualTime, not 3"):
        StepVerifier(IterablePublisher([1]), time=number)
    with pytest.raises(ValueError, match="request must be at least 0, not -1"):
        StepVerifier(IterablePublisher([1]), request=-1)
    with pytest.raises(ValueError, match=r"within must be .* not nan"):
        StepVerifier(IterablePublisher([1]), within=float("nan"))
    with pytest.raises(ValueError, match="expect_next needs at least one element"):
        script.expect_next()
    with pytest.raises(TypeError, match="None is not an element"):
        script.expect_next(nothing)
    with pytest.raises(ValueError, match="count must be at least 1, not 0"):
        script.expect_next_count(0)
    with pytest.raises(TypeError, match="predicate must be callable, not 3"):
        script.expect_next_matches(number)
    with pytest.raises(TypeError, match="action must be callable, not 3"):
        script.then(number)
    with pytest.raises(ValueError, match=r"during must be .* not -1"):
        script.expect_nothing(during=-1)
    with pytest.raises(ValueError, match="then_advance needs virtual time"):
        script.then_advance(1)
    with pytest.raises(ValueError, match=r"seconds must be .* not -1"):
        script.then_advance(-1)
    with pytest.raises(TypeError, match="a subclass of Exception"):
        script.expect_error(number)
