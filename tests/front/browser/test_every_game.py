"""Every game is played to its end by clicks, every analysis is shown, and four pages analyse at once."""

from __future__ import annotations

import random
import re

import pytest
from front.browser.conftest import Open, Watched, location_of
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.long
CHOICES = ".choice[data-action], .host button[data-action]:enabled"
GAMES = {
    "trilobite": ('o={"board":"7x6","k":4}', 42),
    "cassis": ("", 15),
    "trap": ("", 200),
    "threes": ("", 2000),
    "friday": ('o={"level":4}', 2000),
}
"""Game -> the variant in the address, and the most choices of a game."""
TWO = ("trilobite", "cassis", "trap")
POSITIONS = {
    "trilobite": '?o={"board":"7x6","k":4}&m=4~4~5',
    "cassis": "?m=0-1~2-3",
    "trap": "",
    "threes": "",
    "friday": "",
}


def choices(page: Page) -> list[str]:
    """Returns the actions that may be clicked now."""
    found: list[str] = page.evaluate(f"[...document.querySelectorAll('{CHOICES}')].map(one => one.dataset.action)")
    return found


def play_to_the_end(window: Watched, game: str, most: int, seed: int) -> int:
    """Clicks legal actions at random until the game is over; returns how many."""
    page, rng = window.page, random.Random(seed)
    expect(page.locator(CHOICES).first).to_be_visible()
    for clicked in range(most):
        expect(page.locator(CHOICES).first).to_be_attached()
        names = choices(page)
        before = location_of(page)
        page.locator(CHOICES).and_(page.locator(f'[data-action="{rng.choice(names)}"]')).first.dispatch_event("click")
        expect(page).not_to_have_url(before)
        expect(page.locator("#status")).to_have_text(re.compile("Game over|move"))
        if "Game over" in page.locator("#status").inner_text():
            return clicked + 1
    return most


@pytest.mark.parametrize("game", GAMES)
def test_every_game_is_played_to_its_end(opened: Open, game: str) -> None:
    window = opened(phone=game in ("threes", "cassis"))
    variant, most = GAMES[game]
    two = "&p1=human&p2=human" if game in TWO else "&p1=human"
    page = window.go(f"#/play/{game}?s=5&{variant}{two}")
    expect(page.locator(CHOICES).first).to_be_visible()
    window.picture("begun")
    assert window.fits()
    clicked = play_to_the_end(window, game, most, seed=1)
    expect(page.locator("#status")).to_contain_text("Game over")
    assert 4 < clicked <= most
    window.picture("over")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#status")).not_to_contain_text("Game over")


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("game", POSITIONS)
def test_every_analysis_is_shown(opened: Open, game: str, phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go(f"#/analyse/{game}{POSITIONS[game]}")
    expect(page.locator("#values td.best").first).to_be_visible()
    expect(page.locator("#status")).to_have_text(re.compile(r"depth \d+"))
    window.picture("analysis")
    assert window.fits()


def test_four_pages_analyse_at_once(opened: Open) -> None:
    windows = {game: opened() for game in ("trilobite", "cassis", "trap", "threes")}
    for game, window in windows.items():
        window.go(f"#/analyse/{game}{POSITIONS[game]}")
    for window in windows.values():
        expect(window.page.locator("#values td.best").first).to_be_visible()
    for window in windows.values():
        expect(window.page.locator("#halt")).to_be_disabled()
        expect(window.page.locator("#status")).to_have_text(re.compile(r"depth \d+"))
