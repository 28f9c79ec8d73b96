"""A tree run here and there, each in the virtual time of its library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import reactivex
from reactivex.disposable import CompositeDisposable
from reactivex.scheduler import VirtualTimeScheduler

from penstock import UNBOUNDED, Flow, Subscriber, VirtualTime
from penstock.core import COMPLETED
from penstock.testing import ManualSubscriber, MarblePublisher, OnComplete, OnError, OnNext
from penstock.testing.marble_streams import Moment
from tests.peers.outcome import HORIZON, Failed, Outcome
from tests.peers.trees import Source, Tree
from tests.peers.vocabulary import Call

__all__ = ["PlayedSource", "Say", "played", "run_here", "run_there"]

Say = Callable[[Any, Call], Any]
Requests = Iterable[tuple[int, int]]
"""At which times how many elements are requested."""


def run_here(
    tree: Tree,
    words: Mapping[str, Say],
    requests: Requests = ((0, UNBOUNDED),),
    horizon: int = HORIZON,
) -> Outcome:
    """What a flow makes of it, until ``horizon``; a broken rule of signalling is an error."""
    time = VirtualTime()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(time=time)
    flow_of(tree, words, time).subscribe(subscriber)
    for at, count in requests:
        time.run(until=at)
        if not subscriber.ended:
            subscriber.request(count)
    time.run(until=horizon)
    subscriber.close()
    subscriber.assert_no_rule_broken()
    return outcome_of(subscriber)


def run_there(tree: Tree, words: Mapping[str, Say]) -> Outcome:
    """What RxPY makes of it."""
    scheduler = VirtualTimeScheduler(0)
    outcome = Outcome()

    def now() -> int:
        return int(scheduler.to_seconds(scheduler.now))

    def end(word: str) -> None:
        outcome.end = (now(), word)

    subscription = observable_of(tree, words, scheduler).subscribe(
        lambda element: outcome.elements.append((now(), element)),
        lambda error: end(text_of(error)),
        lambda: end("complete"),
    )
    scheduler.advance_to(HORIZON)
    subscription.dispose()
    return outcome


def flow_of(tree: Tree, words: Mapping[str, Say], time: VirtualTime) -> Flow[Any]:
    if isinstance(tree, Source):
        return Flow.from_publisher(PlayedSource(tree, time))
    first, *others = [flow_of(each, words, time) for each in tree.inputs]
    call = Call(tree.number, tree.seconds, tuple(others), time=time)
    flow: Flow[Any] = words[tree.operator](first, call)
    return flow


def observable_of(tree: Tree, words: Mapping[str, Say], scheduler: VirtualTimeScheduler) -> Any:
    if isinstance(tree, Source):
        return played(tree, scheduler)
    first, *others = [observable_of(each, words, scheduler) for each in tree.inputs]
    call = Call(tree.number, tree.seconds, tuple(others), scheduler=scheduler)
    return words[tree.operator](first, call)


class PlayedSource:
    """A source as a publisher. What nobody has requested yet waits."""

    def __init__(self, source: Source, time: VirtualTime) -> None:
        self._source = source
        self._time = time

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        source, missed = self._source, self._time.now() if self._source.hot else 0
        moments = [Moment(at - missed, (element,), None) for at, element in source.elements]
        if source.end is not None:
            ending = Failed(source.error) if source.error else COMPLETED
            moments.append(Moment(source.end - missed, (), ending))
        coming = [moment for moment in moments if moment.seconds >= 0]
        MarblePublisher(coming, self._time).subscribe(subscriber)


def played(source: Source, scheduler: VirtualTimeScheduler) -> Any:
    """A source as an observable."""

    def subscribe(observer: Any, _: Any = None) -> Any:
        missed = int(scheduler.to_seconds(scheduler.now)) if source.hot else 0
        timers = CompositeDisposable()

        def plan(at: int, action: Callable[[], None]) -> None:
            if at >= missed:
                timers.add(scheduler.schedule_relative(at - missed, lambda *_: action()))

        for at, element in source.elements:
            plan(at, partial(observer.on_next, element))
        if source.end is not None and source.error:
            plan(source.end, lambda: observer.on_error(Failed(source.error)))
        elif source.end is not None:
            plan(source.end, observer.on_completed)
        return timers

    return reactivex.create(subscribe)


def outcome_of(subscriber: ManualSubscriber[Any]) -> Outcome:
    outcome = Outcome()
    for signal in subscriber.signals:
        if isinstance(signal, OnNext):
            outcome.elements.append((round(signal.at), signal.element))
        elif isinstance(signal, OnError):
            outcome.end = (round(signal.at), text_of(signal.error))
        elif isinstance(signal, OnComplete):
            outcome.end = (round(signal.at), "complete")
    return outcome


def text_of(error: Exception) -> str:
    return str(error) if isinstance(error, Failed) else type(error).__name__
