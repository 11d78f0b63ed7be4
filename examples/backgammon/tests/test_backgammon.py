"""Backgammon keeps its contract, and its turns are those that trying everything finds."""

import json
import random
import sys
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path

import brute
import leafwise_backgammon
import measure
import numpy as np
import pytest
from leafwise_backgammon import GAME, bearoff, rules, text

import leafwise
from leafwise.authoring import State, listing

FREE = GAME.variant(order="free")
PLAYS = {
    "1-1": 42, "2-1": 15, "2-2": 75, "3-1": 16, "3-2": 17, "3-3": 73, "4-1": 14, "4-2": 18, "4-3": 17, "4-4": 52, "5-1": 8,
    "5-2": 8, "5-3": 9, "5-4": 9, "5-5": 4, "6-1": 10, "6-2": 14, "6-3": 14, "6-4": 14, "6-5": 7, "6-6": 11,
}  # fmt: skip
"""How many positions each first throw can lead to, as gnubg-nn 1.1.0a11 counts them too, and OpenSpiel those without doubles."""
TO_THROW = "4HPwATDgc/ABMA white throws"


def sides(state: State, player: int) -> brute.Board:
    """Returns the checkers of a player and of the other."""
    row = [int(word) for word in state.row]
    return tuple(row[26 * player :][:26]), tuple(row[26 * (1 - player) :][:26])


def thrown(state: State, dice: str) -> State:
    """Returns the position after a throw."""
    return state.outcomes_by_name()[dice]


def ends(state: State, player: int) -> Counter[brute.Board]:
    """Returns in how many orders each end of a player's turn is reached."""
    states: Counter[brute.Board] = Counter()

    def follow(here: State) -> None:
        if here.current_player != player:
            states[sides(here, player)] += 1
            return
        for action in here.legal_actions:
            follow(here.play(action))

    follow(state)
    return states


def compare_turns(n: int, seed: int) -> None:
    """Compares turns of random games in both orders with all that can be tried."""
    rng, state = random.Random(seed), GAME.parse(TO_THROW)
    for _ in range(n):
        high, low = sorted((rng.randint(1, 6), rng.randint(1, 6)), reverse=True)
        throws = str(state)
        state = thrown(state, f"{high}-{low}")
        board = sides(state, state.current_player)
        turns = brute.turns(board, high, low)
        expected = {brute.after(board, moves) for moves in turns}
        assert ends(state, state.current_player) == dict.fromkeys(expected, 1), throws
        assert sum(ends(thrown(FREE.parse(throws), f"{high}-{low}"), state.current_player).values()) == len(set(turns))
        player = state.current_player
        while state.current_player == player:
            state = state.play(rng.choice(state.legal_actions))
        if state.is_terminal:
            state = GAME.parse(TO_THROW)


@pytest.mark.parametrize("game", [GAME, FREE], ids=["canonical", "free"])
def test_it_keeps_the_contract(game: leafwise.authoring.Game) -> None:
    leafwise.check_game(game, seconds=2)


def test_the_data_file_says_what_the_game_says() -> None:
    listed = json.loads(Path(leafwise_backgammon.__file__).with_name("games.json").read_text(encoding="utf-8"))
    assert listed == {GAME.name: listing(GAME)}


def test_turns_are_those_that_trying_everything_finds() -> None:
    compare_turns(3000, 1)


@pytest.mark.parametrize("game", [GAME, FREE], ids=["canonical", "free"])
def test_a_turn_counts_as_one_decision(game: leafwise.authoring.Game) -> None:
    rng, T = random.Random(4), game.tables()
    state, plays, turns = game.parse(TO_THROW), 0, 0
    while plays < 500:
        if state.is_terminal:
            state = game.parse(TO_THROW)
        state, cost = rng.choice([after for _, after in state.outcomes()]), 0
        while not cost:
            action = rng.choice(state.legal_actions)
            cost = game.rules.action_cost(state.row[None], np.uint64(0), action, T)
            player, state = state.current_player, state.play(action)
            plays += 1
            assert (state.current_player != player) == cost  # only the last action of a turn counts
        turns += 1
    assert plays > 1.5 * turns


def test_the_first_turn_has_as_many_ends_as_other_programs_count() -> None:
    counts = {dice: len(ends(thrown(GAME.parse(TO_THROW), dice), 0)) for dice in PLAYS}
    assert counts == PLAYS


def test_positions_are_written_as_other_programs_write_them() -> None:
    state = GAME.parse("4HPwATDgc/ABMA white 3-1").play("8/5").play("6/5")
    assert str(state) == "sGfwATDgc/ABMA black throws"
    assert str(GAME.new(0).settle(leafwise.authoring.new_stream(1))).startswith("4HPwATDgc/ABMA ")


def test_the_higher_of_two_dice_begins_and_both_players_throw() -> None:
    opening = GAME.parse("4HPwATDgc/ABMA opening")
    names = Counter(opening.outcome_name(after).split()[0] for _, after in opening.outcomes())
    assert names == {"white": 15, "black": 15}
    assert all(after.row[rules.DIE] > after.row[rules.OTHER] for _, after in opening.outcomes())


def at(mine: dict[int, int], theirs: dict[int, int], what: str) -> State:
    """Returns a position of white to act, from checkers by points."""
    sides = [np.array([points.get(k, 0) for k in range(26)]) for points in (mine, theirs)]
    return GAME.parse(f"{text.position_id(*sides)} white {what}")


