"""Sources that send what they were granted: demand, the end, lost connections, faults."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock import Flow, Retry
from penstock.connectors import ConnectionLost, GrantedSource, from_granted
from penstock.flow.resume.planning import resumption_of
from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber
from tests.connectors.granting_server import GrantingServer, serve_numbers

AT_ONCE = Retry(times=3, backoff=0.001)


class Numbers(GrantedSource[int]):
    """The numbers after a position, over a connection."""

    def __init__(self, port: int, after: int | None) -> None:
        self.port = port
        self.last = -1 if after is None else after
        self.writer: asyncio.StreamWriter | None = None

    async def connect(self) -> None:
        try:
            opened = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        self.lines, self.writer = opened
        self.writer.write(f"after {self.last}\n".encode())

    async def grant(self, n: int) -> None:
        assert self.writer is not None
        self.writer.write(f"grant {n}\n".encode())

    async def receive(self) -> AsyncIterator[int]:
        while (line := await self.lines.readline()) not in (b"", b"end\n"):
            self.last = int(line)
            yield self.last
        if not line:
            raise ConnectionLost("the server went away")

    async def disconnect(self) -> None:
        if self.writer is not None:
            self.writer.close()


def numbers(port: int, **options: Any) -> Flow[int]:
    given: dict[str, Any] = {"reconnect": AT_ONCE, "address": "here", **options}
    return from_granted("numbers", lambda after: Numbers(port, after), **given)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "rules", [("1.1", "1.2", "1.5", "3.9"), pytest.param(None, marks=pytest.mark.full)]
)
def test_a_granted_source_keeps_all_rules(search_briefly: None, rules: tuple[str, ...]) -> None:
    with serve_numbers(10_000) as port:
        verify_publisher(
            lambda n: numbers(port, after=9_999 - n),
            rules=rules,
            failed=lambda: numbers(9, reconnect=Retry(times=0)),
            repeatable=True,
            answers_within=0.5,
            concurrent_requests=True,
            explains_illegal_requests=True,
            max_elements=10_000,
            reports_to_hook=True,
            strict_types=True,
        ).raise_if_failed()


def test_nothing_is_granted_that_was_not_requested() -> None:
    server = GrantingServer(1_000)
    with serve_numbers(server=server) as port:
        numbers(port).subscribe(subscriber := ManualSubscriber[int](request=0))
        assert server.grants == []
        for wanted in (1, 7, 300):
            before = len(subscriber.elements)
            subscriber.request(wanted)
            subscriber.await_elements(before + wanted)
        subscriber.cancel()
        while not server.gone:
            pass
        assert subscriber.elements == [*range(308)]
        assert server.grants[0][:2] == [1, 7]
        assert sum(server.grants[0]) == 308
        assert numbers(port).take(3).to_list().run_sync() == [0, 1, 2]
        assert server.grants[1] == [3]


def test_no_more_is_granted_ahead_than_the_window() -> None:
    server = GrantingServer(1_000)
    with serve_numbers(server=server) as port:
        assert numbers(port, window=10).to_list().run_sync() == [*range(1_000)]
    assert max(server.grants[0]) <= 10


def test_a_lost_connection_is_granted_what_is_still_wanted() -> None:
    server = GrantingServer(1_000, breaks_after=7)
    told: list[str] = []
    with serve_numbers(server=server) as port:
        flow = numbers(port, on_state=told.append)
        flow.subscribe(subscriber := ManualSubscriber[int](request=20))
        subscriber.await_elements(20)
        subscriber.cancel()
    assert subscriber.elements == [*range(20)]
    assert server.grants == [[20], [13], [6]]
    assert [words for words in told if "the server went away" in words]


def test_a_server_that_sends_more_than_it_was_granted_is_at_fault() -> None:
    with serve_numbers(server=GrantingServer(1_000, too_many=1)) as port:
        numbers(port, address="the server").subscribe(
            subscriber := ManualSubscriber[int](request=3)
        )
        subscriber.await_end()
    assert isinstance(subscriber.error, ValueError)
    assert "rule 1.1" in str(subscriber.error)
    assert "numbers: the server: the other end sent more than was requested" in str(
        subscriber.error
    )


def test_a_pipeline_goes_on_after_a_position() -> None:
    with serve_numbers(10) as port:
        resumption = resumption_of(numbers(port, position_of=lambda number: number))
        *_, last = resumption.positioned(6).to_list().run_sync() or []
        assert (last.element, last.position) == (9, 9)
        assert numbers(port, after=6).to_list().run_sync() == [7, 8, 9]


def test_a_server_that_is_not_there_is_given_up() -> None:
    with pytest.raises(ConnectionError, match="numbers gave up on here after 4 attempts"):
        numbers(9).to_list().run_sync()


class Deaf(Numbers):
    """Cannot be granted anything any more."""

    async def grant(self, n: int) -> None:
        raise OSError("broken pipe")


def test_a_grant_that_fails_ends_the_stream() -> None:
    with serve_numbers(10) as port, pytest.raises(OSError, match="broken pipe"):
        from_granted("deaf", lambda after: Deaf(port, after), address="here").to_list().run_sync()


def test_what_cannot_be_a_source_is_refused() -> None:
    with pytest.raises(TypeError, match="numbers needs a GrantedSource, not 7"):
        from_granted("numbers", lambda after: 7, address="here").to_list().run_sync()  # type: ignore[arg-type, return-value]
    with pytest.raises(ValueError, match="window must be at least 1"):
        numbers(9, window=0)
