"""Expressions over ``X`` calculate what the same Python text would."""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.flow import Flow, X
from penstock.flow.expression import COMPARISONS, INLINED, MOST_OPERATIONS

Calculation = Callable[[Any], Any]


def results(calculation: Any, *elements: Any) -> list[Any]:
    found = Flow.of(*elements).map(calculation).to_list().run_sync()
    assert found is not None
    return found


CALCULATIONS: dict[str, Calculation] = {
    "addition": lambda x: x + 3,
    "reflected addition": lambda x: 3 + x,
    "subtraction": lambda x: x - 3,
    "reflected subtraction": lambda x: 3 - x,
    "multiplication": lambda x: x * 3,
    "division": lambda x: x / 3,
    "reflected division": lambda x: 3 / x,
    "floor division": lambda x: x // 3,
    "reflected floor division": lambda x: 30 // x,
    "remainder": lambda x: x % 3,
    "reflected remainder": lambda x: 30 % x,
    "power": lambda x: x**3,
    "reflected power": lambda x: 3**x,
    "bitwise and": lambda x: x & 6,
    "reflected bitwise and": lambda x: 6 & x,
    "bitwise or": lambda x: x | 6,
    "bitwise xor": lambda x: x ^ 6,
    "left shift": lambda x: x << 2,
    "reflected left shift": lambda x: 2 << x,
    "right shift": lambda x: x >> 1,
    "reflected right shift": lambda x: 64 >> x,
    "negation": lambda x: -x,
    "plus": lambda x: +x,
    "inversion": lambda x: ~x,
    "absolute value": lambda x: abs(-x),
    "equality": lambda x: x == 3,
    "inequality": lambda x: x != 3,
    "less": lambda x: x < 3,
    "less or equal": lambda x: x <= 3,
    "greater": lambda x: x > 3,
    "greater or equal": lambda x: x >= 3,
    "reflected comparison": lambda x: x > 3,
    "the element twice": lambda x: x * x + x,
    "sums are not multiplied away": lambda x: (x + 1) * (x - 1),
    "a power of a negation": lambda x: (-x) ** 2,
    "a negation of a power": lambda x: -(x**2),
    "a comparison within arithmetic": lambda x: (x < 3) + 1,
    "conditions": lambda x: (x > 1) & (x < 4) | (x == 7),
    "several constants": lambda x: (x + 1) * 2 - (3 - x) // 4 + 5,
    "a constant on either side": lambda x: 100 - (x - (10 - x)),
}


@pytest.mark.parametrize("name", CALCULATIONS)
def test_an_expression_is_what_the_same_function_returns(name: str) -> None:
    calculation = CALCULATIONS[name]
    elements = [1, 2, 3, 4, 7]
    assert results(calculation(X), *elements) == [calculation(element) for element in elements]


def test_an_expression_reads_attributes_items_and_slices() -> None:
    point = SimpleNamespace(name="origin", at=(3, 4), by={"a": [5, 6]})
    assert results(X.name, point) == ["origin"]
    assert results(X.at[1], point) == [4]
    assert results(X.by["a"][0] + X.at[0], point) == [8]
    assert results(X.name[1:-1], point) == ["rigi"]


def test_an_expression_uses_the_element_as_an_index() -> None:
    class Squares:
        def __getitem__(self, index: int) -> int:
            return index**2

    assert results(X[X[0]], [2, 5, 9]) == [9]
    assert results(X.table[X.key], SimpleNamespace(table=Squares(), key=7)) == [49]


def test_an_expression_calls_methods_with_arguments_of_all_kinds() -> None:
    assert results(X.upper(), "a") == ["A"]
    assert results(X.split(",")[1], "a,b") == ["b"]
    assert results(X.split(sep=",", maxsplit=1), "a,b,c") == [["a", "b,c"]]
    assert results(X.replace(X[0], "z").upper(), "aba") == ["ZBZ"]


def test_matrix_products_are_inlined_too() -> None:
    class Matrix:
        def __matmul__(self, other: object) -> str:
            return f"left {other}"

        def __rmatmul__(self, other: object) -> str:
            return f"right {other}"

    assert results(X @ 2, Matrix()) == ["left 2"]
    assert results(2 @ X, Matrix()) == ["right 2"]


