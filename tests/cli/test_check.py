"""``penstock check`` finds what would keep a pipeline from running, and moves no data."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penstock import Flow, Subscriber
from penstock.cli.application import application
from penstock.cli.arguments import RunOptions
from penstock.cli.check import require_listener
from penstock.connectors import (
    from_websocket,
    read_postgres,
    read_sqlite,
    serve_websocket,
    write_json_lines,
    write_postgres,
    write_sqlite,
    write_standard_output,
)
from penstock.pipeline import NoSettings, Pipeline, RunTarget
from penstock.spark import SparkSettings
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.deployment import Deployment
from penstock.testing import ManualSubscriber
from tests.cli import pipelines
from tests.cli.processes import penstock_command
from tests.held_port import held_port

PIPELINES = "tests.cli.pipelines"


def check(*arguments: str) -> Result:
    return CliRunner().invoke(application, ["check", *arguments])


def test_a_sound_pipeline_is_ok_in_every_line() -> None:
    checked = check(f"{PIPELINES}:completes")
    assert checked.exit_code == 0
    assert [line.split()[:2] for line in checked.stdout.splitlines()] == [
        ["ok", "pipeline"],
        ["ok", "settings"],
        ["ok", "assembly"],
        ["ok", "terminal"],
        ["ok", "spark"],
    ]


def test_each_sink_says_its_level_and_what_it_would_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = Pipeline(
        "files",
        sources={"numbers": lambda settings: Flow.range(3)},
        sinks={
            "file": lambda settings: write_json_lines(tmp_path / "file.jsonl"),
            "there": lambda settings: write_json_lines(tmp_path / "there.jsonl"),
            "later": lambda settings: ManualSubscriber(),
            "function": lambda settings: print,
            "out": lambda settings: write_standard_output(),
        },
    )
    (tmp_path / "there.jsonl").write_text("1\n")
    monkeypatch.setattr(pipelines, "files", files, raising=False)
    checked = check(f"{PIPELINES}:files")
    assert checked.exit_code == 1
    said = [line.split(maxsplit=2) for line in checked.stdout.splitlines()[3:-1]]
    alone = "exactly once within a run, since there is no checkpoint"
    choice = "overwrite=True replaces them, append=True writes after them"
    refused = f"FileExistsError: write_json_lines: {tmp_path}/there.jsonl is there and has 2 bytes"
    assert said == [
        ["ok", "file", f"{alone}; makes {tmp_path}/file.jsonl"],
        ["problem", "there", f"{refused}; {choice}"],
        ["ok", "later", "not known how often it has a row"],
        ["ok", "function", "at least once"],
        ["ok", "out", "at most once; writes to standard output, which keeps nothing"],
    ]  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["there.jsonl"]


def test_a_sink_is_compared_with_the_checkpoint_and_not_touched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place, file = tmp_path / "checkpoint", tmp_path / "rows.jsonl"
    rows = pipelines.pipeline(
        "spark-rows",
        pipelines.rows,
        lambda settings: write_json_lines(file),
        transform=pipelines.on_spark,
    )
    monkeypatch.setattr(pipelines, "rows_file", rows, raising=False)
    arguments = (f"{PIPELINES}:rows_file", "--no-spark", "--checkpoint", str(place))
    assert f"exactly once; makes {file}" in check(*arguments).stdout
    Checkpoint(place).claim("spark-rows", ["number long"])
    sink = write_json_lines(file).sink
    sink.open(Checkpoint(place).begin_run())
    sink.begin(0)
    sink(1)
    sink.commit(0)
    sink.close()
    (place / "spark" / "offsets").mkdir(parents=True)
    (place / "spark" / "offsets" / "0").touch()  # as Spark does when it plans a batch
    before = file.stat().st_mtime_ns, (place / "runs.json").read_text()
    assert f"exactly once; goes on in {file} after 2 bytes" in check(*arguments).stdout
    (place / "spark" / "offsets" / "0").unlink()
    assert "it was restored from an older backup" in check(*arguments).stdout
    assert (file.stat().st_mtime_ns, (place / "runs.json").read_text()) == before


def test_a_source_is_ok_only_if_somebody_is_where_it_connects_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve_websocket(lambda request: Flow.never()) as server:
        url = server.address
        listening = Pipeline(
            "socket",
            sources={"departures": lambda settings: from_websocket(url)},
            sinks={"sink": lambda settings: print},
        )
        monkeypatch.setattr(pipelines, "socket", listening, raising=False)
        found = check(f"{PIPELINES}:socket")
        assert f"somebody listens at {url}" in found.stdout
        assert found.exit_code == 0
    found = check(f"{PIPELINES}:socket")
    assert found.exit_code == 1
    (line,) = [line for line in found.stdout.splitlines() if "problem" in line]
    assert line.split()[:2] == ["problem", "departures"]
    assert f"nobody answers at {url}: Connection refused; a run would wait for it" in line


def test_a_password_in_an_address_is_used_and_hinted_at_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with serve_websocket(lambda request: Flow.never()) as server:
        address = server.address
        url = f"{address.replace('://', '://me:SECRET@')}/live?token=SECRET#SECRET"
        monkeypatch.setattr(
            pipelines,
            "socket",
            Pipeline(
                "socket",
                sources={"departures": lambda settings: from_websocket(url)},
                sinks={"sink": lambda settings: print},
            ),
            raising=False,
        )
        there = check(f"{PIPELINES}:socket", "--debug")
    gone = check(f"{PIPELINES}:socket", "--debug")
    assert f"somebody listens at {address}/live?token=..." in there.stdout
    assert f"nobody answers at {address}/live?token=...: Connection refused" in gone.stdout
    assert "give it as auth=(user, password)" in caplog.text
    for found in (there, gone):  # the log says it once, a check each time
        (line,) = [line for line in found.stdout.splitlines() if line.startswith("warning")]
        _, source, words = line.split(maxsplit=2)
        assert source == "departures"
        assert words == (
            f"from_websocket: the address {address}/live?token=... has a password in it, which "
            "others may see in your code and settings; give it as auth=(user, password)"
        )
    assert (there.exit_code, gone.exit_code) == (0, 1)
    assert "SECRET" not in there.output + gone.output + caplog.text


def test_a_password_in_a_connection_string_is_hinted_at_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    conninfo = "host=127.0.0.1 port=9 user=me password=SECRET dbname=traffic"
    monkeypatch.setattr(
        pipelines,
        "tables",
        Pipeline(
            "tables",
            sources={"flights": lambda settings: read_postgres(conninfo, "SELECT 1 AS id")},
            sinks={"late": lambda settings: write_postgres(conninfo, "late")},
        ),
        raising=False,
    )
    found = check(f"{PIPELINES}:tables", "--debug")
    warnings = [line for line in found.stdout.splitlines() if line.startswith("warning")]
    assert [line.split()[1:3] for line in warnings] == [
        ["flights", "read_postgres:"],
        ["late", "write_postgres:"],
    ]
    for line in warnings:
        assert line.endswith(
            "the address postgresql://127.0.0.1:9/traffic has a password in it, which others may "
            "see in your code and settings; keep it in PGPASSWORD, in ~/.pgpass or with a service"
        )
    assert "SECRET" not in found.output + caplog.text


def test_a_file_is_not_taken_for_an_address(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "flights.db").touch()
    monkeypatch.setattr(
        pipelines,
        "tables",
        Pipeline(
            "tables",
            sources={"one": lambda settings: read_sqlite(tmp_path / "flights.db", "SELECT 1")},
            sinks={"two": lambda settings: write_sqlite(tmp_path / "late.db", "late")},
        ),
        raising=False,
    )
    found = check(f"{PIPELINES}:tables")
    assert f"makes {tmp_path}/late.db" in found.stdout
    assert found.exit_code == 0


def test_nothing_is_subscribed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    subscribed: list[str] = []

    def source(settings: NoSettings) -> Flow[int]:
        return Flow.from_publisher(Watched(subscribed))

    eager = Pipeline("eager", sources={"numbers": source}, sinks={"sink": lambda settings: print})
    monkeypatch.setattr(pipelines, "eager", eager, raising=False)
    assert check(f"{PIPELINES}:eager").exit_code == 0
    assert subscribed == []


@pytest.mark.parametrize(
    ("arguments", "subject", "said"),
    [
        (["no_source"], "assembly", "the source numbers cannot be made: FileNotFoundError"),
        (["completes", "--master", "local"], "assembly", "has no use for a master"),
        (["not_sendable", "--no-spark"], "functions", "cannot be sent to Spark's workers"),
        (["spark_ticks", "--no-spark", "--checkpoint", "new"], "resume", "interval at"),
        (["spark_rows", "--master", "spork"], "assembly", "a master is local, local[n]"),
    ],
)
def test_a_problem_is_one_line_and_exit_code_1(
    arguments: list[str], subject: str, said: str
) -> None:
    name, *options = arguments
    checked = check(f"{PIPELINES}:{name}", *options)
    assert checked.exit_code == 1
    (line,) = (line for line in checked.stdout.splitlines() if line.startswith("problem"))
    assert line.split()[1] == subject
    assert said in line
    assert checked.stderr == ""


def test_what_is_not_known_of_a_restart_before_it_runs_is_said(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoint")
    checked = check(f"{PIPELINES}:spark_flows", "--no-spark", "--checkpoint", place)
    (line,) = (line for line in checked.stdout.splitlines() if line.split()[1] == "resume")
    assert line.startswith("ok")
    assert "the function of concat_map at " in line
    assert "has to give the same flow again, and whether that flow can go on is seen" in line


def test_debug_shows_the_traceback_of_a_problem() -> None:
    checked = check(f"{PIPELINES}:no_source", "--debug")
    assert checked.exit_code == 1
    assert 'raise FileNotFoundError("flights.csv is not there")' in checked.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["complets"], "did you mean 'completes'?"),
        (["completes", "--set", "cuont=1"], "did you mean 'count'?"),
    ],
)
def test_bad_input_is_exit_code_2(arguments: list[str], said: str) -> None:
    name, *options = arguments
    checked = check(f"{PIPELINES}:{name}", *options)
    assert (checked.exit_code, checked.stdout) == (2, "")
    assert said in checked.stderr


def test_a_new_place_for_a_checkpoint_is_tried_out_and_not_made(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "checkpoint"
    checked = check(f"{PIPELINES}:spark_rows", "--no-spark", "--checkpoint", str(place))
    assert checked.exit_code == 0
    assert f"{place} is new; a write takes" in checked.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_of_another_pipeline_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").write_text(
        '{"format": 1, "name": "other-rows", "inputs": ["number long"]}'
    )
    checked = check(f"{PIPELINES}:spark_rows", "--no-spark", "--checkpoint", str(tmp_path))
    assert checked.exit_code == 1
    assert "belongs to the pipeline 'other-rows', not to 'spark-rows'" in checked.stdout


def test_a_checkpoint_of_another_schema_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").write_text(
        '{"format": 1, "name": "spark-rows", "inputs": ["number string"]}'
    )
    checked = check(f"{PIPELINES}:spark_rows", "--no-spark", "--checkpoint", str(tmp_path))
    assert checked.exit_code == 1
    assert "was made for the schema 'number string'" in checked.stdout


def test_a_checkpoint_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    checked = check(f"{PIPELINES}:spark_rows", "--no-spark", "--checkpoint", str(place))
    assert checked.exit_code == 1
    assert "is a file, not a folder" in checked.stdout


def test_a_journal_that_is_gone_is_a_problem_once_there_were_rows(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").write_text(
        '{"format": 1, "name": "spark-rows", "inputs": ["number long"]}'
    )
    arguments = (f"{PIPELINES}:spark_rows", "--no-spark", "--checkpoint", str(tmp_path))
    checked = check(*arguments)
    assert checked.exit_code == 0
    assert "is of this pipeline, and whole; batches done: 0" in checked.stdout
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "metadata").write_text('{"id": "1"}')
    (tmp_path / "spark" / "offsets" / "0").write_text('v1\n{}\n{"journal": "abc", "position": 5}\n')
    checked = check(*arguments)
    assert checked.exit_code == 1
    assert "belongs to another journal than the one that lies beside it" in checked.stdout


@pytest.mark.spark_connect
def test_a_server_of_spark_connect_that_is_not_there_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"sc://127.0.0.1:{nobody.getsockname()[1]}"
    checked = check(f"{PIPELINES}:spark_rows", "--remote", address)
    assert checked.exit_code == 1
    assert checked.stderr == ""
    (line,) = (line for line in checked.stdout.splitlines() if line.startswith("problem"))
    assert line.split()[:2] == ["problem", "spark"]
    assert f"the Spark Connect server {address} cannot be reached" in line
    assert "Connection refused" in line
    assert "start it, or correct the address" in line


@pytest.mark.spark_connect
def test_the_token_of_a_server_of_spark_connect_is_not_shown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"sc://127.0.0.1:{nobody.getsockname()[1]}"
    checked = check(
        f"{PIPELINES}:spark_rows", "--remote", f"{address}/;token=SECRET;user_id=SECRET", "--debug"
    )
    assert f"the Spark Connect server {address}/;token=...;user_id=... cannot" in checked.stdout
    assert "SECRET" not in checked.output


@pytest.mark.parametrize("holder", [RunOptions, RunTarget, Deployment, SparkSettings])
def test_what_holds_the_address_of_a_server_does_not_show_its_token(holder: type) -> None:
    remote = "sc://example.org:15002/;token=SECRET"
    held = holder(remote=remote)
    assert held.remote == remote
    assert "SECRET" not in f"{held!r} {held}"


@pytest.mark.spark_connect
@pytest.mark.timeout(60)
def test_somebody_who_does_not_answer_as_spark_connect_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"sc://127.0.0.1:{silent.getsockname()[1]}"
        checked = check(f"{PIPELINES}:spark_rows", "--remote", address)
    assert checked.exit_code == 1
    (line,) = (line for line in checked.stdout.splitlines() if line.startswith("problem"))
    assert f"who listens at {address} has not answered as a Spark Connect server" in line


@pytest.mark.full
@pytest.mark.timeout(300)
def test_spark_judges_the_query_without_rows() -> None:
    sound = penstock_command("check", f"{PIPELINES}:spark_rows", "--set", "count=1_000_000")
    assert sound.code == 0, sound.out
    assert "Spark accepts it, and makes number bigint" in sound.out

    wrong = penstock_command("check", f"{PIPELINES}:wrong_column")
    assert wrong.code == 1
    (line,) = (line for line in wrong.out.splitlines() if line.startswith("problem"))
    assert "`nmber` cannot be resolved" in line


class Watched:
    """A publisher that notes who subscribes."""

    def __init__(self, subscribed: list[str]) -> None:
        self._subscribed = subscribed

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self._subscribed.append("numbers")


def test_one_of_several_servers_has_to_listen() -> None:
    with held_port() as gone, socket.create_server(("127.0.0.1", 0)) as server:
        servers = f"127.0.0.1:{gone},127.0.0.1:{server.getsockname()[1]}"
        assert require_listener(f"kafka://{servers}/orders").startswith("somebody listens at kafka")
        with pytest.raises(OSError, match="nobody answers at kafka://.*: Connection refused"):
            require_listener(f"kafka://127.0.0.1:{gone},127.0.0.1:{gone}/orders")
