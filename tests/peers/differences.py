"""The differences that are meant, each with its reason, and both sides said again without it.

A tree that gives something else here than there is explained by a set of these differences only if
it gives the same, to the element and the moment, once they are said away. So a row excuses no tree
for the operators in it, and a fault next to a difference that is meant is still found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

import reactivex
from reactivex import operators as rx
from reactivex.disposable import Disposable, SerialDisposable
from reactivex.subject import Subject

from penstock import Flow
from tests.peers.outcome import Outcome
from tests.peers.runs import PlayedSource, Say, played, run_here, run_there
from tests.peers.trees import TICK, Source, Tree, operators_in
from tests.peers.vocabulary import (
    OPERATORS,
    Call,
    digest,
    merged_twice,
    shifted,
)

__all__ = ["DIFFERENCES", "Difference", "Judgement", "judge"]


HOLDERS: Final = ("buffer", "buffer_that_slides", "debounce", "delay")


class Difference(NamedTuple):
    """What differs and why; how it is said, in place of the plain words, so that it does not."""

    reason: str
    here: Mapping[str, Say] = {}
    there: Mapping[str, Say] = {}
    unordered: tuple[str, ...] = ()
    """Operators with which the elements of one moment may come in any order."""

    @property
    def operators(self) -> set[str]:
        return {*self.here, *self.there, *self.unordered}


class Judgement(NamedTuple):
    """What came of a tree on both sides, and the differences that explain why it is not the same.

    ``explained_by`` is empty if both gave the same, and missing if nothing explains what they gave.
    """

    here: Outcome
    there: Outcome
    explained_by: tuple[str, ...] | None


def holding(operator: Say) -> Say:
    """An operator that gives what it holds before an error, as it does before completion."""

    def say(source: Any, call: Call) -> Any:
        def attempt(_: Any) -> Any:
            errors: list[Exception] = []

            def keep(error: Exception, _: Any) -> Any:
                errors.append(error)
                return reactivex.empty()

            def rethrow(_: Any) -> Any:
                return reactivex.throw(errors[0]) if errors else reactivex.empty()

            return reactivex.concat(
                operator(source.pipe(rx.catch(keep)), call), reactivex.defer(rethrow)
            )

        return reactivex.defer(attempt)

    return say


def delay_of_elements(source: Any, call: Call) -> Any:
    """A timer for each element, and none for the end."""
    return source.pipe(
        rx.flat_map(
            lambda each: reactivex.timer(call.seconds, scheduler=call.scheduler).pipe(
                rx.map(lambda _: each)
            )
        )
    )


def with_latest_from_one_that_has_elements(source: Any, call: Call) -> Any:
    in_vain = call.other.pipe(rx.is_empty(), rx.filter(bool))
    return source.pipe(rx.with_latest_from(call.other), rx.map(digest), rx.take_until(in_vain))


def combine_latest_of_those_that_have_elements(source: Any, call: Call) -> Any:
    in_vain = reactivex.merge(source.pipe(rx.is_empty()), call.other.pipe(rx.is_empty()))
    return reactivex.combine_latest(source, call.other).pipe(
        rx.map(digest), rx.take_until(in_vain.pipe(rx.filter(bool)))
    )


class SharedRuns:
    """A share whose run, when it has ended, is followed by another one."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._start()

    def _start(self) -> None:
        self._subject: Any = Subject()
        self._upstream = SerialDisposable()
        self._subscribers = 0
        self._running = False

    def subscribe(self, observer: Any, _: Any = None) -> Any:
        subject, upstream = self._subject, self._upstream
        joined = subject.subscribe(observer)
        self._subscribers += 1
        if not self._running:
            self._running = True
            upstream.disposable = self._source.pipe(
                rx.do_action(on_completed=self._start, on_error=lambda _: self._start())
            ).subscribe(subject)

        def leave() -> None:
            joined.dispose()
            if subject is self._subject:
                self._subscribers -= 1
                if not self._subscribers:
                    self._start()
                    upstream.dispose()

        return Disposable(leave)


def share_again(source: Any, call: Call) -> Any:
    return merged_twice(reactivex.create(SharedRuns(source).subscribe), call)


def start_with_in_its_own_time(call: Call) -> Source:
    """Elements that come a moment after the subscription, in place of those that are there."""
    at = call.seconds % TICK
    return Source("start", False, ((at, call.number), (at, 7)), at, None)


def take_until_element_or_end(source: Any, call: Call) -> Any:
    return source.pipe(rx.take_until(reactivex.concat(call.other, reactivex.of(0))))


def skip_until_element_or_end(source: Any, call: Call) -> Any:
    """Anything opens it; what is not open yet ends, too."""

    def attempt(_: Any) -> Any:
        is_open: list[object] = []
        signal = reactivex.concat(call.other, reactivex.of(0)).pipe(
            rx.take(1), rx.do_action(is_open.append), rx.ignore_elements()
        )
        notifications = source.pipe(
            rx.materialize(), rx.filter(lambda each: bool(is_open) or each.kind != "N")
        )
        return reactivex.merge(reactivex.concat(signal, reactivex.never()), notifications).pipe(
            rx.dematerialize()
        )

    return reactivex.defer(attempt)


