"""Worked positions of Threes: slides, entry cells, decks, bonuses and points, each checked by hand."""

from __future__ import annotations

import pytest

import leafwise
from games.deal import Deal
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State

THREES = leafwise.game("threes")


def board(state: State) -> str:
    return str(state).split(" next")[0].split(" deck")[0].split(" setup")[0]


def entries(state: State) -> dict[str, float]:
    """Returns what may enter, `tile@row,column` -> probability."""
    return named(state, "enter")


def draws(state: State) -> dict[str, float]:
    """Returns what may be drawn, tile -> probability."""
    return named(state, "draw")


def named(state: State, stage: str) -> dict[str, float]:
    assert state.stage == stage
    T = state.game.tables()
    return {state.game.text.outcome_name(state.row, s.row, T): p for p, s in state.outcomes()}


def about(expected: dict[str, float]) -> object:
    return pytest.approx(expected, rel=1e-12)


def evenly(*names: str) -> object:
    return about(dict.fromkeys(names, 1 / len(names)))


def check_slides(text: str, slides: dict[str, tuple[str, str]], game: Game = THREES) -> None:
    """Checks legality, the board after each slide, and the cells where a 1 may enter."""
    state = game.parse(f"{text} next=1 deck=3,4,4")
    assert state.legal_names == tuple(name for name in game.actions if name in slides)
    for name, (after, cells) in slides.items():
        slid = state.play(name)
        assert board(slid) == after
        assert entries(slid) == evenly(*(f"1@{cell}" for cell in cells.split()))


S1 = "1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2"
S2 = "3 6 12 24/6 12 24 48/1 1 2 2/2 1 1 2"
S8 = "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3"


def test_s1_gaps_go_before_merges_and_nothing_merges_twice() -> None:
    check_slides(
        S1,
        {
            "up": ("1 2 6 3/3 3 3 6/6 3 1 2/0 0 0 0", "3,0 3,1 3,2 3,3"),
            "down": ("0 0 0 0/1 2 6 3/3 3 3 6/6 3 1 2", "0,0 0,1 0,3"),
            "left": ("3 0 3 0/6 6 6 0/0 3 0 0/6 3 3 0", "0,3 1,3 2,3 3,3"),
            "right": ("0 1 2 3/0 3 3 12/0 0 0 3/0 6 3 3", "0,0 1,0 2,0 3,0"),
        },
    )


def test_s2_a_lane_that_does_not_move_gets_no_tile() -> None:
    check_slides(
        S2,
        {
            "up": ("3 6 12 24/6 12 24 48/3 1 3 2/0 1 0 2", "3,0 3,2"),
            "down": ("0 6 0 24/3 12 12 48/6 1 24 2/3 1 3 2", "0,0 0,2"),
            "left": ("3 6 12 24/6 12 24 48/1 3 2 0/3 1 2 0", "2,3 3,3"),
            "right": ("3 6 12 24/6 12 24 48/0 1 3 2/0 2 1 3", "2,0 3,0"),
        },
    )


def test_s3_a_lone_tile_has_one_entry_cell_each_way() -> None:
    check_slides(
        "0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0",
        {
            "up": ("0 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0", "3,1"),
            "down": ("0 0 0 0/0 0 0 0/0 3 0 0/0 0 0 0", "0,1"),
            "left": ("0 0 0 0/3 0 0 0/0 0 0 0/0 0 0 0", "1,3"),
            "right": ("0 0 0 0/0 0 3 0/0 0 0 0/0 0 0 0", "1,0"),
        },
    )


def test_s4_ones_and_twos_merge_only_with_each_other() -> None:
    check_slides(
        "1 1 1 1/2 2 2 2/1 1 1 1/2 2 2 2",
        {
            "up": ("3 3 3 3/1 1 1 1/2 2 2 2/0 0 0 0", "3,0 3,1 3,2 3,3"),
            "down": ("0 0 0 0/1 1 1 1/2 2 2 2/3 3 3 3", "0,0 0,1 0,2 0,3"),
        },
    )


