"""Friday in a browser: a game at a real table is followed to its end, one is played, a position is set up."""

import random
import re
from urllib.parse import quote

import pytest
from front.browser.conftest import Open, location_of
from playwright.sync_api import Page, Route, expect

pytestmark = pytest.mark.long
FIGHT = (
    "turn=fight phase=green life=20 pirates=P2,P5 stack=S1*5,S2*7,S3*3,S4,S5 "
    "hazards=W1*2,W3*2,W5*2,W7,W8,W9,W10,E1*2,E5,E6,E7,E8,F1,F2,F3,F4,F5,F6,N1,N2,N3,N4,C1*2 away=E3 "
    "aging=G1,G2*2,G5*2,G7,G8,D1,D2,D3 active=E3 left=S2 free=1"
)
"""A first fight after one card, with the hazard that was not chosen away."""


def taken(page: Page) -> str:
    """Returns the steps that the address holds."""
    match = re.search(r"[?&]m=(.*)", location_of(page))
    return match[1] if match else ""


def holding(words: str) -> re.Pattern[str]:
    """Returns what an address matches that holds these words of a position."""
    return re.compile(re.escape(quote(words, safe="*")))


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
            expect(page.locator(".choices strong").first).to_have_text(re.compile(r"^\d+\.\d\d %( \(-\d+\.\d\d %\))?$"))
            window.picture(f"advice{advised}")
        tap(page, rng.choice([one.get_attribute("data-name") or "" for one in page.locator(".choices button").all()]))
    assert re.search("game over, (won|lost), final score", page.locator(".status").inner_text())
    assert advised == 3
    window.picture("over")
    assert window.fits()


def test_friday_by_two_letters_and_undo(opened: Open) -> None:
    window = opened()
    page = window.go("#/follow/friday")
    for name in ("1", "P3", "P7", "F2", "E1", "first", "free"):
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
    window.errors = [
        problem for problem in window.errors if "400" not in problem
    ]  # which is the answer to a wrong line


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


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
def test_a_position_of_friday_is_set_up(opened: Open, phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go(f"#/analyse/friday?t={quote(FIGHT)}&d=2")
    page.get_by_text("Set up or paste a position").click()
    position, stack = page.locator("#position"), page.locator("[data-pile='stack']")
    text, weak = stack.get_by_role("textbox"), stack.locator("[data-card='S2']")
    expect(weak).to_contain_text("7 × weak 0")
    expect(page.locator("#values .line")).to_contain_text("Line (")
    assert not re.search(r"\b[A-Z]\d", page.locator("#values .line").inner_text()), "words, not codes of cards"
    window.picture("editor")
    assert window.fits()
    weak.locator("[data-by='-1']").click()
    expect(position).to_have_value(re.compile(r"stack=S1\*5,S2\*6,"))
    expect(text).to_have_value("S1*5,S2*6,S3*3,S4,S5")
    page.get_by_label("On the table, left (free cards): one more weak 0").click()
    expect(page).to_have_url(holding("left=S2*2 "))
    assert page.get_by_role("alert").is_hidden()
    page.get_by_label("Discard: add a card", exact=True).select_option("W8")  # which still lies among the hazards
    expect(page.get_by_role("alert")).to_have_text(re.compile("expected at most 1 of W8 in all, got 2"))
    page.locator("[data-pile='hazards'] [data-card='W8'] [data-by='-1']").click()
    expect(page).to_have_url(holding("discard=W8 "))
    expect(page.get_by_role("alert")).to_be_hidden()
    text.fill("S1*5")
    text.press("Enter")
    expect(stack.locator("li")).to_have_count(1)
    expect(page).to_have_url(holding("stack=S1*5 "))
    for _ in range(5):
        stack.locator("[data-by='-1']").click()
    expect(page).to_have_url(holding("stack=none "))
    expect(stack.get_by_label("add a card")).to_be_focused()
    window.picture("edited")
    assert window.fits()
    window.errors = [
        problem for problem in window.errors if "400" not in problem
    ]  # which is the answer to a card too many


def test_the_newest_position_counts_whichever_is_answered_first(opened: Open) -> None:
    window = opened()
    page = window.go(f"#/analyse/friday?t={quote(FIGHT)}&d=2")
    page.get_by_text("Set up or paste a position").click()
    fewer, held = page.locator("[data-pile='stack'] [data-card='S2'] [data-by='-1']"), list[Route]()
    page.route("**/api/state", lambda route: route.continue_() if held else held.append(route))
    fewer.click()
    fewer.click()
    expect(page).to_have_url(holding("stack=S1*5,S2*5,"))
    with page.expect_response("**/api/state") as answer:
        held[0].continue_()
    assert "S2*6" in answer.value.text()
    page.wait_for_timeout(500)
    expect(page).to_have_url(holding("stack=S1*5,S2*5,"))
