"""Worked positions of Threes: slides, entry cells, decks, bonuses and points, each checked by hand."""

from __future__ import annotations

from typing import Any

import pytest

import leafwise
from games.deal import Deal
from leafwise.envs.core.contract.state import State

THREES = leafwise.game("threes")
Options = dict[str, Any]
EMPTY = "0 0 0 0/0 0 0 0/0 0 0 0"
"""The three rows below the first."""
S6 = "6144 6144 0 0/3 1 0 0/2 0 0 0/0 0 0 0"
S8 = "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3"
S13 = f"768 0 0 0/{EMPTY}"
S21 = "3072 1536 768 384/24 48 96 192/"
WINDOW = {"bonus_value": "window3", "hint": "window3"}
COLOUR, EDGES, SLOTS = {"hint": "colour"}, {"entry": "any_empty_edge"}, {"bonus_schedule": "slot21"}
SLOT = f"48 3 0 0/{EMPTY} deck=4,4,4"


def board(state: State) -> str:
    return str(state).split(" next")[0].split(" deck")[0].split(" setup")[0]


def named(state: State, stage: str) -> dict[str, float]:
    """Returns the outcomes of chance by name, with their probabilities.

    A name is `tile@row,column` where a tile enters, or the tile drawn.
    """
    assert state.stage == stage
    T = state.game.tables()
    return {state.game.text.outcome_name(state.row, s.row, T): p for p, s in state.outcomes()}


def about(expected: dict[str, float]) -> object:
    return pytest.approx(expected, rel=1e-12)


def evenly(*names: str) -> dict[str, float]:
    return dict.fromkeys(names, 1 / len(names))


SLIDES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "s1 gaps go before merges and nothing merges twice": (
        "1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2",
        {
            "up": ("1 2 6 3/3 3 3 6/6 3 1 2/0 0 0 0", "3,0 3,1 3,2 3,3"),
            "down": ("0 0 0 0/1 2 6 3/3 3 3 6/6 3 1 2", "0,0 0,1 0,3"),
            "left": ("3 0 3 0/6 6 6 0/0 3 0 0/6 3 3 0", "0,3 1,3 2,3 3,3"),
            "right": ("0 1 2 3/0 3 3 12/0 0 0 3/0 6 3 3", "0,0 1,0 2,0 3,0"),
        },
    ),
    "s2 a lane that does not move gets no tile": (
        "3 6 12 24/6 12 24 48/1 1 2 2/2 1 1 2",
        {
            "up": ("3 6 12 24/6 12 24 48/3 1 3 2/0 1 0 2", "3,0 3,2"),
            "down": ("0 6 0 24/3 12 12 48/6 1 24 2/3 1 3 2", "0,0 0,2"),
            "left": ("3 6 12 24/6 12 24 48/1 3 2 0/3 1 2 0", "2,3 3,3"),
            "right": ("3 6 12 24/6 12 24 48/0 1 3 2/0 2 1 3", "2,0 3,0"),
        },
    ),
    "s3 a lone tile has one entry cell each way": (
        "0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0",
        {
            "up": ("0 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0", "3,1"),
            "down": ("0 0 0 0/0 0 0 0/0 3 0 0/0 0 0 0", "0,1"),
            "left": ("0 0 0 0/3 0 0 0/0 0 0 0/0 0 0 0", "1,3"),
            "right": ("0 0 0 0/0 0 3 0/0 0 0 0/0 0 0 0", "1,0"),
        },
    ),
    "s4 ones and twos merge only with each other": (
        "1 1 1 1/2 2 2 2/1 1 1 1/2 2 2 2",
        {
            "up": ("3 3 3 3/1 1 1 1/2 2 2 2/0 0 0 0", "3,0 3,1 3,2 3,3"),
            "down": ("0 0 0 0/1 1 1 1/2 2 2 2/3 3 3 3", "0,0 0,1 0,2 0,3"),
        },
    ),
    "s21 no chain of merges": (
        S21 + "12 6 3 3/1 1 2 2",
        {
            "left": (S21 + "12 6 6 0/1 3 2 0", "2,3 3,3"),
            "right": (S21 + "0 12 6 6/0 1 3 2", "2,0 3,0"),
        },
    ),
}


