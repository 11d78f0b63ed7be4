"""Trap: worked positions with exact probabilities and outcomes, from the rules, the handout and public programs."""

from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.trap import GAME
from leafwise.envs.trap.rules import is_stuck
from leafwise.envs.trap.tables import DIRECTIONS, accuracy
from twins.trap import Twin

DEFERRED = GAME.variant(self_trap="deferred")


def board(text: str, fields: str = "", game: Game = GAME) -> State:
    """Returns the state of a board written with `|`, without the free rows at its end."""
    size = game.options.size
    rows = text.split("|")
    rows += ["." * size] * (size - len(rows))
    return game.parse(" ".join(["/".join(rows), *fields.split()]))


def cell(state: State, player: int) -> tuple[int, int]:
    rows = str(state).split()[0].split("/")
    return next((y, x) for y, line in enumerate(rows) for x, mark in enumerate(line) if mark == str(player))


def moves(state: State, player: int) -> set[tuple[int, int]]:
    """Returns where a player could go if it were his move."""
    rows, *_ = str(state).split()
    shown = state.game.parse(f"{rows} turn={player - 1}")
    y, x = cell(state, player)
    return {(y + DIRECTIONS[name][0], x + DIRECTIONS[name][1]) for name in shown.legal_names}


def thrown(state: State, at: str) -> dict[str, float]:
    """Returns where a throw lands, by the name of the outcome."""
    after = state.play(at)
    return {state.game.text.outcome_name(after.row, s.row, state.game.tables()): p for p, s in after.outcomes()}


def chances(state: State, at: str) -> tuple[float, float]:
    """Returns the probability that a throw wins the game at once, and that it loses it."""
    player = state.current_player
    ends = [(p, s.returns if player == 0 else -s.returns) for p, s in state.play(at).outcomes() if s.is_terminal]
    return sum(p for p, r in ends if r > 0), sum(p for p, r in ends if r < 0)


def test_1_the_start() -> None:
    start = GAME.start()
    assert (cell(start, 1), cell(start, 2)) == ((0, 3), (6, 3))
    assert moves(start, 1) == {(0, 2), (0, 4), (1, 2), (1, 3), (1, 4)}
    assert moves(start, 2) == {(5, 2), (5, 3), (5, 4), (6, 2), (6, 4)}
    assert all(len(start.play(name).legal_actions) == 47 for name in start.legal_names)


BESIDE = ".......|...1...|.......|.......|.......|.......|...2..."
SIX = "...1...|.......|.......|...#...|..#.#..|...2..."


FAR = ".......|.......|.......|...2...|.......|.......|......1"
CORNERS = "2......|.......|.......|.......|.......|.......|......1"
LANDINGS = {
    "2 by the opponent": (BESIDE, "5,3", {"5,3": 17 / 20}, "4,2 4,3 4,4 5,2 5,4 6,2 6,4", 3 / 140),
    "3 the longest": (FAR, "0,0", {"0,0": 9 / 20}, "0,1 1,0 1,1", 11 / 60),
    "4 no spill on a player": (CORNERS, "0,1", {"0,1": 1 / 2}, "0,2 1,0 1,1 1,2", 1 / 8),
    "5 by the thrower": (BESIDE, "1,4", {"1,4": 1.0}, "", 0),
    "5 a step further": (BESIDE, "2,4", {"2,4": 19 / 20}, "1,4 1,5 2,3 2,5 3,3 3,4 3,5", 1 / 140),
    "6 at a trap": (SIX, "3,3", {"unchanged": 37 / 40}, "2,2 2,3 2,4 3,2 3,4 4,3", 1 / 80),
    "7 spill on traps": (SIX, "4,3", {"4,3": 17 / 20, "unchanged": 9 / 140}, "3,2 3,4 5,2 5,4", 3 / 140),
}


@pytest.mark.parametrize(("text", "at", "certain", "spill", "share"), LANDINGS.values(), ids=LANDINGS)
def test_where_a_throw_lands(text: str, at: str, certain: dict[str, float], spill: str, share: float) -> None:
    assert thrown(board(text, "throw"), at) == pytest.approx(certain | dict.fromkeys(spill.split(), share), rel=1e-12)


def test_8_illegal_moves_and_throws_lose() -> None:
    start, throwing = GAME.start(), GAME.start().play("S")
    assert board("..#1#..|...2...").legal_names == ("SE", "SW")  # not to a trap, not to the other player
    for state, wrong in ((start, "N"), (start, "NE"), (start, "NW"), (throwing, "1,3"), (throwing, "6,3")):
        legal = r"\(E, SE, S, SW, W\), got " if state == start else ""  # off the board; a player's cell
        with pytest.raises(ValueError, match=rf"^trap: expected a legal action {legal}"):
            state.play(wrong)
    never: list[Any] = ["-1,0", "7,0", None, "0,-1"]
    for wrong in never:
        with pytest.raises(ValueError, match=r"^trap: expected an action among "):
            throwing.play(wrong)


def test_9_the_move_alone_can_win() -> None:
    state = board("2#.....|#......|..1....")
    after = state.play("NW")
    assert (moves(state, 2), after.is_terminal, after.returns) == ({(1, 1)}, True, 1)
    assert str(after).endswith("turn=0 throw won=1")


ELEVEN = "2#.....|#......|1......"
FOURTEEN = "1.#....|##.....|.......|.......|.......|.......|...2..."


