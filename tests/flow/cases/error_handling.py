"""What takes the place of an error, or of elements that did not come."""

from __future__ import annotations

from typing import Any

from penstock import IterablePublisher
from penstock.flow import Flow, Retry
from tests.flow.case import Case


def failing_after_two(x: int) -> Flow[int]:
    """The number and its opposite, and then an error."""
    return Flow.generate(0, lambda done: ((x, -x)[done], done + 1))


def failing_after_three(flow: Flow[int]) -> Flow[int]:
    """The first three elements, and then an error if there are more."""

    def pass_three(state: tuple[int, int], x: int) -> tuple[int, int]:
        if state[0] == 3:
            raise ValueError(x)
        return state[0] + 1, x

    return flow.scan((0, 0), pass_three).map(lambda state: state[1])


def fail_if_even(x: int) -> int:
    if x % 2 == 0:
        raise ValueError(x)
    return x


def fail_if_three(x: int) -> int:
    """For multiples of three."""
    if x % 3 == 0:
        raise ValueError(x)
    return x


def ignore(element: int, error: Exception) -> None: ...


def resumed(given: list[int], *instead: object) -> list[Any]:
    return given if len(given) <= 3 else [*given[:3], *instead]


CASES = [
    Case(
        "retry without an error",
        lambda flow: flow.retry(3),
        lambda given: given,
        claims={"resubscribes": True, "absorbs_errors": True},
    ),
    Case("retry never", lambda flow: flow.retry(0), lambda given: given),
    Case("retry with a policy", lambda flow: flow.retry(Retry(backoff=0.001)), lambda given: given),
    Case(
        "retry after errors",
        lambda flow: failing_after_three(flow).retry(2).on_error_return(-1),
        lambda given: given if len(given) <= 3 else [*given[:3] * 3, -1],
    ),
    Case(
        "retry within",
        lambda flow: flow.concat_map(lambda x: failing_after_two(x).retry(2).on_error_return(-1)),
        lambda given: [y for x in given for y in (*(x, -x) * 3, -1)],
    ),
    Case(
        "repeat",
        lambda flow: flow.repeat(3),
        lambda given: given * 3,
        claims={"resubscribes": True},
    ),
    Case("repeat once", lambda flow: flow.repeat(1), lambda given: given),
    Case(
        "repeat without end",
        lambda flow: flow.start_with(0).repeat().take(30),
        lambda given: ([0, *given] * 30)[:30],
    ),
    Case(
        "repeat within",
        lambda flow: flow.concat_map(lambda x: Flow.of(x, -x).repeat(3)),
        lambda given: [y for x in given for y in (x, -x) * 3],
    ),
    Case(
        "on_error_resume without an error",
        lambda flow: flow.on_error_resume(lambda error: Flow.of(-1)),
        lambda given: given,
        claims={"absorbs_errors": True},
    ),
    Case(
        "on_error_resume with a flow",
        lambda flow: failing_after_three(flow).on_error_resume(lambda error: Flow.of(-1, -2)),
        lambda given: resumed(given, -1, -2),
        claims={"absorbs_errors": True, "cancels_early": True},
    ),
    Case(
        "on_error_resume with a publisher",
        lambda flow: failing_after_three(flow).on_error_resume(
            lambda error: IterablePublisher([-1])
        ),
        lambda given: resumed(given, -1),
    ),
    Case(
        "on_error_return",
        lambda flow: failing_after_three(flow).on_error_return("failed"),
        lambda given: resumed(given, "failed"),
        claims={"absorbs_errors": True, "cancels_early": True},
    ),
    Case(
        "on_error_return of another kind",
        lambda flow: (
            failing_after_three(flow)
            .on_error_return("wrong", only=KeyError)
            .on_error_return("right", only=(KeyError, ValueError))
        ),
        lambda given: resumed(given, "right"),
    ),
    Case(
        "on_error_map without an error",
        lambda flow: flow.on_error_map(lambda error: KeyError()),
        lambda given: given,
    ),
    Case(
        "on_error_map",
        lambda flow: (
            failing_after_three(flow)
            .on_error_map(lambda error: KeyError())
            .on_error_return("mapped", only=KeyError)
        ),
        lambda given: resumed(given, "mapped"),
    ),
    Case(
        "on_error_continue without an error",
        lambda flow: flow.map(lambda x: -x).on_error_continue(ignore),
        lambda given: [-x for x in given],
    ),
    Case(
        "on_error_continue",
        lambda flow: flow.map(fail_if_even).filter(fail_if_three).on_error_continue(ignore),
        lambda given: [x for x in given if x % 2 == 1 and x % 3],
    ),
    Case(
        "on_error_continue twice",
        lambda flow: (
            flow.do_on_next(fail_if_even)
            .on_error_continue(ignore)
            .map_not_none(fail_if_three)
            .named("odd")
            .on_error_continue(ignore, only=ValueError)
        ),
        lambda given: [x for x in given if x % 2 == 1 and x % 3],
    ),
    Case(
        "default_if_empty",
        lambda flow: flow.default_if_empty("nothing"),
        lambda given: given or ["nothing"],
    ),
    Case(
        "default_if_empty downstream of filter",
        lambda flow: flow.filter(lambda x: False).default_if_empty("nothing"),
        lambda given: ["nothing"],
    ),
    Case(
        "switch_if_empty to one element",
        lambda flow: flow.switch_if_empty(Flow.of(-1)),
        lambda given: given or [-1],
    ),
    Case(
        "switch_if_empty to a flow",
        lambda flow: flow.switch_if_empty(Flow.range(3)),
        lambda given: given or [0, 1, 2],
    ),
    Case(
        "switch_if_empty to a publisher",
        lambda flow: flow.filter(lambda x: False).switch_if_empty(IterablePublisher([1, 2])),
        lambda given: [1, 2],
    ),
]
