"""How fast messages get into streams of NATS and out, beside the client alone on the same server.

``python -m benchmarks.nats_streams`` starts a server for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, Final

import nats
from nats.aio.msg import Msg
from nats.js import JetStreamContext, api

from benchmarks.beside import Beside, from_a_flow, held_by, print_beside
from penstock.connectors import read_jetstream, write_jetstream
from penstock.delivery import Epoch
from tests.servers.nats import NatsServer, running_nats

__all__ = ["report"]

MESSAGES: Final = 20_000
ROUNDS: Final = 5
FETCH: Final = 1_000


def report() -> None:
    """Print messages per second of this program's CPU time, the best of interleaved rounds."""
    with running_nats() as server, asyncio.Runner() as runner:
        client = runner.run(nats.connect(server.url))
        jetstream = client.jetstream()
        cases = {**reading(server, jetstream, runner), **writing(server, jetstream, runner)}
        print_stalled(server)
        print_beside("messages of two fields and NATS", cases, ROUNDS)
        runner.run(client.close())


def print_stalled(server: NatsServer) -> None:
    """What a subscriber that has had enough for now makes the server send and this program hold."""

    async def delivered() -> int:
        """As a client of the server's maker sees it."""
        async with await nats.connect(server.url) as other:
            consumers = await other.jetstream().consumers_info("ready")
            return sum(each.delivered.consumer_seq for each in consumers if each.delivered)

    flow = read_jetstream(server.url, "ready")
    held, sent = held_by(flow, lambda: asyncio.run(delivered()))
    print(
        f"10 of {MESSAGES:,} messages requested: {sent} delivered by the server, "
        f"{held / 1e3:,.0f} kB held at most\n"
    )


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
) -> dict[str, Beside]:
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

    async def listen(decode: Callable[[bytes], object]) -> None:
        """The server sends as fast as it can, and nothing bounds what is held."""
        seen, over = count(1), asyncio.Event()

        async def take(message: Msg) -> None:
            decode(message.data)
            if next(seen) == MESSAGES:
                over.set()

        reader = await jetstream.subscribe(
            "ready", cb=take, ordered_consumer=True, pending_msgs_limit=-1, pending_bytes_limit=-1
        )
        await over.wait()
        await reader.unsubscribe()

    def bare(
        way: Callable[[Any], Coroutine[Any, Any, object]], decode: Callable[[bytes], object]
    ) -> Callable[[], object]:
        return lambda: runner.run(way(decode))

    flow = read_jetstream(server.url, "ready", until_end=True, fetch=FETCH)
    plain = read_jetstream(server.url, "ready", until_end=True, fetch=FETCH, decode=None)
    ours, ours_plain = flow.count().run_sync, plain.count().run_sync
    return {
        "read, bytes, beside fetch": Beside(MESSAGES, bare(read, len), ours_plain, 0.7),
        "read, JSON, beside fetch": Beside(MESSAGES, bare(read, json.loads), ours, 0.7),
        "read, bytes, beside a pushed callback": Beside(MESSAGES, bare(listen, len), ours_plain),
        "read, JSON, beside a pushed callback": Beside(MESSAGES, bare(listen, json.loads), ours),
    }


def writing(
    server: NatsServer, jetstream: JetStreamContext, runner: asyncio.Runner
) -> dict[str, Beside]:
    """The same, the other way, with two marks for each batch."""
    for name in ("bare", "ours", "theirs"):
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

    def flow() -> None:
        from_a_flow(given, write_jetstream(server.url, "theirs", "theirs"))

    return {
        "write, in batches": Beside(MESSAGES, run(bare), ours, 0.9),
        "write messages of a flow": Beside(MESSAGES, run(bare), flow, 0.7),
    }


if __name__ == "__main__":
    report()