@pytest.mark.parametrize(("text", "slides"), SLIDES.values(), ids=SLIDES)
def test_slides(text: str, slides: dict[str, tuple[str, str]]) -> None:
    """Checks legality, the board after each slide, and the cells where a 1 may enter."""
    state = THREES.parse(f"{text} next=1 deck=3,4,4")
    assert state.legal_names == tuple(name for name in THREES.actions if name in slides)
    for name, (after, cells) in slides.items():
        slid = state.play(name)
        assert board(slid) == after
        assert named(slid, "enter") == about(evenly(*(f"1@{cell}" for cell in cells.split())))


WORTH = (1, 2, 3, 2, 1)
BONUSES = ("6", "12", "24", "48", "96")
ENTRIES: list[tuple[str, Options, str, str, dict[str, float]]] = [
    ("s6 beside a 12288 to come", {}, f"{S6} next=1 deck=3,4,4", "right", evenly("1@0,0", "1@1,0", "1@2,0")),
    ("s6 12288 and on", {"top": "continue"}, f"{S6} next=1 deck=3,4,4", "left", evenly("1@0,3")),
    ("s8 an empty cell at the trailing end is no entry", {}, f"{S8} next=1 deck=3,4,4", "up", evenly("1@3,3")),
    ("s8 down", {}, f"{S8} next=1 deck=3,4,4", "down", evenly("1@0,2", "1@0,3")),
    ("s8 any empty edge", EDGES, f"{S8} next=1 deck=3,4,4", "up", evenly("1@3,2", "1@3,3")),
    ("s12 two bonus values", {}, f"96 3 0 0/{EMPTY} next=+", "right", evenly("6@0,0", "12@0,0")),
    ("s13 uniform", {}, f"{S13} next=+", "right", evenly(*(f"{v}@0,0" for v in BONUSES))),
    ("s13 windows of three", {"bonus_value": "window3"}, f"{S13} next=+", "right",
     {f"{v}@0,0": k / 9 for v, k in zip(BONUSES, WORTH, strict=True)}),
    ("s13 a window shown", WINDOW, f"{S13} next=12|24|48", "right", evenly("12@0,0", "24@0,0", "48@0,0")),
    ("s14 a 48 is made", {}, f"24 24 0 0/{EMPTY} next=1 deck=3,4,4", "left", evenly("1@0,3")),
    ("s15 a merge does not widen the bonus shown", {}, f"96 96 0 0/{EMPTY} next=+", "left", evenly("6@0,3", "12@0,3")),
    ("s16 left", {}, f"{S8} next=1 deck=3,4,4", "left", evenly("1@2,3", "1@3,3")),
    # given white, a 3 is 5 times as likely as a bonus, which is 6 or 12
    ("white", COLOUR, f"96 3 0 0/{EMPTY} next=white deck=1,2,1", "right", {"3@0,0": 5 / 6, "6@0,0": 1 / 12, "12@0,0": 1 / 12}),
    ("white, no 3 left", COLOUR, f"96 3 0 0/{EMPTY} next=white deck=1,1,0", "right", evenly("6@0,0", "12@0,0")),
    ("alone at any edge", EDGES, "0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0 next=1 deck=3,4,4", "left",
     evenly("1@0,3", "1@1,3", "1@2,3", "1@3,3")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "text", "slide", "expected"), [e[1:] for e in ENTRIES], ids=[e[0] for e in ENTRIES]
)
def test_what_may_enter(options: Options, text: str, slide: str, expected: dict[str, float]) -> None:
    slid = THREES.variant(**options).parse(text).play(slide)
    assert named(slid, "enter") == about(expected)
    assert slid.game.parse(str(slid)) == slid


