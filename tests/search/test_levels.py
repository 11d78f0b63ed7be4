"""Players of a level, and the best one: the same names in every game."""

from __future__ import annotations

import pytest

import leafwise
from games import dice
from games.refusals import one_line
from leafwise.envs.core.play.solver import LEVELS, SolverPlayer
from leafwise.models.files import best_leaf
from leafwise.models.leaves import named_leaf
from leafwise.search.players import MctsPlayer, SearchPlayer, Weakened, level_lines, measured, player


@pytest.mark.parametrize("level", LEVELS)
def test_every_game_for_two_has_every_level(level: str) -> None:
    for game in (leafwise.game("cassis"), dice.GAME):
        who = player(f"level:{level}", game, leaf=named_leaf)
        assert who.name == f"level:{level}"
        assert who.choose(game.new(3)) in game.new(3).legal_actions
    assert isinstance(player(f"level:{level}", leafwise.game("cassis")), SolverPlayer)
    assert isinstance(who, Weakened)
    assert who.blunders == LEVELS[level]


def test_levels_draw_a_share_of_the_moves() -> None:
    state = dice.GAME.new(0)
    best = player("best", dice.GAME).choose(state)
    easy = player("level:easy", dice.GAME, seed=5)
    others = sum(easy.choose(state) != best for _ in range(300)) / 300
    assert others == pytest.approx(0.4 * (1 - 1 / len(state.legal_actions)), abs=0.08)


def test_the_best_player_is_the_shipped_network_or_the_default_score() -> None:
    seven = leafwise.game("trilobite", board="7x6", k=4)
    small = seven.variant(board="4x4")
    for game, name, depth in ((seven, "trilobite7x6", 2), (small, "lines", 3), (dice.GAME, "lead", 1)):
        who = player(f"best:depth={depth}", game, leaf=named_leaf)
        assert isinstance(who, SearchPlayer)
        assert who.search.depth == depth
        assert who.search.evaluator.name == name
        assert best_leaf(game) == ("learned" if game is seven else name)
    assert isinstance(player("best", dice.GAME), SearchPlayer)


def test_the_best_player_of_some_games_is_a_tree_search_unless_told_a_depth() -> None:
    threes = leafwise.game("threes")
    who, by_depth = (player(text, threes, leaf=named_leaf) for text in ("best", "best:depth=2"))
    assert isinstance(who, MctsPlayer)
    assert (who.search.simulations, who.search.evaluator.name) == (threes.search.simulations, "threes")
    assert isinstance(by_depth, SearchPlayer)
    assert (by_depth.search.depth, by_depth.search.evaluator.name) == (2, "threes")
    expected = r"^player 'best:dept=2': expected options among simulations, .*, or with depth among depth, .*; perhaps 'depth'$"
    with one_line(expected):
        player("best:dept=2", threes)


@pytest.mark.parametrize(
    "text", ["search:,depth=1", 'search:"",depth=1', "best:", "greedy:", "mcts:,seconds=1", "rollout:"]
)
def test_a_leaf_without_a_name(text: str) -> None:
    with one_line(f"^player {text!r}: expected a leaf or an option after [a-z]*:, got none$"):
        player(text, leafwise.game("threes"))


def test_wrong_levels() -> None:
    with one_line(r"^player 'level:silly': expected level among easy, medium, hard, best, got 'silly'$"):
        player("level:silly", leafwise.game("cassis"))
    with one_line(r"^player 'level:easy': expected a level in a two-player game, got 'threes'$"):
        player("level:easy", leafwise.game("threes"))
    with one_line("expected a player like random, "):
        player("silly", leafwise.game("cassis"))


def test_each_level_takes_fewer_points_than_the_next() -> None:
    for name in ("trilobite", "cassis"):
        for options in leafwise.game(name).ids.values():
            game = leafwise.game(name, **options)
            shares = [measured(game)[level] for level in list(LEVELS)[:-1]]
            assert all(0 < share["share"] < 0.5 for share in shares), (name, options)
            lines = level_lines(game)
            assert lines[0].startswith("easy: 40% of its moves at random; takes ")
            assert lines[-1] == "best: no move at random"
    assert measured(dice.GAME) == {}


def test_a_game_may_name_its_levels() -> None:
    game = leafwise.game("trap")
    lines = level_lines(game)
    assert [line.partition(";")[0] for line in lines] == [
        "easy: the player course:easy",
        "medium: the player course:medium",
        "hard: the player course:hard",
        "best: no move at random",
    ]
    assert all(
        share["share"] > 0 and share["ci_low"] < 0.5 and share["games"] >= 200 for share in measured(game).values()
    )
    assert measured(game)["hard"]["ci_high"] < 0.5
    assert player("level:hard", game).name == "level:hard"
    assert isinstance(player("level:best", game, leaf=named_leaf), Weakened)
