"""The pages of games in a real browser: played to their ends by clicks, analysed, reviewed, followed on a phone."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

pytestmark = pytest.mark.long
LIVE = ".choice[data-action]"
TWO_HAZARDS = (
    "turn=choose phase=green life=20 pirates=P6,P8 stack=S1*5,S2*8,S3*3,S4,S5 hazards=W1*2,W3*2,W5*2,W7,W8,W9,W10,E1*2,E3,E5,E6,E7,"
    "E8,F1,F2,F3,F4,F5,F6,N1,N2,N3,N4,C1 aging=G1,G2*2,G5*2,G7,G8,D1,D2,D3 active=E3,C1"
)
"""A choice between two different hazards; those of a new game may be equal, which is one action."""
START = "3 0 1 0/0 2 1 3/0 2 0 3/1 0 0 2 next=1 deck=0,1,1"
LOADED = 300_000
"""Milliseconds for a search whose code is compiled first."""


def play_to_the_end(page: Any, most: int) -> int:
    """Clicks the first action that can be clicked until the game is over; returns how many clicks it took."""
    for clicks in range(most):
        page.wait_for_function(
            f"() => document.querySelector('{LIVE}') || document.querySelector('#status').textContent.startsWith('Game over')"
        )
        before = page.evaluate("location.hash")
        if page.inner_text("#status").startswith("Game over"):
            return clicks
        page.locator(LIVE).first.dispatch_event("click")
        page.wait_for_function("before => location.hash !== before", arg=before)
    pytest.fail(f"the game is not over after {most} clicks")


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("trilobite", "#/play/trilobite?p2=level:medium&s=1"),
        ("connect four", "#/play/trilobite?o={%22board%22:%227x6%22,%22k%22:4}&p2=random&s=1"),
        ("threes", "#/play/threes?s=1"),
        ("trap", "#/play/trap?o={%22size%22:3}&p2=random&s=2"),
        ("cassis", "#/play/cassis?p2=human"),
        ("any", "#/play/cassis?o={%22n%22:4}&p2=solver"),
    ],
)
def test_a_game_is_played_to_its_end_by_clicks(opened: Callable[..., Any], name: str, where: str, phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go(where)
    page.wait_for_selector(".board")
    assert window.fits()
    assert play_to_the_end(page, 600) > 1
    window.picture(f"{name} {'phone' if phone else 'desktop'}")
    moves = page.locator(".moves li").count()
    page.click("text=Undo")
    page.wait_for_function("count => document.querySelectorAll('.moves li').length < count", arg=moves)
    assert not page.inner_text("#status").startswith("Game over")


def test_keys_play_too_and_a_link_shares_the_game(opened: Callable[..., Any]) -> None:
    page = opened().go("#/play/trilobite?p2=human")
    page.wait_for_selector(".board")
    page.keyboard.press("2")
    page.wait_for_function("() => document.querySelectorAll('.moves li').length === 1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.moves li').length === 2")
    page.keyboard.press("u")
    page.wait_for_function("() => document.querySelectorAll('.moves li').length === 1")
    page.keyboard.press("h")
    page.wait_for_function("() => document.querySelector('#status').textContent.startsWith('Exact')", timeout=LOADED)
    assert page.locator(".board .worth.best").count() == 1
    page = opened().go("#/play/threes?s=1")
    page.wait_for_selector(LIVE)
    page.locator(LIVE).first.dispatch_event("click")
    page.wait_for_function("() => document.querySelectorAll('.moves li').length === 1")
    board = page.get_attribute(".board", "aria-label")
    other = opened().go(page.evaluate("location.hash"))
    other.wait_for_selector(LIVE)
    assert other.get_attribute(".board", "aria-label") == board


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize(
    ("where", "unit"),
    [
        ("trilobite?o={%22board%22:%227x6%22,%22k%22:4}&m=4~4~4~4~4&k=lines&d=2", "chance to win"),
        ("cassis?m=0-1~2-3&d=2", "chance to win"),
        ("trap?d=2", "chance to win"),
        (f"threes?t={quote(START, safe='')}&d=2", "expected"),
        (f"friday?t={quote(TWO_HAZARDS, safe='')}&d=2", "chance to win"),
    ],
)
def test_an_analysis_is_shown(opened: Callable[..., Any], where: str, unit: str, phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go(f"#/analyse/{where}")
    page.wait_for_function("() => document.querySelector('#status')?.textContent.includes('depth')", timeout=LOADED)
    page.wait_for_function("() => document.querySelector('#halt').disabled", timeout=LOADED)
    assert unit in page.inner_text("#status").lower()
    assert page.locator("#values tbody tr").count() > 1
    assert page.locator("#values td.best").count() > 0
    assert "friday" in where or page.locator(".board .worth").count() > 1
    assert "Line (learned)" in page.inner_text("#values")
    for game, drawn in (("threes", ".swipe"), ("trap", ".reply")):  # the best answer, and what is expected after it
        assert page.locator(f".board {drawn}").count() == where.startswith(game)
    window.picture(f"analysis of {where.partition('?')[0]}")
    assert window.fits()


def test_a_position_is_set_up_and_chance_told_by_hand(opened: Callable[..., Any]) -> None:
    page = opened().go("#/analyse/trilobite?d=2")
    page.click("#setup summary")
    page.click("[data-cell='7']")  # a red chip on the floor
    page.wait_for_function("() => document.querySelector('#position').value === '.../.../.x.'")
    page.click("[data-piece='o']")
    page.click("[data-cell='4']")
    page.wait_for_function("() => decodeURIComponent(location.hash).includes('t=.../.o./.x.')")
    page = opened().go("#/analyse/trap?o={%22size%22:4}&m=S~3,3&d=2")
    page.wait_for_selector("#chance [data-outcome]")
    shown = page.inner_text("#chance")
    assert len(re.findall(r"\d+ %", shown)) == page.locator("#chance [data-outcome]").count()
    page.locator("#chance [data-outcome]").first.click()
    page.wait_for_selector(LIVE)


def test_quick_moves_follow_one_another(opened: Callable[..., Any]) -> None:
    window = opened()
    page = window.go("#/analyse/trilobite?d=2")
    page.wait_for_selector(LIVE)
    held: list[Any] = []
    page.route("**/api/state", lambda route: route.continue_() if held else held.append(route))
    page.locator(LIVE).first.dispatch_event("click")
    page.locator(LIVE).last.dispatch_event("click")
    page.wait_for_timeout(500)
    held[0].continue_()
    page.wait_for_function("() => document.querySelectorAll('.moves li').length === 2")
    page.get_by_role("button", name="Back").dblclick()
    page.wait_for_function("() => document.querySelectorAll('.moves li').length === 0")
    assert page.get_by_role("button", name="Back").is_disabled()
    assert page.is_hidden("#problem")


def test_a_curve_is_drawn_of_a_pasted_game(opened: Callable[..., Any]) -> None:
    window = opened()
    page = window.go("#/review")
    page.fill("#file", '[Game "trilobite"]\n1. 1\n2. 3\n3. 1\n4. 3\n5. 2\n')
    page.click("text=Show its curve")
    page.wait_for_function("() => document.querySelector('#status').textContent.includes('blunder')", timeout=LOADED)
    assert page.locator(".curve .blunder").count() >= 1
    window.picture("curve")
    page.select_option("label:has-text('Leaf') select", "lines")
    page.wait_for_selector("text=so there is no curve", timeout=LOADED)
    assert page.locator(".curve").count() == 0


def test_threes_is_followed_in_two_taps_a_move(opened: Callable[..., Any]) -> None:
    window = opened(phone=True)
    page = window.go("#/companion/threes")
    page.wait_for_selector(".editor")
    tiles = START.split(" next")[0].replace("/", " ").split()
    for value in ("1", "2", "3"):
        page.click(f"[data-piece='{value}']")
        for cell in [k for k, tile in enumerate(tiles) if tile == value]:
            page.click(f"[data-cell='{cell}']")
    page.click("#follow")
    page.wait_for_selector(".entry [data-outcome]", timeout=LOADED)
    assert "deck%3D" in page.evaluate("location.hash")
    best, *others = page.locator(".hints button").all_inner_texts()
    assert len(others) == 3
    assert re.search(r"^(up|down|left|right) [\d,]+$", best)
    assert all(re.search(r" [\d,]+( \(-[\d,]+\))?$", one) for one in others)
    assert window.fits()
    window.picture("companion")
    for _ in range(6):
        before = page.evaluate("location.hash")
        page.locator("#asked [data-outcome]").first.click()
        page.wait_for_function("before => location.hash !== before", arg=before)
    moves = page.evaluate("location.hash").split("m=")[1].split("~")
    assert sum(name in ("left", "right", "up", "down") for name in moves) >= 3, "at most two taps a move"
    after = page.evaluate("location.hash")
    page.click("#undo")
    page.wait_for_function("after => after.startsWith(location.hash) && location.hash !== after", arg=after)
    page.wait_for_selector("#asked [data-outcome]", timeout=LOADED)
    window.picture("undone")
    page.reload()  # the address holds the game
    page.wait_for_selector("#asked [data-outcome]", timeout=LOADED)


def test_four_pages_analyse_at_once(opened: Callable[..., Any]) -> None:
    four = "trilobite?o={%22board%22:%225x5%22,%22k%22:4}&k=lines&d=5"
    pages = [opened().go(f"#/analyse/{where}") for where in (four, four, "cassis?m=0-1~2-3", "trap")]
    for page in pages:
        page.wait_for_function("() => document.querySelector('#status')?.textContent.includes('depth')", timeout=LOADED)
        page.wait_for_function("() => document.querySelector('#halt').disabled", timeout=LOADED)
        assert page.is_hidden("#problem")
