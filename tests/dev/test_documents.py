"""The README and its neighbours: each snippet runs as it is printed, each link leads somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.style.project import ROOT, files, text

SNIPPETS: Final = re.findall(r"```python\n(.*?)```", text(Path("README.md")), re.DOTALL)
LINK: Final = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE: Final = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
DOCUMENTS: Final = [
    path
    for path in files()
    if path.suffix == ".md" and path.parts[0] not in ("newsfragments", "src", "tests")
]
RUN_BY_OTHERS: Final = {
    "class Board": "tests/dev/test_distributions.py",
    "# late.py": "tests/cli/test_readme_pipeline.py",
}
"""By what they begin with or have in them: snippets that another test runs, as they are printed."""
WRITES: Final = {
    "map_async": ["20 {'page': 4, 'price': 4}", "20 {'page': 9, 'price': 4}"],
    "on_spark(": ["Row(flight=51, origin='JFK', hours=0.85)"],
    "verify_publisher": ["passed: 25 verified, 0 failed, 0 undecided, 18 not claimed"],
}
"""What each of the others is known by, and lines that it writes."""


def snippet_with(words: str) -> str:
    (found,) = [each for each in SNIPPETS if words in each and "# late.py" not in each]
    return str(found)


def test_each_snippet_of_the_readme_is_run_by_a_test() -> None:
    for snippet in SNIPPETS:
        known = [words for words in (*RUN_BY_OTHERS, *WRITES) if words in snippet]
        assert known, snippet
    for words, test in RUN_BY_OTHERS.items():
        assert any(words in snippet for snippet in SNIPPETS)
        assert "README" in text(Path(test))


@pytest.mark.parametrize(
    "words",
    [
        "map_async",
        pytest.param("on_spark(", marks=pytest.mark.full),
        pytest.param("verify_publisher", marks=pytest.mark.full),
    ],
)
def test_a_snippet_of_the_readme_writes_what_it_should(words: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", snippet_with(words)],
        check=False,
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    for line in WRITES[words]:
        assert line in done.stdout


def test_the_snippets_of_the_readme_do_not_share_a_checkpoint() -> None:
    places = re.findall(r"checkpoint[= ]\"?([\w-]+)", "\n".join(SNIPPETS))
    assert len(places) == len(set(places)) == 2


@pytest.mark.parametrize("document", DOCUMENTS, ids=str)
def test_each_link_within_the_repository_leads_somewhere(document: Path) -> None:
    broken = [link for link in links_of(document) if not leads_somewhere(document, link)]
    assert broken == []


def links_of(document: Path) -> Iterator[str]:
    for link in LINK.findall(CODE.sub("", text(document))):
        if "://" not in link and not link.startswith("mailto:"):
            yield link


def leads_somewhere(document: Path, link: str) -> bool:
    """To a file, and to a heading if it names one; what is generated is the concern of Sphinx."""
    path, _, anchor = link.partition("#")
    target = document if not path else Path(*resolved(document.parent, path))
    if "generated" in target.parts:
        return True
    if not (ROOT / target).exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors_of(target)


def resolved(folder: Path, path: str) -> list[str]:
    parts = [*folder.parts]
    for part in path.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return parts


def anchors_of(page: Path) -> set[str]:
    """The headings, as they are called in an address; of a page that includes another, those."""
    content = re.sub(r"```(?!\{include\}).*?```", "", text(page), flags=re.DOTALL)
    for included in re.findall(r"\{include\} (\S+)", content):
        content += text(Path(*resolved(page.parent, included)))
    headings = re.findall(r"^#+ (.+)$", content, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
