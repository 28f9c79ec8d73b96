"""Who may see the page, on every route; and what a browser may do with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

from penstock.observe import Observer
from penstock.observe.dashboard import Dashboard
from penstock.observe.dashboard.access import hosts
from tests.observe.driven import TOKEN, DrivenPipeline
from tests.observe.opening import opened

ROUTES = ["/", "/events", "/status", "/history", "/metrics", "/static/page.js", "/no-such-page"]
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
def test_the_token_opens_every_route_for_a_program(program: httpx.Client, route: str) -> None:
    assert status(program, route) == (404 if route == "/no-such-page" else 200)


@every_route
@pytest.mark.parametrize(
    "shown",
    ["Bearer another-token-altogether", "Bearer", "Basic {token}", "{token}", "Bearer \xe4"],
)
def test_a_program_with_another_token_gets_nothing(
    stranger: httpx.Client, route: str, shown: str
) -> None:
    shows = {b"Authorization": shown.format(token=TOKEN).encode()}
    with stranger.stream("GET", route, headers=shows) as response:
        assert response.status_code == 403


@every_route
def test_a_wrong_token_is_not_made_up_for_by_the_cookie(browser: httpx.Client, route: str) -> None:
    assert status(browser, f"{route}?token=another-token-altogether") == 403
    assert status(browser, route, headers={"Authorization": "Bearer another-token"}) == 403


@every_route
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "localhost"]
)
def test_a_foreign_host_is_refused_even_with_a_key(
    browser: httpx.Client, program: httpx.Client, route: str, host: str
) -> None:
    named = {"Host": host.format(port=browser.base_url.port)}
    assert status(browser, route, headers=named) == 403
    assert status(program, route, headers=named) == 403
    assert status(program, f"{route}?token={TOKEN}", headers=named) == 403


@every_route
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"]
)
def test_a_foreign_origin_is_refused_even_with_a_key(
    browser: httpx.Client, program: httpx.Client, route: str, origin: str
) -> None:
    from_there = {"Origin": origin.format(port=browser.base_url.port)}
    assert status(browser, route, headers=from_there) == 403
    assert status(program, route, headers=from_there) == 403
    assert status(program, f"{route}?token={TOKEN}", headers=from_there) == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_the_names_of_this_machine_are_its_own(program: httpx.Client, host: str) -> None:
    assert status(program, "/", headers={"Host": f"{host}:{program.base_url.port}"}) == 200


def test_a_request_of_the_page_itself_has_an_origin_that_is_its_own(browser: httpx.Client) -> None:
    own = {"Origin": str(browser.base_url.copy_with(path="")).rstrip("/")}
    assert status(browser, "/history", headers=own) == 200


# The address, which works once.


def test_an_address_opens_the_page_once_and_the_next_one_is_told(observer: Observer) -> None:
    told: list[str] = []
    with Dashboard(observer, announce=told.append) as dashboard:
        first = dashboard.address
        with httpx.Client(timeout=60) as client, httpx.Client(timeout=60) as thief:
            page = opened(client, first)
            refused = thief.get(first)
            assert refused.status_code == client.get(first).status_code == 403
            assert "was used before" in refused.text
            assert "set-cookie" not in refused.headers
            assert told == [dashboard.address]
            assert dashboard.address != first
            assert opened(thief, dashboard.address) == page
            assert client.get(page).status_code == 200


def test_the_token_leaves_the_address_for_a_page_of_our_own(stranger: httpx.Client) -> None:
    answer = stranger.get("/", params={"token": TOKEN})
    assert "location" not in answer.headers
    assert TOKEN not in answer.text
    assert TOKEN not in str(answer.headers)


@pytest.mark.parametrize("with_token", [True, False])
def test_a_given_token_opens_again_and_again_and_a_random_one_is_none(
    observer: Observer, with_token: bool
) -> None:
    with Dashboard(observer, token=TOKEN if with_token else None) as dashboard:
        place = httpx.URL(dashboard.address, query=None)
        for _ in range(2):
            assert httpx.get(place, params={"token": TOKEN}).status_code == (
                200 if with_token else 403
            )
        ticket = httpx.URL(dashboard.address).params["token"]
        shown = {"Authorization": f"Bearer {ticket}"}
        assert httpx.get(place.join("/metrics"), headers=shown).status_code == 403
        assert httpx.get(place.join("/metrics"), params={"token": ticket}).status_code == 403


def test_a_program_that_knows_the_token_gets_an_address_for_a_browser(
    program: httpx.Client, stranger: httpx.Client, browser: httpx.Client
) -> None:
    address = program.get("/address").text.strip()
    assert TOKEN not in address
    assert opened(stranger, address) == browser.base_url
    assert browser.get("/address").status_code == 404


@pytest.mark.parametrize("header", [{"Sec-Purpose": "prefetch;prerender"}, None])
def test_a_browser_that_looks_ahead_does_not_use_the_address_up(
    observer: Observer, header: dict[str, str] | None
) -> None:
    with Dashboard(observer) as dashboard, httpx.Client(timeout=60) as client:
        address = dashboard.address
        method = "HEAD" if header is None else "GET"
        assert client.request(method, address, headers=header).status_code == 403
        opened(client, address)


# The cookie.


def test_the_cookie_is_for_the_folder_of_this_page_and_not_for_its_scripts(
    stranger: httpx.Client, browser: httpx.Client
) -> None:
    answer = stranger.get("/", params={"token": TOKEN})
    given = SimpleCookie(answer.headers["set-cookie"])
    (cookie,) = given.values()
    assert cookie.key == cookie_name(stranger)
    assert cookie["httponly"]
    assert cookie["samesite"] == "Strict"
    assert cookie["path"] == browser.base_url.path
    assert len(cookie["path"]) > 40
    assert TOKEN not in cookie.value
    assert len(cookie.value) > 40
    assert "set-cookie" not in browser.get("/").headers


def test_another_port_of_this_machine_is_shown_no_cookie(browser: httpx.Client) -> None:
    """A page of somebody else, on this host: a browser asks it without a word of ours."""
    shown = []

    class Neighbour(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers.get("Cookie"))
            self.send_response(204)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Neighbour) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with httpx.Client(cookies=browser.cookies, timeout=60) as same_browser:
            same_browser.get(f"http://127.0.0.1:{server.server_port}/")
            same_browser.get(f"http://127.0.0.1:{server.server_port}/static/page.js")
        server.shutdown()
    assert shown == [None, None]


def test_the_cookie_alone_is_worth_nothing_outside_of_its_folder(
    browser: httpx.Client, stranger: httpx.Client
) -> None:
    (value,) = [cookie.value for cookie in browser.cookies.jar]
    assert (
        status(stranger, "/history", headers={"Cookie": f"{cookie_name(stranger)}={value}"}) == 403
    )


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


def test_a_client_that_is_refused_gets_no_cookie(stranger: httpx.Client) -> None:
    refused = stranger.get("/", params={"token": "another-token-altogether"})
    assert "set-cookie" not in refused.headers
    foreign = stranger.get("/", params={"token": TOKEN}, headers={"Origin": "null"})
    assert "set-cookie" not in foreign.headers


def test_two_dashboards_do_not_take_the_cookie_of_each_other(
    dashboard: Dashboard, observer: Observer
) -> None:
    with Dashboard(observer) as other, httpx.Client(timeout=60) as client:
        pages = [opened(client, each.address) for each in (dashboard, other)]
        for page in pages:
            client.get(page).raise_for_status()


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_there_is_nothing_to_change(browser: httpx.Client, method: str) -> None:
    assert browser.request(method, "/").status_code == 405


def test_no_file_beside_the_page_is_served(browser: httpx.Client) -> None:
    assert browser.get("/static/%2e%2e/gate.py").status_code == 404
    assert browser.get("/static/..%2fgate.py").status_code == 404


def test_a_browser_leaves_out_only_the_port_of_http() -> None:
    assert "127.0.0.1" in hosts(80)
    assert "127.0.0.1" not in hosts(8080)
    assert "127.0.0.1" in hosts(443, "https")
    assert "127.0.0.1" not in hosts(443)


def cookie_name(client: httpx.Client) -> str:
    return f"penstock_{client.base_url.port}"
