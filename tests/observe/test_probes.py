"""What a supervisor is told without a key, and that it is nothing but the state."""

from __future__ import annotations

import httpx
import pytest

from penstock.observe import Observer
from penstock.observe.dashboard import probes
from penstock.observe.status import State
from tests.observe.driven import DrivenPipeline


def asked(stranger: httpx.Client, route: str) -> tuple[int, str]:
    answer = stranger.get(route)
    return answer.status_code, answer.text


@pytest.mark.parametrize(
    ("state", "healthy", "ready"),
    [
        ("starting", 200, 503),
        ("running", 200, 200),
        ("draining", 200, 503),
        ("completed", 200, 503),
        ("stopped", 200, 503),
        ("failed", 503, 503),
    ],
)
def test_the_state_says_whether_it_is_alive_and_whether_it_is_ready(
    stranger: httpx.Client,
    pipeline: DrivenPipeline,
    observer: Observer,
    state: State,
    healthy: int,
    ready: int,
) -> None:
    pipeline.state = state
    observer.sample()
    assert asked(stranger, "/healthz") == (healthy, f"{state}\n")
    assert asked(stranger, "/readyz") == (ready, f"{state}\n")


@pytest.mark.parametrize(("state", "healthy"), [("running", 503), ("completed", 200)])
def test_a_pipeline_that_nobody_could_look_at_for_a_while_is_not_alive(
    stranger: httpx.Client,
    pipeline: DrivenPipeline,
    observer: Observer,
    monkeypatch: pytest.MonkeyPatch,
    state: State,
    healthy: int,
) -> None:
    pipeline.state = state
    seen = observer.sample().point.at
    monkeypatch.setattr(probes, "time", lambda: seen + 31)
    code, words = asked(stranger, "/healthz")
    assert code == healthy
    assert ("nobody could look at it for 31 s" in words) == (healthy == 503)


@pytest.mark.parametrize("route", ["/healthz", "/readyz"])
def test_a_probe_is_for_this_machine_and_a_page_of_others_cannot_use_it(
    stranger: httpx.Client, route: str
) -> None:
    assert stranger.get(route, headers={"Host": "evil.example"}).status_code == 403
    assert stranger.get(route, headers={"Origin": "http://evil.example"}).status_code == 403


def test_nothing_else_is_open_because_a_probe_is(stranger: httpx.Client) -> None:
    for route in ("/healthz/", "/healthz/../history", "/readyz?token=no", "//history"):
        answer = stranger.get(route)
        assert "blizzard" not in answer.text
        assert answer.status_code in (200, 403, 404)
    assert stranger.get("/history").status_code == 403
