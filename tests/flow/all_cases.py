"""All operators of the tables in ``tests/flow/cases``, as the parameters of a test."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.flow.case import Case

__all__ = ["ALL_CASES", "EVERY_CASE"]

TABLES = sorted(path.stem for path in Path(__file__).with_name("cases").glob("[!_]*.py"))
ALL_CASES: list[Case] = [
    case for table in TABLES for case in import_module(f"tests.flow.cases.{table}").CASES
]
EVERY_CASE = pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
