"""The browser in which the page is seen."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator
    from playwright.sync_api._generated import LocatorAssertions

# The first has no window to draw: the same tests take half of the processor's time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PATIENCE = 60_000
"""Milliseconds: a machine that runs other tests is slow."""

ONE_PAGE_AT_A_TIME = ["--renderer-process-limit=1"]
"""No process is started ahead for a page that might come."""
# A container has no user that the sandbox could be built for.
WITHOUT_SANDBOX = ["--no-sandbox"] if os.geteuid() == 0 else []


class BrowserUnavailable(LookupError):
    """There is no browser; the text says how to get one."""


def find_chromium() -> str:
    """The path of a browser that Playwright can drive."""
    given = os.environ.get("PENSTOCK_CHROMIUM")
    found = shutil.which(given) if given else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise BrowserUnavailable(
            f"$PENSTOCK_CHROMIUM is no program: {given}"
            if given
            else f"none of {', '.join(NAMES)} is here: apt-get install chromium-headless-shell, "
            "or set $PENSTOCK_CHROMIUM to the path of one"
        )
    return found


def prepare_browser() -> str:
    """Find all that a test in a browser needs."""
    import_module("playwright.sync_api")
    return find_chromium()


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A browser, for a few tests: as long as it runs, this thread has an event loop running."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(),
            args=[*ONE_PAGE_AT_A_TIME, *WITHOUT_SANDBOX],
            timeout=PATIENCE,
        )
        try:
            yield browser
        finally:
            browser.close()


def expect(locator: Locator) -> LocatorAssertions:
    """What must come true soon; Playwright is loaded only where it is used."""
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE)
    return expect(locator)
