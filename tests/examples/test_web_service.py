"""The web service of the examples, called as a server calls it, and through a real one."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Iterator
from importlib import util
from types import ModuleType
from typing import Any

import httpx
import pytest
import uvicorn

from dev import ROOT


@pytest.fixture(name="service")
def service_fixture() -> Iterator[ModuleType]:
    """The example, loaded for this test alone."""
    found = util.spec_from_file_location("web_service", ROOT / "examples" / "web_service.py")
    assert found is not None
    assert found.loader is not None
    module = util.module_from_spec(found)
    sys.modules["web_service"] = module  # where FastAPI looks for the types of arguments
    found.loader.exec_module(module)
    yield module
    del sys.modules["web_service"]


class Call:
    """A request to an application, by somebody who decides when its answer goes on."""

    def __init__(self, app: Any, method: str, path: str, *body: bytes) -> None:
        self.body = list(body)
        self.answer: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.left = asyncio.Event()
        self._may_send = asyncio.Semaphore(0)
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "method": method,
            "path": path, "query_string": b"", "http_version": "1.1", "scheme": "http",
            "headers": [(b"content-type", b"application/json")], "app": app,
        }  # fmt: skip
        self.task = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def parts(self, number: int) -> list[Any]:
        """Let through the next parts of the answer; those of the body are JSON."""
        for _ in range(number):
            self._may_send.release()
        parts = [await self.answer.get() for _ in range(number)]
        return [json.loads(part["body"]) for part in parts if part.get("body")]

    async def _receive(self) -> dict[str, Any]:
        if self.body:
            part = self.body.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(self.body)}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, part: dict[str, Any]) -> None:
        await self._may_send.acquire()
        self.answer.put_nowait(part)


async def idle() -> None:
    """Go on when the loop has nothing else to do."""
    for _ in range(100):
        await asyncio.sleep(0)


def test_a_client_that_does_not_read_stops_the_source(service: ModuleType) -> None:
    async def read_some() -> None:
        call = Call(service.app, "GET", "/readings")
        await call.parts(1)  # the status
        for number in (1, 2, 3):
            assert await call.parts(1) == [{"reading": number}]
            await idle()
            assert service.read["readings"] == number + 1  # the one that waits to be sent
        call.left.set()
        await call.task
        assert service.read["readings"] == 4

    asyncio.run(read_some())


def test_an_upload_is_read_while_its_rows_are_stored(service: ModuleType) -> None:
    stored = asyncio.Semaphore(0)

    async def store(row: dict[str, Any]) -> str:
        await stored.acquire()
        return str(row)

    async def upload() -> None:
        vars(service)["store"] = store
        lines = [b'{"n": %d}\n' % number for number in range(100)]
        call = Call(service.app, "POST", "/rows", *lines)
        await idle()
        read = 100 - len(call.body)
        assert read <= 4 + 2, "four are stored, one waits, one is on its way"
        for _ in range(10):
            stored.release()
        await idle()
        assert 100 - len(call.body) == read + 10
        for _ in range(90):
            stored.release()
        assert await call.parts(2) == [{"stored": 100}]
        await call.task

    asyncio.run(upload())


def test_an_event_is_stored_or_refused(service: ModuleType) -> None:
    may_store = asyncio.Event()
    stored: list[int] = []

    async def store(row: dict[str, Any]) -> str:
        await may_store.wait()
        stored.append(row["n"])
        return str(row)

    async def send_events() -> None:
        vars(service)["store"] = store
        accepted: list[int] = []
        async with service.app.router.lifespan_context(service.app):
            follower = Call(service.app, "GET", "/live")
            await follower.parts(1)
            for number in range(1000):
                call = Call(service.app, "POST", "/events", json.dumps({"n": number}).encode())
                [answer] = await call.parts(2)
                await call.task
                if answer == {"event": "accepted"}:
                    accepted.append(number)
            assert 300 < len(accepted) < 1000  # what a shared run and its source have room for
            newest = await follower.parts(2)
            assert newest[1]["n"] > newest[0]["n"] + 100  # it has missed what was in between
            may_store.set()
        assert sorted(stored) == accepted
        follower.left.set()
        await follower.parts(1)
        await follower.task

    asyncio.run(send_events())


def test_it_runs_on_a_real_server(service: ModuleType) -> None:
    server = uvicorn.Server(uvicorn.Config(service.app, log_level="critical"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            use(f"http://127.0.0.1:{listening.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()
    assert service.read["events"] == 1


def use(address: str) -> None:
    with httpx.Client(base_url=address) as client:
        with client.stream("GET", "/readings") as answer:
            lines = answer.iter_lines()
            assert [json.loads(next(lines))["reading"] for _ in range(3)] == [1, 2, 3]
        body = b"\n".join(b'{"n": %d}' % number for number in range(1000))
        assert client.post("/rows", content=body).json() == {"stored": 1000}
        assert client.post("/events", json={"n": 1}).status_code == 202
