"""Asyncio loops of a subject, in runs that are over before their tasks are."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable

import pytest

import penstock.core
from penstock.tck import Environment, Verdict, explore

SUBJECT = [penstock.core]
"""Not this module, whose cleaning up would be unwound, too."""


def a_task_of_a_thread_that_gets_stuck(env: Environment) -> None:
    def live() -> None:
        loop = asyncio.new_event_loop()
        try:
            task = loop.create_task(asyncio.Event().wait())
            loop.call_soon(loop.stop)
            loop.run_forever()
            stuck = threading.Lock()
            stuck.acquire()
            stuck.acquire()
            task.cancel()
        finally:
            loop.close()

    threading.Thread(target=live, daemon=True).start()


def tasks_without_end(env: Environment) -> None:
    async def spin() -> None:
        while True:
            await turn()

    async def turn() -> None:
        await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(spin(), spin())

    threading.Thread(target=asyncio.run, args=[main()], daemon=True).start()


@pytest.mark.parametrize("scenario", [a_task_of_a_thread_that_gets_stuck, tasks_without_end])
def test_a_run_that_is_given_up_says_nothing_of_the_tasks_that_it_leaves(
    scenario: Callable[[Environment], None], caplog: pytest.LogCaptureFixture
) -> None:
    verdict = explore(scenario, subject=SUBJECT, budget=1).verdict
    assert verdict in (Verdict.VIOLATED, Verdict.UNCONTROLLED)
    gc.collect()
    assert caplog.messages == []


def test_a_loop_reports_as_usual_while_its_run_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    def scenario(env: Environment) -> None:
        loop = asyncio.new_event_loop()
        loop.call_exception_handler({"message": "something is wrong"})
        loop.close()

    assert explore(scenario, subject=SUBJECT, bound=0, seeds=()).verdict is not Verdict.VIOLATED
    assert set(caplog.messages) == {"something is wrong"}


def test_loops_are_left_as_they_were() -> None:
    before = asyncio.BaseEventLoop.__init__
    explore(lambda env: None, subject=SUBJECT, bound=0, seeds=())
    assert asyncio.BaseEventLoop.__init__ is before
    loop = asyncio.new_event_loop()
    assert loop.get_exception_handler() is None
    loop.close()
