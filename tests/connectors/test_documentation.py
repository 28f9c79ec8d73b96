"""Every connector says the same things of itself, and its example is right."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

import penstock
import penstock.testing
from docs.connector_table import PAGE, functions, with_tables
from penstock import connectors
from penstock.delivery import level_of
from tests.public_names import public_names

# The client of Kafka and the library of Iceberg have no wheels for the newest Python.
ABSENT: Final = [
    word
    for word, package in (("kafka", "confluent_kafka"), ("iceberg", "pyiceberg"))
    if find_spec(package) is None
]
SOURCES: Final = tuple(each.__name__ for each in functions("source"))
SINKS: Final = tuple(each.__name__ for each in functions("sink"))
MADE: Final[dict[str, Callable[[Path], Any]]] = {
    "serve_server_sent_events": lambda path: connectors.Server,
    "serve_websocket": lambda path: connectors.Server,
    "write_csv": lambda path: connectors.write_csv(path, ["a"]).sink,
    "write_duckdb": lambda path: connectors.write_duckdb(path, "a").sink,
    "write_jetstream": lambda path: connectors.write_jetstream("nats://a", "a", "a").sink,
    "write_delta": lambda path: connectors.write_delta(path).sink,
    "write_iceberg": lambda path: connectors.write_iceberg("a", "a.b").sink,
    "write_json_lines": lambda path: connectors.write_json_lines(path).sink,
    "write_kafka": lambda path: connectors.write_kafka("localhost:9092", "a").sink,
    "write_parquet": lambda path: connectors.write_parquet(path).sink,
    "write_postgres": lambda path: connectors.write_postgres("", "a").sink,
    "write_redis_stream": lambda path: connectors.write_redis_stream("redis://a", "a").sink,
    "write_sqlite": lambda path: connectors.write_sqlite(path, "a").sink,
    "write_standard_output": lambda path: connectors.write_standard_output().sink,
}
ROOT: Final = Path(__file__).parents[2]
HEADINGS: Final = ("Demand", "Errors", "Example")
OF_SOURCES: Final = (
    "Emits when", "Backpressures when", "Completes when", "Cancels when", "Replay",
)  # fmt: skip


def documentation(name: str) -> str:
    return inspect.getdoc(getattr(connectors, name)) or ""


def missing(name: str, headings: tuple[str, ...]) -> list[str]:
    text = documentation(name)
    return [each for each in headings if not re.search(f"^{each}:", text, re.MULTILINE)]


def test_the_tables_say_what_connectors_say() -> None:
    page = PAGE.read_text()
    assert page == with_tables(page), "`python -m docs.connector_table` writes them again"


def test_every_sink_is_made_here() -> None:
    assert {*SINKS} == {name for name in MADE if not any(word in name for word in ABSENT)}


@pytest.mark.parametrize("name", SOURCES + SINKS)
def test_a_connector_says_what_it_does_under_fixed_headings(name: str) -> None:
    assert missing(name, HEADINGS) == []


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_says_how_it_goes_on_and_how_it_ends(name: str) -> None:
    assert missing(name, OF_SOURCES) == []


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_says_how_exact_its_demand_is_and_what_it_can_replay(name: str) -> None:
    text = documentation(name)
    assert re.search("^Demand: (exact|window|none)", text, re.MULTILINE)
    assert re.search("^Replay: (from_start|position|none|that of)", text, re.MULTILINE)


@pytest.mark.parametrize("name", SOURCES + SINKS)
def test_the_example_of_a_connector_is_right(name: str) -> None:
    names = {**public_names(penstock), **vars(penstock.testing)}
    tests = doctest.DocTestFinder(recurse=False).find(getattr(connectors, name), name, globs=names)
    runner = doctest.DocTestRunner()
    assert sum(len(test.examples) for test in tests) > 0
    for test in tests:
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


@pytest.mark.parametrize("name", SINKS)
def test_a_sink_is_said_to_deliver_as_it_declares(name: str, tmp_path: Path) -> None:
    table = (ROOT / "docs" / "connectors.md").read_text()
    (in_table,) = re.findall(rf"^\| `{name}\(.*\| ([a-z ]+ once)[^|]*\|", table, re.MULTILINE)
    (in_docstring,) = re.findall("^Delivery: ([a-z ]+ once)", documentation(name), re.MULTILINE)
    assert in_table == in_docstring == level_of(MADE[name](tmp_path / "sink"))


def test_a_package_that_is_missing_is_named_with_what_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "penstock.connectors.websocket.source", raising=False)
    needed = {
        "delta": "deltalake", "iceberg": "pyiceberg", "kafka": "confluent_kafka",
        "parquet": "pyarrow",
    }  # fmt: skip
    for extra in needed:
        package = f"penstock.connectors.{extra}"
        for module in [name for name in sys.modules if name.startswith(package)]:
            monkeypatch.delitem(sys.modules, module)
        for name in (f"read_{extra}", f"write_{extra}"):
            monkeypatch.delitem(vars(connectors), name, raising=False)  # it may be loaded already
    monkeypatch.delattr(connectors, "from_websocket", raising=False)
    monkeypatch.setitem(sys.modules, "websockets.asyncio.client", None)
    with pytest.raises(ModuleNotFoundError, match="from_websocket needs websockets.*connectors"):
        _ = connectors.from_websocket
    for extra, package in needed.items():  # pyarrow last, which the others need as well
        for module in [name for name in sys.modules if name.startswith(f"{package}.")]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, package, None)
        for name in (f"read_{extra}", f"write_{extra}"):
            with pytest.raises(ModuleNotFoundError, match=rf"{name} needs {package}.*\[{extra}\]"):
                getattr(connectors, name)
