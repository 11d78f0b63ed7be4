"""The page of ships: a ship built by clicks and keys, a suggestion of the learned builder, and a generated ship."""

import re

import pytest
from front.browser.conftest import Open, location_of
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.long
TERMS = 6


def quality(page: Page) -> float:
    """Returns the quality that the page shows."""
    text = page.locator(".terms strong").first.inner_text()
    return float(text)


def places_taken(page: Page) -> int:
    """Returns how many places the address holds."""
    match = re.search(r"[?&]m=([^&]*)", location_of(page))
    return len(match[1].split("~")) if match else 0


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_starship_built_by_clicks(opened: Open, phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go("#/ship?preset=scout&seed=7")
    expect(page.locator(".lit .place").first).to_be_visible()
    window.picture("begun")
    assert window.fits()
    for taken in range(60):
        if "Finished" in page.locator(".status").inner_text():
            break
        page.locator(".lit .place").nth(taken % 3).click(force=True)
        expect(page).to_have_url(re.compile(f"[?&]m=[^~]+(~[^~]+){{{taken}}}$"))
    expect(page.locator(".status")).to_contain_text("Finished with a quality")
    window.picture("finished")
    assert page.locator(".term").count() == TERMS
    assert 0.2 < quality(page) < 1
    built, places = quality(page), places_taken(page)
    page.reload()  # the address holds all of it
    expect(page.locator(".status")).to_contain_text("Finished")
    assert quality(page) == built
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".lit .place").first).to_be_visible()
    assert places_taken(page) == places - 1


def test_starship_by_keys_with_advice_and_stage_by_stage(opened: Open) -> None:
    window = opened()
    page = window.go("#/ship?preset=scout&seed=7")
    expect(page.locator(".lit .place").first).to_be_visible()
    page.get_by_role("button", name="learned builder").click()
    expect(page.locator(".advice li")).to_have_count(8)
    expect(page.locator(".lit .advised")).to_have_count(1)
    window.picture("advice")
    best = page.locator(".advice button.best").inner_text()
    expect(page.locator(".evaluation")).to_have_text(f"Expected quality {best.split()[-1]}")
    board = page.get_by_role("application")
    board.focus()
    board.press("r")
    expect(page.locator("[aria-pressed=true]")).not_to_contain_text(best.split()[2])
    for key in ("ArrowRight", "ArrowDown", "Enter"):
        board.press(key)
    expect(page.locator(".status")).to_contain_text("Reactor")
    assert places_taken(page) == 1
    window = opened()
    page = window.go("#/ship?preset=scout&seed=3")
    page.get_by_role("button", name="stage by stage").click()
    expect(page.locator(".stages figure")).to_have_count(14)
    expect(page.locator(".stages")).to_contain_text("Its quality is")
    window.picture("stages")
