"""Every game is analysed on a phone, and four pages analyse four games at once."""

from __future__ import annotations

import re

import pytest
from front.browser.conftest import Open
from playwright.sync_api import expect

pytestmark = pytest.mark.long
POSITIONS = {
    "trilobite": '?o={"board":"7x6","k":4}&m=4~4~5',
    "cassis": "?m=0-1~2-3",
    "trap": "",
    "threes": "",
    "friday": "",
}


@pytest.mark.parametrize("game", POSITIONS)
def test_every_analysis_fits_a_phone(opened: Open, game: str) -> None:
    window = opened(phone=True)
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
