"""How fast entries get into streams of Redis and out, beside the client alone on the same server.

``python -m benchmarks.redis_streams`` starts a server for it.
"""

from __future__ import annotations

from itertools import count
from typing import Any, Final

import redis

from benchmarks.beside import Beside, from_a_flow, held_by, print_beside
from penstock.connectors import read_redis_stream, write_redis_stream
from penstock.delivery import Epoch
from tests.servers.redis import RedisServer, running_redis

__all__ = ["report"]

ENTRIES: Final = 20_000
ROUNDS: Final = 5
FETCH: Final = 1_000


def report() -> None:
    """Print entries per second of this program's CPU time, the best of some interleaved rounds."""
    with running_redis() as server:
        cases = {**reading(server), **writing(server)}
        print_stalled(server)
        print_beside("entries of two fields and Redis", cases, ROUNDS)


def print_stalled(server: RedisServer) -> None:
    """What a subscriber that has had enough for now makes the server send and this program hold."""
    server.command("CONFIG", "SET", "slowlog-log-slower-than", 0, "slowlog-max-len", 1_000)

    def sent() -> int:
        commands = [entry[3] for entry in server.command("SLOWLOG", "GET", -1)]
        counts = [command[command.index("COUNT") + 1] for command in commands if "COUNT" in command]
        return sum(map(int, counts))

    held, asked = held_by(read_redis_stream(server.url, "ready"), sent)
    server.command("CONFIG", "SET", "slowlog-log-slower-than", -1)
    print(
        f"10 of {ENTRIES:,} entries requested: {asked} asked of the server, {held / 1e3:,.0f} kB "
        "held at most\n"
    )


def reading(server: RedisServer) -> dict[str, Beside]:
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
    ours = flow.count().run_sync
    return {"read entries, one by one": Beside(ENTRIES, read, ours, 0.7)}


def writing(server: RedisServer) -> dict[str, Beside]:
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

    def flow() -> None:
        from_a_flow(rows, write_redis_stream(server.url, "theirs"))

    return {
        "write entries, in batches": Beside(ENTRIES, bare, ours, 0.9),
        "write entries of a flow": Beside(ENTRIES, bare, flow, 0.7),
    }


if __name__ == "__main__":
    report()
