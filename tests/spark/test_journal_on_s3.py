"""A journal on S3: one writer at a time, and nothing is overwritten in silence."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from threading import Event, Thread

import pytest

from penstock.spark.journal import Journal, JournalInUse, JournalUnusable, s3_folder
from penstock.spark.journal.s3_folder import Overtaken, S3Folder
from penstock.spark.journal.s3_store import S3JournalStore
from tests.servers.forwarder import Forwarder, forwarding
from tests.servers.s3 import S3Server
from tests.spark.journals import append_rows, open_journal, read_rows

pytestmark = [pytest.mark.s3, pytest.mark.timeout(120)]


@pytest.fixture
def place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return f"{s3_server.create()}/journal"


def test_rows_are_there_after_it_was_closed(place: str, s3_server: S3Server) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 10)
        append_rows(journal, 5)
        journal.commit(10)
    with open_journal(place) as journal:
        assert (journal.start, journal.end) == (10, 15)
        append_rows(journal, 5)
        assert read_rows(place, 10, 20) == [*range(10, 20)]
    names = [name for name in s3_server.files(place) if name.endswith(".segment")]
    assert len(names) == 2  # what is committed is deleted


def test_who_was_first_is_refused_when_another_one_has_come(place: str) -> None:
    first = open_journal(place)
    append_rows(first, 10)
    second = open_journal(place)
    with pytest.raises(JournalInUse, match=f"another writer has taken over .*{place}"):
        append_rows(first, 5)
    with pytest.raises(JournalInUse, match="another writer has taken over"):
        first.commit(10)
    append_rows(second, 7)
    assert read_rows(place, 0, 17) == [*range(17)]
    first.close()
    second.close()


def test_who_is_overtaken_before_its_first_record_leaves_nothing(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = S3JournalStore.claim
    others: list[Journal] = []

    def overtaken(store: S3JournalStore) -> None:
        claim(store)
        monkeypatch.setattr(S3JournalStore, "claim", claim)
        others.append(open_journal(place))

    monkeypatch.setattr(S3JournalStore, "claim", overtaken)
    with pytest.raises(JournalInUse, match="another writer has taken over"):
        open_journal(place)
    append_rows(others[0], 3)
    assert read_rows(place, 0, 3) == [0, 1, 2]


def test_a_record_that_another_one_has_made_is_not_replaced(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both take themselves for the only one at the moment in which they write."""
    first = open_journal(place)
    second = open_journal(place)
    monkeypatch.setattr(type(first._store), "check_claim", lambda store: None)
    append_rows(second, 10)
    with pytest.raises(JournalInUse, match="another writer has taken over"):
        append_rows(first, 5)
    assert read_rows(place, 0, 10) == [*range(10)]
    assert Journal.open(place, second.schema).end == 10


def test_files_are_replaced_only_by_who_has_seen_them(place: str) -> None:
    folder = S3Folder(place)
    folder.create("a", b"1")
    folder.create("a", b"1")  # as after an answer that was lost
    with pytest.raises(Overtaken, match=f"{place}/a was written by somebody else"):
        folder.create("a", b"2")
    _, tag = folder.seen("a")
    folder.replace("a", b"2", tag)
    with pytest.raises(Overtaken):
        folder.replace("a", b"3", tag)
    assert folder.read("a") == b"2"


@pytest.fixture
def way(place: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forwarder]:
    """To the server; the client's own attempts, which are a few, are left out."""
    monkeypatch.setattr(s3_folder, "RETRIES", {"max_retries": 0})
    with forwarding(s3_server.port) as forwarder:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{forwarder.port}")
        yield forwarder


def test_an_s3_that_goes_away_is_waited_for_and_no_row_is_lost(
    place: str, way: Forwarder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_told = Event()
    monkeypatch.setattr(caplog.handler, "emit", lambda record: is_told.set())
    monkeypatch.setattr(s3_folder, "PAUSE", 0.01)
    with caplog.at_level(logging.WARNING, "penstock"), open_journal(place) as journal:
        append_rows(journal, 10)
        for _ in range(3):
            is_told.clear()
            way.cut()
            writing = Thread(target=append_rows, args=(journal, 5))
            writing.start()
            assert is_told.wait(60)
            way.mend()
            writing.join(60)
        journal.commit(7)
        assert read_rows(place, 7, 25) == [*range(7, 25)]


def test_an_s3_that_stays_away_is_a_line_after_the_time_that_was_given(
    place: str, way: Forwarder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_S3_TIMEOUT", "0.01")
    journal = open_journal(place)
    way.cut()
    with pytest.raises(
        JournalUnusable, match=r"does not answer: .*; it was waited for 0.01 s"
    ) as e:
        append_rows(journal, 5)
    assert "\n" not in str(e.value)
    way.mend()
    with open_journal(place) as again:
        append_rows(again, 5)
        assert read_rows(place, 0, 5) == [*range(5)]
    monkeypatch.setenv("PENSTOCK_S3_TIMEOUT", "soon")
    with pytest.raises(JournalUnusable, match="S3_TIMEOUT must be a number of seconds, not 'soon'"):
        open_journal(place)


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_connection_that_ends_within_a_request_costs_nothing(
    place: str, way: Forwarder, lost: str
) -> None:
    """Who asks again cannot know whether the file is there by then."""
    folder = S3Folder(place)
    folder.create("a", b"1")
    way.lose(lost)
    folder.create("b", b"2")
    _, tag = folder.seen("b")
    way.lose(lost)
    folder.replace("b", b"3", tag)
    assert folder.read("b") == b"3"


def test_a_bucket_that_is_not_there_is_named(place: str) -> None:
    with pytest.raises(JournalUnusable, match="there is no bucket none") as caught:
        open_journal("s3://none/journal")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "place", ["s3://", "s3:///folder", "s3://me:s3cret@bucket/a", "s3://a/b?c=d"]
)
def test_a_place_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(JournalUnusable, match="is like s3://bucket/folder") as caught:
        open_journal(place)
    assert "s3cret" not in str(caught.value)
