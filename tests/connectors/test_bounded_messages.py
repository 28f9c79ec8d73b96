"""However much a server or a file has in one piece, no more than a bound is held."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Retry, X
from penstock.connectors import (
    from_server_sent_events,
    read_csv,
    read_json_lines,
    tail_json_lines,
)
from penstock.connectors.sse.bounded_stream import EventSize, EventTooLarge
from tests.connectors.test_server_sent_events import answering, send

ONCE = Retry(times=0)
ROOT = Path(__file__).parents[2]
LONG = b"x" * 65536


def send_pieces(
    handler: BaseHTTPRequestHandler, pieces: Iterable[bytes], encoding: str = ""
) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    if encoding:
        handler.send_header("Content-Encoding", encoding)
    handler.end_headers()
    try:
        for piece in pieces:
            handler.wfile.write(piece)
    except OSError:
        pass  # the other end has had enough


def compressed(pieces: Iterable[bytes]) -> Iterable[bytes]:
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    for piece in pieces:
        yield packing.compress(piece)
    yield packing.flush()


def bomb() -> bytes:
    """Three hundred kilobytes that are three hundred megabytes."""
    return b"".join(compressed([b"data: ", *([LONG] * 4800), b"\n\n"]))


# Server-sent events.


def test_what_becomes_of_little_is_bounded_while_it_is_decompressed() -> None:
    small = bomb()
    assert len(small) < 400_000
    with answering(lambda handler: send_pieces(handler, [small], "gzip")) as url:
        tracemalloc.start()
        try:
            with pytest.raises(
                ValueError, match="sent more than 1048576 bytes in one event; raise max_bytes"
            ):
                from_server_sent_events(url).run_sync()
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert most < 12 * 1024 * 1024


def test_a_line_that_does_not_end_is_read_no_further_than_the_bound() -> None:
    stopped = threading.Event()

    def endless(handler: BaseHTTPRequestHandler) -> None:
        send_pieces(handler, (LONG for _ in range(4000)))
        stopped.set()

    with answering(endless) as url, pytest.raises(ValueError, match="more than 5000 bytes"):
        from_server_sent_events(url, max_bytes=5000).run_sync()
    assert stopped.wait(60)


@pytest.mark.parametrize("encoding", ["", "gzip", "deflate"])
def test_an_event_may_have_as_much_as_is_allowed_and_not_a_byte_more(encoding: str) -> None:
    text = b"id: 1\r\ndata: " + b"7" * 989 + b"\r\n\r\n"  # 6 and 989 and 5 bytes
    packs: dict[str, Any] = {"": bytes, "gzip": gzip.compress, "deflate": zlib.compress}
    pack = packs[encoding]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        send_pieces(handler, [pack(b": hello\n\n" + text * 3)], encoding)

    with answering(answer) as url:
        flow = from_server_sent_events(url, max_bytes=1000, decode=str, reconnect=ONCE)
        assert flow.map(X.data).take(3).to_list().run_sync() == ["7" * 989] * 3
        with pytest.raises(ValueError, match="more than 999 bytes in one event; raise max_bytes"):
            from_server_sent_events(url, max_bytes=999, decode=str, reconnect=ONCE).run_sync()


def test_comments_that_keep_a_connection_alive_never_add_up() -> None:
    pieces = [b": still here\n" * 1000, b"data: 1\n\n"]
    with answering(lambda handler: send_pieces(handler, pieces)) as url:
        assert from_server_sent_events(url, max_bytes=20).map(X.data).take(1).run_sync() == 1


@pytest.mark.parametrize(
    ("encoding", "content", "words"),
    [
        ("br", b"data: 1\n\n", "the encoding 'br', which is not known"),
        ("gzip", b"data: 1\n\n", "not compressed as it says"),
    ],
)
def test_an_encoding_that_is_not_known_or_wrong_is_one_clear_error(
    encoding: str, content: bytes, words: str
) -> None:
    with (
        answering(lambda handler: send_pieces(handler, [content], encoding)) as url,
        pytest.raises(ConnectionError, match=words),
    ):
        from_server_sent_events(url).run_sync()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"id: \x01\ndata: 1\n\n", r"sent the id '\\x01', which is none"),
        (b"event: penstock.failure\ndata: {\n\n", "Expecting property name"),
    ],
)
def test_an_event_that_is_none_is_an_error(text: bytes, words: str) -> None:
    with (
        answering(lambda handler: send_pieces(handler, [text])) as url,
        pytest.raises(ValueError, match=words),
    ):
        from_server_sent_events(url).run_sync()


def test_a_time_to_wait_that_is_beyond_all_bounds_is_an_hour() -> None:
    states: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        send(handler, f"retry: {'9' * 4000}\ndata: 1\n\n")

    waiting = threading.Event()

    def told(state: str) -> None:
        states.append(state)
        if "next attempt" in state:
            waiting.set()

    from penstock.testing import ManualSubscriber

    subscriber: ManualSubscriber[object] = ManualSubscriber(request=2)
    with answering(answer) as url:
        from_server_sent_events(url, on_state=told).subscribe(subscriber)
        assert waiting.wait(60)
        subscriber.cancel()
    assert states[-1].endswith("next attempt in 3600.0 s")


def sizes(text: bytes, cuts: list[int], most: int) -> bool:
    """Whether a stream that comes in these pieces keeps within the bound."""
    size = EventSize(most)
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    try:
        for start, end in pairwise(places):
            size.add(text[start:end])
    except EventTooLarge:
        return False
    return True


@given(st.text("ab:\r\n", max_size=30), st.lists(st.integers(0, 30), max_size=5))
def test_the_size_of_an_event_does_not_depend_on_the_pieces_in_which_it_comes(
    text: str, cuts: list[int]
) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    event = largest = 0
    for line in lines:
        event = 0 if not line else event if line.startswith(":") else event + len(line)
        largest = max(largest, event, len(line))
    for most in range(1, 12):
        assert sizes(text.encode(), cuts, most) == (largest <= most)


# Lines.


def test_a_line_of_a_file_that_is_too_long_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "flights.jsonl"
    path.write_bytes(b'{"n": 1}\n"' + b"x" * 97 + b'"\n2\n')
    assert read_json_lines(path, max_bytes=100).to_list().run_sync() == [{"n": 1}, "x" * 97, 2]
    with pytest.raises(ValueError, match=r"flights.jsonl, line 2: more than 98 bytes.*max_bytes"):
        read_json_lines(path, max_bytes=98).to_list().run_sync()


def test_a_line_of_gigabytes_is_read_no_further_than_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "sparse.jsonl"
    with path.open("wb") as file:
        file.truncate(8 * 1024**3)  # of zeros, which take no space
    tracemalloc.start()
    try:
        for flow in (read_json_lines(path, max_bytes=1000), read_json_lines(path)):
            with pytest.raises(ValueError, match="line 1: more than"):
                flow.run_sync()
        with pytest.raises(ValueError, match="line 1: more than"):
            read_csv(path)
        for flow in (tail_json_lines(path, max_bytes=1000), tail_json_lines(path)):
            with pytest.raises(ValueError, match="line at byte 0: more than"):
                flow.run_sync()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 100 * 1024 * 1024


def test_a_line_of_a_table_that_is_too_long_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    path.write_text("origin\n" + "x" * 200 + "\n")
    assert len(read_csv(path, max_bytes=200).to_list().run_sync() or ()) == 1
    with pytest.raises(ValueError, match=r"flights.csv, line 2: more than 199 bytes"):
        read_csv(path, max_bytes=199).run_sync()


def test_a_row_of_a_table_that_goes_over_many_lines_is_bounded_as_one(tmp_path: Path) -> None:
    path = tmp_path / "flights.csv"
    path.write_text('origin,remark\n"JFK","' + "x\n" * 50 + '"\n' + "EWR,late\n" * 50)
    assert len(read_csv(path, max_bytes=110).to_list().run_sync() or ()) == 51
    with pytest.raises(ValueError, match=r"flights.csv, line 49: more than 100 bytes in one row"):
        read_csv(path, max_bytes=100).run_sync()


READ = """
import sys
from penstock.connectors import read_standard_input
try:
    print(read_standard_input(max_bytes=1000).count().run_sync())
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (["1\n" * 5000, "2" * 999, "\n"], "5001"),
        (["1\n", "2" * 1001, "\n"], "standard input, line 2: more than 1000 bytes"),
        (["1\n", *["2" * 65536] * 2000], "standard input, line 2: more than 1000 bytes"),
    ],
)
def test_a_line_of_standard_input_is_bounded(pieces: list[str], said: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", READ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "src"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        try:
            for piece in pieces:
                process.stdin.write(piece)
        except OSError:
            pass  # it has ended, and reads no more
        output, _ = process.communicate(timeout=60)
    assert said in output


@pytest.mark.parametrize("max_bytes", [0, -1, "many"])
def test_a_bound_that_is_none_is_refused_at_once(tmp_path: Path, max_bytes: Any) -> None:
    path = tmp_path / "flights.jsonl"
    path.write_text("origin\n")
    for read in (read_json_lines, read_csv, tail_json_lines):
        with pytest.raises((TypeError, ValueError), match="max_bytes must be"):
            read(path, max_bytes=max_bytes)