THIRDS = evenly("1", "2", "3")
DRAWS: list[tuple[str, Options, str, dict[str, float]]] = [
    ("s11 beside an uneven deck", {}, f"48 3 0 0/{EMPTY} deck=1,2,1", {"+": 1 / 21, "1": 5 / 21, "2": 10 / 21, "3": 5 / 21}),
    ("s12 exact", {"hint": "exact"}, f"96 3 0 0/{EMPTY}",
     {"6": 1 / 42, "12": 1 / 42, "1": 20 / 63, "2": 20 / 63, "3": 20 / 63}),
    ("s13 uniform", {"hint": "exact"}, S13, dict.fromkeys(THIRDS, 20 / 63) | dict.fromkeys(BONUSES, 1 / 105)),
    ("s13 windows of three", {"hint": "exact", "bonus_value": "window3"}, S13,
     dict.fromkeys(THIRDS, 20 / 63) | {v: k / 189 for v, k in zip(BONUSES, WORTH, strict=True)}),
    ("s13 windows shown", WINDOW, S13,
     dict.fromkeys(THIRDS, 20 / 63) | dict.fromkeys(("6|12|24", "12|24|48", "24|48|96"), 1 / 63)),
    ("s13 a small window", WINDOW, f"96 0 0 0/{EMPTY}", dict.fromkeys(THIRDS, 20 / 63) | {"6|12": 1 / 21}),
    ("s14 no 48 yet", {}, f"24 24 0 0/{EMPTY}", THIRDS),
    ("white hides a 3", COLOUR, f"96 3 0 0/{EMPTY} deck=1,2,1", {"1": 5 / 21, "2": 10 / 21, "white": 6 / 21}),
    ("a 3 without bonuses", COLOUR, f"24 3 0 0/{EMPTY} deck=0,0,1", {"3": 1.0}),
    ("no bonus", {"bonus_p": 0}, S13, THIRDS),
    ("slot21, none yet", SLOTS, SLOT, dict.fromkeys(THIRDS, 20 / 63) | {"+": 1 / 21}),
    ("slot21, half", SLOTS, f"{SLOT} slot=11", dict.fromkeys(THIRDS, 3 / 10) | {"+": 1 / 10}),
    ("slot21, the last", SLOTS, f"{SLOT} slot=20", {"+": 1.0}),
    ("slot21, used", SLOTS, f"{SLOT} slot=11,used", THIRDS),
    ("slot21, none possible", SLOTS, f"24 3 0 0/{EMPTY}", THIRDS),
]  # fmt: skip


@pytest.mark.parametrize(("options", "text", "expected"), [d[1:] for d in DRAWS], ids=[d[0] for d in DRAWS])
def test_what_may_be_drawn(options: Options, text: str, expected: dict[str, float]) -> None:
    assert named(THREES.variant(**options).parse(text), "draw") == about(expected)


AFTERWARDS: list[tuple[str, Options, str, str, str]] = [
    ("a bonus leaves the deck alone", {}, f"48 3 0 0/{EMPTY} deck=1,2,1", "+", "next=+ deck=1,2,1"),
    ("s10 an empty deck is refilled", {}, f"0 2 12 3/{EMPTY} deck=0,0,1", "3", "next=3 deck=4,4,4"),
    ("whether a 3 left is not known yet", COLOUR, f"96 3 0 0/{EMPTY} deck=1,2,1", "white", "next=white deck=1,2,1"),
    ("a new cycle", SLOTS, f"{SLOT} slot=20", "+", "next=+ deck=4,4,4"),
    ("the cycle goes on", SLOTS, f"{SLOT} slot=11", "1", "next=1 deck=3,4,4 slot=12"),
    ("the cycle begins with the first possible bonus", SLOTS, f"24 3 0 0/{EMPTY}", "1", "next=1 deck=3,4,4"),
]


@pytest.mark.parametrize(
    ("options", "text", "drawn", "end"), [a[1:] for a in AFTERWARDS], ids=[a[0] for a in AFTERWARDS]
)
def test_the_deck_after_a_draw(options: Options, text: str, drawn: str, end: str) -> None:
    assert str(Deal(draw=[drawn]).resolve(THREES.variant(**options).parse(text))).endswith(f"{EMPTY} {end}")


def test_s5_a_full_board_without_pairs_is_the_end() -> None:
    state = THREES.parse("1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1 next=1 deck=3,4,4")
    assert (state.is_terminal, state.legal_actions, state.returns) == (True, (), 24.0)
    with pytest.raises(ValueError, match=r"^threes: expected no action in a finished game, got 'up'$"):
        state.play("up")


def test_s6_12288_ends_the_game_or_not() -> None:
    state = THREES.parse(f"{S6} next=1 deck=3,4,4")
    assert state.legal_names == ("down", "left", "right")
    slid = state.play("left")
    assert (board(slid), slid.is_terminal) == ("12288 0 0 0/3 1 0 0/2 0 0 0/0 0 0 0", True)
    assert (state.returns, slid.returns) == (1_062_885.0, 1_594_326.0)
    assert board(state.play("right")) == "0 6144 6144 0/0 3 1 0/0 2 0 0/0 0 0 0"
    assert THREES.parse(f"12288 0 0 0/{EMPTY} next=1").is_terminal
    two = THREES.variant(top="continue").parse("12288 12288 0 0/3 6 1 2/0 0 0 0/0 0 0 0 next=1")
    assert board(two.play("left")) == "12288 12288 0 0/3 6 3 0/0 0 0 0/0 0 0 0"
    refusing = THREES.variant(top="no_merge_6144").parse(f"{S6} next=1 deck=3,4,4")
    assert refusing.legal_names == ("down", "right")


