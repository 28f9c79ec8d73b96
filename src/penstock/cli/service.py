"""What ``penstock run`` tells the service manager that has started it, by the protocol of systemd.

It is ready when ``/readyz`` says so, and its watchdog is fed for as long as ``/healthz`` would say
that it is well: a pipeline whose threads are stuck is started again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import MutableMapping
from typing import Final

from penstock.cli.log_progress import short_line
from penstock.cli.progress import summary
from penstock.observe import Status
from penstock.observe.dashboard.probes import LOOKS_WITHIN, health, readiness
from penstock.runtime import printable

__all__ = ["ServiceManager"]

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG: Final = "WATCHDOG_USEC"
WATCHED: Final = "WATCHDOG_PID"
OFTEN: Final = 10.0
"""The seconds between two messages while nothing changes, unless the watchdog wants them sooner."""
ENDED: Final = ("completed", "stopped", "failed")


class ServiceManager:
    """Tells a service manager what becomes of a pipeline; listens to its observer.

    It is told on the thread of the observer, so that a pipeline at which nobody can look any more
    is silent, and the watchdog ends it.
    """

    def __init__(self, address: str, watchdog: float | None) -> None:
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._watchdog = watchdog
        self._every = min(OFTEN, OFTEN if watchdog is None else watchdog / 3)
        self._state = ""
        self._ready = False
        self._told = 0.0

    @classmethod
    def of(cls, environment: MutableMapping[str, str]) -> ServiceManager | None:
        """The one that has started this process, if it wants to be told.

        What says so is taken out of the environment: it is not meant for what this process starts.
        """
        given = {name: environment.pop(name, "") for name in (SOCKET, WATCHDOG, WATCHED)}
        if not given[SOCKET].startswith(("/", "@")):
            return None
        mine = given[WATCHED] in ("", str(os.getpid()))
        period = given[WATCHDOG]
        fed = mine and period.isdecimal() and int(period) > 0
        return cls(given[SOCKET], int(period) / 1e6 if fed else None)

    def tell(self, status: Status) -> None:
        """What is to be known now, if anything is."""
        if status.state == self._state and status.seconds - self._told < self._every:
            return
        self._send([*self._changes(status), *self._signs_of_life(status), described(status)])
        self._state, self._told = status.state, status.seconds

    def _changes(self, status: Status) -> list[str]:
        """Where it is between its start and its end."""
        ready, _ = readiness(status)
        if ready:
            self._ready = True
            return ["READY=1"]
        if status.state == "starting":
            return []
        # One that had nothing to do was ready, too: else its end would count as a failure.
        missed = status.state == "completed" and not self._ready
        return [*(["READY=1"] if missed else []), "STOPPING=1"]

    def _signs_of_life(self, status: Status) -> list[str]:
        """Time for a start or a drain that goes on, and what the watchdog wants."""
        healthy, _ = health(status)
        if not healthy:
            return []
        takes_time = status.state in ("starting", "draining")
        more = [f"EXTEND_TIMEOUT_USEC={LOOKS_WITHIN * 1e6:.0f}"] if takes_time else []
        return [*more, *(["WATCHDOG=1"] if self._watchdog is not None else [])]

    def _send(self, lines: list[str]) -> None:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)  # a manager that is busy must not hold up the observer
                sender.sendto("\n".join(lines).encode(), self._address)
        except OSError:
            pass  # it misses the next ones as well, and then has a watchdog for that


def described(status: Status) -> str:
    """What ``systemctl status`` shows."""
    words = summary(status) if status.state in ENDED else short_line(status)
    return f"STATUS={printable(words)}"
