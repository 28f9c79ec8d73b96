"""Attacks on what Spark opens, by somebody on the same machine or network."""

from __future__ import annotations

import random
import socket
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.attacks.attack import Attack
from tests.attacks.listening import Listener, listeners_of_tree
from tests.attacks.target import Target

__all__ = ["attacks"]

WORDS: Final = {
    "the environment": b"GET /environment/ HTTP/1.0\r\n\r\n",
    "the threads": b"GET /executors/threadDump/?executorId=driver HTTP/1.0\r\n\r\n",
    "the kill switch": (
        b"POST /jobs/job/kill/ HTTP/1.0\r\nContent-Length: 4\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\nid=0"
    ),
    "a call of py4j": b"c\np0\ncall\nro1\ni0\ne\n",
    "a proxy of py4j to be forgotten": b"g\np0\ne\n",
    "a command of py4j": b"i\njava.lang.System\nexit\ni1\ne\n",
}
REFUSALS: Final = (b"HTTP/1.1 400", b"HTTP/1.1 403", b"!x", b"!z")
"""Those of a web server, and of py4j."""
WORKER: Final = (b"", b"\x00\x00\x00\x03err")
"""What a worker of pyspark says after its number to somebody without the secret."""
PATIENCE: Final = 2.0
MOST: Final = 4096


def attacks(target: Target) -> Iterator[Attack]:
    """All of them; the pipeline goes on after each."""
    found = listeners_of_tree(target.process)
    open_to_all = sorted(str(each) for each in found if not each.is_private)
    yield Attack(
        "somebody on the network",
        f"which of {len(found)} ports can be reached",
        ", ".join(open_to_all) or "none: all are on loopback",
        bool(found) and not open_to_all,
    )
    for name, words in WORDS.items():
        answers = [answer for answer in answers_of(found, words) if answer]
        wrong = [answer for answer in answers if not is_refusal(answer)]
        yield went_on(
            target, name, words, f"{len(answers)} refusals, {len(wrong)} answers", not wrong
        )
    noise = random.Random(7).randbytes(10_000)
    answers_of(found, noise)
    yield went_on(target, "noise", noise[:8], f"at {len(found)} ports", True)


def went_on(target: Target, name: str, words: bytes, happened: str, held: bool) -> Attack:
    goes_on = target.goes_on()
    return Attack(
        name,
        f"{words.splitlines()[0][:34]!r} at each port",
        f"{happened}; the pipeline {'goes on' if goes_on else 'ENDED'}",
        held and goes_on,
    )


def is_refusal(answer: bytes) -> bool:
    return answer.startswith(REFUSALS) or (len(answer) >= 4 and answer[4:] in WORKER)


def answers_of(found: Collection[Listener], words: bytes) -> list[bytes]:
    """What each port says to that, all at once: most of them wait."""
    with ThreadPoolExecutor(max(len(found), 1)) as pool:
        return list(pool.map(lambda listener: answer_of(listener, words), found))


def answer_of(listener: Listener, words: bytes) -> bytes:
    """All that a port says to that; nothing if it hangs up, or waits."""
    mapped = getattr(listener.address, "ipv4_mapped", None)
    place = (str(mapped or listener.address), listener.port)
    said = b""
    try:
        with socket.create_connection(place, PATIENCE) as connection:
            connection.sendall(words)
            connection.shutdown(socket.SHUT_WR)
            while len(said) < MOST and (part := connection.recv(MOST)):
                said += part
    except OSError:
        pass
    return said
