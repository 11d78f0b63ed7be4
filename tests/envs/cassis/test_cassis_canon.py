"""The canonical form of Cassis: equal if and only if isomorphic, and its renaming leads there and back."""

from __future__ import annotations

from itertools import permutations, product
from random import Random

import numpy as np
import pytest

import leafwise
from leafwise.envs.cassis.features import renaming
from leafwise.envs.cassis.solver import canonical_form, inverse, renamed_edge
from leafwise.envs.cassis.tables import Options, Tables, make_tables
from leafwise.envs.cassis.text import to_code


def rename(row: np.ndarray, renaming: tuple[int, ...], T: Tables) -> np.ndarray:
    sides = [sum(1 << renamed_edge(e, renaming, T) for e in range(T.edges) if int(side) >> e & 1) for side in row]
    return np.array(sides, dtype=np.uint64)


def row(colours: tuple[int, ...]) -> np.ndarray:
    sides = [sum(1 << e for e, c in enumerate(colours) if c == player) for player in (1, 2)]
    return np.array(sides, dtype=np.uint64)


@pytest.mark.parametrize("n", [3, 4])
def test_equal_exactly_for_isomorphic_boards(n: int) -> None:
    T = make_tables(Options(n))
    renamings = list(permutations(range(n)))
    class_of_form: dict[bytes, int] = {}
    for colours in product(range(3), repeat=T.edges):
        board = row(colours)
        least = min(to_code(rename(board, renaming, T), T) for renaming in renamings)  # the class, by brute force
        form = canonical_form(board, T)[0].tobytes()
        assert class_of_form.setdefault(form, least) == least
    assert len(set(class_of_form.values())) == len(class_of_form)


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_renamed_boards_share_a_form(n: int) -> None:
    T, rng = make_tables(Options(n)), Random(n)
    for _ in range(60):
        density = rng.choice([0.2, 0.5, 0.8])
        board = row(tuple(rng.choice([1, 2]) if rng.random() < density else 0 for _ in range(T.edges)))
        form, renaming = canonical_form(board, T)
        assert sorted(renaming) == list(range(n))
        assert rename(board, renaming, T).tolist() == form.tolist()
        assert rename(form, inverse(renaming), T).tolist() == board.tolist()
        other = rename(board, tuple(rng.sample(range(n), n)), T)
        assert canonical_form(other, T)[0].tolist() == form.tolist()


def test_boards_with_equal_degrees_stay_apart() -> None:
    """Two triangles and a ring of six look alike to anything that only counts edges at the points."""
    T = make_tables(Options(6))

    def edges(*pairs: str) -> int:
        return sum(1 << int(T.edge_of[int(p[0]), int(p[1])]) for p in pairs)

    triangles = np.array([edges("01", "02", "12", "34", "35", "45"), 0], dtype=np.uint64)
    ring = np.array([edges("01", "12", "23", "34", "45", "05"), 0], dtype=np.uint64)
    assert canonical_form(triangles, T)[0].tolist() != canonical_form(ring, T)[0].tolist()


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_the_symmetries_are_all_renamings(n: int) -> None:
    game, rng = leafwise.game("cassis", n=n), Random(n)
    names = [tuple(int(renaming(k, n)) >> 4 * p & 15 for p in range(n)) for k in range(game.symmetry_count)]
    assert sorted(names) == sorted(permutations(range(n)))
    state, T = game.start().play(0).play(1), game.tables()
    for k in rng.sample(range(game.symmetry_count), 6):
        assert state.transformed(k).row.tolist() == rename(state.row, names[k], T).tolist()
        assert [game.symmetries.transform_action(e, k, T) for e in range(T.edges)] == [
            renamed_edge(e, names[k], T) for e in range(T.edges)
        ]


def test_a_finished_game_keeps_its_mark() -> None:
    game = leafwise.game("cassis")
    state = game.parse("xx.../xoo./.../../.")
    assert state.is_terminal
    form = canonical_form(state.row, make_tables(game.options))[0]
    assert (form >> np.uint64(63)).tolist() == (state.row >> np.uint64(63)).tolist() == [1, 0]