RISKS = {"0,2": (0, 1 / 80), "1,2": (0, 1 / 70), "0,4": (0, 0), "1,4": (0, 0), "1,0": (0, 0), "0,1": (0, 1)}
ODDS = {
    "10 a certain win": ("2#.....|#......|.1.....", {"1,1": (1, 0)}),
    "11 a miss does not win": (ELEVEN, {"1,1": (19 / 20, 0)}),
    "12 direct aim": (
        "2.#....|##.....|.......|...1...",
        {"0,1": (4 / 5, 0), "0,2": (3 / 100, 0), "1,0": (1 / 20, 0)},
    ),
    "14 trapping oneself": (FOURTEEN, {"0,1": (0, 1), "1,1": (0, 1 / 140), "1,0": (0, 0), "2,0": (0, 0)}),
    "17 the risk of a miss": ("1..2...|##.#...", RISKS),
}


@pytest.mark.parametrize(("text", "expected"), ODDS.values(), ids=ODDS)
def test_how_often_a_throw_wins_and_loses_at_once(text: str, expected: dict[str, tuple[float, float]]) -> None:
    state = board(text, "throw")
    for at, odds in expected.items():
        assert chances(state, at) == pytest.approx(odds, rel=1e-12)
    best = max(expected, key=lambda at: expected[at])
    assert chances(state, best)[0] == max(chances(state, name)[0] for name in state.legal_names)


@pytest.mark.parametrize("game", [GAME, DEFERRED], ids=repr)
def test_13_the_thrower_wins_when_both_are_stuck(game: Game) -> None:
    state = board("1.2#...|#####..", "throw", game)
    assert moves(state, 1) == moves(state, 2) == {(0, 1)}
    assert chances(state, "0,1") == (1.0, 0.0)
    ((_, after),) = state.play("0,1").outcomes()
    rows = after.row[None]
    assert is_stuck(rows, 0, 0, game.tables())
    assert is_stuck(rows, 0, 1, game.tables())


def test_14_who_trapped_himself_may_play_on() -> None:
    ((_, after),) = board(FOURTEEN, "throw", DEFERRED).play("0,1").outcomes()
    assert not after.is_terminal  # player 2 is far: no move of his frees player 1
    assert {(after.play(name).is_terminal, after.play(name).returns) for name in after.legal_names} == {(True, -1)}


def test_15_a_move_may_free_the_other() -> None:
    state = board("12.....|##.....", "turn=1", DEFERRED)
    assert moves(state, 2) == {(0, 2), (1, 2)}
    assert all(not state.play(name).is_terminal for name in state.legal_names)
    after = state.play("E")
    assert (moves(after, 1), chances(after, "0,1")) == ({(0, 1)}, (1.0, 0.0))


@pytest.mark.parametrize("game", [GAME, DEFERRED], ids=repr)
def test_16_a_player_is_a_wall_only_while_he_stands_there(game: Game) -> None:
    state = board("2#.....|1#.....", "", game)
    for name, win in (("S", 1.0), ("SE", 19 / 20)):
        after = state.play(name)
        assert not after.is_terminal
        assert chances(after, "1,0")[0] == pytest.approx(win)


def test_18_the_handout_s_scores() -> None:
    text = ".......|..#....|.1#.#..|...2...|..#....|.......|......."
    states = [board(text, f"turn={player}") for player in range(2)]
    assert [len(moves(states[0], player)) for player in (1, 2)] == [6, 5]
    points = {
        "is": (8 * 1.05, [1, -1]),
        "ais": (16 * 1.05, [-4, -7]),
        "ais_own": (16 * 1.05, [7, 4]),
        "ocls_static": (64 * 1.05, [-1, 1]),
        "ocls": (72 * 1.05, [0, 0]),
    }
    for name, (scale, expected) in points.items():
        assert [s.value(GAME.score(name)) * scale for s in states] == pytest.approx(expected), name
    alone = leafwise.envs.trap.scores.make_weighted(GAME.options, "open", (0, 1), (0,))
    assert [s.value(alone) * 64 * 1.05 for s in states] == pytest.approx([26, 27])
    start = GAME.start()
    assert start.value(alone) * 64 * 1.05 == pytest.approx(29)
    assert [start.value(GAME.score(name)) for name in ("is", "ocls", "ocls_static")] == [0, 0, 0]
    assert start.value(GAME.score("ais")) * 16 * 1.05 == pytest.approx(-5)


def test_19_accuracy_ends_at_0() -> None:
    assert [accuracy(d) for d in (1, 2, 12, 20, 21, 22, 40)] == [1, 0.95, 0.45, 0.05, 0, 0, 0]


def test_20_the_cap_is_a_draw() -> None:
    game = GAME.variant(max_turns=40)
    state = board("1#.....|.......|.......|.......|.......|.......|.....#2", "", game)
    turns, steps = 0, (("S", "1,1", "N", "0,1"), ("N", "5,5", "S", "6,5"))
    while not state.is_terminal:  # out of the corner and back, with certain throws beside oneself
        back = 2 * (turns // 2 % 2)
        step, throw = steps[state.current_player][back : back + 2]
        ((_, state),) = state.play(step).play(throw).outcomes()
        turns += 1
    assert turns == 40
    assert state.returns == 0
    assert str(state).endswith("turn=40 draw")
    assert str(GAME.start()) == "...1.../......./......./......./......./......./...2... turn=0"
    assert int(GAME.tables().max_turns) == 4 * 49


def test_probabilities_of_every_throw_are_the_twin_s() -> None:
    twin = Twin(GAME.options)
    for text in (SIX, ELEVEN, FOURTEEN, "1.2#...|#####..", ".......|..#....|.1#.#..|...2...|..#....|.......|......."):
        state = board(text, "throw")
        for name in state.legal_names:
            expected = {twin.write(p): chance for chance, p in twin.outcomes(twin.play(twin.read(str(state)), name))}
            outcomes = state.play(name).outcomes()
            assert {str(s): p for p, s in outcomes} == pytest.approx(expected, rel=1e-12)
            assert np.isclose(sum(p for p, _ in outcomes), 1, rtol=1e-14)
