"""Each operator twice: as a flow says it, and as RxPY does.

Elements are whole numbers everywhere, so that any operator can follow any other: what gives tuples
or lists is followed by a function that makes numbers of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

import reactivex
from reactivex import notification
from reactivex import operators as rx
from reactivex.disposable import CompositeDisposable
from reactivex.subject import ReplaySubject, Subject

from penstock import Flow
from penstock.flow import OnComplete, OnError, OnNext
from tests.peers.outcome import Failed

__all__ = [
    "MANY",
    "OPERATORS",
    "Call",
    "Operator",
    "digest",
    "merged_twice",
    "shifted",
    "shifted_there",
]

MANY: Final = 256
"""As many inner flows as there are."""
SMALL: Final = 20
"""What is not smaller is not expanded; what is comes to that in two steps at most."""

Ours = Flow[Any]
Theirs = Any


@dataclass(frozen=True)
class Call:
    """The arguments of an operator, and the clock that it runs by: ``time``, or ``scheduler``."""

    number: int
    seconds: int
    others: tuple[Any, ...] = ()
    time: Any = None
    scheduler: Any = None

    @property
    def other(self) -> Any:
        return self.others[0]


class Operator(NamedTuple):
    """How to say it here and there, for how many inputs, and what stays under any demand.

    ``ordered``    whatever the demand, the elements are the same, in the same order
    ``unordered``  whatever the demand, they are the same, in some order
    ``at_once``    an error overtakes elements, so with an error it depends on the demand
    """

    ours: Callable[[Ours, Call], Ours]
    theirs: Callable[[Theirs, Call], Theirs]
    inputs: int = 1
    ordered: bool = False
    unordered: bool = False
    at_once: bool = False


def digest(elements: Any) -> int:
    """A number for a tuple or a list, in which order counts."""
    total = len(elements)
    for element in elements:
        total = (total * 31 + element) % 1009
    return total


def add(total: int, element: int) -> int:
    return (total + element) % 1009


def fussy(call: Call) -> Callable[[int], int]:
    """A function that fails for some elements."""

    def function(element: int) -> int:
        if element % 8 == call.number:
            raise Failed(f"no {call.number}")
        return element

    return function


def shifted(inner: Any, element: int) -> Any:
    """The elements of an inner flow, as those that belong to ``element``."""
    return inner.map(lambda each: element * 10 + each)


def shifted_there(inner: Theirs, element: int) -> Theirs:
    return inner.pipe(rx.map(lambda each: element * 10 + each))


def timed_out() -> Theirs:
    return reactivex.throw(TimeoutError())


def below(call: Call) -> Callable[[int], bool]:
    return lambda element: element % 10 < call.number * 2


def leaves_a_rest(call: Call) -> Callable[[int], bool]:
    return lambda element: element % (call.number + 1) != 0


def of_group(call: Call) -> Callable[[int], int]:
    return lambda element: element % (call.number + 1)


def in_order_there(source: Theirs, call: Call) -> Theirs:
    """Inner flows that run at once, each into a replay, and these one after the other."""

    def subscribe(observer: Any, _: Any = None) -> Any:
        running, errors = CompositeDisposable(), Subject[Any]()

        def run(element: int) -> Theirs:
            replay = ReplaySubject[Any]()
            inner = shifted_there(call.other, element).pipe(rx.do_action(on_error=errors.on_error))
            running.add(inner.subscribe(replay))
            return replay

        in_order = source.pipe(rx.map(run), rx.merge(max_concurrent=1), rx.materialize())
        running.add(reactivex.merge(errors, in_order).pipe(rx.dematerialize()).subscribe(observer))
        return running

    return reactivex.create(subscribe)


def step_of(call: Call) -> int:
    """Below the number, the same, or above it."""
    return call.seconds % 4 + 1


def number_of(signal: OnNext[int] | OnError | OnComplete) -> int:
    """A number for a signal as an element."""
    if isinstance(signal, OnNext):
        return signal.element + 100
    return 200 + length_of(signal.error) if isinstance(signal, OnError) else 300


def number_of_theirs(notification: Any) -> int:
    if notification.kind == "N":
        return int(notification.value) + 100
    return 200 + length_of(notification.exception) if notification.kind == "E" else 300


def length_of(error: Exception) -> int:
    """Of the text, if it is the same on both sides."""
    return len(str(error)) if isinstance(error, Failed) else 0


def signal_of(call: Call) -> Callable[[int], OnNext[int] | OnError | OnComplete]:
    """Elements, most of which are elements again, and some the end."""

    def function(element: int) -> OnNext[int] | OnError | OnComplete:
        if element % 10 == call.number:
            return OnError(Failed("as an element"))
        return OnComplete() if element % 10 == call.number + 5 else OnNext(element)

    return function


def notification_of(call: Call) -> Callable[[int], Any]:
    def function(element: int) -> Any:
        if element % 10 == call.number:
            return notification.OnError(Failed("as an element"))
        if element % 10 == call.number + 5:
            return notification.OnCompleted()
        return notification.OnNext(element)

    return function


def seconds_of(moment: datetime) -> int:
    return round((moment - datetime.fromtimestamp(0, moment.tzinfo)).total_seconds())


def share_here(flow: Ours, call: Call) -> Ours:
    shared = flow.share()
    return Flow.merge(shared.skip(1), shared.map(lambda each: each + call.number))


def share_there(source: Theirs, call: Call) -> Theirs:
    return merged_twice(source.pipe(rx.share()), call)


def merged_twice(shared: Theirs, call: Call) -> Theirs:
    """Two subscribers of what is shared, as in ``share_here``."""
    return reactivex.merge(
        shared.pipe(rx.skip(1)), shared.pipe(rx.map(lambda each: each + call.number))
    )


# Named as ours are. Where theirs counts, defaults or fails otherwise, the pair says the same thing:
# `retry` counts all runs there; `first`, `last` and a `reduce` without a seed fail there without
# elements.
OPERATORS: dict[str, Operator] = {
    "map": Operator(
        lambda flow, call: flow.map(lambda each: each + call.number),
        lambda source, call: source.pipe(rx.map(lambda each: each + call.number)),
        ordered=True,
    ),
    "map_that_fails": Operator(
        lambda flow, call: flow.map(fussy(call)),
        lambda source, call: source.pipe(rx.map(fussy(call))),
        ordered=True,
    ),
    "filter": Operator(
        lambda flow, call: flow.filter(leaves_a_rest(call)),
        lambda source, call: source.pipe(rx.filter(leaves_a_rest(call))),
        ordered=True,
    ),
    "take": Operator(
        lambda flow, call: flow.take(call.number - 1),
        lambda source, call: source.pipe(rx.take(call.number - 1)),
        ordered=True,
    ),
    "skip": Operator(
        lambda flow, call: flow.skip(call.number - 1),
        lambda source, call: source.pipe(rx.skip(call.number - 1)),
        ordered=True,
    ),
    "take_while": Operator(
        lambda flow, call: flow.take_while(below(call)),
        lambda source, call: source.pipe(rx.take_while(below(call))),
        ordered=True,
    ),
    "skip_while": Operator(
        lambda flow, call: flow.skip_while(below(call)),
        lambda source, call: source.pipe(rx.skip_while(below(call))),
        ordered=True,
    ),
    "distinct": Operator(
        lambda flow, call: flow.distinct(of_group(call)),
        lambda source, call: source.pipe(rx.distinct(of_group(call))),
        ordered=True,
    ),
    "distinct_until_changed": Operator(
        lambda flow, call: flow.distinct_until_changed(of_group(call)),
        lambda source, call: source.pipe(rx.distinct_until_changed(of_group(call))),
        ordered=True,
    ),
    "scan": Operator(
        lambda flow, call: flow.scan(call.number, add),
        lambda source, call: source.pipe(rx.scan(add, seed=call.number)),
        ordered=True,
    ),
    "scan_without_seed": Operator(
        lambda flow, call: flow.scan(add),
        lambda source, call: source.pipe(rx.scan(add)),
        ordered=True,
    ),
    "reduce": Operator(
        lambda flow, call: flow.reduce(call.number, add),
        lambda source, call: source.pipe(rx.reduce(add, seed=call.number)),
        ordered=True,
    ),
    "reduce_without_seed": Operator(
        lambda flow, call: flow.reduce(add),
        lambda source, call: source.pipe(rx.scan(add), rx.take_last(1)),
        ordered=True,
    ),
    "count": Operator(
        lambda flow, call: flow.count(),
        lambda source, call: source.pipe(rx.count()),
        ordered=True,
    ),
    "to_list": Operator(
        lambda flow, call: flow.to_list().map(digest),
        lambda source, call: source.pipe(rx.to_list(), rx.map(digest)),
        ordered=True,
    ),
    "first": Operator(
        lambda flow, call: flow.first(leaves_a_rest(call)),
        lambda source, call: source.pipe(rx.filter(leaves_a_rest(call)), rx.take(1)),
        ordered=True,
    ),
    "last": Operator(
        lambda flow, call: flow.last(),
        lambda source, call: source.pipe(rx.take_last(1)),
        ordered=True,
    ),
    "start_with": Operator(
        lambda flow, call: flow.start_with(call.number, 7),
        lambda source, call: source.pipe(rx.start_with(call.number, 7)),
        ordered=True,
    ),
    "default_if_empty": Operator(
        lambda flow, call: flow.default_if_empty(call.number),
        lambda source, call: source.pipe(rx.default_if_empty(call.number)),
        ordered=True,
    ),
    "buffer": Operator(
        lambda flow, call: flow.buffer(call.number).map(digest),
        lambda source, call: source.pipe(rx.buffer_with_count(call.number), rx.map(digest)),
        ordered=True,
    ),
    "buffer_that_slides": Operator(
        lambda flow, call: flow.buffer(call.number, step=step_of(call)).map(digest),
        lambda source, call: source.pipe(
            rx.buffer_with_count(call.number, step_of(call)), rx.map(digest)
        ),
        ordered=True,
    ),
    "window": Operator(
        lambda flow, call: flow.window(call.number).flat_map(lambda window: window.scan(0, add)),
        lambda source, call: source.pipe(
            rx.window_with_count(call.number),
            rx.flat_map(lambda window: window.pipe(rx.scan(add, seed=0))),
        ),
    ),
    "window_that_slides": Operator(
        lambda flow, call: flow.window(call.number, step=step_of(call)).flat_map(
            lambda window: window.to_list().map(digest)
        ),
        lambda source, call: source.pipe(
            rx.window_with_count(call.number, step_of(call)),
            # There a window opens before its first element comes, and may stay without one.
            rx.flat_map(lambda window: window.pipe(rx.to_list(), rx.filter(bool), rx.map(digest))),
        ),
    ),
    "materialize": Operator(
        lambda flow, call: flow.materialize().map(number_of),
        lambda source, call: source.pipe(rx.materialize(), rx.map(number_of_theirs)),
        ordered=True,
    ),
    "dematerialize": Operator(
        lambda flow, call: flow.map(signal_of(call)).dematerialize(),
        lambda source, call: source.pipe(rx.map(notification_of(call)), rx.dematerialize()),
        ordered=True,
    ),
    "on_error_continue": Operator(
        # `enumerate` ends what it covers: functions farther upstream may fail as well.
        lambda flow, call: (
            flow.enumerate()
            .map(lambda pair: fussy(call)(pair[1]))
            .on_error_continue(lambda pair, error: None)
        ),
        lambda source, call: source.pipe(rx.filter(lambda each: each % 8 != call.number)),
        ordered=True,
    ),
    "retry": Operator(
        lambda flow, call: flow.retry(call.number),
        lambda source, call: source.pipe(rx.retry(call.number + 1)),
        ordered=True,
    ),
    "repeat": Operator(
        lambda flow, call: flow.repeat(call.number),
        lambda source, call: source.pipe(rx.repeat(call.number)),
        ordered=True,
    ),
    "on_error_resume": Operator(
        lambda flow, call: flow.on_error_resume(lambda error: call.other),
        lambda source, call: source.pipe(rx.catch(lambda error, _: call.other)),
        inputs=2,
        ordered=True,
    ),
    "on_error_return": Operator(
        lambda flow, call: flow.on_error_return(call.number),
        lambda source, call: source.pipe(rx.catch(reactivex.of(call.number))),
        ordered=True,
    ),
    "concat": Operator(
        lambda flow, call: flow.concat(call.other),
        lambda source, call: reactivex.concat(source, call.other),
        inputs=2,
        ordered=True,
    ),
    "then": Operator(
        lambda flow, call: flow.then(call.other),
        lambda source, call: reactivex.concat(source.pipe(rx.ignore_elements()), call.other),
        inputs=2,
        ordered=True,
    ),
    "zip": Operator(
        lambda flow, call: flow.zip(call.other).map(digest),
        lambda source, call: reactivex.zip(source, call.other).pipe(rx.map(digest)),
        inputs=2,
        ordered=True,
        at_once=True,
    ),
    "concat_map": Operator(
        lambda flow, call: flow.concat_map(lambda each: shifted(call.other, each)),
        lambda source, call: source.pipe(
            rx.map(lambda each: shifted_there(call.other, each)), rx.merge(max_concurrent=1)
        ),
        inputs=2,
        ordered=True,
        at_once=True,
    ),
    "flat_map_sequential": Operator(
        lambda flow, call: flow.flat_map_sequential(lambda each: shifted(call.other, each)),
        in_order_there,
        inputs=2,
        ordered=True,
        at_once=True,
    ),
    "merge": Operator(
        lambda flow, call: flow.merge(call.other),
        lambda source, call: reactivex.merge(source, call.other),
        inputs=2,
        unordered=True,
    ),
    "flat_map": Operator(
        lambda flow, call: flow.flat_map(lambda each: shifted(call.other, each)),
        lambda source, call: source.pipe(rx.flat_map(lambda each: shifted_there(call.other, each))),
        inputs=2,
        unordered=True,
    ),
    # Which elements are among the few depends on their order, and that on the demand.
    "flat_map_of_few": Operator(
        lambda flow, call: flow.flat_map(lambda each: shifted(call.other, each), call.number),
        lambda source, call: source.pipe(
            rx.map(lambda each: shifted_there(call.other, each)),
            rx.merge(max_concurrent=call.number),
        ),
        inputs=2,
    ),
    "group_by": Operator(
        lambda flow, call: flow.group_by(of_group(call)).flat_map(
            lambda group: group.scan(group.key, add)
        ),
        lambda source, call: source.pipe(
            rx.group_by(of_group(call)),
            rx.flat_map(lambda group: group.pipe(rx.scan(add, seed=group.key))),
        ),
    ),
    "group_by_and_map": Operator(
        lambda flow, call: flow.group_by(of_group(call)).flat_map(
            lambda group: group.map(lambda each: each * 10 + group.key)
        ),
        lambda source, call: source.pipe(
            rx.group_by(of_group(call)),
            rx.flat_map(lambda group: group.pipe(rx.map(lambda each: each * 10 + group.key))),
        ),
        unordered=True,
    ),
    "switch_map": Operator(
        lambda flow, call: flow.switch_map(lambda each: shifted(call.other, each)),
        lambda source, call: source.pipe(
            rx.map(lambda each: shifted_there(call.other, each)), rx.switch_latest()
        ),
        inputs=2,
    ),
    "exhaust_map": Operator(
        lambda flow, call: flow.exhaust_map(lambda each: shifted(call.other, each)),
        lambda source, call: source.pipe(
            rx.map(lambda each: shifted_there(call.other, each)), rx.exclusive()
        ),
        inputs=2,
    ),
    "expand": Operator(
        lambda flow, call: flow.expand(
            lambda each: shifted(call.other, each + 1) if each < SMALL else Flow.empty(), MANY
        ),
        lambda source, call: source.pipe(
            rx.expand(
                lambda each: (
                    shifted_there(call.other, each + 1) if each < SMALL else reactivex.empty()
                )
            )
        ),
        inputs=2,
    ),
    "combine_latest": Operator(
        lambda flow, call: flow.combine_latest(call.other).map(digest),
        lambda source, call: reactivex.combine_latest(source, call.other).pipe(rx.map(digest)),
        inputs=2,
    ),
    "with_latest_from": Operator(
        lambda flow, call: flow.with_latest_from(call.other).map(digest),
        lambda source, call: source.pipe(rx.with_latest_from(call.other), rx.map(digest)),
        inputs=2,
    ),
    "take_until": Operator(
        lambda flow, call: flow.take_until(call.other),
        lambda source, call: source.pipe(rx.take_until(call.other)),
        inputs=2,
    ),
    "skip_until": Operator(
        lambda flow, call: flow.skip_until(call.other),
        lambda source, call: source.pipe(rx.skip_until(call.other)),
        inputs=2,
    ),
    "race": Operator(
        lambda flow, call: flow.race(call.other),
        lambda source, call: reactivex.amb(source, call.other),
        inputs=2,
    ),
    "share": Operator(share_here, share_there),
    "delay": Operator(
        lambda flow, call: flow.delay(call.seconds, clock=call.time),
        lambda source, call: source.pipe(rx.delay(call.seconds, scheduler=call.scheduler)),
    ),
    "delay_subscription": Operator(
        lambda flow, call: flow.delay_subscription(call.seconds, clock=call.time),
        lambda source, call: source.pipe(
            rx.delay_subscription(call.seconds, scheduler=call.scheduler)
        ),
    ),
    "debounce": Operator(
        lambda flow, call: flow.debounce(call.seconds, clock=call.time),
        lambda source, call: source.pipe(rx.debounce(call.seconds, scheduler=call.scheduler)),
    ),
    "throttle": Operator(
        lambda flow, call: flow.throttle(call.seconds, clock=call.time),
        lambda source, call: source.pipe(rx.throttle_first(call.seconds, scheduler=call.scheduler)),
    ),
    "timestamp": Operator(
        lambda flow, call: flow.timestamp(clock=call.time).map(
            lambda each: digest((round(each.at), each.element))
        ),
        lambda source, call: source.pipe(
            rx.timestamp(scheduler=call.scheduler),
            rx.map(lambda each: digest((seconds_of(each.timestamp), each.value))),
        ),
    ),
    "elapsed": Operator(
        lambda flow, call: flow.elapsed(clock=call.time).map(
            lambda each: digest((round(each.seconds), each.element))
        ),
        lambda source, call: source.pipe(
            rx.time_interval(scheduler=call.scheduler),
            rx.map(lambda each: digest((round(each.interval.total_seconds()), each.value))),
        ),
    ),
    "timeout": Operator(
        lambda flow, call: flow.timeout(call.seconds, clock=call.time),
        lambda source, call: source.pipe(
            rx.timeout(call.seconds, timed_out(), scheduler=call.scheduler)
        ),
    ),
    "timeout_with_fallback": Operator(
        lambda flow, call: flow.timeout(call.seconds, call.other, clock=call.time),
        lambda source, call: source.pipe(
            rx.timeout(call.seconds, call.other, scheduler=call.scheduler)
        ),
        inputs=2,
    ),
}
