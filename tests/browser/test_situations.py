"""Each situation on the page: its sentence, and who is marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from penstock.observe import PastRun
from tests.browser.chromium import expect, running_browser
from tests.browser.situations import MADE, Made, on_page
from tests.observe.driven import STAGES

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.browser

SENTENCES = {
    "starting": "Spark has not done its first batch yet",
    "just begun": "It has just begun to run",
    "catching up": "Spark catches up with what came while it started",
    "steady": "Nobody has to wait long",
    "slow sink": "'phone' is the slowest stage",
    "slow Spark": "Spark is the slowest stage",
    "slow source": "'weather' sets the pace",
    "stalled source": "'weather' has sent nothing for",
    "trouble": "Trouble at 'board': nobody answers",
    "draining": "Draining: nothing more is taken, and 48 are still on their way.",
    "completed": "All of it came through",
    "nothing left to do": "Nothing was left to do",
    "failed": "The pipeline has failed",
}
MARKED = {"slow sink": "SLOW", "slow Spark": "SLOW", "trouble": "TROUBLE", "draining": "SLOW"}


WORDS_BEHIND_STAGES = """() => {
    const stages = [...document.querySelectorAll(".stage")];
    const boxes = stages.map((stage) => stage.getBoundingClientRect());
    return [...document.querySelectorAll(".edge text")].filter((text) => {
        const word = text.getBoundingClientRect();
        return word.width && boxes.some((box) => word.left < box.right && word.right > box.left
            && word.top < box.bottom && word.bottom > box.top);
    }).map((text) => text.textContent);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.mark.parametrize("name", MADE)
def test_the_page_says_what_the_situation_is(browser: Browser, name: str) -> None:
    with on_page(browser, MADE[name]()) as page:
        expect(page.locator("#sentence")).to_contain_text(SENTENCES[name])
        marked = page.locator(".stage .slow:visible")
        assert marked.all_inner_texts() == ([MARKED[name]] if name in MARKED else [])
        if name in ("completed", "nothing left to do", "failed", "starting"):
            assert {*page.locator(".stage .rate").all_inner_texts()} == {"0 /s"}


@pytest.mark.parametrize("width", [1044, 1100, 1280, 1600, 768, 390])
def test_no_word_of_an_edge_is_behind_a_stage(browser: Browser, width: int) -> None:
    with on_page(browser, MADE["slow sink"]()) as page:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"() => ({WORDS_BEHIND_STAGES})().length === 0")


def test_a_name_that_does_not_fit_is_cut_and_can_be_read_in_full(browser: Browser) -> None:
    made = MADE["steady"]()
    made.more_sinks = ("the archive of everything that was ever measured",)
    with on_page(browser, made, stages=len(STAGES) + 1) as page:
        name = page.locator(f"[data-stage='{made.more_sinks[0]}'] .name")
        assert name.get_attribute("title") == made.more_sinks[0]
        assert name.evaluate("node => node.scrollWidth > node.clientWidth")
        board = page.locator("[data-stage=board] .name")
        height = "node => node.getBoundingClientRect().height"
        assert name.evaluate(height) == board.evaluate(height)


def test_where_elements_are_batches_each_number_says_what_it_counts(browser: Browser) -> None:
    runs = (PastRun(0.0, 3, "completed", 20, 4_000, 0, 0),)
    with on_page(browser, Made(slow="phone", batches=True, runs=runs)) as page:
        expect(page.locator("[data-stage=weather] .detail")).to_contain_text("batches · ")
        expect(page.locator("[data-stage=spark] .detail")).to_contain_text("rows · ")
        assert page.locator(".edge .unit").all_text_contents() == [
            "batches", "batches", "rows", "batches", "batches",
        ]  # fmt: skip
        assert page.evaluate(WORDS_BEHIND_STAGES) == []
        expect(page.locator("[data-entry=taken] dd").first).to_have_text("315 batches")
        expect(page.locator("[data-entry=delivered] dd").first).to_have_text("315 rows")
        assert (
            "taken 20 batches, delivered 4,000 rows, lost 0"
            in page.locator(".run-list").inner_text()
        )
        values = page.locator(".chart .value").all_inner_texts()
        assert values[:4] == ["120 batches /s", "120 batches /s", "256 rows", "12 rows"]
        page.locator("[data-stage=phone]").click()
        expect(page.locator(".facts-line")).to_contain_text("sink · 315 batches · ")
