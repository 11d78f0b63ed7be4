"""An exported page in a real browser, from a server of plain files: play, hints, analysis, editor, and no network."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from front.browser.conftest import PHONE, PageMonitor
from front.test_export import NEEDS_LINKER
from playwright.sync_api import Browser, expect

pytestmark = [pytest.mark.long, NEEDS_LINKER]
FOUR = 'trilobite?o={"board":"7x6","k":4}'


@pytest.fixture
def served(folder: Path) -> Iterator[str]:
    """The address of a server of the files."""
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().split()[5]}/"
        process.terminate()


@pytest.mark.parametrize("phone", [False, True])
def test_a_game_is_played_and_analysed_without_a_server(
    browser: Browser, served: str, tmp_path: Path, phone: bool
) -> None:
    width, height = PHONE if phone else (1280, 900)
    context = browser.new_context(viewport={"width": width, "height": height}, has_touch=phone)
    window = PageMonitor(context.new_page(), served, tmp_path / "pictures")
    page = window.go()
    expect(page.locator("nav a")).to_have_text(["Games", "Curve of a game"])
    # A level answers, and a hint is searched
    page = window.go(f"#/play/{FOUR}&s=5")
    page.locator("[data-action='4']").click()
    expect(page.locator(".moves li")).to_have_count(2)
    page.get_by_role("button", name="Hint", exact=True).click()
    expect(page.locator(".hints li")).to_have_count(5)
    assert window.fits()
    window.picture("play")
    # An analysis is stopped by a move, and finds the one that wins
    page = window.go(f"#/analyse/{FOUR}&m=4~4~3~3")
    expect(page.locator("#values td").first).to_be_visible()
    page.locator("[data-action='5']").click()
    expect(page.locator("#values td.best")).to_be_visible()
    page = window.go(f"#/analyse/{FOUR}&m=4~4~3~3~5~5")
    wins = page.locator("#values tr", has=page.get_by_role("rowheader", name="2", exact=True)).locator("td").first
    expect(wins).to_have_text("100.00 %")
    assert window.fits()
    window.picture("analysis")
    # A position that is none is refused in a line; then the network goes away, and the page still opens
    page.locator("#setup summary").click()
    page.locator("#position").fill("x......" + "/......." * 5)
    page.get_by_role("button", name="Analyse again").click()  # draws anew, but not over the text
    page.get_by_role("button", name="Use this text").click()
    expect(page.locator("#problem")).to_contain_text("expected a position that a game leads to, got 'x......")
    page.evaluate("navigator.serviceWorker.ready")
    page = window.go(f"#/play/{FOUR}&s=6")
    page.reload()
    expect(page.locator("[data-action='4']")).to_be_visible()
    context.set_offline(True)
    page.reload()
    page.locator("[data-action='4']").click()
    expect(page.locator(".moves li")).to_have_count(2)
    page.get_by_role("button", name="Forget").click()
    expect(page.get_by_role("button", name="Forgotten")).to_be_visible()
    assert page.evaluate("caches.keys()") == []
    assert window.errors == []
    context.close()


@pytest.mark.parametrize("where", ['cassis?o={"n":8}', "trap?", "threes?", "dice?", "game2048?", "friday?"])
def test_every_game_has_its_pages(browser: Browser, served: str, tmp_path: Path, where: str) -> None:
    with browser.new_context(viewport={"width": PHONE[0], "height": PHONE[1]}, has_touch=True) as context:
        window = PageMonitor(context.new_page(), served, tmp_path / "pictures")
        page = window.go(f"#/play/{where}&s=5")
        page.locator("[data-action]:not([disabled])").first.click()
        expect(page.locator(".moves li").first).to_be_visible()
        expect(page.get_by_role("button", name="Hint", exact=True)).to_be_enabled()
        page.get_by_role("button", name="Hint", exact=True).click()
        expect(page.locator(".hints li").first).to_be_visible()
        assert window.fits()
        window.picture("play")
        page = window.go(f"#/analyse/{where}")
        expect(page.locator("#values td.best")).to_be_visible()
        if where == "friday?":
            assert not re.search(r"\b[A-Z]\d", page.locator("#values .line").inner_text()), "words, not codes of cards"
        page.locator("#setup summary").click()
        text = page.locator("#position").input_value()
        page.get_by_role("button", name="Use this text").click()
        expect(page.locator("#values td.best")).to_be_visible()
        expect(page.locator("#position")).to_have_value(text)
        assert window.fits()
        window.picture("analysis")
        assert window.errors == []
