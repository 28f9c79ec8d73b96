"""What is told of ports that listen is what is there."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack

from tests.attacks.listening import listeners, listeners_in_the_eyes_of_ss

HOSTS = {"127.0.0.1": True, "127.8.8.8": True, "0.0.0.0": False, "::1": True, "::": False}


def test_a_listener_is_seen_with_the_address_that_reaches_it() -> None:
    before = listeners([os.getpid()])
    with ExitStack() as opened:
        ports = {opened_at(host, opened): private for host, private in HOSTS.items()}
        found = listeners([os.getpid()]) - before
        told = listeners_in_the_eyes_of_ss([os.getpid()])
    assert {each.port: each.is_private for each in found} == ports
    if told is not None:
        assert found <= told
    assert found.isdisjoint(listeners([os.getpid()]))


def opened_at(host: str, opened: ExitStack) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = opened.enter_context(socket.create_server((host, 0), family=family))
    port: int = listening.getsockname()[1]
    return port
