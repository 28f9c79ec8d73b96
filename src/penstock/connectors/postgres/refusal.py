"""Why a server refuses a connection, by PostgreSQL's code: its words are in any language.

The client library keeps the code of such a refusal to itself. It is in the library's own record of
the messages, which is taken of one more attempt.
"""

from __future__ import annotations

import os
import re
import select
from time import monotonic
from typing import Final

import psycopg
from psycopg import pq

__all__ = ["LET_IN", "code_of_refusal"]

LET_IN: Final = "00000"
"""PostgreSQL's code for success."""
CODE: Final = re.compile(
    rb'^B\t[0-9]+\tErrorResponse\t S "[^"]*" (?:V "[^"]*" )?C "([0-9A-Z]{5})"', re.MULTILINE
)
"""What the server answers: how severe that is, in words and as a code, and why."""


def code_of_refusal(conninfo: str, timeout: float) -> str | None:
    """The code of what a server answers now; ``None`` if nobody can tell.

    The record has what is sent for the password, too. So it stays in memory, and is not shown.
    """
    try:
        record = os.memfd_create("penstock")
    except (AttributeError, OSError):  # Linux alone has it, and lets the library take a record
        return None
    try:
        connection = pq.PGconn.connect_start(conninfo.encode())
        try:
            connection.trace(record)
            connection.set_trace_flags(pq.Trace.SUPPRESS_TIMESTAMPS)
            is_let_in = await_end(connection, monotonic() + timeout)
            connection.untrace()  # which writes the rest of the record
        finally:
            connection.finish()
        found = CODE.findall(os.pread(record, os.fstat(record).st_size, 0))
    except (psycopg.Error, NotImplementedError, OSError, ValueError):
        return None
    finally:
        os.close(record)
    return LET_IN if is_let_in else found[-1].decode() if found else None


def await_end(connection: pq.abc.PGconn, until: float) -> bool:
    """Return whether it is let in; ``TimeoutError`` if nobody says so in time."""
    while True:
        status = connection.connect_poll()
        if status in (pq.PollingStatus.OK, pq.PollingStatus.FAILED):
            return status == pq.PollingStatus.OK
        poller = select.poll()
        is_reading = status == pq.PollingStatus.READING
        poller.register(connection.socket, select.POLLIN if is_reading else select.POLLOUT)
        if not poller.poll(max(until - monotonic(), 0) * 1_000):
            raise TimeoutError
