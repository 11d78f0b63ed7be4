"""Cassis: figures of the article, board codes, and texts that no game leads to."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from leafwise.envs.cassis import GAME
from leafwise.envs.cassis.baselines import DepthFirst
from leafwise.envs.cassis.tables import Options, make_tables
from leafwise.envs.cassis.text import parse_code, to_code

STORED = {
    "board": (1, 15, 15, 104, 217, 969, 2693, 6896, 14560, 21724, 27754, 21757, 12826, 2433, 132, 0),
    "degree": (1, 1, 1, 5, 7, 39, 70, 194, 347, 557, 703, 660, 442, 136, 10, 0),
    "colours": (1, 1, 1, 5, 7, 28, 48, 119, 207, 313, 353, 278, 168, 37, 2, 0),
}


@pytest.mark.parametrize(("key", "total"), [("board", 112_096), ("degree", 3_173), ("colours", 1_568)])
def test_the_article_s_search_stores_what_it_prints(key: str, total: int) -> None:
    search = DepthFirst(GAME, key)
    assert not search.player_zero_wins(GAME.start())
    assert tuple(len(table) for table in search.stored) == STORED[key]
    assert sum(STORED[key]) == total


def test_the_canonical_form_stores_fewer() -> None:
    search = DepthFirst(GAME, "canonical")
    assert not search.player_zero_wins(GAME.start())
    assert sum(len(table) for table in search.stored) == 988


def test_the_article_s_player() -> None:
    search = DepthFirst(GAME)
    state = GAME.start()
    while not state.is_terminal:  # it has the second seat, and wins
        edge = search.choose(state) if state.current_player else state.legal_actions[-1]
        state = state.play(edge)
    assert state.returns == -1
    assert search.choose(GAME.start()) == 0
    assert search.player_zero_wins(state) is False


def test_board_codes() -> None:
    T = make_tables(Options(6))
    assert to_code(GAME.start().row, T) == 0
    state = GAME.start().play("0-1").play("0-2").play("4-5")
    assert to_code(state.row, T) == 1 + 2 * 3 + 3**14
    assert parse_code(to_code(state.row, T), T).tolist() == state.row.tolist()
    for wrong in (-1, 3**15):
        with pytest.raises(ValueError, match=r"^cassis: expected a board code of 0 to 14,348,906, got "):
            parse_code(wrong, T)


@pytest.mark.parametrize("n", [2, 9, True, "6"])
def test_points_that_there_are_not(n: object) -> None:
    with pytest.raises(ValueError, match=r"^cassis: expected n of 3 to 8, got "):
        leafwise.game("cassis", n=n)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("...../..../.../..", "expected groups of 5, 4, 3, 2, 1 edges"),
        ("....1/..../.../../.", "expected edges among"),
        ("xx.../..../.../../.", "expected as many x as o, or one more, got 2 x and 0 o"),
        ("xx.../x.../.../oo/o", "expected no move after a triangle of x"),
        ("xxooo/xoo./.../xx/x", "expected one last edge that closed every triangle"),
    ],
)
def test_positions_that_no_game_leads_to(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        GAME.parse(text)


def test_an_unknown_key() -> None:
    with pytest.raises(ValueError, match=r"^cassis: expected key among board, degree, colours, canonical, got 'x'$"):
        DepthFirst(GAME, "x")


@pytest.mark.parametrize("n", [5, 8])
def test_no_renaming_of_the_points_changes_what_safe_edges_says(n: int) -> None:
    cassis = leafwise.game("cassis", n=n)
    score, rng, state = cassis.score("safe_edges"), np.random.default_rng(n), cassis.start()
    values = set()
    while not state.is_terminal:
        value = state.value(score)
        values.add(value)
        assert {state.transformed(int(k)).value(score) for k in rng.integers(0, cassis.symmetry_count, 5)} == {value}
        state = state.play(int(rng.choice(state.legal_actions)))
    assert len(values) > 2