WALL = {16: 2, 19: 2}
"""Of black: on white's points 9 and 6."""


@pytest.mark.parametrize(
    ("state", "names"),
    [
        (at({25: 1, 6: 14}, {1: 2, 2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 24: 3}, "6-5"), ("pass",)),  # nowhere to come in
        (at({25: 2, 6: 13}, {5: 1, 24: 14}, "5-4"), ("bar/20*",)),
        (at({20: 1}, WALL, "6-5"), ("20/14",)),  # either, not both: the higher
        (at({20: 1}, {11: 2, **WALL}, "6-5"), ("20/15",)),  # the lower alone
        (at({4: 1, 2: 1}, WALL, "6-5"), ("4/off(6)",)),  # pips left over bear off from the highest point
        (at({6: 1, 4: 1}, {23: 2}, "5-5"), ("6/1",)),  # not while one is behind
        (at({7: 1, 1: 14}, {20: 2}, "1-1"), ("7/6",)),  # not while one is out
    ],
)
def test_worked_positions(state: State, names: tuple[str, ...]) -> None:
    assert tuple(state.action_words(name) for name in state.legal_names) == names


@pytest.mark.parametrize(
    ("theirs", "points"), [({20: 1}, 1.0), ({1: 15}, 2.0), ({25: 1, 1: 14}, 3.0), ({19: 1, 6: 14}, 3.0)]
)
def test_a_win_counts_what_the_loser_has_left(theirs: dict[int, int], points: float) -> None:
    state = at({1: 1}, theirs, "2-1").play("1/off(2)")
    assert (state.is_terminal, state.returns, str(state).split(" ", 1)[1]) == (True, points, "white has won")


@cache
def fewest(mine: brute.Side) -> float:
    """Returns the turns that checkers take on average to be borne off, by trying everything."""
    if not any(mine[1:]):
        return 0.0
    least = 1.0
    for high, low in product(range(1, 7), repeat=2):
        board = mine, (15,) + (0,) * 25
        ends = (brute.after(board, moves)[0] for moves in brute.turns(board, max(high, low), min(high, low)))
        least += min(map(fewest, ends)) / 36
    return least


def test_bear_offs_take_as_many_turns_as_trying_everything_finds(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(bearoff, "cache_root", lambda: tmp_path)
    table, rng = bearoff.table.__wrapped__(), random.Random(5)
    assert np.allclose(table.sum(axis=1), 1, atol=1e-5)
    for _ in range(20):
        points = Counter(rng.choices(range(1, 7), k=rng.randint(1, 3)))
        mine = (15 - points.total(), *(points[k] for k in range(1, 26)))
        chances = table[bearoff.index(np.array(mine[1:7]))]
        assert chances @ np.arange(bearoff.TURNS) == pytest.approx(fewest(mine), abs=1e-5)
    sixth = at({6: 1}, {1: 1}, "throws")  # 27 throws of 36 bear it off, else the other does
    assert bearoff.value(sixth, 0) == pytest.approx(2 * 27 / 36 - 1, abs=1e-6)
    np.save(tmp_path / "backgammon" / "bearoff.npy", np.zeros(3))
    with pytest.raises(ValueError, match=r"^backgammon: expected a table of bear-offs in .* remove the file$"):
        bearoff.table.__wrapped__()


def test_whole_turns_are_searched_once_and_bear_offs_exactly() -> None:
    text = "turns:race,depth={},width={}"
    rng, state = random.Random(6), GAME.parse(TO_THROW)
    one, two = (leafwise.player(text.format(depth, 500), GAME) for depth in (1, 2))
    plain = [leafwise.Search(GAME, leafwise.leaf(GAME, "race"), depth=depth) for depth in (1, 2)]
    for _ in range(4):
        state = rng.choice([after for _, after in state.outcomes()])
        for player, search in ((one, plain[0]), (two, plain[1])):
            values = search(state).values
            assert values[player.choose(state)] == pytest.approx(max(values.values()), abs=1e-9)
        while not state.is_chance:
            state = state.play(one.choose(state))
    race = at({6: 1, 2: 1}, {1: 2}, "2-1")
    while not race.is_chance:
        race = race.play(two.choose(race))
    worth = {end: fewest(end[0]) for end in ends(at({6: 1, 2: 1}, {1: 2}, "2-1"), 0)}
    assert worth[sides(race, 0)] == min(worth.values()) < max(worth.values())
    with pytest.raises(ValueError, match=r"expected a depth and a width of 1 or more, got 0 and 5"):
        leafwise.player("turns:race,depth=0,width=5", GAME)


def test_a_board_at_a_terminal_shows_every_checker() -> None:
    start = GAME.parse(TO_THROW).board().splitlines()
    assert start[1] == "  O  .  .  .  X  .  |  X  .  .  .  .  O"
    assert sum(line.count("O") for line in start[:12]) == sum(line.count("X") for line in start[:12]) == 15
    many = at({25: 2, 6: 12}, {1: 15}, "throws").board().splitlines()
    assert many[7] == "                    | 12"
    assert many[-2] == "white O: bar 2, off 1; black X: bar 0, off 0"


def test_the_network_beats_the_race() -> None:
    learned, race = (measure.by_search(leaf, 1) for leaf in ("learned", "race"))
    result = [measure.points((learned, race), str(k)) - measure.points((race, learned), str(k)) for k in range(8)]
    assert sum(result) / 16 > 0.5  # points a game


if __name__ == "__main__":
    compare_turns(int(sys.argv[1]), seed=3)
