"""The arguments of commands: the options of ``run`` and ``check``, and what a reference names."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar

import click

from penstock.cli.failures import BadInput
from penstock.pipeline import Pipeline, RunTarget
from penstock.pipeline.settings import SettingsError, filled, read_assignments, read_file
from penstock.rules.catalogue import unknown
from penstock.runtime import shorten

__all__ = [
    "LOG_FORMATS",
    "RunOptions",
    "load",
    "load_pipeline",
    "load_settings",
    "place_options",
]

T = TypeVar("T")
MOST_PORTS: Final = 65535
TABLES: Final = ("run", "settings")
LOG_FORMATS: Final = ("text", "json")


@dataclass(frozen=True)
class RunOptions:
    """What ``[run]`` in the settings file may say, and the options of the same names."""

    checkpoint: str | None = None
    master: str | None = None
    remote: str | None = field(default=None, repr=False)  # it may hold a token
    dashboard: bool = False
    port: int = 0
    accept_state_change: bool = False
    accept_lost_batches: bool = False
    drain_timeout: float = 30.0
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    spark_page: bool = False
    samples: bool = True
    quiet: bool = False
    log_format: str = "text"

    def __post_init__(self) -> None:
        if not self.drain_timeout > 0:
            raise SettingsError(
                f"drain_timeout is a number of seconds above 0, not {self.drain_timeout:g}"
            )
        if not 0 <= self.port <= MOST_PORTS:
            raise ValueError(f"port is from 0 to {MOST_PORTS}, not {self.port}")
        if self.log_format not in LOG_FORMATS:
            raise SettingsError(
                f"log_format is {' or '.join(LOG_FORMATS)}, not {shorten(self.log_format)}"
            )

    def require_complete(self) -> None:
        """Refuse options of which one needs another that is not there."""
        if self.checkpoint == "":
            raise BadInput(
                "--checkpoint is empty: name a place, or leave it out, and a restart begins anew"
            )
        if (self.tls_certificate is None) != (self.tls_key is None):
            given, missing = (
                ("--tls-key", "--tls-certificate")
                if self.tls_certificate is None
                else ("--tls-certificate", "--tls-key")
            )
            raise BadInput(f"{given} needs {missing} as well: TLS takes a certificate and its key")
        if self.tls_key is not None and not self.dashboard:
            raise BadInput("--tls-certificate and --tls-key are for the page: add --dashboard")

    def with_given(self, given: Mapping[str, Any]) -> RunOptions:
        """The command line wins over the file."""
        return replace(self, **{key: value for key, value in given.items() if value is not None})

    @property
    def target(self) -> RunTarget:
        """Where the pipeline runs."""
        return RunTarget(
            checkpoint=self.checkpoint,
            master=self.master,
            remote=self.remote,
            spark_page=self.spark_page,
            accept_state_change=self.accept_state_change,
            accept_lost_batches=self.accept_lost_batches,
            samples=self.samples,
        )


def place_options(command: Callable[..., T]) -> Callable[..., T]:
    """The pipeline, its settings, and where it runs."""
    for add in reversed(DECORATORS):
        command = add(command)
    return command


DECORATORS: Final[tuple[Callable[[Callable[..., Any]], Callable[..., Any]], ...]] = (
    click.argument("reference", metavar="MODULE:PIPELINE"),
    click.option(
        "--config", type=click.Path(path_type=Path), help="A TOML file: [run], [settings]."
    ),
    click.option(
        "--set", "assignments", metavar="KEY=VALUE", multiple=True, help="Set one setting."
    ),
    click.option("--checkpoint", metavar="PLACE", help="Where it goes on from when run again."),
    click.option(
        "--master", metavar="URL", help="The Spark cluster; without it Spark runs in here."
    ),
    click.option(
        "--remote", metavar="URL", help="A Spark Connect server, such as sc://host:15002."
    ),
    click.option("--debug", is_flag=True, help="Show the traceback of an error."),
)


def load_pipeline(reference: str) -> Pipeline:
    """The pipeline that ``module:name`` refers to."""
    try:
        found = load(reference, Pipeline)
    except ValueError as error:
        raise BadInput(str(error)) from error.__cause__
    if not isinstance(found, Pipeline):
        raise BadInput(f"{reference} is {shorten(found)}, which is no Pipeline")
    return found


def load_settings(
    pipeline: Pipeline, config: Path | None, assignments: Iterable[str], options: T
) -> tuple[T, Any]:
    """The options of the run and the settings of the pipeline, of a file and of ``--set``."""
    assigned = read_assignments(assignments)
    if config is None:
        return options, filled(pipeline.settings, assigned, "--set")
    tables = read_tables(config)
    run = filled(type(options), tables.get("run", {}), f"{config}, [run]")
    settings = {**tables.get("settings", {}), **assigned}
    return run, filled(pipeline.settings, settings, f"{config}, [settings]")


def read_tables(config: Path) -> Mapping[str, Mapping[str, Any]]:
    """The tables of the file, which has nothing else."""
    tables = read_file(config)
    for name, table in tables.items():
        if name not in TABLES:
            allowed = " and ".join(f"[{table}]" for table in TABLES)
            raise SettingsError(
                f"{config}: {unknown('table', name, allowed=allowed, names=TABLES)}"
            )
        if not isinstance(table, dict):
            raise SettingsError(f"{config}: {name} must be a table, [{name}], not {shorten(table)}")
    return tables


def load(reference: str, wanted: type | None = None) -> Any:
    """The object that ``module:name`` refers to; a ``ValueError`` says what is wrong.

    Modules of the current directory are found as well. If there is no such name, the error lists
    those of what is ``wanted``, or else of all that the module defines.
    """
    module_name, _, path = reference.partition(":")
    if not (module_name and path):
        raise ValueError(
            f"{reference!r} refers to nothing; write module:name, as in prices:make_publisher"
        )
    found: Any = _import(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise _no_such_name(module_name, name, found, wanted)
        found = getattr(found, name)
    return found


def _import(name: str) -> ModuleType:
    # As python -m does, and a script that pip installs does not.
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name and f"{name}.".startswith(f"{missing.name}."):
            raise ValueError(f"there is no module {missing.name!r}, here or installed") from None
        raise ValueError(f"{name} needs {missing.name!r}, which is not installed") from None
    except (Exception, SystemExit) as error:
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"importing {name} raised {what}{_place(error)}") from error


def _place(error: BaseException) -> str:
    """Where a module raised; the message of a syntax error already says that."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    is_importing = frame.filename == importlib.__file__ or frame.filename.startswith("<")
    return "" if is_importing else f", at {Path(frame.filename).name}:{frame.lineno}"


def _no_such_name(module: str, name: str, owner: object, wanted: type | None) -> ValueError:
    def fits(thing: object) -> bool:
        if wanted is not None:
            return isinstance(thing, wanted)
        return getattr(thing, "__module__", None) == module

    names = [
        public
        for public, thing in getattr(owner, "__dict__", {}).items()
        if not public.startswith("_") and fits(thing)
    ]
    allowed = f"these in {module}: {', '.join(names) or 'none'}"
    return unknown("name", name, allowed=allowed, names=names)