def test_s5_a_full_board_without_pairs_is_the_end() -> None:
    state = THREES.parse("1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1 next=1 deck=3,4,4")
    assert state.is_terminal
    assert state.legal_actions == ()
    assert state.returns == 24.0
    with pytest.raises(ValueError, match=r"^threes: 'up' is not legal, the game is over$"):
        state.play("up")


S6 = "6144 6144 0 0/3 1 0 0/2 0 0 0/0 0 0 0"


def test_s6_12288_ends_the_game() -> None:
    state = THREES.parse(f"{S6} next=1 deck=3,4,4")
    assert state.returns == 1_062_885.0
    assert state.legal_names == ("down", "left", "right")
    slid = state.play("left")
    assert board(slid) == "12288 0 0 0/3 1 0 0/2 0 0 0/0 0 0 0"
    assert slid.is_terminal
    assert slid.returns == 1_594_326.0
    assert slid.returns - state.returns == 531_441.0
    right = state.play("right")
    assert board(right) == "0 6144 6144 0/0 3 1 0/0 2 0 0/0 0 0 0"
    assert entries(right) == evenly("1@0,0", "1@1,0", "1@2,0")
    assert THREES.parse("12288 0 0 0/3 1 0 0/2 0 0 0/0 0 0 0 next=1").is_terminal


def test_s6_play_may_continue_after_12288() -> None:
    state = THREES.variant(top="continue").parse(f"{S6} next=1 deck=3,4,4").play("left")
    assert not state.is_terminal
    assert entries(state) == evenly("1@0,3")
    two = THREES.variant(top="continue").parse("12288 12288 0 0/3 6 1 2/0 0 0 0/0 0 0 0 next=1")
    assert board(two.play("left")) == "12288 12288 0 0/3 6 3 0/0 0 0 0/0 0 0 0"


def test_s6_6144_may_refuse_to_merge() -> None:
    state = THREES.variant(top="no_merge_6144").parse(f"{S6} next=1 deck=3,4,4")
    assert state.legal_names == ("down", "right")


def test_s7_a_gap_travels_with_a_merge() -> None:
    state = THREES.parse("3 3 3 3/0 3 3 3/3 0 3 3/3 3 0 3 next=1 deck=3,4,4")
    slid = state.play("left")
    assert board(slid) == "6 3 3 0/3 3 3 0/3 3 3 0/6 0 3 0"
    assert state.returns == 39.0
    assert slid.returns - state.returns == 6.0


def test_s8_an_empty_cell_at_the_trailing_end_is_no_entry() -> None:
    state = THREES.parse(f"{S8} next=1 deck=3,4,4")
    assert state.returns == 30_255.0
    up = state.play("up")
    assert board(up) == "768 384 192 192/12 24 48 1/6 3 2 3/1 2 0 0"
    assert entries(up) == about({"1@3,3": 1.0})
    assert up.returns - state.returns == 729.0
    down = state.play("down")
    assert board(down) == "768 384 0 0/12 24 192 192/6 3 48 1/1 2 2 3"
    assert entries(down) == evenly("1@0,2", "1@0,3")


def test_s9_the_start_takes_ten_cards_from_the_deck() -> None:
    cards = ["1", "1", "1", "2", "2", "2", "2", "3", "3"]
    laid = [f"{card}@{k // 4},{k % 4}" for k, card in enumerate(cards)]
    state = Deal(setup=laid, draw=["3"]).settle(THREES.start())
    assert str(state) == "1 1 1 2/2 2 2 3/3 0 0 0/0 0 0 0 next=3 deck=1,0,1 start=6"
    assert state.returns == 0.0
    slid = state.play("down")
    entered = slid.outcomes()[0][1]
    assert draws(entered) == about({"1": 1 / 2, "3": 1 / 2})


def test_s10_an_empty_deck_is_refilled_at_once() -> None:
    state = THREES.parse("12 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 next=2 deck=0,0,1")
    entered = Deal(enter=["2@0,0"]).resolve(state.play("right"))
    assert draws(entered) == about({"3": 1.0})
    shown = Deal(draw=["3"]).resolve(entered)
    assert str(shown).endswith("next=3 deck=4,4,4")
    after = Deal(enter=["3@0,0"]).resolve(shown.play("right"))
    assert draws(after) == evenly("1", "2", "3")