@pytest.mark.parametrize(
    ("text", "before", "slide", "after", "earned"),
    [
        ("3 3 3 3/0 3 3 3/3 0 3 3/3 3 0 3", 39, "left", "6 3 3 0/3 3 3 0/3 3 3 0/6 0 3 0", 6),
        (S8, 30_255, "up", "768 384 192 192/12 24 48 1/6 3 2 3/1 2 0 0", 729),
        (S8, 30_255, "down", "768 384 0 0/12 24 192 192/6 3 48 1/1 2 2 3", 729),
        (S8, 30_255, "left", "768 384 192 96/12 24 48 96/6 3 3 0/3 0 3 0", 6),
        (f"96 96 0 0/{EMPTY}", 1458, "left", f"192 0 0 0/{EMPTY}", 729),
    ],
    ids=["s7 a gap travels with a merge", "s8 up", "s8 down", "s16", "s15"],
)
def test_points_of_slides(text: str, before: int, slide: str, after: str, earned: int) -> None:
    state = THREES.parse(f"{text} next=1 deck=3,4,4")
    slid = state.play(slide)
    assert (state.returns, board(slid), slid.returns - state.returns) == (before, after, earned)


def test_s9_the_start_takes_ten_cards_from_the_deck() -> None:
    laid = [f"{card}@{k // 4},{k % 4}" for k, card in enumerate("111222233")]
    state = Deal(setup=laid, draw=["3"]).settle(THREES.start())
    assert str(state) == "1 1 1 2/2 2 2 3/3 0 0 0/0 0 0 0 next=3 deck=1,0,1 start=6"
    assert state.returns == 0.0
    assert named(state.play("down").outcomes()[0][1], "draw") == about(evenly("1", "3"))


def test_s10_an_empty_deck_is_refilled_at_once() -> None:
    state = THREES.parse(f"12 3 0 0/{EMPTY} next=2 deck=0,0,1")
    entered = Deal(enter=["2@0,0"]).resolve(state.play("right"))
    assert named(entered, "draw") == about({"3": 1.0})
    after = Deal(enter=["3@0,0"]).resolve(Deal(draw=["3"]).resolve(entered).play("right"))
    assert named(after, "draw") == about(THIRDS)


def test_s14_s16_the_first_48_enables_the_draw_right_after_it() -> None:
    slid = THREES.parse(f"24 24 0 0/{EMPTY} next=1 deck=3,4,4").play("left")
    assert named(slid.outcomes()[0][1], "draw")["+"] == pytest.approx(1 / 21)
    for _, entered in THREES.parse(f"{S8} next=1 deck=3,4,4").play("left").outcomes():
        assert named(entered, "draw") == about({"+": 1 / 21, "1": 20 / 77, "2": 80 / 231, "3": 80 / 231})


def test_s17_rewards_add_up() -> None:
    state = THREES.parse(f"3 3 0 0/{EMPTY} next=3 deck=4,4,3")
    slid = state.play("left")
    entered = Deal(enter=["3@0,3"]).resolve(slid)
    assert (slid.returns - state.returns, entered.returns - slid.returns, entered.returns) == (3.0, 3.0, 12.0)
    assert [s.returns for _, s in entered.outcomes()] == [12.0] * 3, "drawing earns nothing"


@pytest.mark.parametrize(("tile", "deck"), [("3", "1,2,0"), ("6", "1,2,1")])
def test_what_entered_as_white_tells_whether_a_3_left_the_deck(tile: str, deck: str) -> None:
    slid = THREES.variant(hint="colour").parse(f"96 3 0 0/{EMPTY} next=white deck=1,2,1").play("right")
    assert str(Deal(enter=[f"{tile}@0,0"]).resolve(slid)).endswith(f"deck={deck}")


@pytest.mark.parametrize(
    "options",
    [
        {"hint": "window3"},
        {"hint": "colour", "bonus_schedule": "slot21"},
        *({"bonus_p": p} for p in (1.0, -0.1, "often", float("nan"))),
        {"bonus_schedule": "slot21", "bonus_p": 0.0},
        {"hint": "loud"},
        {"top": 3},
    ],
    ids=repr,
)
def test_variants_that_there_are_not(options: Options) -> None:
    with pytest.raises(ValueError, match=r"^threes: [^\n]*$"):
        THREES.variant(**options)