def buffered(concurrency: Callable[[Call], int]) -> Say:
    """Flattening with a buffer upstream, which keeps taking while the inner flows are busy."""
    return lambda flow, call: flow.on_backpressure_buffer(1_000).flat_map(
        lambda each: shifted(call.other, each), concurrency(call)
    )


def subscribed_later(source: Any, call: Call) -> Any:
    timer = reactivex.timer(call.seconds, scheduler=call.scheduler)
    return timer.pipe(rx.flat_map(lambda _: source))


def as_many_as_given(call: Call) -> int:
    return call.number


DIFFERENCES: dict[str, Difference] = {
    "what is held comes before an error": Difference(
        "no element is lost that came before the error; there an error discards it",
        there={name: holding(OPERATORS[name].theirs) for name in HOLDERS},
    ),
    "delay delays no end": Difference(
        "a flow completes with its last element; there its completion is delayed, too",
        there={"delay": holding(delay_of_elements)},
    ),
    "with_latest_from ends with a publisher that gave nothing": Difference(
        "no pair can come any more; there it goes on in silence",
        there={"with_latest_from": with_latest_from_one_that_has_elements},
    ),
    "combine_latest ends with a publisher that gave nothing": Difference(
        "no tuple can come any more; there it goes on until the next element, or for ever",
        there={"combine_latest": combine_latest_of_those_that_have_elements},
    ),
    "a share that has ended runs again": Difference(
        "it is one run from the first one's coming to the last one's leaving, so the next one to "
        "come begins another; there it stays at its end",
        there={"share": share_again},
    ),
    "elements that are there at once come when they are pulled": Difference(
        "of several inputs, each gives a portion at its turn, and one who joins a run meanwhile "
        "has missed some; there a queue of the thread orders what is to happen at the same moment",
        here={
            "start_with": lambda flow, call: Flow.concat(
                Flow.from_publisher(PlayedSource(start_with_in_its_own_time(call), call.time)), flow
            )
        },
        there={
            "start_with": lambda source, call: reactivex.concat(
                played(start_with_in_its_own_time(call), call.scheduler), source
            )
        },
    ),
    "the end of the other one ends take_until": Difference(
        "anything that the other one gives is a signal; there it has to be an element",
        there={"take_until": take_until_element_or_end},
    ),
    "skip_until begins and ends with the end": Difference(
        "anything that the other one gives is a signal, and upstream ends for whom it has not "
        "begun; there it has to be an element, and without it there is no end",
        there={"skip_until": skip_until_element_or_end},
    ),
    "upstream of busy inner flows nothing moves": Difference(
        "backpressure is not to pull: what counts time upstream stands still until an inner flow "
        "has ended; there a queue without bound takes all that comes",
        here={
            "concat_map": buffered(lambda call: 1),
            "flat_map_of_few": buffered(as_many_as_given),
        },
    ),
    "inner flows are woken in another order": Difference(
        "several inner flows give something at the same moment, and none has to be the first one",
        unordered=("expand", "flat_map", "flat_map_of_few", "flat_map_sequential", "merge"),
    ),
    "an error overtakes no element that a delayed subscription gives": Difference(
        "only the subscription is delayed; there each element waits for a stream without elements, "
        "which may end after the error of that moment",
        there={"delay_subscription": subscribed_later},
    ),
    "upstream of a zip that waits for partners nothing moves": Difference(
        "not to pull is backpressure again: of what comes meanwhile, merge takes its turns later; "
        "there a queue without bound takes all that comes",
        here={
            "zip": lambda flow, call: (
                flow.on_backpressure_buffer(1_000)
                .zip(call.other.on_backpressure_buffer(1_000))
                .map(digest)
            )
        },
    ),
}


def judge(tree: Tree) -> Judgement:
    """Run a tree on both sides; explain a difference by as few as possible of those meant."""
    here, there = run_here(tree, words_here()), run_there(tree, words_there())
    if here == there:
        return Judgement(here, there, ())
    concerned = [name for name, each in DIFFERENCES.items() if each.operators & operators_in(tree)]
    for size in range(1, len(concerned) + 1):
        for chosen in combinations(concerned, size):
            outcomes = run_here(tree, words_here(*chosen)), run_there(tree, words_there(*chosen))
            if any(DIFFERENCES[name].unordered for name in chosen):
                outcomes = outcomes[0].sorted_by_time(), outcomes[1].sorted_by_time()
            if outcomes[0] == outcomes[1]:
                return Judgement(here, there, chosen)
    return Judgement(here, there, None)


def words_here(*without: str) -> dict[str, Say]:
    """How flows say it, ``without`` some of the differences."""
    words: dict[str, Say] = {name: operator.ours for name, operator in OPERATORS.items()}
    for name in without:
        words.update(DIFFERENCES[name].here)
    return words


def words_there(*without: str) -> dict[str, Say]:
    """How RxPY says it, ``without`` some of the differences."""
    words: dict[str, Say] = {name: operator.theirs for name, operator in OPERATORS.items()}
    for name in without:
        words.update(DIFFERENCES[name].there)
    return words