def test_s11_bonus_beside_an_uneven_deck() -> None:
    state = THREES.parse("48 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 deck=1,2,1")
    assert draws(state) == about({"+": 1 / 21, "1": 5 / 21, "2": 10 / 21, "3": 5 / 21})
    shown = Deal(draw=["+"]).resolve(state)
    assert str(shown).endswith("next=+ deck=1,2,1"), "a bonus leaves the deck alone"
    assert {name.split("@")[0] for name in entries(shown.play("right"))} == {"6"}


def test_s12_two_bonus_values() -> None:
    exact = THREES.variant(hint="exact").parse("96 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 deck=4,4,4")
    assert draws(exact) == about({"6": 1 / 42, "12": 1 / 42, "1": 20 / 63, "2": 20 / 63, "3": 20 / 63})
    shown = Deal(draw=["+"]).resolve(exact.game.variant(hint="plus").parse(str(exact)))
    assert entries(shown.play("right")) == evenly("6@0,0", "12@0,0")


S13 = "768 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0"


@pytest.mark.parametrize(
    ("law", "ninths"),
    [("uniform", (1.8, 1.8, 1.8, 1.8, 1.8)), ("window3", (1, 2, 3, 2, 1))],
    ids=["uniform", "window3"],
)
def test_s13_the_law_of_bonus_values(law: str, ninths: tuple[float, ...]) -> None:
    plus = THREES.variant(bonus_value=law).parse(f"{S13} next=+")
    values = ("6", "12", "24", "48", "96")
    assert entries(plus.play("right")) == about({f"{v}@0,0": k / 9 for v, k in zip(values, ninths, strict=True)})
    exact = THREES.variant(bonus_value=law, hint="exact").parse(S13)
    drawn = draws(exact)
    assert {v: 21 * drawn[v] for v in values} == about({v: k / 9 for v, k in zip(values, ninths, strict=True)})


def test_s13_a_window_of_three_is_shown() -> None:
    game = THREES.variant(bonus_value="window3", hint="window3")
    drawn = draws(game.parse(S13))
    windows = ("6|12|24", "12|24|48", "24|48|96")
    assert {name: p for name, p in drawn.items() if "|" in name} == about(dict.fromkeys(windows, 1 / 63))
    assert entries(game.parse(f"{S13} next=12|24|48").play("right")) == evenly("12@0,0", "24@0,0", "48@0,0")
    small = game.parse("96 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0")
    assert draws(small)["6|12"] == pytest.approx(1 / 21)


def test_s14_the_first_48_enables_the_draw_right_after_it() -> None:
    state = THREES.parse("24 24 0 0/0 0 0 0/0 0 0 0/0 0 0 0 next=1 deck=3,4,4")
    assert draws(THREES.parse("24 24 0 0/0 0 0 0/0 0 0 0/0 0 0 0")) == evenly("1", "2", "3")
    slid = state.play("left")
    assert entries(slid) == about({"1@0,3": 1.0})
    assert draws(slid.outcomes()[0][1])["+"] == pytest.approx(1 / 21)


def test_s15_a_merge_does_not_widen_the_bonus_that_is_shown() -> None:
    slid = THREES.parse("96 96 0 0/0 0 0 0/0 0 0 0/0 0 0 0 next=+").play("left")
    assert board(slid) == "192 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0"
    assert entries(slid) == evenly("6@0,3", "12@0,3")
    assert THREES.parse(str(slid)) == slid


def test_s16_entering_and_drawing_are_two_stages() -> None:
    state = THREES.parse(f"{S8} next=1 deck=3,4,4")
    left = state.play("left")
    assert board(left) == "768 384 192 96/12 24 48 96/6 3 3 0/3 0 3 0"
    assert entries(left) == evenly("1@2,3", "1@3,3")
    for _, entered in left.outcomes():
        assert draws(entered) == about({"+": 1 / 21, "1": 20 / 77, "2": 80 / 231, "3": 80 / 231})


