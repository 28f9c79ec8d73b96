"""Pictures for notebooks."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from penstock.runtime.drawing import box, chain, figure, line, stack, table

HOSTILE = "<script>alert('a')</script>\x1b[2J&"
ESCAPED = "&lt;script&gt;alert(&#x27;a&#x27;)&lt;/script&gt;\\x1b[2J&amp;"


class Reader(HTMLParser):
    """Fails where a tag is closed that is not open; knows all tags and attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        for name, value in attributes:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


PARTS = {
    "box": lambda text: box(text, caption=text, marked=True),
    "chain": lambda text: chain([box(text), box(text)]),
    "stack": lambda text: stack([box(text), line(text)]),
    "line": lambda text: line(text, faint=True),
    "table": lambda text: table([text, text], [[text, text]], numbers=[1]),
    "figure": lambda text: figure(text, box(text), line(text)),
}


@pytest.mark.parametrize("part", PARTS)
def test_text_of_others_is_no_markup_and_commands_nothing(part: str) -> None:
    drawn = PARTS[part](HOSTILE)
    assert ESCAPED in drawn
    assert "<script" not in drawn
    assert "\x1b" not in drawn


@pytest.mark.parametrize("part", PARTS)
def test_a_picture_is_whole_and_needs_nothing_else(part: str) -> None:
    reader = Reader()
    reader.feed(PARTS[part]("name"))
    assert reader.open == []
    assert reader.tags <= {"code", "div", "span", "table", "tbody", "td", "th", "thead", "tr"}
    assert set(reader.attributes) <= {"aria-hidden", "style"}
    assert not any("url(" in style for style in reader.attributes.get("style", ()))


def test_columns_of_numbers_are_set_flush_right() -> None:
    drawn = table(["name", "number"], [["a", "1"]], numbers=[1])
    assert [cell.rpartition(":")[2] for cell in drawn.split('">')[:-1] if "text-align" in cell] == [
        "left", "right", "left", "right",
    ]  # fmt: skip


def test_a_picture_has_the_colours_of_the_text_around() -> None:
    drawn = figure("title", box("a", caption="b", marked=True), table(["a"], [["b"]]))
    assert not any(f"{end}color:#" in drawn or f"{end}color:rgb" in drawn for end in (";", '"'))
