"""What holds for every test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.style.project import python_files, syntax

WAYS_AROUND_A_TEST = {"skip", "skipif", "skipTest", "importorskip", "xfail", "flaky"}


def test_every_test_name_is_a_sentence_of_three_words_or_more() -> None:
    short = [
        (path, node.name)
        for path, node in nodes()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and len(node.name.split("_")) < 4
    ]
    assert short == []


def test_no_test_waits_for_time_to_pass() -> None:
    assert [(path, node.lineno) for path, node in nodes() if is_sleep(node)] == []


def test_no_test_can_be_skipped_or_expected_to_fail() -> None:
    around = [
        (path, node.lineno)
        for path, node in nodes()
        if isinstance(node, ast.Attribute) and is_way_around(node)
    ]
    assert around == []


def is_way_around(node: ast.Attribute) -> bool:
    """``pytest.skip``, ``pytest.mark.skip`` or ``self.skipTest``, but not ``flow.skip``."""
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else ast.unparse(node.value)
    return node.attr in WAYS_AROUND_A_TEST and owner in {"pytest", "mark", "self"}


def nodes() -> Iterator[tuple[Path, ast.stmt | ast.expr]]:
    for path in python_files("tests"):
        for node in ast.walk(syntax(path)):
            if isinstance(node, ast.stmt | ast.expr):
                yield path, node


def is_sleep(node: ast.AST) -> bool:
    """``sleep(0)`` is no wait: it hands the event loop to the others once."""
    match node:
        case ast.Call(
            func=ast.Name(id="sleep") | ast.Attribute(attr="sleep"), args=[ast.Constant(value=0)]
        ):
            return False
        case ast.Call(func=ast.Name(id="sleep") | ast.Attribute(attr="sleep")):
            return True
    return False
