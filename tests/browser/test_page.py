"""The page in a real browser. Whatever it says on the console fails the test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pytest

from penstock.cli.progress import duration
from penstock.observe import Observer, Passage, Signal
from penstock.observe.dashboard import Dashboard
from penstock.observe.ledger import WORDS, equation, is_worth_a_word
from tests.browser.chromium import PATIENCE, expect, running_browser
from tests.cli.terminals import in_a_terminal
from tests.held_port import held_port
from tests.observe.driven import STAGES, TOKEN, DrivenPipeline

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PHONE = 390
# But marbles, which come into view from the right.
NOTHING_STANDS_OUT = """() =>
    [...document.querySelectorAll("main :not(.for-ears, .for-ears *, .marbles *)")]
    .every((node) => node.getBoundingClientRect().right <= innerWidth)"""
# Where the line of an edge lies within a box; its ends may touch one.
POINTS_BEHIND_STAGES = """() => {
    const boxes = [...document.querySelectorAll(".stage")].map((stage) =>
        [stage.dataset.stage, stage.getBoundingClientRect()]);
    const origin = document.querySelector("#graph").getBoundingClientRect();
    const found = [];
    for (const line of document.querySelectorAll(".edge .line")) {
        for (let at = 0; at <= line.getTotalLength(); at += 2) {
            const { x, y } = line.getPointAtLength(at);
            for (const [name, box] of boxes) {
                const [left, top] = [x + origin.left - box.left, y + origin.top - box.top];
                if (left > 2 && left < box.width - 2 && top > 2 && top < box.height - 2) {
                    found.push(`${name} at ${Math.round(x)}, ${Math.round(y)}`);
                }
            }
        }
    }
    return found;
}"""
MARKUP = "<img src=x onerror=\"document.title='broken in'\"><b>bold</b>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as browser:
        yield browser


@pytest.fixture
def pipeline() -> DrivenPipeline:
    return DrivenPipeline()


@pytest.fixture
def observer(pipeline: DrivenPipeline) -> Observer:
    return pipeline.observer()


@pytest.fixture
def dashboard(observer: Observer) -> Iterator[Dashboard]:
    """Its port is held, for another one after it."""
    with held_port() as port, Dashboard(observer, port=port, token=TOKEN) as dashboard:
        yield dashboard


@pytest.fixture
def complaints() -> list[str]:
    """What the browser has to complain about."""
    return []


@pytest.fixture
def page(browser: Browser, dashboard: Dashboard, complaints: list[str]) -> Iterator[Page]:
    with browser.new_context(
        viewport={"width": 1280, "height": 800},
        reduced_motion="reduce",  # to draw what moves takes longer than all else
    ) as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(dashboard.address)
        expect(page.locator(".stage")).to_have_count(len(STAGES))
        yield page
        assert complaints == []


def test_the_page_moves_within_three_seconds_of_the_start(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    expect(page.locator("#batch")).to_have_text("1 (400 ms)")
    observer.start()
    pipeline.time.advance(3)
    expect(page.locator("[data-stage=phone] .rate")).to_have_text("60 /s")
    expect(page.locator("#batch")).to_have_text("13 (400 ms)")


def test_no_token_stays_in_the_browser(page: Page) -> None:
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""
    assert TOKEN not in str(page.context.cookies())
    page.reload()
    expect(page.locator(".stage")).to_have_count(len(STAGES))
    page.go_back()
    assert page.url == "about:blank"


def test_the_page_shows_what_the_view_says(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.pass_time(observer)
    expect(page.locator("#pipeline")).to_have_text("blizzard")
    expect(page.locator("#state")).to_have_text("running")
    expect(page.locator("#time")).to_have_text("00:00:05")
    expect(page.locator("#batch")).to_have_text("21 (400 ms)")
    expect(page.locator("#restarts")).to_have_text("1x")
    expect(page.locator("#kept")).to_have_text(f"{pipeline.passed:,} rows (2.3 MB)")
    expect(page.locator("[data-stage=spark] .rate")).to_have_text("60 /s")
    expect(page.locator("[data-stage=spark] .detail")).to_have_text("detail of spark")
    expect(page.locator(".edge .demand")).to_have_text(["asked for 256"] * 5)
    expect(page.locator(".edge .flight")).to_have_text(["12 waiting"] * 5)
    expect(page.locator("[data-entry=taken] dd").first).to_have_text("315")
    expect(page.locator("[data-entry=lost] dd").first).to_have_text("0")
    expect(page.locator("[data-entry=filtered] dd").first).to_have_text("not known")
    assert page.locator("[data-entry]").evaluate_all("all => all.map(each => each.title)") == [
        word.meaning for word in WORDS
    ]
    expect(page.locator("#ledger-lines")).to_contain_text("replayed 1,204..1,260")
    expect(page.locator(".chart .value")).to_have_text(
        ["120 /s", "120 /s", "1,280", "60", "550 ms", "900 ms", "3.2 s"]
    )


def test_the_sentence_changes_when_another_stage_becomes_the_slowest(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.pass_time(observer)
    expect(page.locator("#sentence")).to_have_text(re.compile("^'phone' is the slowest stage"))
    expect(page.locator(".slowest")).to_have_attribute("data-stage", "phone")
    pipeline.slow = "spark"
    pipeline.pass_time(observer)
    expect(page.locator("#sentence")).to_have_text(re.compile("^Spark is the slowest stage"))
    expect(page.locator(".slowest")).to_have_attribute("data-stage", "spark")
    expect(page.locator("[data-stage=spark] .slow")).to_be_visible()
    expect(page.locator(".edge[data-mood=held-up] .wait")).to_have_text("held up 100%")


def test_who_listens_hears_the_sentence_again_only_when_its_words_change(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.pass_time(observer)
    spoken = page.locator("#spoken")
    expect(spoken).to_have_attribute("aria-live", "polite")
    expect(spoken).to_have_text(re.compile("100%"))
    pipeline.slow = "nobody"
    pipeline.pass_time(observer, looks=4)
    expect(page.locator("#sentence")).to_have_text(re.compile("80%"))
    expect(spoken).to_have_text(re.compile("100%"))
    pipeline.pass_time(observer)
    expect(spoken).to_have_text(re.compile("^Nobody has to wait"))


def test_values_with_markup_stay_text(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.element = pipeline.trouble = MARKUP
    pipeline.errors = (Signal(0, MARKUP),)
    pipeline.dead_letters = 1
    page.locator("[data-stage=phone]").click()
    observer.sample()
    places = ("#details > .lines", "#details > .trouble", "#details .errors")
    for place in (*places, "#errors", "#letters", "#sentence"):
        expect(page.locator(place)).to_contain_text(MARKUP)
    expect(page.locator("[data-stage=phone] .trouble")).to_have_text(MARKUP)
    expect(page.locator("main img, main b:not(.value)")).to_have_count(0)
    assert page.title() == "blizzard · running"


def test_the_page_shows_each_figure_as_the_terminal_does(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.checkpoint = "112 ok"
    pipeline.dead_letters = 3
    pipeline.late, pipeline.possibly_duplicated = 3_001, 28
    pipeline.pass_time(observer, looks=7)
    status = observer.status
    text = in_a_terminal(status)
    rows = [" ".join(row.split()) for row in text.splitlines()]
    assert status.batch is not None
    expect(page.locator("#batch")).to_have_text(re.compile(f"^{status.batch.number} "))
    assert page.locator("#time").inner_text() == duration(status.seconds)
    assert f"batch {page.locator('#batch').inner_text()}" in text
    assert f"checkpoint {page.locator('#checkpoint').inner_text()}" in text
    assert f"restarted {page.locator('#restarts').inner_text()}" in text
    assert page.locator("#sentence").inner_text() in text
    for name in STAGES:
        rate = page.locator(f"[data-stage={name}] .rate").inner_text().replace(" ", "")
        assert any(row.startswith(f"{name} {pipeline.passed:,} {rate} ") for row in rows)
    shown = [word for word in WORDS if is_worth_a_word(status.ledger, word)]
    assert len(shown) == 8
    for word in shown:
        entry = page.locator(f"[data-entry={word.field}]")
        value = entry.locator("dd").first.inner_text()
        assert f"{entry.locator('dt').inner_text()} {value}" in text
    expect(page.locator("[data-entry=possibly_duplicated] .note")).to_have_text("28 at phone")
    assert "possibly duplicated 28 at phone" in text
    expect(page.locator("#equation")).to_have_text(equation(status.ledger))
    values = page.locator(".chart .value").all_inner_texts()
    into, out, demand, in_flight, p50, p99, lag = (each.replace(" /s", "/s") for each in values)
    assert f"in {into}, out {out}   asked for {demand}, in flight {in_flight}" in text
    assert f"latency {p50}, p99 {p99}   lag {lag}" in text


def test_the_ledger_says_where_it_is_counted(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    expect(page.locator("#passages")).to_be_hidden()
    pipeline.passages = (
        Passage("departures", "journal", entered=1_204, left=1_200, held=3, aside=1),
        Passage("spark", "spark", entered=1_200, left=1_199),
    )
    observer.sample()
    page.locator("#passages summary").click()
    expect(page.locator("#passages li")).to_have_text(
        [
            "departures to journal: 1,204 went in, 1,200 came out, 3 on the way, 1 dead letters",
            "within spark: 1,200 went in, 1,199 came out, 1 missing",
        ]
    )


def test_a_click_on_a_stage_shows_its_own_errors_and_dead_letters(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.errors = (Signal(0, "OSError: the line is dead"),)
    pipeline.dead_letters = 3
    pipeline.spark_page = "http://127.0.0.1:4040/StreamingQuery/"
    observer.sample()
    errors, letters = page.locator("#details .errors"), page.locator("#details .letters")
    page.locator("[data-stage=phone]").click()
    expect(errors).to_contain_text("OSError: the line is dead")
    expect(letters).to_be_hidden()
    expect(page.locator("#details a")).to_be_hidden()
    page.locator("[data-stage=journal]").click()
    expect(letters).to_contain_text("Dead letters 3")
    expect(errors).to_be_hidden()
    page.locator("[data-stage=spark]").click()
    expect(letters).to_be_hidden()
    expect(page.locator("#details a")).to_have_attribute("href", pipeline.spark_page)


def test_a_link_to_spark_leads_to_a_page_or_is_not_there(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.spark_page = "http://127.0.0.1:4040/"
    observer.sample()
    expect(page.locator("#spark")).to_have_attribute("href", pipeline.spark_page)
    expect(page.locator("#spark")).to_be_visible()
    pipeline.spark_page = "javascript:alert(1)"
    observer.sample()
    expect(page.locator("#spark")).to_be_hidden()
    expect(page.locator("a[href^=javascript]")).to_have_count(0)


def test_a_click_on_a_stage_shows_its_marbles(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    page.emulate_media(reduced_motion="no-preference")
    expect(page.locator("#details")).to_be_hidden()
    page.locator("[data-stage=weather]").click()
    expect(page.locator("#details h2")).to_have_text("weather")
    expect(page.locator("#details > .lines")).to_contain_text("JFK 11 min late")
    expect(page.locator("#details .edges-list")).to_contain_text("to journal:")
    pipeline.element = "EWR cancelled"
    observer.sample()
    marbles = page.locator(".marble")
    expect(marbles).to_have_count(2)
    expect(marbles.last.locator("title")).to_have_text("EWR cancelled")
    place = marbles.last.get_attribute("cx")
    expect(marbles.last).not_to_have_attribute("cx", place or "")
    page.locator("[data-stage=weather]").click()
    expect(page.locator("#details")).to_be_hidden()


def test_a_stage_opens_and_closes_by_the_keyboard(page: Page) -> None:
    stage = page.locator("[data-stage=spark]")
    stage.focus()
    page.keyboard.press("Enter")
    expect(stage).to_have_attribute("aria-expanded", "true")
    page.locator("#details .close").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#details")).to_be_hidden()
    expect(stage).to_be_focused()


def test_the_ledger_says_what_nobody_knows_and_what_is_wrong(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    lost = page.locator("[data-entry=lost] dd").first
    expect(lost).to_have_attribute("data-verdict", "good")
    pipeline.lost = None
    observer.sample()
    expect(lost).to_have_text("not known")
    pipeline.lost = 3
    observer.sample()
    expect(lost).to_have_text("3")
    expect(lost).to_have_attribute("data-verdict", "bad")


def test_stages_stand_side_by_side_where_there_is_room(page: Page) -> None:
    columns = page.locator(".column")
    expect(columns).to_have_count(4)
    assert top(page, "departures") < top(page, "weather")
    assert top(page, "board") == top(page, "departures")


def test_a_phone_shows_all_of_it_without_scrolling_sideways(page: Page) -> None:
    page.set_viewport_size({"width": PHONE, "height": 844})
    expect(page.locator("#graph")).to_have_class("vertical")
    page.locator("[data-stage=weather]").click()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    assert top(page, "departures") < top(page, "journal") < top(page, "phone")
    page.wait_for_function(NOTHING_STANDS_OUT)


@pytest.mark.parametrize("sinks", [("archive",), ("archive", "alarm", "mail")])
def test_on_a_phone_no_edge_passes_behind_a_stage(
    page: Page, pipeline: DrivenPipeline, observer: Observer, sinks: tuple[str, ...]
) -> None:
    pipeline.more_sinks = sinks
    observer.sample()
    expect(page.locator(".stage")).to_have_count(len(STAGES) + len(sinks))
    page.set_viewport_size({"width": PHONE, "height": 844})
    expect(page.locator("#graph")).to_have_class("vertical")
    page.wait_for_function(NOTHING_STANDS_OUT)
    assert page.evaluate(POINTS_BEHIND_STAGES) == []


def test_dark_mode_has_colours_of_its_own(page: Page) -> None:
    def colours() -> list[str]:
        colour = "getComputedStyle(document.body)"
        return [str(page.evaluate(f"{colour}.{of}")) for of in ("backgroundColor", "color")]

    page.emulate_media(color_scheme="light")
    light = colours()
    page.emulate_media(color_scheme="dark")
    dark = colours()
    assert brightness(light[0]) > brightness(light[1])
    assert brightness(dark[0]) < brightness(dark[1])


def test_the_page_goes_on_after_a_restart_at_the_same_address(
    page: Page, dashboard: Dashboard, complaints: list[str]
) -> None:
    dashboard.close()
    lost = page.locator("#connection")
    expect(lost).to_have_text("Connection lost, waiting for the pipeline to come back.")
    expect(lost).to_be_visible()
    with again(dashboard, "blizzard, once more"):
        expect(page.locator("#pipeline")).to_have_text("blizzard, once more")
        expect(lost).to_be_hidden()
    complaints.clear()  # the browser says that nobody answered


def test_the_page_says_when_the_token_is_another_one(
    page: Page, dashboard: Dashboard, complaints: list[str]
) -> None:
    dashboard.close()
    with again(dashboard, "another run", token="a-token-of-another-run"):
        expect(page.locator("#connection")).to_contain_text("a new address")
    complaints.clear()  # the browser says that it was refused


def test_the_page_of_a_pipeline_that_has_ended_says_so(
    page: Page,
    pipeline: DrivenPipeline,
    observer: Observer,
    dashboard: Dashboard,
    complaints: list[str],
) -> None:
    pipeline.state = "completed"
    observer.sample()
    expect(page.locator("#sentence")).to_have_text("All of it came through: the pipeline is done.")
    dashboard.close()
    expect(page.locator("#connection")).to_contain_text("The pipeline has ended.")
    complaints.clear()  # the browser says that nobody answered


def again(dashboard: Dashboard, pipeline: str, token: str = "") -> Dashboard:
    """Another process at the same address."""
    address = httpx.URL(dashboard.address)
    return Dashboard(
        DrivenPipeline().observer(pipeline),
        port=address.port or 0,
        token=token or TOKEN,
    )


def top(page: Page, stage: str) -> float:
    box = page.locator(f"[data-stage={stage}]").bounding_box()
    assert box is not None
    return box["y"]


def brightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)))
