"""A web service that streams with backpressure, in and out.

Run it with ``uvicorn web_service:app --app-dir examples``; it needs ``fastapi`` and ``uvicorn``.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from penstock import Flow
from penstock.flow import Emitted

read = Counter[str]()  # how far each source was read, to look at


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Store events while the service runs, and at its end all that it has accepted."""
    opened = asyncio.get_running_loop().create_future()
    app.state.live = Flow.create(opened.set_result, overflow="error", capacity=100).share()
    storing = asyncio.create_task(store_all(app.state.live))
    app.state.events = await opened
    yield
    app.state.events.complete()
    read["events"] = await storing


async def store_all(rows: Flow[Any]) -> int:
    """Store rows, four at a time; how many there were."""
    return await rows.map_async(store, concurrency=4).count() or 0


async def store(row: dict[str, Any]) -> str:
    """Stands for your database, which takes its time."""
    await asyncio.sleep(row.get("takes", 0))
    return str(row)


app = FastAPI(lifespan=lifespan)


# Out: a client that stops reading stops the source.


@app.get("/readings")
async def readings() -> StreamingResponse:
    """Readings without end, a line each."""
    return lines(Flow.from_iterable(iter(measure, None)))


def measure() -> dict[str, int]:
    """Take the next reading."""
    read["readings"] += 1
    return {"reading": read["readings"]}


def lines(rows: Flow[Any]) -> StreamingResponse:
    """Answer with a line of JSON for each row; the next one is asked for when this one is sent."""
    return StreamingResponse(
        rows.map(lambda row: json.dumps(row) + "\n"), media_type="application/x-ndjson"
    )


# In: an upload is read no faster than its rows are stored.


@app.post("/rows")
async def store_rows(request: Request) -> dict[str, int]:
    """Store lines of JSON."""
    rows = Flow.from_async_iterable(body_lines(request)).map(json.loads)
    return {"stored": await store_all(rows)}


async def body_lines(request: Request) -> AsyncIterator[bytes]:
    """The lines of the body, which is read while somebody wants the next one."""
    rest = b""
    async for part in request.stream():
        read["bytes"] += len(part)
        *whole, rest = (rest + part).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest


# Events: all of them are stored, and who follows them misses some rather than holding up others.


@app.post("/events", status_code=202)
async def take_event(event: dict[str, Any], response: Response) -> dict[str, str]:
    """Accept an event if there is room for it; otherwise the client is to come back."""
    if app.state.events.try_emit(event) is not Emitted.TAKEN:
        response.status_code = 503
        response.headers["Retry-After"] = "1"
        return {"event": "refused"}
    return {"event": "accepted"}


@app.get("/live")
async def follow() -> StreamingResponse:
    """The latest event whenever this client can take one."""
    return lines(app.state.live.on_backpressure_latest())