def test_s17_rewards_add_up() -> None:
    state = THREES.parse("3 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 next=3 deck=4,4,3")
    slid = state.play("left")
    entered = Deal(enter=["3@0,3"]).resolve(slid)
    assert (slid.returns - state.returns, entered.returns - slid.returns) == (3.0, 3.0)
    assert entered.returns == 12.0
    assert [s.returns for _, s in entered.outcomes()] == [12.0] * 3, "drawing earns nothing"


def test_s21_no_chain_of_merges() -> None:
    top = "3072 1536 768 384/24 48 96 192/"
    check_slides(
        top + "12 6 3 3/1 1 2 2",
        {
            "left": (top + "12 6 6 0/1 3 2 0", "2,3 3,3"),
            "right": (top + "0 12 6 6/0 1 3 2", "2,0 3,0"),
        },
    )


def test_the_colour_hint_hides_a_3_among_bonuses() -> None:
    game = THREES.variant(hint="colour")
    drawn = game.parse("96 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 deck=1,2,1")
    assert draws(drawn) == about({"1": 5 / 21, "2": 10 / 21, "white": 6 / 21})
    white = Deal(draw=["white"]).resolve(drawn)
    assert str(white).endswith("next=white deck=1,2,1"), "whether a 3 has left the deck is not known yet"
    slid = white.play("right")
    # given white, a 3 is 5 times as likely as a bonus, which is 6 or 12
    assert entries(slid) == about({"3@0,0": 5 / 6, "6@0,0": 1 / 12, "12@0,0": 1 / 12})
    assert str(Deal(enter=["3@0,0"]).resolve(slid)).endswith("deck=1,2,0")
    assert str(Deal(enter=["6@0,0"]).resolve(slid)).endswith("deck=1,2,1")
    no_three = game.parse("96 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 next=white deck=1,1,0")
    assert entries(no_three.play("right")) == evenly("6@0,0", "12@0,0")
    below = game.parse("24 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 deck=0,0,1")
    assert draws(below) == about({"3": 1.0})


def test_a_tile_may_enter_at_any_empty_edge() -> None:
    game = THREES.variant(entry="any_empty_edge")
    up = game.parse(f"{S8} next=1 deck=3,4,4").play("up")
    assert entries(up) == evenly("1@3,2", "1@3,3")
    alone = game.parse("0 0 0 0/0 3 0 0/0 0 0 0/0 0 0 0 next=1 deck=3,4,4")
    assert entries(alone.play("left")) == evenly("1@0,3", "1@1,3", "1@2,3", "1@3,3")


def test_slot21_has_one_bonus_in_every_21_draws() -> None:
    game = THREES.variant(bonus_schedule="slot21")
    start = "48 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0 deck=4,4,4"
    assert draws(game.parse(start))["+"] == pytest.approx(1 / 21)
    assert draws(game.parse(f"{start} slot=11"))["+"] == pytest.approx(1 / 10)
    assert draws(game.parse(f"{start} slot=20")) == about({"+": 1.0})
    assert "+" not in draws(game.parse(f"{start} slot=11,used"))
    assert str(Deal(draw=["+"]).resolve(game.parse(f"{start} slot=20"))).endswith("next=+ deck=4,4,4"), "a new cycle"
    assert str(Deal(draw=["1"]).resolve(game.parse(f"{start} slot=11"))).endswith("next=1 deck=3,4,4 slot=12")
    small = game.parse("24 3 0 0/0 0 0 0/0 0 0 0/0 0 0 0")
    assert draws(small) == evenly("1", "2", "3")
    assert not any("slot" in str(s) for _, s in small.outcomes()), "the cycle starts with the first possible bonus"


def test_there_may_be_no_bonus() -> None:
    assert draws(THREES.variant(bonus_p=0).parse(S13)) == evenly("1", "2", "3")


@pytest.mark.parametrize(
    "options",
    [
        {"hint": "window3"},
        {"hint": "colour", "bonus_schedule": "slot21"},
        {"bonus_p": 1.0},
        {"bonus_p": -0.1},
        {"bonus_p": "often"},
        {"bonus_p": float("nan")},
        {"bonus_schedule": "slot21", "bonus_p": 0.0},
        {"hint": "loud"},
        {"top": 3},
    ],
    ids=repr,
)
def test_variants_that_there_are_not(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^threes: [^\n]*$"):
        THREES.variant(**options)
