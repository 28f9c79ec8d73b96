"""What is served: the page, its events, their history, the metrics."""

from __future__ import annotations

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

from penstock.observe.dashboard.event_stream import EventStream
from penstock.observe.observer import Observer
from penstock.observe.status import Point, Status
from penstock.observe.unavailable import MetricsUnavailable

__all__ = ["application"]

STATIC: Final = Path(__file__).with_name("static")
RETRY: Final = "retry: 1000\n"
"""How soon a browser tries again when the connection is lost, in milliseconds."""


def application(observer: Observer, news: EventStream) -> Starlette:
    """The routes, for whom the gate lets through."""

    async def page(_: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def events(_: Request) -> Response:
        return StreamingResponse(event_stream(news), media_type="text/event-stream")

    async def history(_: Request) -> Response:
        return JSONResponse(columns(observer.points))

    async def metrics(_: Request) -> Response:
        return exposition(observer)

    return Starlette(
        routes=[
            Route("/", page),
            Route("/events", events),
            Route("/history", history),
            Route("/metrics", metrics),
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


def exposition(observer: Observer) -> Response:
    """The metrics in the text format of Prometheus; its package may be missing."""
    try:
        from penstock.observe.metrics.prometheus import CONTENT_TYPE, text
    except MetricsUnavailable as reason:
        return PlainTextResponse(f"{reason}\n", 404)
    return Response(text(observer), headers={"Content-Type": CONTENT_TYPE})
