"""How fast messages get into streams of NATS and out, beside the client alone on the same server.

``python -m benchmarks.nats_streams`` starts a server for it.
"""

from __future__ import annotations

import asyncio
import json
import time
import tracemalloc
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, Final

import nats
from nats.js import JetStreamContext, api

from penstock.connectors import read_jetstream, write_jetstream
from penstock.delivery import Epoch
from penstock.testing import ManualSubscriber
from tests.servers.nats import NatsServer, running_nats

__all__ = ["report"]

Pair = tuple[Callable[[], object], Callable[[], object]]

MESSAGES: Final = 20_000
ROUNDS: Final = 5
FETCH: Final = 1_000
BARS: Final = {
    "read messages, one by one, bytes": 0.7,
    "read messages, one by one, JSON": 0.7,
    "write messages, in batches": 0.9,
}


def report() -> None:
    """Print messages per second of this program's CPU time, the best of interleaved rounds."""
    with running_nats() as server, asyncio.Runner() as runner:
        client = runner.run(nats.connect(server.url))
        jetstream = client.jetstream()
        pairs = {**reading(server, jetstream, runner), **writing(server, jetstream, runner)}
        print_stalled(server)
        best = {name: [0.0, 0.0] for name in pairs}
        for _ in range(ROUNDS):
            for name, pair in pairs.items():
                for index, case in enumerate(pair):
                    best[name][index] = max(best[name][index], MESSAGES / timed(case))
        runner.run(client.close())
    print(f"{'messages of two fields and NATS':42} {'bare':>9} {'ours':>9} {'ratio':>7}")
    for name, (bare, ours) in best.items():
        met = "met" if ours / bare >= BARS[name] else "MISSED"
        print(f"{name:42} {bare:9,.0f} {ours:9,.0f} {ours / bare:7.2f}  bar {BARS[name]:g}: {met}")


def timed(case: Callable[[], object]) -> float:
    """The seconds of CPU time that it takes."""
    began = time.process_time()
    case()
    return time.process_time() - began


def print_stalled(server: NatsServer) -> None:
    """What a subscriber that has had enough for now makes this program hold."""
    tracemalloc.start()
    flow = read_jetstream(server.url, "ready")
    flow.subscribe(subscriber := ManualSubscriber[Any](request=10))
    subscriber.await_elements(10)
    held = tracemalloc.get_traced_memory()[1] / 1e3
    tracemalloc.stop()
    subscriber.cancel()
    print(f"10 of {MESSAGES:,} messages requested: {held:,.0f} kB held at most\n")


def rows() -> list[dict[str, Any]]:
    """What is written and read."""
    return [{"flight": n, "origin": f"airport {n % 100}"} for n in range(MESSAGES)]


async def publish(
    jetstream: JetStreamContext, subject: str, payloads: list[bytes], name: str
) -> None:
    """As the client does it, with ids, as many on their way at a time as in a batch of ours."""
    for start in range(0, len(payloads), FETCH):
        for number, payload in enumerate(payloads[start : start + FETCH], start):
            headers = {"Nats-Msg-Id": f"{name}:{number}"}
            await jetstream.publish_async(subject, payload, headers=headers)
        await jetstream.publish_async_completed()


def reading(
    server: NatsServer, jetstream: JetStreamContext, runner: asyncio.Runner
) -> dict[str, Pair]:
    """The same messages by the client alone and by ours."""
    runner.run(jetstream.add_stream(name="ready", subjects=["ready"]))
    runner.run(publish(jetstream, "ready", [json.dumps(row).encode() for row in rows()], "ready"))

    async def read(decode: Callable[[bytes], object]) -> int:
        config = api.ConsumerConfig(ack_policy=api.AckPolicy.NONE, mem_storage=True)
        reader = await jetstream.pull_subscribe("ready", stream="ready", config=config)
        seen = 0
        while seen < MESSAGES:
            for message in await reader.fetch(FETCH):
                decode(message.data)
                seen += 1
        await reader.unsubscribe()
        return seen

    def bare(decode: Callable[[bytes], object]) -> Callable[[], object]:
        return lambda: runner.run(read(decode))

    flow = read_jetstream(server.url, "ready", until_end=True, fetch=FETCH)
    plain = read_jetstream(server.url, "ready", until_end=True, fetch=FETCH, decode=None)
    return {
        "read messages, one by one, bytes": (bare(len), lambda: plain.count().run_sync()),
        "read messages, one by one, JSON": (bare(json.loads), lambda: flow.count().run_sync()),
    }


def writing(
    server: NatsServer, jetstream: JetStreamContext, runner: asyncio.Runner
) -> dict[str, Pair]:
    """The same, the other way, with two marks for each batch."""
    for name in ("bare", "ours"):
        runner.run(jetstream.add_stream(name=name, subjects=[name]))
    runner.run(jetstream.create_key_value(bucket="bare"))
    sink = write_jetstream(server.url, "ours", "ours").sink
    sink.open(Epoch.begun())
    numbers = count()
    given = rows()

    async def bare() -> None:
        marks = await jetstream.key_value("bare")
        for start in range(0, MESSAGES, FETCH):
            name = f"batch {next(numbers)}"
            await marks.put("mark", f"{name} is begun".encode())
            payloads = [json.dumps(row).encode() for row in given[start : start + FETCH]]
            await publish(jetstream, "bare", payloads, name)
            await marks.put("mark", f"{name} is there".encode())

    def ours() -> None:
        for start in range(0, MESSAGES, FETCH):
            batch = next(numbers)
            sink.begin(batch)
            for row in given[start : start + FETCH]:
                sink(row)
            sink.commit(batch)

    def run(coroutine: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], object]:
        return lambda: runner.run(coroutine())

    return {"write messages, in batches": (run(bare), ours)}


if __name__ == "__main__":
    report()
