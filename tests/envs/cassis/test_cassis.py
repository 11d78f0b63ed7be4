"""Cassis: figures of the article, texts of impossible positions, renamings of the points, and the canonical form."""

from itertools import permutations, product
from random import Random

import numpy as np
import pytest

import leafwise
from leafwise.envs.cassis import GAME
from leafwise.envs.cassis.baselines import DepthFirst
from leafwise.envs.cassis.features import renaming
from leafwise.envs.cassis.solver import canonical_form
from leafwise.envs.cassis.tables import Tables, edges

STORED = {
    "board": (1, 15, 15, 104, 217, 969, 2693, 6896, 14560, 21724, 27754, 21757, 12826, 2433, 132, 0),
    "degree": (1, 1, 1, 5, 7, 39, 70, 194, 347, 557, 703, 660, 442, 136, 10, 0),
    "colours": (1, 1, 1, 5, 7, 28, 48, 119, 207, 313, 353, 278, 168, 37, 2, 0),
}


@pytest.mark.parametrize(
    ("key", "total"), [("board", 112_096), ("degree", 3_173), ("colours", 1_568), ("canonical", 988)]
)
def test_the_article_s_search_stores_what_it_prints(key: str, total: int) -> None:
    search = DepthFirst(GAME, key)
    assert search.player_zero_wins(GAME.start()) is False
    stored = tuple(len(table) for table in search.stored)
    assert (stored, sum(stored)) == (STORED.get(key, stored), total)


def test_the_article_s_player_has_the_second_seat_and_wins() -> None:
    search, state = DepthFirst(GAME), GAME.start()
    assert search.choose(state) == 0
    while not state.is_terminal:
        state = state.play(search.choose(state) if state.current_player else state.legal_actions[-1])
    assert (state.returns, search.player_zero_wins(state)) == (-1, False)


@pytest.mark.parametrize("n", [2, 9, True, "6"])
def test_points_and_keys_that_there_are_not(n: object) -> None:
    with pytest.raises(ValueError, match=r"^cassis: expected n of 3 to 8, got "):
        leafwise.game("cassis", n=n)
    with pytest.raises(ValueError, match=r"^cassis: expected key among board, degree, colours, canonical, got 'x'$"):
        DepthFirst(GAME, "x")


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


def rename(row: np.ndarray, names: tuple[int, ...], T: Tables) -> list[int]:
    """The words of a row after each point has taken its name."""
    to = [int(T.edge_of[names[a], names[b]]) for a, b in edges(T.n)]
    return [sum(1 << to[e] for e in range(T.edges) if int(side) >> e & 1) for side in row]


def row_of(colours: tuple[int, ...]) -> np.ndarray:
    sides = [sum(1 << e for e, c in enumerate(colours) if c == player) for player in (1, 2)]
    return np.array(sides, dtype=np.uint64)


@pytest.mark.parametrize("n", [3, 4])
def test_canonical_forms_are_equal_exactly_for_isomorphic_boards(n: int) -> None:
    T, classes = leafwise.game("cassis", n=n).tables(), dict[tuple[int, ...], list[int]]()
    for colours in product(range(3), repeat=T.edges):
        images = [rename(row_of(colours), names, T) for names in permutations(range(n))]
        form = canonical_form(row_of(colours), T).tolist()
        assert form in images
        assert classes.setdefault(tuple(form), min(images)) == min(images)  # the class, by brute force
    assert len({tuple(least) for least in classes.values()}) == len(classes)


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_renamed_boards_share_a_form(n: int) -> None:
    T, rng = leafwise.game("cassis", n=n).tables(), Random(n)
    for k in range(60):
        density = (0.2, 0.5, 0.8)[k % 3]
        board = row_of(tuple(rng.choice([1, 2]) if rng.random() < density else 0 for _ in range(T.edges)))
        other = np.array(rename(board, tuple(rng.sample(range(n), n)), T), dtype=np.uint64)
        assert canonical_form(other, T).tolist() == canonical_form(board, T).tolist()
    lost = np.uint64(1 << 63)
    assert (canonical_form(row_of((1,) * 3) | lost, T) & lost).tolist() == [lost, lost]  # the mark of a finished game


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_the_symmetries_are_all_renamings(n: int) -> None:
    game, rng = leafwise.game("cassis", n=n), Random(n)
    names = [tuple(int(renaming(k, n)) >> 4 * p & 15 for p in range(n)) for k in range(game.symmetry_count)]
    assert sorted(names) == sorted(permutations(range(n)))
    state, T = game.start().play(0).play(1), game.tables()
    for k in rng.sample(range(game.symmetry_count), 6):
        assert state.transformed(k).row.tolist() == rename(state.row, names[k], T)
        edge = rng.randrange(T.edges)
        renamed = 1 << int(game.symmetries.transform_action(edge, k, T))
        assert [renamed, 0] == rename(np.array([1 << edge, 0]), names[k], T)


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
