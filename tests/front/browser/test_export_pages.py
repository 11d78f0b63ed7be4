"""Further pages of an export in a real browser: generated ships, the curve of a game, tree search, a game followed elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from front.browser.conftest import PHONE, PageMonitor
from front.browser.test_export import FOUR, served  # noqa: F401
from front.test_export import NEEDS_LINKER
from playwright.sync_api import Browser, ViewportSize, expect

pytestmark = [pytest.mark.long, NEEDS_LINKER]
BOARD = "3 1 2 0/0 0 2 3/1 0 0 2/0 1 3 0 next=3 deck=1,1,0"


@pytest.fixture(params=[False, True], ids=["desktop", "phone"])
def window(
    browser: Browser,
    served: str,  # noqa: F811
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[PageMonitor]:
    """A window in which nothing may go wrong."""
    width, height = PHONE if request.param else (1280, 900)
    viewport: ViewportSize = {"width": width, "height": height}
    with browser.new_context(viewport=viewport, has_touch=request.param, service_workers="block") as context:
        monitor = PageMonitor(context.new_page(), served, tmp_path / "pictures")
        yield monitor
        assert monitor.errors == []


def test_ships_are_linked_from_the_first_page(window: PageMonitor) -> None:
    page = window.go()
    page.get_by_role("link", name="Generated ships").click()
    expect(page.locator(".ships img")).to_have_count(200)
    expect(page.locator(".ships a").first).to_have_attribute(
        "href", page.locator(".ships img").first.get_attribute("src")
    )
    page.wait_for_function("() => document.querySelector('.ships img').naturalWidth > 0")
    assert window.fits()


def test_a_game_has_a_curve(window: PageMonitor) -> None:
    page = window.go(f"#/review/{FOUR}&m=4~4~3~3~5~5~2")
    expect(page.locator("#status")).to_have_text("7 moves, 2 of them blunders; Red wins.")
    expect(page.locator("#worst tr.blunder")).to_have_count(2)
    page.get_by_label("Leaf").select_option(label="shipped network, tree search")
    expect(page.locator("#status")).to_contain_text("Red wins.")
    assert window.fits()


def test_a_tree_search_plays_and_analyses(window: PageMonitor) -> None:
    page = window.go(f"#/play/{FOUR}&p2=mcts:learned,seconds=0.1")
    page.locator("[data-action='4']").click()
    expect(page.locator(".moves li")).to_have_count(2)
    page = window.go(f"#/analyse/{FOUR}&m=4~4~3~3~5~5&k=mcts:learned&d=2")
    expect(page.locator("#values td.best")).to_have_count(2)
    assert window.fits()


def test_threes_is_followed_without_a_server(window: PageMonitor) -> None:
    page = window.go(f"#/companion/threes?t={quote(BOARD, safe='')}")
    expect(page.locator("#status")).to_contain_text("Swipe ")
    page.locator("[data-outcome]").first.click()
    expect(page.locator("#status")).to_have_text("What comes next?")
    page.locator("[data-outcome]").first.click()
    expect(page.locator("#status")).to_contain_text("Swipe ")
    page.locator("#undo").click()
    expect(page.locator("#status")).to_have_text("What comes next?")
    assert window.fits()
