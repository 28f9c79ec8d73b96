"""A checkpoint on S3: what Spark writes on this machine is kept there, in order."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.spark import CheckpointError
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.checkpoint_copy import SparkCopy
from penstock.spark.checkpoint_place import require_place_for_spark
from penstock.spark.journal import Journal, JournalUnusable
from penstock.spark.journal.s3_folder import S3Folder
from penstock.spark.journal.s3_store import S3JournalStore
from penstock.spark.session.spark_session import SparkSettings
from tests.servers.s3 import WHO, S3Server, running_s3

pytestmark = [pytest.mark.s3, pytest.mark.timeout(120)]

INPUTS = ["number long"]


@pytest.fixture
def place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return f"{s3_server.create()}/some/checkpoint"


def begun(place: str, leaving: ExitStack) -> Checkpoint:
    """The checkpoint of a run, as far as Spark."""
    checkpoint = Checkpoint(place)
    checkpoint.claim("numbers", INPUTS)
    checkpoint.copy_for_spark(leaving)
    checkpoint.begin_run()
    return checkpoint


def write(checkpoint: Checkpoint, file: str, text: str = "v1") -> None:
    """As Spark does; it leaves checksums beside."""
    path = Path(checkpoint.for_spark, file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.with_name(f".{path.name}.crc").write_text("1")


def spark_files(server: S3Server, place: str) -> set[str]:
    return {name for name in server.files(place) if name.startswith("spark/")}


def test_what_spark_has_written_is_there_for_the_next_run(place: str, s3_server: S3Server) -> None:
    with ExitStack() as leaving:
        first = begun(place, leaving)
        assert not first.has_plans
        for file in ("metadata", "offsets/0", "state/0/1/1.delta", "commits/0", "offsets/1"):
            write(first, file, file)
        first.keep()
        expected = {
            "spark/metadata", "spark/offsets/0", "spark/offsets/1", "spark/commits/0",
            "spark/state/0/1/1.delta",
        }  # fmt: skip
        assert spark_files(s3_server, place) == expected
        Path(first.for_spark, "offsets/0").unlink()  # as Spark does after a while
        write(first, "commits/1", "at the end")
    assert not Path(first.for_spark).exists()
    assert spark_files(s3_server, place) == expected - {"spark/offsets/0"} | {"spark/commits/1"}
    assert Checkpoint(place).holds("numbers", INPUTS)
    with ExitStack() as leaving:
        second = begun(place, leaving)
        assert second.has_plans
        assert second.unfinished_batch is None
        assert Path(second.for_spark, "state/0/1/1.delta").read_text() == "state/0/1/1.delta"
        assert len(second.epoch().starts) == 2


def test_the_plan_of_a_batch_comes_last(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    for name in ("put", "create"):
        original = getattr(S3Folder, name)

        def noted(self: S3Folder, path: str, content: bytes, original=original) -> None:  # type: ignore[no-untyped-def]
            written.append(path)
            original(self, path, content)

        monkeypatch.setattr(S3Folder, name, noted)
    with ExitStack() as leaving:
        checkpoint = begun(place, leaving)
        for file in ("offsets/10", "commits/9", "offsets/9", "state/0/1/10.delta", "commits/8"):
            write(checkpoint, file)
        written.clear()
        checkpoint.keep()
        checkpoint.keep()  # nothing is new
    assert written == [
        f"spark/{name}"
        for name in ("state/0/1/10.delta", "commits/8", "commits/9", "offsets/9", "offsets/10")
    ]


def test_the_earlier_of_two_runs_is_refused_and_changes_nothing(
    place: str, s3_server: S3Server
) -> None:
    with ExitStack() as leaving:
        first = begun(place, leaving)
        write(first, "offsets/0")
        first.keep()
        second = begun(place, leaving)
        assert second.unfinished_batch == 0
        write(first, "commits/0")
        with pytest.raises(CheckpointError, match=f"{place} is in use by another run") as caught:
            first.keep()
        assert "\n" not in str(caught.value)
        write(second, "commits/0")
        write(second, "offsets/1", "of the second")
        second.keep()
        write(first, "offsets/1", "of the first")
    folder = S3Folder(place)
    assert folder.read("spark/offsets/1") == b"of the second"
    assert len(Checkpoint(place).epoch().starts) == 2


def test_of_two_runs_that_plan_one_batch_at_a_moment_one_is_refused(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as leaving:
        first, second = begun(place, leaving), begun(place, leaving)
        monkeypatch.setattr(S3JournalStore, "check_claim", lambda store: None)
        write(second, "offsets/0", "of the second")
        second.keep()
        write(first, "offsets/0", "of the first")
        with pytest.raises(CheckpointError, match="is in use by another run"):
            first.keep()
    assert S3Folder(place).read("spark/offsets/0") == b"of the second"


def test_of_two_runs_that_start_at_a_moment_one_is_refused(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as leaving:
        first = begun(place, leaving)
        second = Checkpoint(place)
        epoch = first.next_epoch()
        monkeypatch.setattr(second, "next_epoch", lambda: (first.begin_run(), epoch)[1])
        with pytest.raises(CheckpointError, match="is in use by another run"):
            second.begin_run()
    assert epoch.starts[-1] not in Checkpoint(place).epoch().starts


def test_the_checkpoint_of_another_pipeline_is_refused(place: str) -> None:
    Checkpoint(place).claim("numbers", INPUTS)
    with pytest.raises(CheckpointError, match="belongs to the pipeline 'numbers', not to 'others'"):
        Checkpoint(place).claim("others", INPUTS)
    with pytest.raises(CheckpointError, match="is not empty and holds no checkpoint of penstock"):
        Checkpoint(place.removesuffix("/checkpoint")).claim("numbers", INPUTS)


def test_a_bucket_that_is_not_there_is_named(place: str) -> None:
    with pytest.raises(CheckpointError, match="there is no bucket none") as caught:
        Checkpoint("s3://none/checkpoint").claim("numbers", INPUTS)
    assert "\n" not in str(caught.value)


def test_a_server_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**WHO, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CheckpointError, match="s3://bucket/a: S3 does not answer: ") as caught:
        Checkpoint("s3://bucket/a").claim("numbers", INPUTS)
    assert "\n" not in str(caught.value)


def test_who_is_not_let_in_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_s3(strict=True) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(CheckpointError, match="S3 does not let us in: ") as caught:
            Checkpoint("s3://bucket/checkpoint").claim("numbers", INPUTS)
        with pytest.raises(JournalUnusable, match="S3 does not let us in: InvalidAccess") as other:
            Journal.open("s3://bucket/journal", pa.schema([("number", pa.int64())]))
    for error in (caught, other):
        assert "\n" not in str(error.value)
        assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "is_native", "what"),
    [
        (SparkSettings(master="spark://host:7077"), False, "a cluster"),
        (SparkSettings(remote="sc://host:15002"), False, "a server of Spark Connect"),
        (SparkSettings(), True, "what Spark writes itself"),
    ],
)
def test_a_spark_that_writes_elsewhere_is_refused(
    settings: SparkSettings, what: str, *, is_native: bool
) -> None:
    with pytest.raises(CheckpointError, match=f"with {what}.* only with the jars of s3a") as caught:
        require_place_for_spark("s3://bucket/a", settings, is_native=is_native)
    assert "\n" not in str(caught.value)
    require_place_for_spark("/folder", settings, is_native=is_native)
    require_place_for_spark("s3://bucket/a", SparkSettings(master="local[2]"), is_native=False)


def test_what_could_not_be_fetched_leaves_nothing_behind(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = SparkCopy(place, "spark", S3JournalStore(f"{place}/held"))
    S3Folder(place).put("spark/metadata", b"1")
    monkeypatch.setattr(S3Folder, "read", lambda folder, name: 1 / 0)
    with pytest.raises(ZeroDivisionError), copy:
        pass
    assert not copy.folder.exists()
