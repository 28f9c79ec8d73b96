"""Events, semaphores, barriers and queues behave as the real ones, in virtual time."""

from __future__ import annotations

import queue
import threading

import pytest

from penstock.tck import Environment
from tests.tck.explorer.judging import holds


def test_setting_an_event_wakes_all_who_wait_for_it() -> None:
    def scenario(env: Environment) -> None:
        event = threading.Event()
        env.par(event.wait, event.wait, event.set)
        assert event.is_set()
        assert event.wait()
        event.clear()
        assert not event.is_set()

    holds(scenario)


def test_an_event_that_is_cleared_at_once_still_wakes_who_waited() -> None:
    def scenario(env: Environment) -> None:
        event = threading.Event()
        woken: list[bool] = []
        thread = threading.Thread(target=lambda: woken.append(event.wait()))
        thread.start()
        env.settle()
        event.set()
        event.clear()
        thread.join()
        assert woken == [True]

    holds(scenario)


def test_a_wait_for_an_event_ends_at_its_timeout() -> None:
    def scenario(env: Environment) -> None:
        event = threading.Event()
        assert not event.wait(timeout=3600)
        assert env.now == 3600
        assert not event.wait(timeout=0)
        assert env.now == 3600

    holds(scenario)


def test_a_semaphore_lets_in_as_many_as_it_counts() -> None:
    def scenario(env: Environment) -> None:
        semaphore = threading.Semaphore(2)
        inside: list[int] = []

        def enter() -> None:
            with semaphore:
                inside.append(1)
                assert len(inside) <= 2
                inside.pop()

        env.par(enter, enter, enter)
        assert semaphore.acquire(timeout=0)
        assert semaphore.acquire(timeout=1)
        assert not semaphore.acquire(timeout=1)
        assert not semaphore.acquire(blocking=False)
        assert env.now == 1

    holds(scenario, level="sync")


def test_one_release_of_a_semaphore_can_let_in_several() -> None:
    def scenario(env: Environment) -> None:
        semaphore = threading.Semaphore(0)
        env.par(semaphore.acquire, semaphore.acquire, lambda: semaphore.release(2))

    holds(scenario, level="sync")


def test_a_bounded_semaphore_does_not_rise_above_its_first_value() -> None:
    def scenario(env: Environment) -> None:
        semaphore = threading.BoundedSemaphore(1)
        with semaphore:
            pass
        with pytest.raises(ValueError, match="too many"):
            semaphore.release()
        assert semaphore.acquire(blocking=False)

    holds(scenario)


def test_a_barrier_opens_when_all_parties_came() -> None:
    def scenario(env: Environment) -> None:
        barrier = threading.Barrier(2)
        places = env.par(barrier.wait, barrier.wait)
        assert sorted(places) == [0, 1]

    holds(scenario)


def test_a_barrier_breaks_when_a_party_does_not_come_in_time() -> None:
    def scenario(env: Environment) -> None:
        barrier = threading.Barrier(2)
        with pytest.raises(threading.BrokenBarrierError):
            barrier.wait(timeout=10)
        assert barrier.broken
        assert env.now == 10

    holds(scenario)


def test_a_bounded_queue_blocks_its_producer_until_there_is_room() -> None:
    def scenario(env: Environment) -> None:
        bounded: queue.Queue[int] = queue.Queue(maxsize=1)
        taken: list[int] = []

        def produce() -> None:
            for element in range(3):
                bounded.put(element)

        def consume() -> None:
            for _ in range(3):
                taken.append(bounded.get())
                bounded.task_done()

        env.par(produce, consume)
        bounded.join()
        assert taken == [0, 1, 2]

    holds(scenario)


def test_a_queue_gives_up_at_its_timeout() -> None:
    def scenario(env: Environment) -> None:
        bounded: queue.Queue[int] = queue.Queue(maxsize=1)
        with pytest.raises(queue.Empty):
            bounded.get(timeout=2)
        bounded.put(1)
        with pytest.raises(queue.Full):
            bounded.put(2, timeout=3)
        assert env.now == 5

    holds(scenario)


def test_other_queues_keep_their_order() -> None:
    def scenario(env: Environment) -> None:
        stack: queue.LifoQueue[int] = queue.LifoQueue()
        heap: queue.PriorityQueue[int] = queue.PriorityQueue()
        for element in (2, 3, 1):
            stack.put(element)
            heap.put(element)
        assert [stack.get() for _ in range(3)] == [1, 3, 2]
        assert [heap.get() for _ in range(3)] == [1, 2, 3]

    holds(scenario)


def test_a_simple_queue_hands_each_element_to_one_taker() -> None:
    def scenario(env: Environment) -> None:
        simple: queue.SimpleQueue[int] = queue.SimpleQueue()

        def put_two() -> None:
            simple.put(1)
            simple.put(2)

        first, second, _ = env.par(simple.get, simple.get, put_two)
        assert {first, second} == {1, 2}
        assert simple.empty()
        assert simple.qsize() == 0

    holds(scenario)


def test_a_simple_queue_gives_up_at_its_timeout() -> None:
    def scenario(env: Environment) -> None:
        simple: queue.SimpleQueue[int] = queue.SimpleQueue()
        with pytest.raises(queue.Empty):
            simple.get_nowait()
        with pytest.raises(queue.Empty):
            simple.get(timeout=4)
        assert env.now == 4
        threading.Timer(1, simple.put_nowait, [7]).start()
        assert simple.get(timeout=4) == 7
        assert env.now == 5

    holds(scenario)
