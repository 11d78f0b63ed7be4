"""Trilobite: figures of the article and of an independent count, sizes, texts of impossible positions, and `safe` moves."""

import numpy as np
import pytest

import leafwise
from games.walks import positions
from leafwise.envs.core.contract.state import State
from leafwise.envs.trilobite import GAME
from leafwise.envs.trilobite.baselines import choose, tree
from leafwise.envs.trilobite.rules import CANDIDATES
from leafwise.envs.trilobite.solver import TrilobiteSolver

CELLS = {"6": "1", "7": "2", "8": "3"}
"""The article's cells of the bottom row -> columns."""


def reachable(start: State) -> set[State]:
    reached, todo = {start}, [start]
    while todo:
        state = todo.pop()
        after = {state.play(a) for a in state.legal_actions} - reached
        reached |= after
        todo += after
    return reached


def test_the_article_s_ratings_and_choice() -> None:
    empty = GAME.start()
    ratings = {move: tree(empty.play(move)).ratings for move in CELLS.values()}
    assert tree(empty).ratings == {CELLS["6"]: 0, CELLS["7"]: 0, CELLS["8"]: 0}
    assert {cell: list(ratings[move].values()) for cell, move in CELLS.items()} == {
        "6": [1, 1, 0], "7": [1, 0, 1], "8": [0, 1, 1],
    }  # fmt: skip
    assert choose(empty) == GAME.action(CELLS["6"])
    assert choose(empty.play(CELLS["6"])) == GAME.action("3")


def test_the_whole_tree() -> None:
    whole = tree(GAME.start())
    assert whole.nodes == (1, 3, 9, 27, 78, 210, 456, 890, 982, 622)
    assert sum(whole.nodes) == 3278
    assert whole.leaves == {1: 616, -1: 386, 0: 308}


def test_distinct_boards() -> None:
    boards = reachable(GAME.start())
    assert len(boards) == 694
    assert len({min(str(s), str(s.transformed(1))) for s in boards}) == 359


def test_minimax_refuses_a_tree_beyond_its_limit_and_a_finished_game() -> None:
    with pytest.raises(ValueError, match=r"minimax: expected a tree of at most 1000 nodes, got more below "):
        tree(GAME.start(), limit=1000)
    over = GAME.parse(".../xo./xo.").play("1")
    with pytest.raises(ValueError, match=r"minimax: expected a game that is not over, got 'x../xo./xo.'"):
        tree(over)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        *(({"board": board}, "board as 3x3 to 8x7 .*") for board in ("2x3", "9x3", "8x8", "3", "3x3x3", "axb", "", 33)),
        *(({"board": "7x6", "k": k}, "k of 3 to 5") for k in (2, 6, True, "4")),
        ({"board": "4x3", "k": 5}, "k of at most 4 on a 4x3 board"),
    ],
)
def test_variants_that_there_are_not(options: dict[str, object], wanted: str) -> None:
    with pytest.raises(ValueError, match=rf"^trilobite: expected {wanted}, got "):
        leafwise.game("trilobite", **options)
    assert leafwise.game("trilobite", board="3X8", k=5).options.board == "3x8"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("..././...", "expected 3 rows of 3 cells"),
        (".../.../..a", "expected cells among"),
        ("x../.../...", "expected every chip to lie on another"),
        (".../.../xx.", "expected as many x as o, or one more, got 2 x and 0 o"),
        (".../o../oxo", "expected as many x as o, or one more, got 1 x and 3 o"),
        ("xo./xo./xo.", "expected no move after a line of x"),
        ("ox./xo./xxo", "expected no move after a line of o"),
    ],
)
def test_positions_that_no_game_leads_to(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        GAME.parse(text)


def test_two_lines_need_one_chip_in_common() -> None:
    wide = leafwise.game("trilobite", board="7x3", k=3)
    assert wide.parse("......./oo.oo../xxxxx..").is_terminal
    with pytest.raises(ValueError, match="expected one last chip that made every line"):
        wide.parse("o....../oo..oo./xxx.xxx")


def considered(state: State, name: str) -> tuple[int, ...]:
    """Returns the actions that a search considers."""
    game = state.game
    assert game.rules.candidates is not None
    actions, rows = np.zeros(game.max_actions, dtype=np.int64), state.row[None].copy()
    return tuple(actions[: game.rules.candidates(rows, np.uint64(0), actions, game.tables(None, name))].tolist())


def wins(state: State) -> list[int]:
    """Returns the actions that win at once."""
    return [a for a in state.legal_actions if state.play(a).is_terminal and state.play(a).returns != 0]


@pytest.mark.parametrize("game", [GAME, leafwise.game("trilobite", board="5x4", k=4)], ids=repr)
def test_safe_moves_win_or_do_not_lose_at_once_and_keep_the_value(game: leafwise.Game) -> None:
    solver, fewer = TrilobiteSolver(game, 4), 0
    for state in positions(game, 80):
        safe = considered(state, "safe")
        assert considered(state, "all") == state.legal_actions
        won, unpunished = wins(state), [a for a in state.legal_actions if not wins(state.play(a))]
        if won or not unpunished:
            assert len(safe) == 1
            assert set(safe) <= set(won or state.legal_actions)
        else:
            assert list(safe) == unpunished
        values = solver.solve(state).action_values
        assert max(values[game.actions[a]] for a in safe) == max(values.values())
        fewer += len(safe) < len(state.legal_actions)
    assert 10 < fewer < 80


def test_a_search_of_safe_moves_keeps_the_value_with_fewer_nodes() -> None:
    game = GAME
    every, safe = (leafwise.Search(game, game.score(), 9, candidates=name) for name in CANDIDATES)
    for state in positions(game, 30):
        assert safe(state).value == every(state).value
        assert set(safe(state).action_values) <= set(every(state).action_values)
    assert safe(game.start()).nodes < every(game.start()).nodes
    with pytest.raises(ValueError, match=r"^trilobite: expected candidates among all, safe, got 'forced'$"):
        leafwise.Search(game, game.score(), 1, candidates="forced")
