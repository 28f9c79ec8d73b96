"""The page in a real browser. Whatever it says on the console fails the test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import httpx
import pytest

from penstock.cli.progress import duration
from penstock.observe import MachineStatus, Observer, Passage, PastRun, Signal
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


def test_an_edge_shows_its_last_rows_when_it_is_opened(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    samples = page.locator("#samples .sample")
    expect(samples).to_have_count(5)
    first = samples.first
    expect(first.locator("summary")).to_have_text("departures → journal")
    expect(first.locator(".rows")).to_be_hidden()
    first.locator("summary").press("Enter")
    newest = first.locator(".rows li").first
    expect(newest).to_contain_text("flightJFK 11 min latecard***and 1 more fields")
    pipeline.element = MARKUP
    observer.sample()
    expect(newest.locator(".text").first).to_have_text(MARKUP)
    expect(page.locator("#samples img")).to_have_count(0)
    first.locator("summary").press("Enter")
    expect(first.locator(".rows")).to_be_hidden()


@pytest.mark.parametrize("width", [1280, PHONE])
def test_a_click_on_the_line_of_an_edge_opens_its_rows(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    lines = page.locator(".edge .flight")
    lines.nth(3).click()
    rows = page.locator("#samples [data-edge='spark → board'] .rows")
    expect(rows).to_contain_text("JFK 11 min late")
    lines.nth(2).click()
    unseen = page.locator("#samples [data-edge='journal → spark'] .rows")
    expect(unseen).to_contain_text("Nothing has passed here yet")
    page.wait_for_function(NOTHING_STANDS_OUT)


def test_without_samples_the_page_shows_no_element_and_says_so(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.samples = False
    observer.sample()
    expect(page.locator("#samples .hint")).to_contain_text("without samples")
    expect(page.locator("#samples .sample").first).to_be_hidden()
    page.locator("[data-stage=weather]").click()
    expect(page.locator("#details > .lines")).to_have_text("Elements are not shown.")
    assert "JFK" not in page.locator("body").inner_text()


def test_the_inside_of_the_engine_has_phases_times_state_and_segments(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    pipeline.checkpoint = "112 ok"
    pipeline.late = 3
    observer.sample()
    inside = page.locator("#inside")
    expect(inside.locator(".phases-title")).to_have_text("Batch 2: 400 ms")
    expect(inside.locator(".phases-legend li")).to_have_text(
        ["look17 ms", "plan53 ms", "compute250 ms", "deliver60 ms", "commit20 ms"]
    )
    widths = inside.locator(".bar span").evaluate_all("all => all.map(each => each.clientWidth)")
    assert max(widths) == widths[2] > 2 * widths[1] > 0
    expect(inside.locator(".inside-facts dd")).to_have_text(
        [
            "Jan 1, 2026, 00:08:09 UTC: what is older is late",
            "112 ok, written 1.4 s ago",
            "keeps 30 rows (2.3 MB), 3 rows came too late for it",
        ]
    )
    expect(inside.locator(".flows div").first).to_have_text(
        "into journalfrom_websocket → map filter → source"
    )
    page.set_viewport_size({"width": PHONE, "height": 844})
    page.wait_for_function(NOTHING_STANDS_OUT)


def test_the_charts_show_five_minutes_an_hour_or_a_day(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    title, buttons = page.locator("#charts-title"), page.locator("#periods button")
    expect(title).to_have_text("Last five minutes")
    expect(buttons).to_have_text(["5 min", "1 hour", "24 hours"])
    for _ in range(30):
        pipeline.time.advance(5)
        observer.sample()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    buttons.nth(1).press("Enter")
    expect(title).to_have_text("Last hour")
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".chart .value").nth(2)).to_have_text("1,280")
    buttons.nth(2).click()
    expect(title).to_have_text("Last 24 hours")
    expect(page.locator(".chart .value").nth(2)).to_have_text("1,280")
    buttons.nth(0).click()
    expect(title).to_have_text("Last five minutes")
    assert asked == ["history?seconds=3600", "history?seconds=86400"]
    page.set_viewport_size({"width": PHONE, "height": 844})
    page.wait_for_function(NOTHING_STANDS_OUT)


def test_the_runs_of_the_pipeline_stand_on_the_page_the_newest_on_top(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    runs = page.locator("#runs")
    expect(runs.locator(".hint")).to_contain_text("Runs are kept with a checkpoint")
    began = datetime(2026, 11, 3, 12, 5).timestamp()
    pipeline.runs = (
        PastRun(began, 90.0, "killed", 1_204, 1_190, 0, 0),
        PastRun(began + 100, 3.0, "failed", 5, None, 2, 0, error=MARKUP),
        PastRun(began + 200, 61.0, "running"),
    )
    observer.sample()
    failed = "taken 5, delivered not known, dead letters 2, lost 0"
    expect(runs.locator("li")).to_have_text(
        [
            "Nov 3, 2026, 12:08running00:01:01",
            f"Nov 3, 2026, 12:06failed00:00:03{failed}{MARKUP}",
            "Nov 3, 2026, 12:05killedafter 00:01:30 or moretaken 1,204, delivered 1,190, lost 0",
        ]
    )
    expect(runs.locator(".hint")).to_be_hidden()
    expect(runs.locator("img")).to_have_count(0)


def test_the_machine_says_who_takes_what_and_what_is_not_known(
    page: Page, pipeline: DrivenPipeline, observer: Observer
) -> None:
    machine = page.locator("#machine")
    expect(machine.locator(".pairs div")).to_have_text(
        [
            "this program0.42 of 2 processors, 212 MB of memory",
            "Spark's JVM1.1 of 2 processors, 1.4 GB of memory",
            "Python workers (3)310 MB of memory",
            "disk8.1 GB left at the checkpoint, 16% of it",
        ]
    )
    pipeline.machine = MachineStatus(note="Processors and memory are known on Linux alone.")
    observer.sample()
    expect(machine).to_contain_text("known on Linux alone")
    pipeline.machine = MachineStatus()
    observer.sample()
    expect(machine).to_be_hidden()


def test_the_legend_explains_each_word_that_an_edge_or_a_stage_has(page: Page) -> None:
    expect(page.locator(".legend li")).to_have_count(3)
    words = page.locator("#help dt")
    expect(words.first).to_be_hidden()
    page.locator("#help summary").press("Enter")
    expect(words.first).to_be_visible()
    explained = " ".join(words.all_inner_texts())
    for word in ("/s", "asked for", "waiting", "held up", "idle", "SLOW", "TROUBLE"):
        assert word in explained
    page.set_viewport_size({"width": PHONE, "height": 844})
    page.wait_for_function(NOTHING_STANDS_OUT)
    heights = words.evaluate_all("all => all.map(each => each.clientHeight)")
    assert max(heights) < 30  # one line each


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
