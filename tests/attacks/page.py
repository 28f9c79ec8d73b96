"""Attacks on the page of a pipeline, by somebody on the same machine."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from http.client import HTTPConnection, HTTPException
from typing import Final

from tests.attacks.attack import Attack
from tests.attacks.target import Target

__all__ = ["attacks"]

LOOPBACK: Final = "127.0.0.1"
ROUTES: Final = (
    "/",
    "/events",
    "/history",
    "/metrics",
    "/address",
    "/static/page.js",
    "/static/../gate.py",
)
IDLE: Final = 1_100
REFUSED: Final = 403


def attacks(target: Target) -> Iterator[Attack]:
    """All of them; the pipeline goes on after each."""
    for attack in (*strangers(target), *keys(target), *crowds(target)):
        goes_on = target.goes_on()
        yield (
            attack if goes_on else Attack(attack.attack, attack.tried, "THE PIPELINE ENDED", False)
        )


def strangers(target: Target) -> Iterator[Attack]:
    yield refused("without a key", "every route", [status(target, route) for route in ROUTES])
    yield refused(
        "with a wrong token",
        "Bearer, address and cookie",
        [
            status(target, "/metrics", {"Authorization": "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaa"}),
            status(target, "/?token=aaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            status(target, "/history", {"Cookie": f"penstock_{target.port}=aaaaaaaaaaaaaaaaaaa"}),
            status(target, "/history", {"Cookie": f"penstock_{target.port}={target.token}"}),
        ],
    )
    known = {"Authorization": f"Bearer {target.token}"}
    yield refused(
        "a foreign name that leads here",
        "Host: evil.example, with the token",
        [status(target, route, {**known, "Host": "evil.example"}) for route in ROUTES],
    )
    yield refused(
        "the page of somebody else",
        "Origin: http://evil.example, with the token",
        [status(target, route, {**known, "Origin": "http://evil.example"}) for route in ROUTES],
    )


def keys(target: Target) -> Iterator[Attack]:
    address = text(target, "/address", {"Authorization": f"Bearer {target.token}"}).strip()
    path = address[address.index("/?") :]
    first, again = status(target, path), status(target, path)
    yield Attack(
        "an address read from the arguments of a browser",
        "opened a second time",
        f"status {first}, then {again}",
        (first, again) == (200, REFUSED),
    )
    cookie = header(target, f"/?token={target.token}", "Set-Cookie")
    folder = cookie.partition("Path=")[2].partition(";")[0]
    held = all(word in cookie for word in ("HttpOnly", "SameSite=Strict")) and len(folder) > 40
    yield Attack(
        "a server on another port of this machine",
        "what a browser would show it",
        f"a cookie for {folder[:9]}... alone, which is no token",
        held and target.token not in cookie,
    )


def crowds(target: Target) -> Iterator[Attack]:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for attack, says in (("idle connections", b""), ("endless headers", b"GET / HTTP/1.1\r\nA: ")):
        with ExitStack() as held:
            for _ in range(IDLE):
                connection = held.enter_context(
                    socket.create_connection((LOOPBACK, target.port), 60)
                )
                with suppress(OSError):
                    connection.sendall(says)
            goes_on = target.goes_on()
            seen = status(target, "/history", {"Authorization": f"Bearer {target.token}"})
        yield Attack(
            attack,
            f"{IDLE:,} at a time",
            f"the pipeline {'goes on' if goes_on else 'ENDED'}, the page answers {seen}",
            goes_on and seen == 200,
        )
    answer = status(target, "/", {"A": "a" * 100_000})
    yield Attack("large headers", "100 kB", f"status {answer}", answer in (0, 400, REFUSED, 431))


def refused(attack: str, tried: str, found: list[int]) -> Attack:
    return Attack(attack, tried, f"status {sorted(set(found))}", set(found) == {REFUSED})


def status(target: Target, route: str, headers: Mapping[str, str] | None = None) -> int:
    """The status of an answer; 0 if there is none."""
    return asked(target, route, headers)[0]


def text(target: Target, route: str, headers: Mapping[str, str]) -> str:
    return asked(target, route, headers)[2]


def header(target: Target, route: str, name: str) -> str:
    return asked(target, route, None)[1].get(name.lower(), "")


def asked(
    target: Target, route: str, headers: Mapping[str, str] | None
) -> tuple[int, Mapping[str, str], str]:
    """Only of short answers all is read: events never end."""
    connection = HTTPConnection(LOOPBACK, target.port, timeout=60)
    try:
        connection.request("GET", route, headers=dict(headers or {}))
        answer = connection.getresponse()
        short = answer.getheader("Content-Length") is not None
        found = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, found, answer.read().decode() if short else ""
    except (OSError, HTTPException):
        return 0, {}, ""
    finally:
        connection.close()
