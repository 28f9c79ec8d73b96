"""The maps of the packages, and where things are: names and places that cannot go stale."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.walk import PAGE, STOP, with_lines
from penstock import Flow
from penstock.flow.base_flow import BaseFlow
from tests.style.project import python_files, syntax, text

PACKAGE = Path("src/penstock")
MODULES = python_files("src")
PACKAGES = [path.parent for path in MODULES if path.name == "__init__.py"]
MAP_LINE = re.compile(r"^``([\w/]+(?:\.py)?)``", re.MULTILINE)


def parts_of(package: Path) -> set[str]:
    """The modules and folders of a package, as its map names them; at the top without endings."""
    modules = {path for path in MODULES if path.parent == package}
    names = {path.name for path in modules if not path.name.startswith("__")}
    folders = {f"{each.name}/" for each in PACKAGES if each.parent == package}
    if package == PACKAGE:
        return {name.removesuffix(".py").rstrip("/") for name in names | folders}
    return names | folders


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to("src").as_posix())
def test_the_map_of_a_package_names_all_that_is_in_its_folder(package: Path) -> None:
    named = MAP_LINE.findall(ast.get_docstring(syntax(package / "__init__.py")) or "")
    assert (sorted(named), len(named)) == (sorted(parts_of(package)), len(set(named)))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.relative_to("src").as_posix())
def test_no_module_has_the_name_of_something_that_its_package_gives(package: Path) -> None:
    """Else the name would be the module from the moment when somebody imports that.

    Unless the package itself binds the name, as ``penstock`` does with ``guard``.
    """
    modules = {name.removesuffix(".py").rstrip("/") for name in parts_of(package)}
    for name in given_by(package) & modules:
        assert name in bound_by(package), name


def given_by(package: Path) -> set[str]:
    """What ``__all__`` names; read, since not every package can be imported everywhere."""
    return {
        name
        for statement in syntax(package / "__init__.py").body
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
        for name in ast.literal_eval(statement.value)
    }


def bound_by(package: Path) -> set[str]:
    """The names that a package imports from one of its parts whenever it is imported itself."""
    return {
        name.asname or name.name
        for statement in syntax(package / "__init__.py").body
        if isinstance(statement, ast.ImportFrom)
        for name in statement.names
    }


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to("src").as_posix())
def test_the_files_that_a_module_expects_beside_itself_are_there(path: Path) -> None:
    beside = re.findall(r"Path\(__file__\)\.with_name\(\"([^\"]+)\"\)", text(path))
    assert [name for name in beside if not path.with_name(name).exists()] == []


def test_no_class_name_means_two_things() -> None:
    homes: dict[str, list[Path]] = defaultdict(list)
    for path in MODULES:
        for node in syntax(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(path)
    twice = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in NAMESAKES} == {}
    assert twice.keys() >= NAMESAKES


NAMESAKES = {"Event", "Lock"}
"""The explorer's stand-ins are called what they stand in for, as ``threading`` has them."""


def test_the_walk_of_an_element_links_to_the_lines_of_its_stops() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_lines(page, Path()), "`python -m docs.walk` writes the lines again"
    stops = STOP.findall(page)
    assert 10 <= len(stops) <= 15
    assert len({path for _, path in stops}) == len(stops)


# The operators of ``Flow``, and the modules that they are in.


def operators() -> Iterator[tuple[str, str]]:
    """Each public method of ``Flow``, and the module of ``methods`` that has it."""
    for base in Flow.__mro__:
        module = base.__module__.rpartition(".")[2]
        if base.__module__.startswith("penstock.flow.methods."):
            for name in vars(base):
                if not name.startswith("_"):
                    yield name, module
    yield from ((name, "base_flow") for name in vars(BaseFlow) if name == "subscribe")


def implementations() -> set[str]:
    """The modules in which operators are made, those on Spark included."""
    folders = ("operators", "sources", "multicast", "engine", "explain", "spark")
    return {path.stem for path in MODULES if path.parent.name in folders} - {"__init__"}


@pytest.mark.parametrize(("operator", "family"), sorted(operators()))
def test_each_operator_is_in_a_module_named_after_it_or_after_its_family(
    operator: str, family: str
) -> None:
    home = HOMES.get(operator)
    assert {operator, family, home} & implementations(), f"where is {operator}?"
    assert home is None or home in implementations() - {operator, family}, f"not in {home}"


HOMES = {
    "from_async_iterable": "from_async",
    "from_awaitable": "from_async",
    "concat": "merge",
    "race": "merge",
    "skip_until": "merge",
    "start_with": "merge",
    "take_until": "merge",
    "then": "merge",
    "publish": "shared_flow",
    "share": "shared_flow",
    "replay": "shared_flow",
    "cache": "shared_flow",
    "dematerialize": "materialize",
    "elapsed": "timestamp",
    "run_sync": "blocking",
    "subscribe": "subscription",
    "from_dataframe": "dataframe",
}
"""Where an operator is, if not in the module of its name or of its family."""


# Locks.

MADE = re.compile(
    r"\b(?:threading\.(?:R?Lock|Condition|Semaphore)|ReentrantLock"
    r"|(?:\w+\.)?new_(?:lock|condition))\(\)"
)


def test_locks_are_made_where_this_list_says() -> None:
    makers = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if path.parts[2] not in ("tck", "testing") and MADE.search(text(path))
    }
    assert makers == LOCKS


LOCKS = {
    "bridges/jvm/jvm_process.py",
    "bridges/jvm/conversion.py",
    "bridges/jvm/to_java.py",
    "connectors/shared/loop_thread.py",
    "core/base_subscriber.py",
    "core/buffer.py",
    "core/demand.py",
    "core/drain.py",
    "core/identity_processor.py",
    "core/timeline.py",
    "flow/engine/blocking.py",
    "flow/operators/timing.py",
    "flow/multicast/broadcast.py",
    "flow/multicast/shared_flow.py",
    "guard/publisher.py",
    "guard/reports.py",
    "guard/subscriber.py",
    "observe/dashboard/dashboard.py",
    "observe/observer.py",
    "pipeline/assembly.py",
    "pipeline/run.py",
    "pipeline/run_log.py",
    "pipeline/sink_accounts.py",
    "pipeline/sinks.py",
    "runtime/executor.py",
    "runtime/system_clock.py",
    "runtime/thread_pool.py",
    "runtime/undelivered.py",
    "spark/checkpoint_copy.py",
    "spark/egress/batch_counts.py",
    "spark/egress/batch_delivery.py",
    "spark/egress/batch_transport.py",
    "spark/workers/partition_subscriber.py",
}
"""All modules outside of the kit that make a lock."""
