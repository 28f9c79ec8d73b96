"""From the arguments of a command to a pipeline and its settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from penstock.cli.failures import BadInput
from penstock.cli.reference import load
from penstock.pipeline import Pipeline
from penstock.pipeline.settings import SettingsError, filled, read_assignments, read_file
from penstock.rules.catalogue import unknown
from penstock.runtime import shorten

__all__ = ["load_pipeline", "load_settings"]

TABLES: Final = ("run", "settings")
T = TypeVar("T")


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
