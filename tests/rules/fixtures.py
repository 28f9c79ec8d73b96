"""One suite, every engine: the fixtures that the tests are parametrised by."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from penstock.runtime import Undelivered, collect_undelivered
from tests.rules.consumers import BASE_CLASSES, CONSUMERS, Make, making
from tests.rules.subjects import (
    EXECUTORS,
    ITERATIONS,
    ON_THE_CALLING_THREAD,
    PROCESSORS,
    SUBJECTS,
    Choice,
    Engine,
    Subject,
)


@pytest.fixture
def undelivered() -> Iterator[list[Undelivered]]:
    """What reached the hook; a test that expects something there takes it out.

    The tests of a folder or module use it as a whole, by `usefixtures`.
    """
    with collect_undelivered() as collected:
        yield collected
    assert collected == []


@pytest.fixture(params=SUBJECTS.values(), ids=list(SUBJECTS))
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Every publisher of ours."""
    yield from running(request.param)


@pytest.fixture(params=ON_THE_CALLING_THREAD.values(), ids=list(ON_THE_CALLING_THREAD))
def calling_thread_subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Those that run on the calling thread."""
    yield from running(request.param)


@pytest.fixture(params=ITERATIONS.values(), ids=list(ITERATIONS))
def iteration_subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Those that send the elements of an iterable."""
    yield from running(request.param)


@pytest.fixture(params=PROCESSORS.values(), ids=list(PROCESSORS))
def processor_subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Those that pass on what they receive."""
    yield from running(request.param)


@pytest.fixture(params=CONSUMERS.values(), ids=list(CONSUMERS))
def make_consumer(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes every subscriber of ours."""
    with making(request.param) as make:
        yield make


@pytest.fixture(params=BASE_CLASSES.values(), ids=list(BASE_CLASSES))
def make_receiver(request: pytest.FixtureRequest) -> Iterator[Make]:
    """Makes those that users fill in."""
    with making(request.param) as make:
        yield make


@pytest.fixture(params=EXECUTORS.values(), ids=list(EXECUTORS))
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Every executor of ours."""
    with request.param() as engine:
        yield engine


@pytest.fixture
def without_gc() -> Iterator[None]:
    """Only reference counts free anything."""
    gc.disable()
    yield
    gc.enable()


def running(choice: Choice) -> Iterator[Subject]:
    build, make_engine = choice
    with make_engine() as engine:
        subject = Subject(build, engine)
        yield subject
    assert [faults for faults in subject.faults if faults] == []
