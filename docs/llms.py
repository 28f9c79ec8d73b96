"""``llms.txt``: the pages and what each is about, for programs that read documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

__all__ = ["llms_page"]

DOCS: Final = Path(__file__).parent
GROUP: Final = re.compile(r"```\{toctree\}\n(?P<options>(?::.*\n)*)\n(?P<pages>(?:.+\n)*)```")
CAPTION: Final = re.compile(r":caption: (.+)")
TARGET: Final = re.compile(r"<(.+)>")
PROSE: Final = re.compile(r"[A-Z]|`(?!``)")
"""How a paragraph begins that is no table, list, heading or block."""
LINK: Final = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def llms_page() -> str:
    """The file, in the groups of the front page."""
    front = (DOCS / "index.md").read_text()
    parts = ["# Penstock", f"> {first_paragraph(front)}"]
    for group in GROUP.finditer(front):
        caption = CAPTION.search(group["options"])
        lines = [line for page in group["pages"].splitlines() if (line := line_of(page))]
        if caption is not None and lines:
            parts.append(f"## {caption[1]}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def line_of(entry: str) -> str:
    """A page with its title and what it is about; those that are generated speak for themselves."""
    target = TARGET.search(entry)
    name = target[1] if target is not None else entry.strip()
    file = DOCS / f"{name}.md"
    if name.startswith("generated/") or not file.exists():
        return ""
    text = file.read_text()
    title, _, _ = text.partition("\n")
    if not title.startswith("# "):
        return ""  # it includes another file
    title = title.removeprefix("# ")
    return f"- [{title}]({name}.html): {first_paragraph(text)}"


def first_paragraph(text: str) -> str:
    """The first paragraph of prose in a page, on one line and without links."""
    for paragraph in text.split("\n\n")[1:]:
        if PROSE.match(paragraph):
            return LINK.sub(r"\1", " ".join(paragraph.split()))
    return ""