def test_constants_are_used_as_they_are() -> None:
    braces, quotes = "{x} {0}", "'\""
    assert results(X + braces + quotes, "a") == [f"a{braces}{quotes}"]
    key = object()
    assert results(X[key], {key: "found"}) == ["found"]


def test_equal_texts_with_other_constants_stay_apart() -> None:
    flow = Flow.of(10)
    assert [flow.map(X + n).run_sync() for n in (1, 2)] == [11, 12]


def test_an_expression_can_be_part_of_others() -> None:
    half = X / 2
    assert results(half + half * 10, 4) == [22.0]
    assert results(half, 4) == [2.0]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: bool(X),
        lambda: not X,
        lambda: X > 1 and X < 3,
        lambda: 1 < X < 3,
        lambda: 5 if X > 3 else 6,
    ],
    ids=["bool", "not", "and", "a chain of comparisons", "if"],
)
def test_an_expression_has_no_truth_value(ask: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="combine conditions with & and |"):
        ask()


def test_an_expression_cannot_be_iterated() -> None:
    with pytest.raises(TypeError, match="use a lambda"):
        list(X)
    with pytest.raises(TypeError, match="use a lambda"):
        bool(3 in X)


def test_an_expression_that_python_could_not_read_is_refused_at_assembly() -> None:
    longest = X
    for _ in range(MOST_OPERATIONS):
        longest = longest + 1
    assert results(longest, 0) == [MOST_OPERATIONS]
    with pytest.raises(ValueError, match="at most 100 operations: use a lambda"):
        longest + 1


def test_an_expression_shows_what_it_calculates() -> None:
    assert repr((X.price * 2 + 1)["a"].get("b", X)) == "<((X.price * 2) + 1)['a'].get('b', X)>"


def test_an_operator_of_two_arguments_takes_no_expression() -> None:
    combine: Any = X + 1
    with pytest.raises(TypeError, match="reduce takes no expression"):
        Flow.of(1).reduce(0, combine)
    with pytest.raises(TypeError, match="scan takes no expression"):
        Flow.of(1).scan(0, combine)


TAKERS: dict[str, tuple[Callable[[Flow[int]], Flow[Any]], list[Any]]] = {
    "map": (lambda flow: flow.map(X * 2), [2, 4, 6, 8]),
    "map_not_none": (lambda flow: flow.map_not_none(X.real), [1, 2, 3, 4]),
    "filter": (lambda flow: flow.filter(X > 2), [3, 4]),
    "take_while": (lambda flow: flow.take_while(X < 3), [1, 2]),
    "skip_while": (lambda flow: flow.skip_while(X < 3), [3, 4]),
    "first": (lambda flow: flow.first(X > 1), [2]),
    "distinct": (lambda flow: flow.distinct(X % 2), [1, 2]),
    "distinct_until_changed": (lambda flow: flow.distinct_until_changed(X // 2), [1, 2, 4]),
    "flat_map_iterable": (lambda flow: flow.map(lambda x: (x,)).flat_map_iterable(X), [1, 2, 3, 4]),
    "for_each": (lambda flow: flow.for_each(X + 1), []),
}


@pytest.mark.parametrize("name", TAKERS)
def test_an_operator_of_one_argument_takes_an_expression(name: str) -> None:
    apply, expected = TAKERS[name]
    assert apply(Flow.of(1, 2, 3, 4)).to_list().run_sync() == expected


@pytest.mark.parametrize(
    "function", [*INLINED, max, lambda total, x: total * 2 + x], ids=lambda it: it.__name__
)
def test_an_inlined_function_gives_what_the_function_does(function: Any) -> None:
    elements: list[Any] = [12, 5] if function is not operator.matmul else [Product("b")]
    seed: Any = 7 if function is not operator.matmul else Product("a")
    expected = seed
    for element in elements:
        expected = function(expected, element)
    assert Flow.of(*elements).reduce(seed, function).run_sync() == expected


class Product(str):
    """Text that can be multiplied as a matrix."""

    def __matmul__(self, other: str) -> Product:
        return Product(f"{self}@{other}")


def test_all_comparisons_are_known() -> None:
    assert {getattr(operator, name) for name in COMPARISONS} <= set(INLINED)
