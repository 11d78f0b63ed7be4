"""Fixtures with pages in a real browser: Playwright drives Chromium against a server in its own process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = (1280, 900), (390, 844)
"""Width and height of windows in pixels."""
TIMEOUT_MS = 300_000
"""Timeout that includes compiling."""


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of training runs that the server reads."""
    return tmp_path_factory.mktemp("web") / "runs"


@pytest.fixture(scope="session")
def address(runs_folder: Path) -> Iterator[str]:
    """The address that a server, in its own process, prints."""
    runs_folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "leafwise", "web", "--no-open"]
    with subprocess.Popen(command, cwd=runs_folder.parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser; skips the tests if there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser found among {', '.join(BROWSERS)}")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        chromium = playwright.chromium.launch(executable_path=path, args=sandbox)
        yield chromium
        chromium.close()


def location_of(page: Page) -> str:
    """Returns the current address of the page; `page.url` may lag behind."""
    address: str = page.evaluate("location.href")
    return address


class PageMonitor:
    """A page and the errors on it."""

    def __init__(self, page: Page, address: str, pictures: Path) -> None:
        self.page, self.address, self.pictures = page, address, pictures
        self.errors: list[str] = []
        page.set_default_timeout(TIMEOUT_MS)
        page.on("pageerror", lambda problem: self.errors.append(f"page error: {problem}"))
        page.on("console", lambda line: self.errors.append(f"console: {line.text}") if line.type == "error" else None)
        page.on(
            "requestfailed",
            lambda request: self.note("ERR_ABORTED" not in (request.failure or ""), request.failure, request.url),
        )
        page.on("response", lambda reply: self.note(reply.status >= 400, f"status {reply.status}", reply.url))

    def note(self, is_wrong: bool, what: str | None, url: str) -> None:
        """Notes a failed request, unless the page itself cancelled it, or an error response."""
        if is_wrong:
            self.errors.append(f"{what}: {url}")

    def go(self, where: str = "") -> Page:
        """Opens a page of the server."""
        self.page.goto(self.address + where)
        return self.page

    def picture(self, name: str) -> None:
        """Saves a screenshot of the whole page."""
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=True)

    def fits(self) -> bool:
        """Whether nothing on the page is wider than the window."""
        fits: bool = self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        return fits


Open = Callable[..., PageMonitor]


@pytest.fixture
def opened(browser: Browser, address: str, tmp_path: Path) -> Iterator[Open]:
    """Opens windows of a desktop or a phone; any error on a page fails the test."""
    windows: list[PageMonitor] = []

    def opening(*, phone: bool = False) -> PageMonitor:
        width, height = PHONE if phone else DESKTOP
        context = browser.new_context(
            viewport={"width": width, "height": height}, has_touch=phone, reduced_motion="reduce"
        )
        windows.append(PageMonitor(context.new_page(), address, tmp_path / "pictures"))
        return windows[-1]

    yield opening
    for window in windows:
        window.page.context.close()
    assert [problem for window in windows for problem in window.errors] == []
