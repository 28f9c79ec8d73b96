"""Threads, timers, pools, thread-local data and clocks under the explorer."""

from __future__ import annotations

import _thread
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, as_completed, wait

import pytest

from penstock.tck import Environment
from tests.tck.explorer.judging import breaks, holds

pause = time.sleep
"""Virtual time passes without waiting: these tests never sleep."""


def test_joining_with_a_timeout_leaves_a_slow_thread_alive() -> None:
    def scenario(env: Environment) -> None:
        thread = threading.Thread(target=time.sleep, args=(10,))
        assert not thread.is_alive()
        thread.start()
        thread.join(timeout=4)
        assert thread.is_alive()
        assert env.now == 4
        thread.join()
        assert not thread.is_alive()
        assert env.now == 10

    holds(scenario)


def test_a_thread_knows_itself_by_object_name_and_identity() -> None:
    seen: list[tuple[str, int | None]] = []

    def scenario(env: Environment) -> None:
        def read() -> None:
            me = threading.current_thread()
            assert me is thread
            assert me.ident == threading.get_ident()
            seen.append((me.name, me.ident))

        thread = threading.Thread(target=read, name="reader")
        thread.start()
        thread.join()
        assert threading.get_ident() != thread.ident

    holds(scenario)
    assert len(set(seen)) == 1


def test_unnamed_threads_get_the_same_names_in_every_run() -> None:
    names: set[tuple[str, ...]] = set()

    def scenario(env: Environment) -> None:
        names.add(tuple(threading.Thread().name for _ in range(2)))

    holds(scenario)
    assert len(names) == 1


def test_a_thread_inherits_being_a_daemon() -> None:
    def scenario(env: Environment) -> None:
        inherited: list[bool] = []
        outer = threading.Thread(
            target=lambda: inherited.append(threading.Thread().daemon), daemon=True
        )
        outer.start()
        outer.join()
        assert inherited == [True]
        assert not threading.Thread().daemon

    holds(scenario)


def test_a_subclass_of_thread_runs_its_own_method() -> None:
    class Worker(threading.Thread):
        def __init__(self) -> None:
            super().__init__()
            self.result = 0

        def run(self) -> None:
            self.result = 42

    def scenario(env: Environment) -> None:
        worker = Worker()
        worker.start()
        worker.join()
        assert worker.result == 42

    holds(scenario)


def test_a_thread_can_neither_start_twice_nor_join_itself() -> None:
    def scenario(env: Environment) -> None:
        thread = threading.Thread(target=lambda: threading.current_thread().join())
        with pytest.raises(RuntimeError, match="cannot join current thread"):
            threading.current_thread().join()
        thread = threading.Thread()
        thread.start()
        thread.join()
        with pytest.raises(RuntimeError, match="only be started once"):
            thread.start()

    holds(scenario)


def test_an_error_in_any_thread_is_a_violation() -> None:
    def fail() -> None:
        raise LookupError("gone")

    def scenario(env: Environment) -> None:
        threading.Thread(target=fail, name="reader").start()

    violation = breaks(scenario)
    assert "T1 (reader) raised LookupError: gone" in violation.message
    assert "test_threads.py:" in violation.message


def test_an_error_whose_text_cannot_be_made_is_still_a_violation() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise LookupError

    def scenario(env: Environment) -> None:
        raise Unspeakable

    assert "scenario raised Unspeakable: (its text raises LookupError)" in breaks(scenario).message


def test_a_thread_may_end_itself_by_system_exit() -> None:
    def leave() -> None:
        raise SystemExit(1)

    def scenario(env: Environment) -> None:
        env.par(leave)

    holds(scenario)


def test_raw_threads_are_explored_as_well() -> None:
    def scenario(env: Environment) -> None:
        done: list[int] = []
        _thread.start_new_thread(done.append, (1,))
        env.settle()
        assert done == [1]

    holds(scenario)


def test_thread_local_data_is_fresh_in_each_thread_and_each_run() -> None:
    local = threading.local()

    def scenario(env: Environment) -> None:
        def use() -> None:
            assert not hasattr(local, "value")
            local.value = 1
            assert local.value == 1

        use()
        env.par(use, use)

    holds(scenario)


def test_a_timer_fires_when_nothing_else_can_run() -> None:
    def scenario(env: Environment) -> None:
        fired: list[float] = []
        for delay in (1_000_000, 3600, 0.5):
            threading.Timer(delay, lambda: fired.append(env.now)).start()
        env.settle()
        assert fired == []
        env.advance(1_000_000)
        assert fired == [0.5, 3600, 1_000_000]

    holds(scenario, level="sync", bound=0)


def test_a_timer_that_is_cancelled_does_not_fire() -> None:
    def scenario(env: Environment) -> None:
        fired: list[int] = []
        timer = threading.Timer(5, fired.append, [1])
        timer.start()
        env.advance(4)
        timer.cancel()
        env.advance(10)
        assert fired == []
        assert not timer.is_alive()

    holds(scenario)


def test_all_clocks_follow_virtual_time() -> None:
    def scenario(env: Environment) -> None:
        clocks = [time.monotonic, time.perf_counter, time.time]
        fine_clocks = [time.monotonic_ns, time.perf_counter_ns, time.time_ns]
        before = [clock() for clock in clocks]
        fine_before = [clock() for clock in fine_clocks]
        pause(256)
        assert [clock() for clock in clocks] == [moment + 256 for moment in before]
        assert [clock() for clock in fine_clocks] == [
            moment + 256 * 10**9 for moment in fine_before
        ]

    holds(scenario)


def test_sleeping_for_nothing_lets_others_go_on() -> None:
    def scenario(env: Environment) -> None:
        done: list[int] = []

        def poll() -> None:
            while not done:
                time.sleep(0)

        env.par(poll, lambda: done.append(1))

    holds(scenario, level="sync")


def test_sleeping_for_less_than_nothing_is_an_error() -> None:
    def scenario(env: Environment) -> None:
        with pytest.raises(ValueError, match="non-negative"):
            pause(-1)

    holds(scenario)


def test_a_pool_maps_in_order_and_reports_errors_by_its_futures() -> None:
    def scenario(env: Environment) -> None:
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(str, [1, 2])) == ["1", "2"]
            with pytest.raises(ZeroDivisionError):
                pool.submit(divmod, 1, 0).result()

    holds(scenario, level="sync")


def test_awaiting_futures_takes_the_same_way_in_every_run() -> None:
    def scenario(env: Environment) -> None:
        with ThreadPoolExecutor(2) as pool:
            futures: list[Future[str]] = [pool.submit(str, element) for element in range(3)]
            done, _ = wait(futures, return_when=FIRST_COMPLETED)
            assert done
            assert {future.result() for future in as_completed(futures)} == {"0", "1", "2"}

    holds(scenario, level="sync")


def test_a_future_is_awaited_no_longer_than_its_timeout() -> None:
    def scenario(env: Environment) -> None:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(pause, 10)
            with pytest.raises(TimeoutError):
                future.result(timeout=4)
            assert env.now == 4
        assert env.now == 10

    holds(scenario, level="sync")


def test_a_pool_that_nobody_shuts_down_is_no_fault() -> None:
    def scenario(env: Environment) -> None:
        pool = ThreadPoolExecutor(1)
        assert pool.submit(int, "7").result() == 7

    holds(scenario, level="sync")
