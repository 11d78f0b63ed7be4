"""Friday in a browser: a game at a real table is followed to its end, and one is played."""

from __future__ import annotations

import random
import re

import pytest
from front.browser.conftest import Open, location_of
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.long


def taken(page: Page) -> str:
    """Returns the steps that the address holds."""
    found = re.search(r"[?&]m=(.*)", location_of(page))
    return found[1] if found else ""


def tap(page: Page, name: str) -> None:
    """Taps a choice and waits until it is taken down."""
    before = location_of(page)
    page.locator(f".choices button[data-name='{name}']").click()
    expect(page).not_to_have_url(before)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_friday_is_followed_to_its_end(opened: Open, phone: bool) -> None:
    window, rng, advised = opened(phone=phone), random.Random(phone), 0
    page = window.go("#/follow/friday")
    page.locator(".choices button[data-name='4']").click()
    expect(page.locator(".status")).to_have_text("the number of a pirate that lies open")
    window.picture("pirates")
    assert window.fits()
    for _ in range(600):
        status = page.locator(".status").inner_text()
        if status.startswith("game over"):
            break
        if status.startswith("You decide") and advised < 3:
            advised += 1
            expect(page.locator(".choices button.best")).to_have_count(1)
            expect(page.locator(".choices strong").first).to_have_text(re.compile(r"^\d+\.\d %$"))
            window.picture(f"advice{advised}")
        tap(page, rng.choice([one.get_attribute("data-name") or "" for one in page.locator(".choices button").all()]))
    assert re.search("game over, (won|lost), final score", page.locator(".status").inner_text())
    assert advised == 3
    window.picture("over")
    assert window.fits()


def test_friday_by_two_letters_and_undo(opened: Open) -> None:
    window = opened()
    page = window.go("#/follow/friday")
    page.locator(".choices button[data-name='1']").click()
    for name in ("P3", "P7", "F2", "E1", "first", "free"):
        tap(page, name)
    before = taken(page)
    page.get_by_label("Type what happened").press_sequentially("ge")
    expect(page).to_have_url(re.compile("~free~S4$"))
    expect(page.get_by_text("Taken down: genius 2")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".status")).to_have_text("the card drawn")
    assert taken(page) == before
    page.reload()  # the address holds the game
    expect(page.locator(".status")).to_have_text("the card drawn")
    page.get_by_label("Type what happened").fill("pirate")
    page.get_by_label("Type what happened").press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("expected one of")
    window.wrong = [problem for problem in window.wrong if "400" not in problem]  # which is the answer to a wrong line


def test_friday_is_played_to_its_end(opened: Open) -> None:
    window, rng = opened(), random.Random(1)
    page = window.go('#/play/friday?s=5&o={"level":4}&p1=human')
    live = page.locator(".host button[data-action]:enabled")
    for _ in range(2000):
        expect(live.or_(page.get_by_text("Game over")).first).to_be_visible()
        if not (names := [one.get_attribute("data-action") for one in live.all()]):
            break
        before = location_of(page)
        page.locator(f".host button[data-action='{rng.choice(names)}']").click()
        expect(page).not_to_have_url(before)
        expect(page.locator("#status")).to_have_text(re.compile("Game over|Your move"))
    expect(page.locator("#status")).to_contain_text("Game over")
    window.picture("played")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#status")).to_contain_text("Your move")
