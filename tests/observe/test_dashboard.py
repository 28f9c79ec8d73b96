"""The page over HTTP: where it is, what it tells, how it ends."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource, connect_sse

from penstock.observe import Observer, Status
from penstock.observe.dashboard import Dashboard, DashboardUnavailable
from penstock.observe.dashboard.routes import EventStream, event_stream
from tests.held_port import held_port
from tests.observe.driven import STAGES, TOKEN, DrivenPipeline
from tests.observe.opening import opened

PATIENCE = 60


def test_the_address_is_of_this_machine_and_holds_a_random_token(observer: Observer) -> None:
    with Dashboard(observer) as one, Dashboard(observer) as other:
        addresses = [httpx.URL(each.address) for each in (one, other)]
    assert [url.host for url in addresses] == ["127.0.0.1"] * 2
    tokens = {url.params["token"] for url in addresses}
    assert len(tokens) == 2
    assert all(len(token) >= 40 for token in tokens)


def test_a_dashboard_can_listen_on_the_loopback_of_ipv6(observer: Observer) -> None:
    with Dashboard(observer, host="::1") as dashboard:
        assert dashboard.address.startswith("http://[::1]:")
        assert httpx.get(dashboard.address, timeout=PATIENCE).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.0.1", "example.org"])
def test_a_dashboard_does_not_listen_to_other_machines(observer: Observer, host: str) -> None:
    with pytest.raises(ValueError, match="a tunnel"):
        Dashboard(observer, host=host)


@pytest.mark.parametrize("token", ["", "short", "has a blank within", "semicolon;semicolon"])
def test_a_token_that_can_be_guessed_or_breaks_an_address_is_refused(
    observer: Observer, token: str
) -> None:
    with pytest.raises(ValueError, match="16 characters or more"):
        Dashboard(observer, token=token)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_refused(observer: Observer, port: int) -> None:
    with pytest.raises(ValueError, match=f"not {port}"):
        Dashboard(observer, port=port)


def test_a_port_in_use_is_one_clear_error(observer: Observer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        threads = threading.enumerate()
        with pytest.raises(DashboardUnavailable) as caught:
            Dashboard(observer, port=port)
    assert str(caught.value) == (
        f"port {port} is in use, so the dashboard cannot have it: end what listens there, choose "
        "another port, or take port 0 for any that is free"
    )
    for thread in set(threading.enumerate()) - set(threads):
        # Those in which AnyIO read files are told to end, and nobody waits for them.
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_missing_package_is_named_with_the_extra_that_has_it(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "penstock.observe.dashboard.server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(DashboardUnavailable, match=r"uvicorn: pip install 'penstock\[dashboard\]'"):
        Dashboard(observer)


def test_no_server_is_loaded_before_a_dashboard_is_made() -> None:
    loaded = "import penstock.observe.dashboard, penstock.observe.metrics, sys; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", loaded], text=True).split()
    assert {"penstock.observe.dashboard"} <= set(modules)
    assert {"starlette", "uvicorn", "prometheus_client", "opentelemetry"} & set(modules) == set()


def test_the_page_and_all_that_it_loads_is_served(browser: httpx.Client) -> None:
    page = browser.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for name in (
        "page.js",
        "page.css",
        "graph.css",
        "panels.css",
        "icon.svg",
        "vendor/uplot/uPlot.esm.js",
    ):
        assert f'"static/{name}"' in page.text or "vendor" in name
        assert browser.get(f"/static/{name}").status_code == 200
    assert "javascript" in browser.get("/static/page.js").headers["content-type"]


def test_the_library_of_the_charts_has_its_licence_beside_it(browser: httpx.Client) -> None:
    assert "MIT" in browser.get("/static/vendor/uplot/LICENSE").text


def test_events_begin_with_the_view_of_now_and_go_on_with_each_look(
    browser: httpx.Client, pipeline: DrivenPipeline, observer: Observer
) -> None:
    with connect_sse(browser, "GET", "/events") as source:
        statuses = views_of(source)
        assert next(statuses) == plain(observer.status)
        pipeline.element = "a line\nand <another>\u2028\ud800"
        status = observer.sample()
        assert next(statuses) == plain(status)


def test_the_status_of_now_is_there_for_programs(program: httpx.Client, observer: Observer) -> None:
    assert program.get("/status").json() == plain(observer.status)


def test_history_has_an_hour_and_a_day_as_well_and_nothing_else(
    browser: httpx.Client, pipeline: DrivenPipeline, observer: Observer
) -> None:
    for _ in range(50):
        pipeline.time.advance(5)
        observer.sample()
    lengths = {
        seconds: len(browser.get(f"/history?seconds={seconds}").json()["at"])
        for seconds in (300, 3600, 86400)
    }
    assert lengths == {300: 51, 3600: 51, 86400: 5}
    refused = browser.get("/history?seconds=7")
    assert (refused.status_code, refused.text) == (400, "seconds is 300 or 3600 or 86400\n")


def test_history_has_the_points_of_the_charts_by_field(
    browser: httpx.Client, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.pass_time(observer, looks=3)
    history = browser.get("/history").json()
    assert history["at"] == [point.at for point in observer.points]
    assert history["rate_out"] == [point.rate_out for point in observer.points]
    assert {len(values) for values in history.values()} == {4}


def test_metrics_are_served_in_the_text_format_of_prometheus(browser: httpx.Client) -> None:
    response = browser.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert 'penstock_stage_elements_total{pipeline="blizzard",stage="phone"}' in response.text


def test_a_missing_prometheus_is_a_sentence_with_the_extra_that_has_it(
    browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "penstock.observe.metrics.prometheus", raising=False)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    response = browser.get("/metrics")
    assert response.status_code == 404
    assert "pip install 'penstock[prometheus]'" in response.text


def test_a_closed_dashboard_lets_its_windows_go_and_leaves_no_thread(observer: Observer) -> None:
    threads = threading.enumerate()
    with held_port() as port:
        dashboard = Dashboard(observer, port=port)
        with httpx.Client(timeout=PATIENCE) as client:
            address = str(opened(client, dashboard.address).join("events"))
            with connect_sse(client, "GET", address) as source:
                statuses = views_of(source)
                next(statuses)
                dashboard.close()
                dashboard.close()
                assert list(statuses) == []
        for thread in set(threading.enumerate()) - set(threads):
            # Those in which AnyIO read files are told to end, and nobody waits for them.
            thread.join(PATIENCE)
            assert not thread.is_alive()
        with pytest.raises(httpx.ConnectError):
            httpx.get(dashboard.address, timeout=PATIENCE)
    observer.sample()  # and nobody is told


def test_a_port_can_be_had_again_as_soon_as_it_is_free(observer: Observer) -> None:
    with held_port() as port:
        for _ in range(2):
            with Dashboard(observer, port=port, token=TOKEN) as dashboard:
                assert httpx.URL(dashboard.address).port == port
                assert httpx.get(dashboard.address, timeout=PATIENCE).status_code == 200


def test_a_window_that_reads_slowly_gets_the_latest_view_only(
    pipeline: DrivenPipeline, observer: Observer
) -> None:
    async def read(news: EventStream) -> list[Status | None]:
        statuses = news.statuses()
        first = await anext(statuses)
        pipeline.pass_time(observer, looks=5)
        second = await anext(statuses)
        news.close()
        return [first, second, *[each async for each in statuses]]

    before = observer.status
    assert with_news(observer, read) == [before, observer.status]


def test_a_window_without_news_gets_a_heartbeat(observer: Observer) -> None:
    async def read(news: EventStream) -> list[str]:
        text: AsyncIterator[str] = event_stream(news)
        return [await anext(text) for _ in range(4)]

    retry, status, *heartbeats = with_news(observer, read, heartbeat=0)
    assert retry == "retry: 1000\n"
    assert status.startswith("data: {")
    assert heartbeats == ["event: heartbeat\ndata:\n\n"] * 2


def test_a_closed_window_is_told_nothing_more(observer: Observer) -> None:
    async def leave(news: EventStream) -> None:
        news.close()

    with_news(observer, leave)
    observer.sample()  # the loop has ended


def test_every_stage_is_in_the_events(observer: Observer) -> None:
    assert [each["name"] for each in plain(observer.status)["stages"]] == list(STAGES)


def with_news(observer: Observer, use: Callable[[EventStream], Any], heartbeat: float = 60) -> Any:
    async def run() -> Any:
        return await use(EventStream(observer, heartbeat=heartbeat))

    return asyncio.run(run())


def views_of(source: EventSource) -> Iterator[Any]:
    """What a window is told, without the heartbeats, which come when there is nothing to tell."""
    return (event.json() for event in source.iter_sse() if event.event == "message")


def plain(status: Status) -> Any:
    """A status as it comes out of JSON."""
    return json.loads(json.dumps(status.as_json()))
