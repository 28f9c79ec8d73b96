"""Hosts with addresses of their own on this machine: network namespaces, which can be cut off."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from tests.spark.cluster import Host

__all__ = ["SWITCH", "can_make_hosts", "cut_off", "hosts"]

SWITCH: Final = "penstock-test"
NETWORK: Final = "10.213.7"
ROOM: Final = f"{SWITCH}-room"
"""The namespace that the switch is in, by a name that processes on all hosts know."""


def can_make_hosts() -> bool:
    """Whether this user may make namespaces, and has the programs for that."""
    return os.geteuid() == 0 and shutil.which("ip") is not None


@contextmanager
def hosts(*names: str) -> Iterator[list[Host]]:
    """Hosts that reach each other and nobody else, until the end of the block."""
    with ExitStack() as leaving:
        run("netns", "attach", ROOM, str(os.getpid()))
        leaving.callback(run, "netns", "del", ROOM)
        in_room("link", "add", SWITCH, "type", "bridge")
        leaving.callback(in_room, "link", "del", SWITCH)
        in_room("link", "set", SWITCH, "up")
        yield [
            leaving.enter_context(connected(name, f"{NETWORK}.{number}"))
            for number, name in enumerate(names, 1)
        ]


@contextmanager
def connected(name: str, address: str) -> Iterator[Host]:
    namespace = f"{SWITCH}-{name}"
    run("netns", "add", namespace)
    try:
        ends = ("type", "veth", "peer", "name", "eth0", "netns", namespace)
        in_room("link", "add", cable(name), *ends)
        in_room("link", "set", cable(name), "master", SWITCH, "up")
        run("-n", namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("-n", namespace, "link", "set", device, "up")
        yield Host(address, ("ip", "netns", "exec", namespace))
    finally:
        run("netns", "del", namespace)


@contextmanager
def cut_off(name: str) -> Iterator[None]:
    """Within the block nothing comes to that host, and nothing from it; nobody is told."""
    in_room("link", "set", cable(name), "down")
    try:
        yield
    finally:
        in_room("link", "set", cable(name), "up")


def cable(name: str) -> str:
    """The end of a host's cable that is at the switch; a name has 15 letters at most."""
    return f"ps-{name}"


def in_room(*arguments: str) -> None:
    run("-n", ROOM, *arguments)


def run(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
