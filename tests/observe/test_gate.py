"""Who may see the page, on every route; and what a browser may do with it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from penstock.observe import Observer
from penstock.observe.dashboard import Dashboard
from penstock.observe.dashboard.gate import hosts
from tests.observe.driven import TOKEN, DrivenPipeline

ROUTES = ["/", "/events", "/history", "/metrics", "/static/page.js", "/no-such-page"]
every_route = pytest.mark.parametrize("route", ROUTES)

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@pytest.fixture(scope="module")
def dashboard() -> Iterator[Dashboard]:
    """One for all: nothing here changes it."""
    with Dashboard(DrivenPipeline().observer(), token=TOKEN) as dashboard:
        yield dashboard


def status(client: httpx.Client, route: str, **options: dict[str, str]) -> int:
    """Events never end: only the head of the response is read."""
    with client.stream("GET", route, headers=options.get("headers")) as response:
        return response.status_code


@every_route
def test_nobody_gets_anything_without_the_token(stranger: httpx.Client, route: str) -> None:
    assert status(stranger, route) == 403


@every_route
@pytest.mark.parametrize("wrong", ["", "a-token-for-test", "a-token-for-tests-", "ä" * 17])
def test_nobody_gets_anything_with_a_wrong_token(
    stranger: httpx.Client, route: str, wrong: str
) -> None:
    assert status(stranger, str(httpx.URL(route, params={"token": wrong}))) == 403
    stranger.cookies.set(cookie_name(stranger), wrong.replace("ä", "a"))
    assert status(stranger, route) == 403


@every_route
def test_the_cookie_of_the_first_visit_opens_every_route(browser: httpx.Client, route: str) -> None:
    assert status(browser, route) == (404 if route == "/no-such-page" else 200)


@every_route
def test_a_wrong_token_in_the_address_is_not_mended_by_the_cookie(
    browser: httpx.Client, route: str
) -> None:
    assert status(browser, f"{route}?token=another-token-altogether") == 403


@every_route
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "localhost"]
)
def test_a_foreign_host_is_refused_even_with_the_token(
    browser: httpx.Client, route: str, host: str
) -> None:
    named = {"Host": host.format(port=browser.base_url.port)}
    assert status(browser, f"{route}?token={TOKEN}", headers=named) == 403


@every_route
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
def test_a_foreign_origin_is_refused_even_with_the_token(
    browser: httpx.Client, route: str, origin: str
) -> None:
    from_there = {"Origin": origin.format(port=browser.base_url.port)}
    assert status(browser, f"{route}?token={TOKEN}", headers=from_there) == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_this_machine_are_its_own(browser: httpx.Client, host: str) -> None:
    named = {"Host": f"{host}:{browser.base_url.port}"}
    assert status(browser, f"/?token={TOKEN}", headers=named) == 200


def test_a_request_of_the_page_itself_has_an_origin_that_is_its_own(browser: httpx.Client) -> None:
    own = {"Origin": str(browser.base_url).rstrip("/")}
    assert status(browser, "/history", headers=own) == 200


@every_route
@pytest.mark.parametrize("address", ["{route}", "{route}?token=" + TOKEN], ids=["refused", "seen"])
def test_every_answer_says_what_a_browser_may_do_with_it(
    stranger: httpx.Client, route: str, address: str
) -> None:
    with stranger.stream("GET", address.format(route=route)) as response:
        headers = response.headers
    assert headers["content-security-policy"] == CONTENT_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_the_cookie_is_for_this_page_and_not_for_its_scripts(stranger: httpx.Client) -> None:
    response = stranger.get("/", params={"token": TOKEN})
    assert response.headers["set-cookie"] == (
        f"{cookie_name(stranger)}={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    )
    assert "set-cookie" not in stranger.get("/").headers


def test_whoever_is_refused_gets_no_cookie(stranger: httpx.Client) -> None:
    refused = stranger.get("/", params={"token": "another-token-altogether"})
    assert "set-cookie" not in refused.headers
    foreign = stranger.get("/", params={"token": TOKEN}, headers={"Origin": "null"})
    assert "set-cookie" not in foreign.headers


def test_two_dashboards_do_not_take_the_cookie_of_each_other(
    dashboard: Dashboard, observer: Observer
) -> None:
    with Dashboard(observer) as other, httpx.Client(timeout=60) as client:
        client.get(dashboard.address).raise_for_status()
        client.get(other.address).raise_for_status()
        for each in (dashboard, other):
            client.get(str(httpx.URL(each.address, query=None))).raise_for_status()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_there_is_nothing_to_change(browser: httpx.Client, method: str) -> None:
    assert browser.request(method, "/").status_code == 405


def test_no_file_beside_the_page_is_served(browser: httpx.Client) -> None:
    assert browser.get("/static/%2e%2e/gate.py").status_code == 404
    assert browser.get("/static/..%2fgate.py").status_code == 404


def test_a_browser_leaves_out_only_the_port_of_http() -> None:
    assert "127.0.0.1" in hosts(80)
    assert "127.0.0.1" not in hosts(8080)


def cookie_name(client: httpx.Client) -> str:
    return f"penstock_{client.base_url.port}"
