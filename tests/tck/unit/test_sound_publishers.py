"""The kit calls no publisher broken that keeps the rules, however it is written."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from penstock.api import Publisher
from penstock.core import IdentityProcessor
from penstock.examples import ExecutorPublisher, IterablePublisher
from penstock.flow.multicast.broadcast import Broadcast
from penstock.runtime import AsyncioLoop, CallingThread, Executor, ThreadPool
from penstock.tck.report import Report, RuleStatus
from penstock.tck.verifying import KINDS, verify_publisher
from tests.quick import quick
from tests.tck.mutants import (
    publishers,
    publishers_claims,
    publishers_ends,
    publishers_request,
    publishers_subscribe,
    sound_strangers,
)
from tests.tck.mutants import sound_publishers as sound

pytestmark = pytest.mark.usefixtures("search_briefly")

SAME: dict[str, Any] = {"repeatable": True}
EAGER: dict[str, Any] = {**SAME, "completes_eagerly": True}
SAFE: dict[str, Any] = {**SAME, "concurrent_requests": True}

IN_MANY_MANNERS: dict[str, tuple[Callable[[int], Any], dict[str, Any]]] = {
    "a generator": (
        sound.Generating,
        {**SAME, "failed": lambda: sound.Generating(2, sound.breaking)},
    ),
    "functions": (sound.Functions, EAGER),
    "some levels deep": (sound.Nesting, EAGER),
    "in chunks": (sound.Chunking, SAME),
    "strict about its callers": (sound.Strict, SAME),
    "a coroutine": (sound.Coroutine, SAFE),
    "endless": (sound.Endless, {**SAME, "completes": False}),
    "a thread": (sound.Waiting, {**SAFE, "failed": lambda: sound.Waiting(2, sound.breaking)}),
    "a slow thread": (sound.Sleeping, SAFE),
    "a thread that polls": (sound.Polling, SAFE),
    "a mailbox": (sound.Mailbox, SAFE),
    "a pool": (sound.Pooled, SAFE),
    "batches on a pool": (sound.Batching, SAFE),
    "threads": (sound.Threads, SAFE),
    "timers": (sound.Ticking, {**SAFE, **EAGER}),
    "all at once": (
        sound.Choir,
        {**EAGER, "multicast": True, "stays_completed": True, "keeps_for_newcomers": True},
    ),
    "a loop of its own": (sound.Landlord, SAME),
    "a tuple": (sound_strangers.Row, {**SAFE, **EAGER}),
    "the base of mutants": (publishers.Numbers, SAME),
    "the base of mutants on a thread": (
        partial(publishers.Numbers, stream=publishers.ThreadStream),
        SAME,
    ),
    "the base of mutants that fail": (
        partial(publishers.Numbers, stream=publishers.FailingStream),
        {**SAME, "failed": lambda: publishers.Failing(2, publishers.FailingStream)},
    ),
    "the base of mutants with many subscribers": (
        publishers_subscribe.Hub,
        {**SAME, "multicast": True, "keeps_for_newcomers": True},
    ),
    "the base of mutants that close": (
        partial(publishers.Numbers, stream=publishers_claims.Closing),
        {**SAME, "closed": publishers_claims.times_closed},
    ),
    "the base of mutants that report": (
        partial(publishers.Numbers, stream=publishers_claims.Reporting),
        {**SAME, **publishers_claims.Reporting.claims},
    ),
    "the base of mutants that explain": (
        partial(publishers.Numbers, stream=publishers_request.Explaining),
        {**SAME, **publishers_request.Explaining.claims},
    ),
    "the base of mutants that are strict": (
        partial(publishers.Numbers, stream=publishers_request.Strict),
        {**SAME, **publishers_request.Strict.claims},
    ),
    "the base of mutants that read ahead": (
        partial(publishers.Numbers, stream=publishers_ends.Eager),
        {**SAME, **publishers_ends.Eager.claims},
    ),
    "few elements": (sound.Generating, {**SAME, "max_elements": 2}),
    "no elements": (sound.Generating, {"max_elements": 0}),
}


EVERY_TIME = ("a coroutine", "a thread", "no elements")


@pytest.mark.parametrize("manner", quick(IN_MANY_MANNERS, EVERY_TIME))
def test_a_sound_publisher_passes_in_whatever_manner_it_is_written(manner: str) -> None:
    factory, claims = IN_MANY_MANNERS[manner]
    passes(verify_publisher(factory, **claims))


def test_tasks_of_a_loop_that_was_there_before_pass(loop: asyncio.AbstractEventLoop) -> None:
    passes(verify_publisher(lambda n: sound.Looped(n, loop), **SAME))


@pytest.mark.full  # the quick run judges another one
def test_tasks_of_a_pool_that_was_there_before_pass() -> None:
    with ThreadPoolExecutor(1) as pool:
        passes(verify_publisher(lambda n: sound.Pooled(n, pool), **SAME))


# What Penstock itself offers.

OURS: dict[str, Any] = {
    "completes_eagerly": True,
    "repeatable": True,
    "concurrent_requests": True,
    "strict_types": True,
    "explains_illegal_requests": True,
    "reports_to_hook": True,
}
SHARED: dict[str, Any] = {
    **OURS,
    "multicast": True,
    "keeps_for_newcomers": True,
    "refuses_same_subscriber": True,
    "stays_completed": True,
    "stays_failed": True,
}


class Elements:
    """A source that counts how often it is closed, and may break in various ways."""

    def __init__(self, n: int, *, breaks: bool = False, can_be_closed: bool = True) -> None:
        self.n = n
        self.breaks = breaks
        self.can_be_closed = can_be_closed
        self.closed = 0

    def __iter__(self) -> Iterator[int]:
        return Position(self)


class Position(Iterator[int]):
    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self.next = 0

    def __next__(self) -> int:
        if self.next == self.elements.n:
            raise LookupError("it breaks here") if self.elements.breaks else StopIteration
        self.next += 1
        return self.next

    def close(self) -> None:
        self.elements.closed += 1
        if not self.elements.can_be_closed:
            raise OSError("it cannot be closed")


def broken() -> Elements:
    return Elements(2, breaks=True)


class Closable(IterablePublisher[int]):
    """The publisher over an iterable, with a source that can be asked."""

    def __init__(self, n: int) -> None:
        self.elements = Elements(n)
        super().__init__(self.elements)


def test_the_publisher_over_an_iterable_passes() -> None:
    report = verify_publisher(
        lambda n: IterablePublisher(range(n)),
        failed=lambda: IterablePublisher(broken()),
        unclosable=lambda: IterablePublisher(Elements(3, can_be_closed=False)),
        **OURS,
    )
    passes(report)


def test_the_publisher_over_an_iterable_closes_its_source_as_it_claims() -> None:
    claims = {**OURS, "completes_eagerly": False, "closed": lambda each: each.elements.closed}
    passes(verify_publisher(Closable, rules=("3.5", "3.12"), **claims))


def test_calls_of_two_threads_are_explored_although_the_kit_is_of_the_same_package() -> None:
    checks = ("loses_no_request_of_two_threads", "sends_one_signal_at_a_time")
    report = KINDS["publisher"].verify(lambda n: IterablePublisher(range(n)), OURS, checks=checks)
    assert [outcome.check for outcome in report.outcomes if (outcome.schedules or 0) < 2] == []


@pytest.mark.parametrize(
    "new_executor",
    [
        pytest.param(CallingThread, id="caller", marks=pytest.mark.full),
        pytest.param(lambda: ThreadPool(2), id="pool"),
    ],
)
def test_the_publisher_on_an_executor_passes_on_one_of_its_own(
    new_executor: Callable[[], Executor],
) -> None:
    passes(verify_on(new_executor))


@pytest.mark.full  # the quick run judges a subscriber there
def test_the_publisher_on_an_executor_passes_on_a_pool_that_was_there_before() -> None:
    with ThreadPool(2) as pool:
        passes(verify_on(lambda: pool))


@pytest.mark.full  # the quick run judges another one
def test_the_publisher_on_an_executor_passes_on_a_loop(loop: asyncio.AbstractEventLoop) -> None:
    passes(verify_on(lambda: AsyncioLoop(loop)))


def verify_on(new_executor: Callable[[], Executor]) -> Report:
    return verify_publisher(
        lambda n: ExecutorPublisher(range(n), new_executor()),
        failed=lambda: ExecutorPublisher(broken(), new_executor()),
        **OURS,
    )


ON_THE_CALLER_OR_A_POOL = [
    pytest.param(lambda: None, id="caller", marks=pytest.mark.full),
    pytest.param(ThreadPool, id="pool"),
]


@pytest.mark.full  # the quick run judges it as a processor
@pytest.mark.parametrize("new_executor", ON_THE_CALLER_OR_A_POOL)
def test_the_identity_processor_passes_as_a_publisher(
    new_executor: Callable[[], Executor | None],
) -> None:
    def downstream_of(source: Publisher[int]) -> IdentityProcessor[int]:
        processor: IdentityProcessor[int] = IdentityProcessor(executor=new_executor())
        source.subscribe(processor)
        return processor

    report = verify_publisher(
        lambda n: downstream_of(IterablePublisher(range(n))),
        failed=lambda: downstream_of(IterablePublisher(broken())),
        **OURS,
    )
    passes(report)


@pytest.mark.parametrize("new_executor", ON_THE_CALLER_OR_A_POOL)
@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({}, id="stays", marks=pytest.mark.full),
        pytest.param({"shuts_down_when_idle": True}, id="shuts"),
    ],
)
def test_the_broadcast_passes_as_a_publisher(
    new_executor: Callable[[], Executor | None], claims: dict[str, Any]
) -> None:
    def downstream_of(source: Publisher[int]) -> Broadcast[int]:
        return Broadcast(source=source, executor=new_executor(), **claims)

    report = verify_publisher(
        lambda n: downstream_of(IterablePublisher(range(n))),
        failed=lambda: downstream_of(IterablePublisher(broken())),
        keep_alive=Broadcast.keep_alive,
        **SHARED,
        **claims,
    )
    passes(report)


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
