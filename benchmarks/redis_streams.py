"""How fast entries get into streams of Redis and out, beside the client alone on the same server.

``python -m benchmarks.redis_streams`` starts a server for it.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from itertools import count
from typing import Any, Final

import redis

from penstock.connectors import read_redis_stream, write_redis_stream
from penstock.delivery import Epoch
from penstock.testing import ManualSubscriber
from tests.servers.redis import RedisServer, running_redis

__all__ = ["report"]

Pair = tuple[Callable[[], object], Callable[[], object]]

ENTRIES: Final = 20_000
ROUNDS: Final = 5
FETCH: Final = 1_000
BARS: Final = {"read entries, one by one": 0.7, "write entries, in batches": 0.9}


def report() -> None:
    """Print entries per second of this program's CPU time, the best of some interleaved rounds."""
    with running_redis() as server:
        pairs = {**reading(server), **writing(server)}
        print_stalled(server)
        best = {name: [0.0, 0.0] for name in pairs}
        for _ in range(ROUNDS):
            for name, pair in pairs.items():
                for index, case in enumerate(pair):
                    best[name][index] = max(best[name][index], ENTRIES / timed(case))
    print(f"{'entries of two fields and Redis':42} {'bare':>9} {'ours':>9} {'ratio':>7}")
    for name, (bare, ours) in best.items():
        met = "met" if ours / bare >= BARS[name] else "MISSED"
        print(f"{name:42} {bare:9,.0f} {ours:9,.0f} {ours / bare:7.2f}  bar {BARS[name]:g}: {met}")


def timed(case: Callable[[], object]) -> float:
    """The seconds of CPU time that it takes."""
    began = time.process_time()
    case()
    return time.process_time() - began


def print_stalled(server: RedisServer) -> None:
    """What a subscriber that has had enough for now makes this program hold."""
    tracemalloc.start()
    flow = read_redis_stream(server.url, "ready")
    flow.subscribe(subscriber := ManualSubscriber[Any](request=10))
    subscriber.await_elements(10)
    held = tracemalloc.get_traced_memory()[1] / 1e3
    tracemalloc.stop()
    subscriber.cancel()
    print(f"10 of {ENTRIES:,} entries requested: {held:,.0f} kB held at most\n")


def reading(server: RedisServer) -> dict[str, Pair]:
    """The same entries by the client alone and by ours."""
    client: Any = redis.Redis.from_url(server.url, decode_responses=True, protocol=2)
    with client.pipeline() as filling:
        for number in range(ENTRIES):
            filling.xadd("ready", {"flight": number, "origin": f"airport {number % 100}"})
        filling.execute()

    def read() -> int:
        last, seen = "0-0", 0
        while found := client.xread({"ready": last}, count=FETCH):
            for entry_id, _ in found[0][1]:
                seen += 1
                last = entry_id
        return seen

    flow = read_redis_stream(server.url, "ready", until_end=True, fetch=FETCH)
    return {"read entries, one by one": (read, lambda: flow.count().run_sync())}


def writing(server: RedisServer) -> dict[str, Pair]:
    """The same, the other way, in transactions of as many."""
    client: Any = redis.Redis.from_url(server.url, decode_responses=True, protocol=2)
    rows = [{"flight": number, "origin": f"airport {number % 100}"} for number in range(ENTRIES)]
    sink = write_redis_stream(server.url, "ours").sink
    sink.open(Epoch.begun())
    numbers = count()

    def bare() -> None:
        for start in range(0, ENTRIES, FETCH):
            with client.pipeline(transaction=True) as transaction:
                for row in rows[start : start + FETCH]:
                    transaction.xadd("bare", row)
                transaction.set("mark", start)
                transaction.execute()

    def ours() -> None:
        for start in range(0, ENTRIES, FETCH):
            batch = next(numbers)
            sink.begin(batch)
            for row in rows[start : start + FETCH]:
                sink(row)
            sink.commit(batch)

    return {"write entries, in batches": (bare, ours)}


if __name__ == "__main__":
    report()
