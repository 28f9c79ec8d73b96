"""The docstrings of the standard's types name rules that exist, and all of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from penstock import api
from penstock.rules import RULES

CHAPTER_4 = {"4.1", "4.2"}


def test_every_rule_that_the_standard_names_exists() -> None:
    assert [number for numbers in named_rules().values() for number in numbers] != []
    unknown = {
        name: numbers - RULES.keys()
        for name, numbers in named_rules().items()
        if numbers - RULES.keys()
    }
    assert unknown == {}


def test_every_rule_of_the_first_three_chapters_is_named_by_a_method() -> None:
    by_methods = {name: numbers for name, numbers in named_rules().items() if "." in name}
    assert RULES.keys() - set().union(*by_methods.values()) == CHAPTER_4


def test_the_rules_of_processors_are_named_by_their_class() -> None:
    assert named_rules()["Processor"] == CHAPTER_4


def named_rules() -> dict[str, set[str]]:
    """The rules on the "Rules:" line of each class and method, ranges written out."""
    return {name: set(numbers_in(line)) for name, line in rules_lines()}


def rules_lines() -> Iterator[tuple[str, str]]:
    for class_name, thing in inspect.getmembers(api, inspect.isclass):
        if thing.__module__ != api.__name__:
            continue
        documented = {class_name: thing} | {
            f"{class_name}.{name}": method
            for name, method in vars(thing).items()
            if inspect.isfunction(method)
        }
        for name, target in documented.items():
            line = re.search(r"^Rules: (.*)$", inspect.getdoc(target) or "", re.MULTILINE)
            if line:
                yield name, line[1]


def numbers_in(line: str) -> Iterator[str]:
    for first, last in re.findall(r"(\d\.\d+)(?: to (\d\.\d+))?", line):
        chapter, start = first.split(".")
        end = (last or first).split(".")[1]
        yield from (f"{chapter}.{n}" for n in range(int(start), int(end) + 1))
