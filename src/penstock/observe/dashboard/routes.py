"""What is served: the page, its events, the status, its history, the metrics, the probes.

A window that reads slowly skips statuses: nothing queues up for it, since each one takes what is
there when it comes back. So a page that nobody looks at costs no memory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import fields
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from penstock.observe.chart_rings import PERIODS
from penstock.observe.dashboard.probes import PROBES, Answer
from penstock.observe.metrics.table import MetricsUnavailable
from penstock.observe.observer import Observer
from penstock.observe.status import Point, Status

__all__ = [
    "EventStream",
    "application",
]

HEARTBEAT: Final = 5.0
"""The seconds without news after which a window is told that there is none."""


class EventStream:
    """The statuses of an observer, which looks on some thread, for the windows on an event loop."""

    def __init__(self, observer: Observer, *, heartbeat: float = HEARTBEAT) -> None:
        self._observer = observer
        self._heartbeat = heartbeat
        self._loop = asyncio.get_running_loop()
        self._next = asyncio.Event()
        self._open = True
        self._leave = observer.listen(self._tell)

    async def statuses(self) -> AsyncIterator[Status | None]:
        """The status of now, and each that comes; ``None`` after a while without any."""
        while self._open:
            # Taken before the status: what comes while that is sent must not be missed.
            next_view = self._next
            yield self._observer.status
            while not await self._came(next_view):
                yield None

    def close(self) -> None:
        """No more news: all windows are let go."""
        self._open = False
        self._leave()
        self._ring()

    async def _came(self, event: asyncio.Event) -> bool:
        try:
            async with asyncio.timeout(self._heartbeat):
                await event.wait()
        except TimeoutError:
            return False
        return True

    def _tell(self, _: Status) -> None:
        try:
            self._loop.call_soon_threadsafe(self._ring)
        except RuntimeError:  # the loop has ended while the observer was about to tell
            pass

    def _ring(self) -> None:
        came, self._next = self._next, asyncio.Event()
        came.set()


STATIC: Final = Path(__file__).with_name("static")
RETRY: Final = "retry: 1000\n"
"""How soon a browser tries again when the connection is lost, in milliseconds."""


def application(observer: Observer, news: EventStream) -> Starlette:
    """The routes, for whom the gate lets through."""

    async def page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def events(_: Request) -> Response:
        return StreamingResponse(event_stream(news), media_type="text/event-stream")

    async def status(_: Request) -> Response:
        return Response(encoded(observer.status), media_type="application/json")

    async def history(request: Request) -> Response:
        asked = request.query_params.get("seconds", "300")
        if asked not in map(str, PERIODS):
            allowed = " or ".join(map(str, PERIODS))
            return PlainTextResponse(f"seconds is {allowed}\n", 400)
        return JSONResponse(columns(observer.points_of(int(asked))))

    async def metrics(_: Request) -> Response:
        return exposition(observer)

    async def probe(request: Request) -> Response:
        return answered(PROBES[request.url.path](observer.status))

    return Starlette(
        routes=[
            Route("/", page),
            Route("/events", events),
            Route("/status", status),
            Route("/history", history),
            Route("/metrics", metrics),
            *(Route(path, probe) for path in PROBES),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]
    )


async def event_stream(news: EventStream) -> AsyncIterator[str]:
    """Server-sent events: each status as JSON, and a heartbeat when there is none for a while."""
    yield RETRY
    async for status in news.statuses():
        yield "event: heartbeat\ndata:\n\n" if status is None else f"data: {encoded(status)}\n\n"


def encoded(status: Status) -> str:
    """A status on one line."""
    return json.dumps(status.as_json(), allow_nan=False, separators=(",", ":"))


def columns(points: tuple[Point, ...]) -> dict[str, list[float | None]]:
    """The points as charts want them: all values of one field together."""
    return {field.name: [getattr(point, field.name) for point in points] for field in fields(Point)}


def answered(answer: Answer) -> Response:
    """As a supervisor reads it: by the status code."""
    fine, words = answer
    return PlainTextResponse(f"{words}\n", 200 if fine else 503)


def exposition(observer: Observer) -> Response:
    """The metrics in the text format of Prometheus; its package may be missing."""
    try:
        from penstock.observe.metrics.prometheus import CONTENT_TYPE, text
    except MetricsUnavailable as reason:
        return PlainTextResponse(f"{reason}\n", 404)
    return Response(text(observer), headers={"Content-Type": CONTENT_TYPE})
