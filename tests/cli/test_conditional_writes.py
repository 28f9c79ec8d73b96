"""A place on S3 is tried out as it will be used: by writes that fail if somebody was faster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from penstock.cli.doctor import examine
from tests.servers.s3 import S3Server


@contextmanager
def without_header(server: S3Server, dropped: str) -> Iterator[str]:
    """What servers were before they had conditional writes: they do not look at a header."""

    class Forgetful(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kept = {name: each for name, each in self.headers.items() if name.lower() != dropped}
            connection = HTTPConnection("127.0.0.1", server.port)
            connection.request(self.command, self.path, body, kept)
            answer = connection.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else None
            self.send_header("Content-Length", length or str(len(content)))
            self.end_headers()
            self.wfile.write(content)
            connection.close()

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = forward  # noqa: N815 - the server's names

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Forgetful) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{proxy.server_port}"
        proxy.shutdown()


def finding(place: str) -> tuple[str, str]:
    found = next(each for each in examine(place, None) if place in each.text)
    return found.state, found.text


@pytest.fixture
def place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server.create()


def test_a_server_that_has_them_is_fine_and_nothing_stays_there(
    s3_server: S3Server, place: str
) -> None:
    state, text = finding(f"{place}/checkpoint")
    assert state in ("ok", "warning"), text  # which a machine has that is busy, and so slow
    assert "heed" not in text
    assert s3_server.files(place) == []


@pytest.mark.parametrize("shown", ["If-Match", "If-None-Match"])
def test_a_server_that_does_not_heed_one_of_them_is_found_out(
    s3_server: S3Server, place: str, monkeypatch: pytest.MonkeyPatch, shown: str
) -> None:
    with without_header(s3_server, shown.lower()) as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        state, text = finding(f"{place}/checkpoint")
    assert state == "problem"
    assert f"does not heed {shown}, by which two runs at a time keep out" in text
    assert s3_server.files(place) == []
