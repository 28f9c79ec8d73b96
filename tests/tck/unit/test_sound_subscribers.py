"""The kit calls no subscriber broken that keeps the rules, however it is written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from penstock import AsyncSubscriber, SyncSubscriber
from penstock.runtime import AsyncioLoop, CallingThread, Executor, ThreadPool
from penstock.tck.report import Report, RuleStatus
from penstock.tck.verifying import verify_subscriber
from tests.quick import quick
from tests.tck.mutants import sound_strangers
from tests.tck.mutants import sound_subscribers as sound

pytestmark = pytest.mark.usefixtures("search_briefly")

SEEN: dict[str, Any] = {"received": lambda subscriber: subscriber.elements}
ENDS: dict[str, Any] = {
    "completed": lambda subscriber: subscriber.done,
    "failed": lambda subscriber: subscriber.error,
}
OPEN: dict[str, Any] = {**SEEN, **ENDS, "in_order": True}
ITSELF: dict[str, Any] = {"puppet": lambda subscriber: subscriber}
QUIET: dict[str, Any] = {"calls_nothing_cancelled": True}

IN_MANY_MANNERS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "one by one": (sound.OneByOne, OPEN),
    "one by one, from outside": (sound.OneByOne, {}),
    "everything at once": (sound.CollectsAll, OPEN),
    "in batches": (sound.InBatches, OPEN),
    "asks before it processes": (sound.AsksBeforeItProcesses, {**SEEN, **ENDS}),
    "asks twice in a row": (sound.AsksTwice, OPEN),
    "takes three": (sound.TakesThree, {**OPEN, **QUIET, "stops_after": 3}),
    "takes three without a claim": (sound.TakesThree, {}),
    "takes one": (sound.TakesOne, {"stops_after": 1}),
    "wants nothing": (sound.WantsNothing, ENDS),
    "skips what it cannot use": (
        sound.SkipsWhatItCannotUse,
        {**ENDS, "poison": lambda: sound.POISON},
    ),
    "gives up at its own failure": (
        sound.GivesUpAtItsOwnFailure,
        {**QUIET, "poison": lambda: sound.POISON},
    ),
    "manual": (sound.Manual, {**OPEN, **ITSELF, **QUIET}),
    "manual, with controls": (sound.Manual, {**OPEN, "puppet": sound.steering}),
    "manual, one at a time": (sound.OneAtATimeForItsUser, {**OPEN, **ITSELF}),
    "pulled": (sound.Pulled, {**SEEN, **ITSELF, "in_order": True}),
    "as data": (sound.AsData, OPEN),
    "by a generator": (sound.ByGenerator, SEEN),
    "by closures": (sound.by_closures, SEEN),
    "with unrelated names": (sound.UnrelatedNames, OPEN),
    "joins by itself": (
        sound.JoinsByItself,
        {**OPEN, "joins": lambda subscriber, publisher: subscriber.listen_to(publisher)},
    ),
    "joins another": (
        sound.JoinsAnother,
        {
            "joins": lambda subscriber, publisher: subscriber.listen_to(publisher),
            "received": lambda subscriber: subscriber.inner[0].elements,
        },
    ),
    "on a thread": (sound.OnAThread, {**OPEN, "only_hands_over": True}),
    "on a thread that dawdles": (sound.OnAThreadThatDawdles, SEEN),
    "by a condition": (sound.ByCondition, SEEN),
    "on a pool": (sound.OnAPool, {**OPEN, "only_hands_over": True}),
    "in parallel": (sound.InParallel, {**SEEN, "only_hands_over": True}),
    "paced by a timer": (sound.Paced, OPEN),
    "steered from anywhere": (
        sound.SteeredFromAnywhere,
        {**SEEN, **ITSELF, "puppet_of_many_threads": True, "only_hands_over": True},
    ),
    "as a monitor": (sound.AsAMonitor, SEEN),
    "loses patience": (sound.LosesPatience, OPEN),
    "on a loop of its own": (sound.OnALoopOfItsOwn, SEEN),
    "a list": (sound_strangers.Shelf, {"received": list, "in_order": True}),
    "an array": (partial(sound_strangers.Numbers, "q"), {"received": list, "in_order": True}),
}


EVERY_TIME = (
    "everything at once", "takes three", "wants nothing", "manual, with controls", "on a thread",
    "on a loop of its own",
)  # fmt: skip


@pytest.mark.parametrize("manner", quick(IN_MANY_MANNERS, EVERY_TIME))
def test_a_sound_subscriber_passes_in_whatever_manner_it_is_written(manner: str) -> None:
    factory, claims = IN_MANY_MANNERS[manner]
    passes(verify_subscriber(factory, **claims))


class Sync(SyncSubscriber[Any]):
    """The synchronous base class, filled in."""

    def __init__(self, largest: int = 1) -> None:
        super().__init__(largest=largest)
        self.elements: list[Any] = []
        self.done = False
        self.error: Exception | None = None

    def receive(self, element: Any) -> bool:
        self.elements.append(element)
        return bool(element != sound.POISON)

    def failed(self, error: Exception) -> None:
        self.error = error

    def completed(self) -> None:
        self.done = True


class Async(AsyncSubscriber[Any]):
    """The asynchronous base class, filled in."""

    def __init__(self, executor: Executor) -> None:
        super().__init__(executor, prefetch=4)
        self.elements: list[Any] = []
        self.done = False
        self.error: Exception | None = None

    def receive(self, element: Any) -> bool:
        self.elements.append(element)
        return bool(element != sound.POISON)

    def failed(self, error: Exception) -> None:
        self.error = error

    def completed(self) -> None:
        self.done = True


POISONED: dict[str, Any] = {**OPEN, "poison": lambda: sound.POISON}


def test_the_synchronous_base_class_passes() -> None:
    passes(verify_subscriber(Sync, **POISONED))
    passes(verify_subscriber(lambda: Sync(largest=8), **POISONED))


@pytest.mark.parametrize(
    "new_executor",
    [
        pytest.param(CallingThread, id="caller", marks=pytest.mark.full),
        pytest.param(ThreadPool, id="1", marks=pytest.mark.full),
        pytest.param(lambda: ThreadPool(2), id="2"),
    ],
)
def test_the_asynchronous_base_class_passes_on_an_executor_of_its_own(
    new_executor: Callable[[], Executor],
) -> None:
    passes(verify_subscriber(lambda: Async(new_executor()), **POISONED))


@pytest.mark.parametrize("workers", quick([1, 2], [2]))
def test_the_asynchronous_base_class_passes_on_a_pool_that_was_there_before(workers: int) -> None:
    with ThreadPool(workers) as pool:
        passes(verify_subscriber(lambda: Async(pool), **POISONED))


def test_the_asynchronous_base_class_passes_on_a_loop(loop: asyncio.AbstractEventLoop) -> None:
    passes(verify_subscriber(lambda: Async(AsyncioLoop(loop)), **POISONED))


def test_a_task_of_a_loop_that_was_there_before_passes(loop: asyncio.AbstractEventLoop) -> None:
    passes(verify_subscriber(lambda: sound.OnALoop(loop), only_hands_over=True, **OPEN))


def test_a_pool_that_was_there_before_passes() -> None:
    with ThreadPoolExecutor(1) as pool:
        passes(verify_subscriber(lambda: sound.OnAPool(pool), **OPEN))


def test_elements_that_a_pool_processes_without_ever_calling_back_are_waited_for() -> None:
    class LeavesElementsToAPool(sound.CollectsAll):
        def process(self, element: Any) -> None:
            pool.submit(self.elements.append, element)

    with ThreadPoolExecutor(1) as pool:
        passes(verify_subscriber(LeavesElementsToAPool, **SEEN))


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def passes(report: Report) -> None:
    """The subject passes, and no check was given up."""
    report.raise_if_failed()
    assert all(row.status is not RuleStatus.UNDECIDED for row in report.rules)
