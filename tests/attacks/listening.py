"""Where processes listen, as the system tells: the same that ``ss -ltn`` shows."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Final, NamedTuple

from tests.faults.processes import descendants

__all__ = ["Listener", "listeners", "listeners_in_the_eyes_of_ss", "listeners_of_tree"]

TABLES: Final = ("tcp", "tcp6")
LISTENS: Final = "0A"
OWNER: Final = re.compile(r"pid=(\d+)")


class Listener(NamedTuple):
    """A port, and the address that has to be asked for it."""

    address: IPv4Address | IPv6Address
    port: int

    @property
    def is_private(self) -> bool:
        """Whether only this machine can reach it."""
        mapped = getattr(self.address, "ipv4_mapped", None)
        return (mapped or self.address).is_loopback


def listeners_of_tree(process: int) -> set[Listener]:
    """Where a process listens, with all that it has started."""
    return listeners([process, *descendants(process)])


def listeners(processes: Iterable[int]) -> set[Listener]:
    """Where these processes listen."""
    held = {inode for process in processes for inode in sockets_of(process)}
    return {listener for inode, listener in all_listeners() if inode in held}


def listeners_in_the_eyes_of_ss(processes: Iterable[int]) -> set[Listener] | None:
    """The same as another program tells it; ``None`` where it is not installed."""
    program = shutil.which("ss")
    if program is None:
        return None
    told = subprocess.run([program, "-Hltnp"], check=True, capture_output=True, text=True).stdout
    wanted = set(processes)
    found: set[Listener] = set()
    for line in told.splitlines():
        if wanted.isdisjoint(int(owner) for owner in OWNER.findall(line)):
            continue
        host, _, port = line.split()[3].rpartition(":")
        host = host.strip("[]").partition("%")[0]
        found.add(Listener(ip_address("::" if host == "*" else host), int(port)))
    return found


def sockets_of(process: int) -> Iterator[str]:
    """The sockets that a process has open."""
    try:
        opened = list(Path(f"/proc/{process}/fd").iterdir())
    except OSError:  # it has ended
        return
    for each in opened:
        try:
            target = str(each.readlink())
        except OSError:  # it is closed by now
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def all_listeners() -> Iterator[tuple[str, Listener]]:
    """Each socket of the machine that listens."""
    for table in TABLES:
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS:
                host, _, port = fields[1].partition(":")
                yield fields[9], Listener(address_in(host), int(port, 16))


def address_in(text: str) -> IPv4Address | IPv6Address:
    """The address, of which the system shows each word in its own order of bytes."""
    words = (int(text[at : at + 8], 16) for at in range(0, len(text), 8))
    return ip_address(b"".join(struct.pack("=I", word) for word in words))
