"""What a service manager is told of a pipeline: when it is ready, that it is well, that it ends."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.service import ServiceManager
from penstock.observe import Observer, Status
from penstock.observe.status import State
from penstock.runtime import SystemClock
from tests.deploy.notified import NotifySocket
from tests.observe.driven import DrivenPipeline


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[NotifySocket]:
    with NotifySocket(tmp_path) as listening:
        yield listening


def told(manager: NotifySocket, pipeline: DrivenPipeline, watchdog: float = 30.0) -> Observer:
    """An observer by whom the manager is told."""
    teller = ServiceManager.of(manager.environment(watchdog))
    assert teller is not None
    observer = pipeline.observer()
    observer.listen(teller.tell)
    return observer


def without_words(message: list[str]) -> list[str]:
    return [line for line in message if not line.startswith("STATUS=")]


MORE_TIME = "EXTEND_TIMEOUT_USEC=30000000"


@pytest.mark.parametrize(
    ("state", "lines"),
    [
        ("starting", [MORE_TIME, "WATCHDOG=1"]),
        ("running", ["READY=1", "WATCHDOG=1"]),
        ("draining", ["STOPPING=1", MORE_TIME, "WATCHDOG=1"]),
        ("completed", ["READY=1", "STOPPING=1", "WATCHDOG=1"]),
        ("stopped", ["STOPPING=1", "WATCHDOG=1"]),
        ("failed", ["STOPPING=1"]),
    ],
)
def test_each_state_has_its_message(manager: NotifySocket, state: State, lines: list[str]) -> None:
    told(manager, DrivenPipeline(state=state)).sample()
    (message,) = manager.rest()
    assert without_words(message) == lines
    assert message[-1].startswith(f"STATUS=blizzard {state}")


def test_one_that_was_ready_is_not_ready_again_when_it_has_completed(
    manager: NotifySocket,
) -> None:
    pipeline = DrivenPipeline()
    observer = told(manager, pipeline)
    observer.sample()
    pipeline.state = "completed"
    observer.close()
    assert [*map(without_words, manager.rest())] == [
        ["READY=1", "WATCHDOG=1"],
        ["STOPPING=1", "WATCHDOG=1"],
    ]


def test_the_watchdog_is_fed_three_times_in_its_period(manager: NotifySocket) -> None:
    pipeline = DrivenPipeline()
    observer = told(manager, pipeline, watchdog=6.0)
    observer.start()
    pipeline.time.advance(0.25)
    assert len(manager.rest()) == 1
    pipeline.time.advance(6)
    assert len(manager.rest()) == 3
    pipeline.state = "failed"
    pipeline.time.advance(12)
    assert not any("WATCHDOG=1" in message for message in manager.rest())


def test_a_pipeline_that_nobody_can_look_at_is_silent(manager: NotifySocket) -> None:
    pipeline, looks, stuck, freed = (
        DrivenPipeline(),
        iter(range(3)),
        threading.Event(),
        threading.Event(),
    )

    def read() -> Status:
        if next(looks, None) is None:
            stuck.set()
            freed.wait()
        return pipeline.read()

    teller = ServiceManager.of(manager.environment(watchdog=0.001))
    assert teller is not None
    observer = Observer("blizzard", read, clock=SystemClock())
    observer.listen(teller.tell)
    observer.start()
    stuck.wait()
    assert len(manager.rest()) == 2
    closing = threading.Thread(target=observer.close)
    closing.start()
    freed.set()
    closing.join()


@pytest.mark.parametrize(
    ("environment", "asked", "fed"),
    [
        ({}, False, False),
        ({"NOTIFY_SOCKET": ""}, False, False),
        ({"NOTIFY_SOCKET": "vsock:2:1234"}, False, False),
        ({"NOTIFY_SOCKET": "@here"}, True, False),
        ({"NOTIFY_SOCKET": "@here", "WATCHDOG_USEC": "many"}, True, False),
        ({"NOTIFY_SOCKET": "@here", "WATCHDOG_USEC": "0"}, True, False),
        ({"NOTIFY_SOCKET": "@here", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1"}, True, False),
        (
            {"NOTIFY_SOCKET": "@here", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": str(os.getpid())},
            True,
            True,
        ),
    ],
)
def test_only_the_manager_that_asks_is_told(
    environment: dict[str, str], asked: bool, fed: bool
) -> None:
    environment["HOME"] = "/nowhere"
    teller = ServiceManager.of(environment)
    assert environment == {"HOME": "/nowhere"}, "what the process starts must not notify, too"
    assert (teller is not None) == asked
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind("\0here")
        pipeline = DrivenPipeline()
        if teller is not None:
            teller.tell(pipeline.observer().sample())
            assert (b"WATCHDOG=1" in listening.recv(65_536)) == fed


def test_a_manager_that_is_gone_does_not_disturb_the_pipeline(tmp_path: Path) -> None:
    teller = ServiceManager.of({"NOTIFY_SOCKET": str(tmp_path / "nobody")})
    assert teller is not None
    teller.tell(DrivenPipeline().observer().sample())
