"""What people do to the page besides playing well: quick clicks, a server that is slow or gone. Its server runs plain Python."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from front.web_server import serving

pytestmark = pytest.mark.long
PLAYED = {
    "trilobite": "#/play/trilobite?p2=human",
    "cassis": '#/play/cassis?o={"n":4}&p2=human',
    "trap": '#/play/trap?o={"size":3}&p2=human',
}
LIVE = ".choice[data-action]"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a server whose processes compile nothing."""
    with serving() as client:
        yield f"http://127.0.0.1:{client.port}/"


def moves(page: Any, count: int) -> None:
    """Waits until the list has so many moves."""
    page.wait_for_function("n => document.querySelectorAll('.moves li').length === n", arg=count, timeout=20_000)


def click(page: Any, number: int = 0) -> None:
    """Presses and releases the mouse, as a hand does, over an action on the board."""
    box = page.locator(LIVE).nth(number).bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
@pytest.mark.parametrize("where", PLAYED.values(), ids=PLAYED)
def test_the_first_click_counts_wherever_the_focus_was(opened: Callable[..., Any], where: str, phone: bool) -> None:
    page = opened(phone=phone).go(where)
    page.wait_for_selector(LIVE)
    page.locator("select").first.focus()
    click(page)
    moves(page, 1)
    page.get_by_role("button", name="Undo").click()
    moves(page, 0)
    click(page)
    moves(page, 1)


def test_what_is_drawn_anew_under_a_press_waits_for_its_release(opened: Callable[..., Any]) -> None:
    page = opened().go("#/analyse/trilobite?d=2&l=lines")
    page.wait_for_function("() => document.querySelector('#halt')?.disabled === false")
    box = page.locator(LIVE).first.bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.wait_for_function("() => document.querySelector('#halt').disabled")
    page.mouse.up()
    moves(page, 1)


def test_the_first_page_leads_to_each_preset_of_ships(opened: Callable[..., Any]) -> None:
    page = opened().go()
    for preset in ("Classic", "Cruiser", "Scout"):
        page.get_by_role("link", name=preset).click()
        page.wait_for_function("name => document.querySelector('select')?.value === name", arg=preset.lower())
        page.get_by_role("link", name="Leafwise").click()
