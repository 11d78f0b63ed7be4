"""Pages in a real browser: Chromium from Debian's packages, driven by Playwright, against a server of its own."""

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
"""Width and height of windows."""
PATIENCE = 300_000
"""Milliseconds for what may have to be compiled first."""


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the server runs in; what training wrote would be in its `runs`."""
    return tmp_path_factory.mktemp("web") / "runs"


@pytest.fixture(scope="session")
def address(runs_folder: Path) -> Iterator[str]:
    """The address of a server that runs as a process of its own, as it prints it."""
    runs_folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "leafwise", "web", "--no-open"]
    with subprocess.Popen(command, cwd=runs_folder.parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.terminate()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser; tests are skipped where there is none."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"no browser found among {', '.join(BROWSERS)}")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        found = playwright.chromium.launch(executable_path=path, args=sandbox)
        yield found
        found.close()


def location_of(page: Page) -> str:
    """Returns the address as the page has it now; `page.url` may lag behind."""
    found: str = page.evaluate("location.href")
    return found


class Watched:
    """A page, and everything that went wrong on it."""

    def __init__(self, page: Page, address: str, pictures: Path) -> None:
        self.page, self.address, self.pictures = page, address, pictures
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda problem: self.wrong.append(f"page error: {problem}"))
        page.on("console", lambda said: self.wrong.append(f"console: {said.text}") if said.type == "error" else None)
        page.on(
            "requestfailed",
            lambda asked: self.note("ERR_ABORTED" not in (asked.failure or ""), asked.failure, asked.url),
        )
        page.on("response", lambda answer: self.note(answer.status >= 400, f"status {answer.status}", answer.url))

    def note(self, is_wrong: bool, what: str | None, url: str) -> None:
        """Notes a request without an answer, unless the page itself took it back, or an answer that is an error."""
        if is_wrong:
            self.wrong.append(f"{what}: {url}")

    def go(self, where: str = "") -> Page:
        """Opens a page of the server."""
        self.page.goto(self.address + where)
        return self.page

    def picture(self, name: str) -> None:
        """Keeps a screenshot of the whole page."""
        self.pictures.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=True)

    def fits(self) -> bool:
        """Whether nothing on the page is wider than the window."""
        found: bool = self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        return found


Open = Callable[..., Watched]


@pytest.fixture
def opened(browser: Browser, address: str, tmp_path: Path) -> Iterator[Open]:
    """Opens windows, of a desktop or of a phone; whatever went wrong in one fails the test."""
    windows: list[Watched] = []

    def opening(*, phone: bool = False) -> Watched:
        width, height = PHONE if phone else DESKTOP
        context = browser.new_context(
            viewport={"width": width, "height": height}, has_touch=phone, reduced_motion="reduce"
        )
        windows.append(Watched(context.new_page(), address, tmp_path / "pictures"))
        return windows[-1]

    yield opening
    for window in windows:
        window.page.context.close()
    assert [problem for window in windows for problem in window.wrong] == []
