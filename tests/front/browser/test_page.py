"""What people do to the page besides playing well: quick clicks, a server that is slow or gone. Its server runs plain Python."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from front.web_server import serving

from leafwise.envs.trap.draw import PLAYERS
from leafwise.training.runs.loop import Events

pytestmark = pytest.mark.long
PLAYED = {
    "trilobite": "#/play/trilobite?p2=human",
    "cassis": '#/play/cassis?o={"n":4}&p2=human',
    "trap": '#/play/trap?o={"size":3}&p2=human',
}
BOTH = pytest.mark.parametrize("phone", [False, True], ids=["desktop", "phone"])
"""Windows of a desktop and of a phone."""
LIVE = ".choice[data-action]"
CARDS = (
    "turn=fight phase=green life=10 pirates=P2,P8 stack=S1,S2*3 discard=S1*3,S2*4,S3*2,S4,S5,W7 hazards=W1*2,W5,W9,W10,E1,E3*2,E5,"
    "E6,E7,E8,F6,N1,N2,N4,C1*2 "
    "away=W3*2,W8,F1,F2,F3,F4,F5,N3 aging=G1,G2*2,G5*2,G7,G8,D1,D2,D3 active=E1 left=S2,W5 right=S3 free=2"
)
"""A fight of Friday with a card that can be used."""


@pytest.fixture(scope="module")
def address(runs_folder: Path) -> Iterator[str]:
    """The address of a server whose processes compile nothing."""
    runs_folder.mkdir(exist_ok=True)
    with serving(LEAFWISE_WEB_RUNS=str(runs_folder)) as client:
        yield f"http://127.0.0.1:{client.port}/"


@pytest.fixture
def opened(opened: Callable[..., Any]) -> Callable[..., Any]:
    """Opens windows that need not wait for a compiler."""

    def opening(**options: Any) -> Any:
        window = opened(**options)
        window.page.set_default_timeout(40_000)
        return window

    return opening


def moves(page: Any, count: int) -> None:
    """Waits until the list has so many moves."""
    page.wait_for_function("n => document.querySelectorAll('.moves li').length === n", arg=count, timeout=20_000)


def click(page: Any, number: int = 0) -> None:
    """Presses and releases the mouse, as a hand does, over an action on the board."""
    action = page.locator(LIVE).nth(number)
    action.scroll_into_view_if_needed()
    box = action.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@BOTH
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


@BOTH
def test_what_is_drawn_anew_under_a_press_waits_for_its_release(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go("#/analyse/trilobite?d=2&l=lines")
    page.wait_for_function("() => document.querySelector('#halt')?.disabled === false")
    page.locator(LIVE).first.hover()  # looks again where the board is drawn anew meanwhile
    page.mouse.down()
    page.wait_for_function("() => document.querySelector('#halt').disabled")
    page.mouse.up()
    moves(page, 1)


@BOTH
def test_the_first_page_leads_to_each_preset_of_ships(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go()
    for preset in ("Classic", "Cruiser", "Scout"):
        page.get_by_role("link", name=preset).click()
        page.wait_for_function("name => document.querySelector('select')?.value === name", arg=preset.lower())
        page.get_by_role("link", name="Leafwise").click()


def gone(window: Any, *paths: str, times: int | None = None) -> None:
    """Has requests to these addresses fail, as where the server is gone; as many `times`, or until `back`."""
    for path in paths:
        window.page.route(f"**/{path}", lambda route: route.abort("connectionrefused"), times=times)


def back(window: Any) -> None:
    """Has the server answer again, and asks again by the button; that requests failed was wanted."""
    window.page.unroute_all()
    window.page.get_by_role("button", name="Try again").click()
    window.errors = [problem for problem in window.errors if "ERR_CONNECTION_REFUSED" not in problem]


@BOTH
def test_a_server_that_is_gone_is_told_with_a_way_on(opened: Callable[..., Any], phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go("#/play/trilobite?p2=random&s=1")
    alert = page.get_by_role("alert")
    page.wait_for_selector(LIVE)
    gone(window, "api/state", "api/move")
    click(page)
    alert.get_by_text("the server does not answer").wait_for()
    assert page.inner_text("#status") == "Red to move"
    page.unroute("**/api/state")
    page.get_by_role("button", name="Try again").click()
    moves(page, 1)
    alert.get_by_text("the server does not answer").wait_for()  # while the opponent thinks
    assert page.inner_text("#status") == "Yellow to move"
    back(window)
    moves(page, 2)
    assert not alert.is_visible()
    gone(window, "api/state", "api/move", times=1)  # the page repeats the request silently
    click(page)
    moves(page, 4)
    assert not alert.is_visible()
    window.errors.clear()


@pytest.mark.parametrize("path", ["api/game", "pages/play.js"])
def test_a_page_that_does_not_open_says_so_with_a_way_on(opened: Callable[..., Any], path: str) -> None:
    window = opened()
    gone(window, path)
    page = window.go("#/play/trilobite")
    page.get_by_role("heading", name="This page did not open").wait_for()
    assert page.get_by_role("link", name="All games").is_visible()
    back(window)
    page.wait_for_selector(LIVE)


@BOTH
def test_clicks_count_while_the_server_is_slow(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go("#/play/trilobite?p2=human")
    page.wait_for_selector(LIVE)
    held: list[Any] = []
    page.route("**/api/state", lambda route: route.continue_() if held else held.append(route))
    click(page, 1)
    page.wait_for_selector("body.waiting")
    assert page.inner_text("#status") == "Your move is on its way …"
    click(page, 2)
    held[0].continue_()
    moves(page, 2)
    assert page.locator("body.waiting").count() == 0
    assert page.evaluate("location.hash").endswith("m=2~3")


def test_friday_is_played_on_a_phone_by_cards_with_names(opened: Callable[..., Any]) -> None:
    window = opened(phone=True)
    page = window.go(f"#/play/friday?c=hand&t={quote(CARDS)}")
    page.wait_for_selector(".card")
    sizes = page.eval_on_selector_all(".friday *", "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))")
    assert min(sizes) >= 12
    cards = page.locator(".card").all_inner_texts()
    assert [re.sub(r"\s+", " ", text) for text in cards] == ["0 weak", "0 strategy 2x exchange use", "1 focused"]
    actions = ["pay 1 life for a card", "end the fight: win food 1 (+1 life)"]
    assert page.locator(".friday .buttons button").all_inner_texts() == actions
    page.locator(".card", has_text="strategy").tap()
    moves(page, 1)
    assert page.inner_text(".moves") == "1. use strategy 0 (2x exchange)"
    assert page.locator(".card em").all_inner_texts() == ["exchange", "exchange"]
    assert not re.search(r"\b[SWEFNCGD]\d+\b", page.inner_text("main"))
    assert window.fits()


@pytest.mark.parametrize(
    ("where", "title"),
    [
        ('trilobite?o={"board":"7x6","k":4}', "Connect Four"),
        ("trilobite", "Trilobite, 3×3, three in a row"),
        ('trilobite?o={"board":"4x4","k":4}', "Trilobite, board 4x4, k 4"),
        ("trap", "Trap"),
    ],
)
def test_a_title_names_the_variant(opened: Callable[..., Any], where: str, title: str) -> None:
    page = opened().go(f"#/play/{where}")
    page.get_by_role("heading", name=title, exact=True).wait_for()
    assert page.title() == f"{title} – Leafwise"


def test_trap_has_one_way_to_name_a_cell_and_a_player(opened: Callable[..., Any]) -> None:
    page = opened().go('#/play/trap?o={"size":3}&p2=human&m=E~2,2&c=hand')
    page.wait_for_selector("#luck [data-outcome]")
    for button in page.locator("#luck [data-outcome]").all():
        row, column = (button.get_attribute("data-outcome") or "").split(",")
        assert button.inner_text().startswith(f"row {row}, column {column} ")
    assert page.locator(".board .ruler").all_text_contents() == [str(k // 2) for k in range(6)]
    colours = page.eval_on_selector_all(".board circle[stroke]", "all => all.map(one => one.getAttribute('fill'))")
    assert colours == list(PLAYERS)
    assert page.locator("label", has_text="Red").count() == page.locator("label", has_text="Blue").count() == 1


def test_a_run_that_has_no_score_yet_says_when_it_comes(opened: Callable[..., Any], runs_folder: Path) -> None:
    folder = runs_folder / "begun"
    folder.mkdir()
    (folder / "config.toml").write_text('name = ""\ngame = "threes"\ninterval = 65536\nevaluate_every = 64\n')
    events = Events(folder)
    for step in (65536, 131072):
        events.add("train/error", step / 100, step)
    events.close()
    page = opened().go("#/train/begun")
    page.get_by_text("The first score comes after 4,194,304 steps").wait_for()
    figure = page.locator("figure").filter(has_text="Error of the values")
    assert figure.locator(".chart-unit").all_text_contents() == ["steps", "root mean square, in points"]
    assert page.locator("figure", has_text="Loss").count() == 0
    assert page.locator("dl.options dt").all_text_contents() == ["game", "interval", "evaluate_every"]


WON = "#/play/trilobite?p2=human&m=1~2~1~2~1"


@BOTH
@pytest.mark.parametrize(
    ("where", "says", "marked"),
    [
        (WON, "Game over: Red wins with 3 in a row", ".board .won"),
        (
            "#/play/cassis?p2=human&m=0-1~2-3~0-2~4-5~1-2",
            "Game over: Blue wins: the other closed a triangle",
            ".board .closed",
        ),
    ],
)
def test_a_game_that_is_over_says_how_and_leads_to_its_analysis(
    opened: Callable[..., Any], where: str, says: str, marked: str, phone: bool
) -> None:
    page = opened(phone=phone).go(where)
    page.get_by_text(says).wait_for()
    assert page.locator(marked).count() == (3 if "closed" in marked else 1)
    page.get_by_role("link", name="Analyse this game").click()
    page.get_by_role("heading", name="Curve of a game").wait_for()


@BOTH
def test_moves_are_walked_through_by_keys_buttons_and_the_list(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go(WON)
    page.get_by_text("Game over").wait_for()
    chips = (
        '() => [...document.querySelectorAll(\'.board circle[fill="#d8433b"], .board circle[fill="#f2c230"]\')].length'
    )
    for act, number in (
        (lambda: page.keyboard.press("ArrowLeft"), 4),
        (lambda: page.keyboard.press("ArrowLeft"), 3),
        (lambda: page.keyboard.press("ArrowRight"), 4),
        (lambda: page.get_by_role("button", name="2. 2").click(), 2),
        (lambda: page.get_by_role("button", name="Start", exact=True).click(), 0),
    ):
        act()
        page.get_by_text(f"Position after {number} of 5 moves").wait_for()
        assert page.evaluate(chips) == number
        assert page.locator(LIVE).count() > 0, "another line may begin here"
    page.get_by_role("button", name="Now", exact=True).click()
    page.get_by_text("Game over").wait_for()
    assert page.evaluate(chips) == 5


def test_an_analysis_shows_the_chance_of_the_first_player(opened: Callable[..., Any]) -> None:
    page = opened().go("#/analyse/trilobite?l=lines&d=2&m=1~2~1~2")
    page.locator(".evaluation[aria-valuenow='100']").wait_for()
    assert page.inner_text(".evaluation") == "Red 100 %"


@pytest.mark.parametrize(
    "where",
    [
        "",
        "#/play/trap?p2=human&m=E~2,2&s=1",
        "#/analyse/trilobite?l=lines&d=2",
        "#/review/trilobite?m=1~2~1~3~1",
        "#/rules/friday",
        "#/train",
    ],
)
def test_a_phone_has_room_for_fingers(opened: Callable[..., Any], where: str) -> None:
    window = opened(phone=True)
    page = window.go(where)
    page.wait_for_selector(".page > :nth-child(2)")
    page.wait_for_function("() => !document.querySelector('.loading')")
    small = """() => [...document.querySelectorAll("button, a.button, select, nav a, #home, summary")]
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 44).map((one) => one.outerHTML)"""
    assert page.evaluate(small) == []
    assert window.fits()


def test_colours_follow_the_system_or_the_switch(opened: Callable[..., Any]) -> None:
    page = opened().go()
    paper = "() => getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(251, 252, 249)"
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == "rgb(22, 28, 24)"
    page.get_by_role("button", name="Colours").click(click_count=2)  # by way of dark to light
    assert page.evaluate(paper) == "rgb(251, 252, 249)"
    page.reload()
    assert page.get_by_role("button", name="Colours: light").is_visible()
    assert page.evaluate(paper) == "rgb(251, 252, 249)"


def test_the_focus_stays_and_a_screen_reader_is_not_talked_over(opened: Callable[..., Any]) -> None:
    page = opened().go(WON)
    page.get_by_role("button", name="2. 2").press("Enter")
    page.get_by_text("Position after 2 of 5 moves").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "2. 2"
    page = opened().go("#/analyse/trilobite?l=lines&d=2")
    page.wait_for_function("() => document.querySelector('.unseen[role=status]')?.textContent.includes('depth')")
    assert page.locator("#status[aria-live]").count() == 0
    page.locator("#skip").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_first_page_shows_each_game_and_leads_everywhere(opened: Callable[..., Any]) -> None:
    window = opened(phone=True)
    page = window.go()
    pictured = page.locator(".cards .thumbnail .board")
    page.wait_for_function("() => document.querySelectorAll('.cards .thumbnail .board').length === 6")
    assert all((one.bounding_box() or {})["height"] > 80 for one in pictured.all())
    assert window.fits()
    links = page.eval_on_selector_all(".cards a", "all => all.map(one => one.hash)")
    assert {"#/analyse/cassis", "#/analyse/friday", "#/follow/friday", "#/companion/threes", "#/rules/starship"} <= set(
        links
    )
    assert page.get_by_role("region", name="Played here").count() == 0


@pytest.mark.parametrize("game", ["cassis", "friday", "starship", "threes", "trap", "trilobite"])
def test_rules_are_told_in_half_a_page_with_a_picture(opened: Callable[..., Any], game: str) -> None:
    window = opened()
    page = window.go(f"#/rules/{game}")
    page.wait_for_selector(".host .board")
    assert 60 < len(page.get_by_role("region", name="Rules").inner_text().split()) < 250
    assert page.get_by_role("button").locator("visible=true").count() == 1, "the picture is no board to play on"
    page.locator("a.main").first.click()
    page.wait_for_function("() => !location.hash.startsWith('#/rules')")


@BOTH
def test_a_game_that_was_played_here_is_gone_on_with(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go("#/play/trilobite?p2=human&s=3")
    for number in (1, 2):
        page.wait_for_selector(LIVE)
        click(page)
        moves(page, number)
    page.get_by_role("link", name="Leafwise").click()
    region = page.get_by_role("region", name="Played here")
    region.wait_for()
    assert region.get_by_role("listitem").first.inner_text().endswith("2 moves")
    region.get_by_role("link", name="Trilobite").click()
    moves(page, 2)
    fill = """room => { localStorage.clear(); localStorage.other = "x".repeat(5 * 2 ** 20 - room - 16);
        localStorage.played = JSON.stringify([{id: "old", href: "x".repeat(room - 100)}]); }"""
    no_room = page.get_by_text("The browser has no room")
    for room, is_kept in ((2000, True), (120, False)):  # whether an older game gives enough room
        page.evaluate(fill, room)
        page.get_by_role("button", name="Undo").click()
        moves(page, 1)
        click(page)
        moves(page, 2)
        assert no_room.is_visible() is not is_kept
        assert page.evaluate("(localStorage.played ?? '').includes('old')") is not is_kept
    page.evaluate("localStorage.removeItem('other')")
    page.get_by_role("button", name="Undo").click()
    page.get_by_role("link", name="Leafwise").click()
    region.get_by_role("button", name="Forget these").click()
    page.reload()
    page.wait_for_selector(".cards")
    assert region.count() == 0


@BOTH
def test_lines_are_kept_when_one_goes_back_and_plays_on(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go("#/play/trilobite?p2=human&m=1~2~3")
    moves(page, 3)
    page.get_by_role("button", name="2. 2").click()
    page.get_by_text("Position after 2 of 3 moves; a move from here begins another line").wait_for()
    click(page, 2)  # as the game went on
    page.get_by_text("Red to move").or_(page.get_by_text("Yellow to move")).wait_for()
    assert page.locator("#others button").count() == 0
    page.keyboard.press(",")
    page.get_by_text("Position after 2").wait_for()
    click(page, 1)
    page.locator("#others").get_by_role("button", name="3. 3").wait_for()
    assert page.inner_text(".moves").split() == ["1.", "1", "2.", "2", "3.", "2"]
    page.reload()
    page.locator("#others").get_by_role("button", name="3. 3").click()
    page.locator("#others").get_by_role("button", name="3. 2").wait_for()
    assert page.inner_text(".moves").split() == ["1.", "1", "2.", "2", "3.", "3"]
    page.get_by_role("button", name="Undo").click()
    moves(page, 2)
    assert page.locator("#others").get_by_role("button").all_inner_texts() == ["3. 3", "3. 2"]
    page.get_by_role("button", name="New game").click()
    moves(page, 0)
    assert page.locator("#others button").count() == 0


@BOTH
def test_a_game_is_copied_and_shared(opened: Callable[..., Any], phone: bool) -> None:
    window = opened(phone=phone)
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = window.go("#/play/trilobite?p2=human&m=1~2")
    moves(page, 2)
    page.get_by_role("button", name="Copy as text").click()
    page.get_by_role("button", name="Copied", exact=True).wait_for()
    assert "\n1. 1\n2. 2" in page.evaluate("navigator.clipboard.readText()")
    share = page.get_by_role("button", name="Share")
    share.click()
    page.get_by_role("button", name="Address copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.evaluate("location.href")
    page = window.go("#/play/trilobite?p2=human&m=1~3")
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined})"
    )  # as where the page is not encrypted
    page.get_by_role("button", name="Copy as text").click()
    page.get_by_role("button", name="Copied", exact=True).wait_for()
    page = window.go(f"#/play/trilobite?p2=human&m=1~3&x={'x' * 8000}")
    page.get_by_text("Too long to share as an address: copy it as text").wait_for()
    assert share.count() == 0


@BOTH
def test_hints_list_moves_with_what_they_cost(opened: Callable[..., Any], phone: bool) -> None:
    window = opened(phone=phone)
    page = window.go("#/play/threes?s=1&h=3&e=1")
    page.wait_for_selector(LIVE)
    assert page.get_by_label("Hints think").input_value() == "3"
    page.get_by_role("button", name="Hint", exact=True).click()
    page.wait_for_selector(".hints li:nth-child(2)")
    page.wait_for_selector(".board .worth.best")
    best, *others = page.locator(".hints button").all()
    assert re.search(r"^(up|down|left|right) [\d,]+$", best.inner_text())
    assert all(re.search(r" [\d,]+ \(-[\d,]+\)$", one.inner_text()) for one in others)
    bar = page.locator(".evaluation")
    bar.wait_for()
    assert re.search(r"^Expected final score [\d,]+$", bar.inner_text())
    assert 0 < float(bar.get_attribute("aria-valuenow")) <= float(bar.get_attribute("aria-valuemax"))
    best.click()
    moves(page, 1)
    assert page.locator(".hints").count() == 0
    window.go(f"#/play/threes?e=1&t={quote('3 6 3 6/6 3 6 3/3 6 3 6/6 3 6 3 next=1')}")
    page.get_by_text("Game over: 96 points").wait_for()
    assert bar.inner_text() == "Final score 96"


def test_what_a_move_costs_is_its_colour(opened: Callable[..., Any]) -> None:
    page = opened().go("#/play/trilobite?p2=human&m=1~2~3~2")
    page.wait_for_selector(LIVE)
    page.get_by_role("button", name="Hint", exact=True).click()
    page.get_by_text("Exact, by the solver").wait_for()
    colours = [
        one.evaluate("one => getComputedStyle(one).backgroundColor") for one in page.locator(".hints button").all()
    ]
    assert [text.split()[1] for text in page.locator(".hints button").all_inner_texts()] == ["draw", "loss", "loss"]
    assert colours == ["rgb(157, 231, 157)", *2 * ["rgb(231, 157, 157)"]], "green for the best, full red for a blunder"


@BOTH
def test_the_bar_tells_the_chance_while_one_plays_and_at_the_end(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go("#/play/trilobite?p2=human&m=1~2~1~2")
    bar = page.locator(".evaluation")
    page.wait_for_selector(LIVE)
    assert bar.is_hidden()
    page.get_by_label("evaluation bar").check()
    bar.wait_for()
    assert int(bar.get_attribute("aria-valuenow")) > 50
    click(page)
    page.get_by_text("Red wins").wait_for()
    assert bar.inner_text() == "Red 100 %"
    page.reload()
    bar.wait_for()
    page.get_by_label("evaluation bar").uncheck()
    assert bar.is_hidden()


@BOTH
def test_strength_and_time_of_a_player_are_chosen(opened: Callable[..., Any], phone: bool) -> None:
    page = opened(phone=phone).go("#/play/trilobite?p2=level:easy&s=1")
    page.wait_for_selector(LIVE)
    seat, time = (
        page.locator("label", has_text=re.compile(f"^{name} ")).locator("select") for name in ("Yellow", "for")
    )
    assert {"level easy", "level best", "exact solver", "search: hand-made: lines"} <= set(
        seat.locator("option").all_text_contents()
    )
    assert time.count() == 0
    seat.select_option("search: hand-made: lines")
    time.select_option("10 ms")
    with page.expect_request("**/api/move") as request:
        click(page)
    assert request.value.post_data_json["player"] == "search:lines,seconds=0.01"
    moves(page, 2)


def test_what_is_compiled_is_told_on_the_page(opened: Callable[..., Any]) -> None:
    page = opened().go()
    note = 'event: told\ndata: "compiling the rules of Trilobite: 3 s"\n\n'

    def compiling(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=note + answer.text())

    page.route("**/api/game", compiling, times=1)
    page.evaluate("location.hash = '#/play/trilobite?p2=human'")
    page.get_by_text("compiling the rules of Trilobite: 3 s").wait_for()
    page.wait_for_selector(LIVE)
