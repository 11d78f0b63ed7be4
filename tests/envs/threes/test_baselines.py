"""The two public programs give the values of their originals (32-bit floats, so to a relative 1e-5)."""

import pytest

from leafwise.envs.registry import game
from leafwise.envs.threes.baselines import Nneonneo, Threesus, depth_limit
from leafwise.search.players import player

THREES = game("threes")
WINDOW = game("threes", bonus_value="window3", hint="window3")
S18 = "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1"
S19 = "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3 next=+ deck=0,1,2"
S20 = "96 3 2 1/12 6 1 0/3 2 0 0/1 0 0 0 next=3 deck=2,2,2"
OPEN, WEGNER = "openness", "openness_wegner"

THREESUS = [  # left, right, up, down
    (S18, OPEN, 1, 1, (17, 17, 16, 16), "left", None),
    (S18, WEGNER, 1, 1, (31, 30, 28, 22), "left", None),
    (S18, OPEN, 2, 2, (16.75, 17.324074, 15.111111, 14.069445), "right", 244),
    (S18, OPEN, 4, 3, (18.796295, 21.117285, 18.138889, 16.319445), "right", 14790),
    (S18, OPEN, 6, 3, (23.916667, 25.635801, 24.388889, 21.467592), "right", 191101),
    (S18, WEGNER, 6, 3, (44.986115, 49.753086, 46.916664, 36.680553), "right", 191101),
    (S19, OPEN, 1, 1, (16.5, 13.3, 6.2, 2.2), "left", None),
    (S19, OPEN, 2, 2, (15.25, 16.616665, 6.566667, 3.322222), "right", None),
    (S19, OPEN, 6, 3, (21.008335, 20.458332, 16.9, 13.883333), "left", 227589),
    (S19, WEGNER, 6, 3, (39.25834, 38.23194, 24.633333, 18.525002), "left", 227589),
    (S20, OPEN, 1, 1, (16, 13, 13, 15.666667), "left", None),
    (S20, OPEN, 2, 2, (15, 14.631945, 12.666667, 19), "down", None),
    (S20, OPEN, 6, 3, (22.533335, 22.02824, 24.111109, 24.193209), "down", 472177),
    (S20, WEGNER, 6, 3, (40.933334, 38.0294, 43.71111, 44.32932), "down", 472177),
]


@pytest.mark.parametrize(("board", "score", "depth", "counted", "values", "best", "leaves"), THREESUS)
def test_threesus(board, score, depth, counted, values, best, leaves):
    program = Threesus(THREES, score, depth, counted)
    state = THREES.parse(board)
    action_values = program.values(state)
    assert [action_values[THREES.action(name)] for name in ("left", "right", "up", "down")] == pytest.approx(
        values, rel=1e-5
    )
    assert THREES.actions[program.choose(state)] == best
    assert leaves is None or program.leaves == leaves


@pytest.mark.parametrize(
    ("board", "values", "best"),  # up, down, left, right
    [
        (S18, (1548971.5, 1490224.0, 1553912.25, 1551566.75), "left"),
        (S20, (1548110.4, 1549939.3, 1549838.4, 1532302.3), "down"),
        pytest.param(
            *(S19.replace("next=+", "next=6|12|24"), (1244108.6, 970003.4, 1348776.5, 1357350.9), "right"),
            marks=pytest.mark.long,
        ),
    ],
)
def test_nneonneo(board, values, best):
    program = Nneonneo(WINDOW)
    state = WINDOW.parse(board)
    action_values = program.values(state)
    assert [action_values[a] for a in range(4)] == pytest.approx(values, rel=1e-5)
    assert WINDOW.actions[max(action_values, key=action_values.__getitem__)] == best


def test_the_cache_is_empty_at_every_search():
    program = Nneonneo(THREES)
    state = THREES.parse(S18)
    first = program.values(state)
    program.values(THREES.parse(S20))
    assert program.values(state) == first


def test_depth_grows_with_the_kinds_of_tiles_and_big_tiles_at_home():
    assert depth_limit(int(THREES.parse(S18).row[0])) == 3
    assert depth_limit(int(THREES.parse(S19).row[0])) == 7
    assert depth_limit(int(THREES.parse("192 96 0 0/0 0 0 0/0 0 12 0/0 0 0 0").row[0])) == 5


def test_players_by_name():
    state = THREES.parse(S18)
    assert player("threesus:openness", THREES).name == "threesus:openness"
    assert THREES.actions[player("threesus", THREES).choose(state)] == "right"
    assert THREES.actions[player("nneonneo", THREES).choose(state)] == "left"
    with pytest.raises(
        ValueError, match=r"^player 'threesus:rows': threesus: expected a score among openness, openness_wegner"
    ):
        player("threesus:rows", THREES)
    with pytest.raises(ValueError, match=r"expected nneonneo without options, got 'x'"):
        player("nneonneo:x", THREES)
    with pytest.raises(ValueError, match=r"threesus:SCORE, got 'openness,depth=3'"):
        player("threesus:openness,depth=3", THREES)
    with pytest.raises(ValueError, match=r"nneonneo: expected a variant with a hint other than colour"):
        player("nneonneo", game("threes", hint="colour"))
    with pytest.raises(ValueError, match=r"expected a position to play"):
        player("nneonneo", THREES).choose(THREES.start())
