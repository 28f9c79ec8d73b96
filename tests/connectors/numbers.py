"""Numbers to serve, in this process and in others."""

from __future__ import annotations

import sys
from itertools import count

from penstock import Flow
from penstock.connectors import Request, serve_server_sent_events, serve_websocket


def numbers_after(request: Request) -> Flow[int]:
    """All numbers after the position that was asked for, or those up to ``?up_to=``."""
    first = 0 if request.after is None else request.after + 1
    if "up_to" in request.query:
        return Flow.range(first, int(request.query["up_to"]))
    return Flow.from_iterable(count(first))


def serve(kind: str, port: int) -> None:
    """Serve numbers until this process is killed."""
    if kind == "websocket":
        server = serve_websocket(numbers_after, port=port)
    else:
        server = serve_server_sent_events(
            numbers_after, port=port, position_of=lambda number: number
        )
    with server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
