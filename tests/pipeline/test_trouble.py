"""What keeps a source from its work stands on the page, and goes away with it."""

from __future__ import annotations

import threading
from typing import Any

from penstock import Flow, Retry
from penstock.connectors import from_websocket, serve_websocket
from penstock.observe import Status
from penstock.pipeline import NoSettings, Pipeline, PipelineRun
from tests.held_port import held_port


def until(run: PipelineRun, condition: Any) -> Status:
    """The first reading for which a condition holds."""
    pause = threading.Event()
    while not condition(reading := run.status()):
        pause.wait(0.01)
    return reading


def test_a_server_that_is_not_there_is_named_until_it_is_back() -> None:
    with held_port() as port:
        address = f"ws://127.0.0.1:{port}"
        reconnect = Retry(times=None, backoff=0.01, longest=0.02)
        pipeline = Pipeline(
            "away",
            sources={"socket": lambda settings: from_websocket(address, reconnect=reconnect)},
            sinks={"nowhere": lambda settings: [].append},
        )
        run = PipelineRun(pipeline, NoSettings())
        run.start()
        reading = until(run, lambda reading: reading.stages[0].trouble)
        assert address in reading.stages[0].trouble
        assert "next attempt in" in reading.stages[0].trouble
        with serve_websocket(lambda request: Flow.of(1), port=port):
            assert run.wait(60)
    assert run.status().stages[0].trouble == ""
    assert (run.state, run.status().stages[0].passed) == ("completed", 1)
