"""The end of a service manager to which a service tells what becomes of it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final, Self

__all__ = ["NotifySocket"]

LARGEST: Final = 65_536


class NotifySocket:
    """Receives what a service says, as the manager does: by datagrams, in their order."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "notify"
        self.heard: list[list[str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self.path))

    def environment(self, watchdog: float | None = None) -> dict[str, str]:
        """What the manager would set for the service."""
        period = {} if watchdog is None else {"WATCHDOG_USEC": f"{watchdog * 1e6:.0f}"}
        return {"NOTIFY_SOCKET": str(self.path), **period}

    def wait_for(self, line: str, times: int = 1) -> list[str]:
        """The message that says so; the timeout of the test bounds how long that may take."""
        while True:
            message = self._socket.recv(LARGEST).decode().split("\n")
            self.heard.append(message)
            times -= any(each.startswith(line) for each in message)
            if not times:
                return message

    def rest(self) -> list[list[str]]:
        """What was said and not waited for."""
        self._socket.setblocking(False)
        messages = []
        try:
            while True:
                messages.append(self._socket.recv(LARGEST).decode().split("\n"))
        except BlockingIOError:
            self.heard += messages
            return messages
        finally:
            self._socket.setblocking(True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
