"""The page in each situation: ``python -m tests.browser.situations FOLDER`` takes the pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.observe import Ledger, Observer, PastRun, Status
from penstock.observe.dashboard import Dashboard
from penstock.observe.observer import WINDOW
from penstock.observe.status import State
from tests.browser.chromium import PATIENCE, expect, running_browser
from tests.observe.driven import STAGES, DrivenPipeline

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["MADE", "Made", "on_page"]

WIDTH: Final = 1100
PHONE: Final = 390


@dataclass
class Made(DrivenPipeline):
    """A pipeline in one situation.

    ``idle``       the source for which all wait
    ``lagging``    the seconds for which the oldest row waits
    ``rests_at``   how many elements have passed, if no more do
    ``every``      the seconds between two looks
    """

    slow: str = ""
    state: State = "running"
    idle: str = ""
    lagging: float = 0.4
    rests_at: int | None = None
    every: float = 0.25
    ledger: Ledger | None = None

    def read(self) -> Status:
        """The gauges now."""
        read = super().read()
        edges = tuple(replace(each, idle=each.giver == self.idle) for each in read.edges)
        return replace(read, edges=edges, lag=self.lagging, ledger=self.ledger or read.ledger)

    @property
    def passed(self) -> int:
        """Elements that have passed."""
        return super().passed if self.rests_at is None else self.rests_at

    def looked_at(self) -> Observer:
        """Its observer, after some seconds."""
        observer = self.observer()
        for _ in range(WINDOW):
            self.time.advance(self.every)
            observer.sample()
        return observer


LEFT: Final = Ledger(taken=6_862, delivered=6_862, in_flight=48, lost=0, duplicated=0)
MADE: Final[dict[str, Callable[[], Made]]] = {
    "starting": lambda: Made(state="starting", slow="spark", rests_at=0),
    "just begun": lambda: Made(slow="phone", lagging=23, every=0.05),
    "catching up": lambda: Made(lagging=23),
    "steady": Made,
    "slow sink": lambda: Made(slow="phone"),
    "slow Spark": lambda: Made(slow="spark", lagging=74),
    "slow source": lambda: Made(idle="weather"),
    "stalled source": lambda: Made(idle="weather", rests_at=900, every=1),
    "trouble": lambda: Made(slow="board", trouble="nobody answers at localhost:5432"),
    "draining": lambda: Made(state="draining", slow="phone", ledger=LEFT),
    "completed": lambda: Made(state="completed", rests_at=6_862),
    "nothing left to do": lambda: Made(
        state="completed", rests_at=0, ledger=replace(LEFT, in_flight=0, restarts=1)
    ),
    "failed": lambda: Made(state="failed", rests_at=900),
}
"""What makes each situation that has a picture."""


@contextmanager
def on_page(browser: Browser, made: Made, stages: int = len(STAGES)) -> Iterator[Page]:
    """The page of a pipeline in one situation."""
    with (
        Dashboard(made.looked_at()) as dashboard,
        browser.new_context(viewport={"width": WIDTH, "height": 800}) as context,
    ):
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(dashboard.address)
        expect(page.locator(".stage")).to_have_count(stages)
        yield page


def main(folder: Path) -> None:
    """Take all pictures."""
    folder.mkdir(exist_ok=True)
    with running_browser() as browser:
        for name, make in MADE.items():
            with on_page(browser, make()) as page:
                take(page, folder / f"{name.lower().replace(' ', '-')}.png", "#samples-title")
        with on_page(browser, whole()) as page:
            page.emulate_media(color_scheme="dark")
            page.locator("#samples summary").nth(3).click()
            take(page, folder / "dark.png")
            page.emulate_media(color_scheme="light")
            page.set_viewport_size({"width": PHONE, "height": 800})
            expect(page.locator("#graph")).to_have_class("vertical")
            take(page, folder / "phone.png", "#charts-title")


def whole() -> Made:
    """A pipeline of which all parts of the page have something to say."""
    began = datetime(2026, 11, 17, 4, 2).timestamp()
    return Made(
        slow="phone",
        checkpoint="21 ok",
        runs=(
            PastRun(began, 1_868, "completed", 9_120, 9_120, 0, 0),
            PastRun(began + 60_000, 750, "killed", 2_310, 2_284, 0, 0),
            PastRun(began + 61_000, 3, "failed", 5, 0, 2, 0, error="OSError: no space left"),
            PastRun(began + 62_000, 5, "running"),
        ),
    )


def take(page: Page, file: Path, until: str = "") -> None:
    """A picture of the page, down to a heading or to its end."""
    page.evaluate("scrollTo(0, 0)")
    below = page.locator(until or "body").bounding_box()
    width = page.evaluate("innerWidth")
    assert below is not None
    height = below["y"] - 12 if until else below["height"]
    clip = {"x": 0.0, "y": 0.0, "width": float(width), "height": height}
    page.screenshot(path=file, clip=clip, full_page=True)  # type: ignore[arg-type]
    sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
