"""The pages of the operators, made from the docstrings of ``Flow``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from docs.marble_picture import picture
from penstock.flow import Flow, SharedFlow
from penstock.flow.base_flow import BaseFlow
from penstock.flow.methods.creating import Creating
from penstock.flow.methods.multicasting import Multicasting
from penstock.flow.methods.running import Running

__all__ = ["GROUPS", "Group", "Operator", "group_page", "index_page", "operators", "shortened"]

MOMENTS: Final = ("Emits when", "Backpressures when", "Completes when", "Cancels when")
SECTIONS: Final = (*MOMENTS, "Demand", "Errors", "Example", "Marble")

LEGEND: Final = """\
Each operator has a picture. Time goes from left to right, one step a second. Above the box are the
streams that go in, below it is what comes out. A bar is the end, a cross is an error, and an arrow
goes on. Elements of one moment hang below each other. The tests run every picture."""


@dataclass(frozen=True)
class Operator:
    """A method of a flow and what its docstring says; ``owner`` is what it is called on."""

    name: str
    function: Callable[..., Any]
    owner: str
    summary: str
    explanation: str
    sections: dict[str, str]

    @property
    def signature(self) -> str:
        """How it is called."""
        signature = inspect.signature(self.function)
        parameters = [
            each.replace(annotation=inspect.Parameter.empty)
            for name, each in signature.parameters.items()
            if name != "self"
        ]
        untyped = signature.replace(parameters=parameters, return_annotation=signature.empty)
        return f"{self.owner}.{self.name}{untyped}"

    @property
    def marble(self) -> list[str]:
        """The lines of its marble diagram: inputs, the call, the output."""
        return self.sections.get("Marble", "").split("\n") if "Marble" in self.sections else []


@dataclass(frozen=True)
class Group:
    """The operators of one file of ``surface``."""

    name: str
    title: str
    operators: tuple[Operator, ...]

    @property
    def page(self) -> str:
        """The name of its page."""
        return f"operators-{self.name}"


def groups() -> Iterator[Group]:
    """The groups, in the order in which ``Flow`` inherits them."""
    for base in Flow.__bases__:
        found = operators(base)
        if base is Running:
            found = (*operators(BaseFlow), *found)  # subscribe, which every flow needs
        if base is Multicasting:
            own = [each for each in operators(SharedFlow) if each.name != "subscribe"]
            found = (*found, *own)
        name = base.__module__.rpartition(".")[2]
        title = (inspect.getdoc(inspect.getmodule(base)) or "").partition("\n")[0].rstrip(".")
        yield Group(name, title, tuple(found))


def operators(owner: type) -> Iterable[Operator]:
    """The operators that a class defines."""
    for name, member in vars(owner).items():
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            is_source = isinstance(member, staticmethod) or owner is Creating
            called_on = "Flow" if is_source else "shared" if owner is SharedFlow else "flow"
            summary, explanation, sections = read(inspect.getdoc(function) or "")
            yield Operator(name, function, called_on, summary, explanation, sections)


def read(docstring: str) -> tuple[str, str, dict[str, str]]:
    """The first line, the paragraphs after it, and the sections by their headings."""
    pattern = re.compile(rf"^({'|'.join(SECTIONS)}):", re.MULTILINE)
    before, *rest = pattern.split(docstring)
    summary, _, explanation = before.partition("\n")
    sections = {
        heading: inspect.cleandoc(text.strip("\n"))
        for heading, text in zip(rest[::2], rest[1::2], strict=True)
    }
    return summary, explanation.strip(), sections


GROUPS: Final = tuple(groups())


def index_page() -> str:
    """Which operator do I need?"""
    lines = ["# Which operator do I need?", "", LEGEND, ""]
    lines += ["```{toctree}", ":hidden:", *(group.page for group in GROUPS), "```", ""]
    for group in GROUPS:
        rows = [
            (markdown(each.summary), f"[`{each.name}`]({group.page}.md#{each.name})")
            for each in group.operators
        ]
        lines += [f"## {group.title}", "", *table([("you want", "you use"), *rows], "75 25", 1), ""]
    return "\n".join(lines)


def group_page(group: Group) -> str:
    """All that is to be said of the operators of a group."""
    lines = [f"# {group.title}", ""]
    for each in group.operators:
        lines += [f"({each.name})=", f"## `{each.name}`", "", f"`{each.signature}`", ""]
        lines += [markdown(each.summary), "", markdown(each.explanation), ""]
        if each.marble:
            lines += ["```{raw} html", picture(each.marble), "```", ""]
        moments = [(name.lower(), markdown(each.sections.get(name, ""))) for name in MOMENTS]
        lines += table(moments, "25 75")
        for heading in ("Demand", "Errors"):
            lines += ["", f"**{heading}**: {markdown(each.sections.get(heading, ''))}"]
        lines += ["", "```pycon", each.sections.get("Example", ""), "```", ""]
    return "\n".join(lines)


def shortened(docstring: str, name: str) -> str:
    """What the reference says of an operator: the beginning, and where the rest is."""
    summary, explanation, sections = read(docstring)
    if MOMENTS[0] not in sections:
        return docstring
    rest = f":ref:`Emits when ..., demand, errors, an example <{name}>`"
    return "\n\n".join(filter(None, (summary, explanation, rest)))


def markdown(text: str) -> str:
    """The text of a docstring, whose code stands in double quotes."""
    return text.replace("``", "`")


def table(rows: list[tuple[str, str]], widths: str, headers: int = 0) -> list[str]:
    """A table of two columns."""
    options = (":width: 100%", f":widths: {widths}", f":header-rows: {headers}")
    lines = ["```{list-table}", *options, ""]
    for first, second in rows:
        lines += [f"* - {first}", f"  - {' '.join(second.split())}"]
    return [*lines, "```"]
