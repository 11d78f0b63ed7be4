"""N-tuples on any board: cells in several words, of other sizes, or read one by one, against a plain twin."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from games import stacks
from games.refusals import one_line
from games.walks import positions
from leafwise.authoring import jit
from leafwise.envs.core.contract.features import CellFeatures, SmallTable, cell_values, rectangle_views, square_views
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.threes import GAME as THREES
from leafwise.models import NTupleNetwork, load_ntuples, save_network
from leafwise.models.ntuple import NTupleShape, merged, parse_tuples, quantised
from running.networks import METADATA, random_ntuples

TUPLES = parse_tuples("01234 eg5 fgh jo 4")
ZERO = np.uint64(0)


def of(features: CellFeatures, game: Game = stacks.GAME) -> Game:
    return replace(game, features={"ntuple": features})


WORDS = of(stacks.FEATURES)
ONE_BY_ONE = of(replace(stacks.FEATURES, words=(), cell=stacks.cell))
BOARDS = {"two words": WORDS, "cell by cell": ONE_BY_ONE}


def trained(game: Game, **options: Any) -> NTupleNetwork:
    return random_ntuples(game, NTupleShape(TUPLES, **options))


def afterstates(n: int) -> list[State]:
    return [state.play(state.legal_actions[-1]) for state in positions(stacks.GAME, n)]


def twin_value(network: NTupleNetwork, state: State) -> float:
    """The value by the definition, from the position's text."""
    board = np.array([int(c, 16) for c in str(state).split()[0].replace("/", "")]).reshape(5, 5)
    shape, cells = network.shape, network.game.features["ntuple"]
    total = shape.base + (state.returns if shape.power else 0.0)
    tables = network.tables(sum(int(board.max()) >= split for split in shape.splits))
    for seen in (board, board[::-1]):
        for t in shape.tuples:
            total += float(tables[t][sum(int(seen.reshape(-1)[c]) << 4 * k for k, c in enumerate(t))])
    rows = state.row[None]
    for name in shape.small or ():
        total += float(tables[name][int(stacks.table_index(rows, ZERO, [*cells.tables].index(name), None))])
    return total


@pytest.mark.parametrize("options", [{}, {"splits": (3, 5), "base": 9.0, "small": ("pairs",), "power": 0.0}])
@pytest.mark.parametrize("board", BOARDS)
def test_values_equal_the_twin(board: str, options: dict[str, Any]) -> None:
    network = trained(BOARDS[board], **options)
    evaluator = network.evaluator("random")
    for state in afterstates(60):
        own = State(network.game, state.row)
        assert own.value(evaluator) == pytest.approx(twin_value(network, state), rel=1e-5, abs=1e-3)
        assert cell_values(network.game.features["ntuple"], state.row, None) == [
            int(c, 16) for c in str(state).split()[0].replace("/", "")
        ]


def test_a_packed_network_is_saved_loaded_and_merged(tmp_path: Any) -> None:
    network = quantised(trained(WORDS, small=("empty", "pairs")), 0.25)
    save_network(tmp_path / "m.safetensors", network, METADATA)
    loaded = load_ntuples(tmp_path / "m.safetensors", WORDS)
    assert np.array_equal(loaded.weights.table, network.weights.table)
    fewer = merged(loaded)
    assert len(fewer.shape.tuples) == len(TUPLES) - 1, "4 belongs to 01234"
    for state in afterstates(20):
        values = [State(WORDS, state.row).value(n.evaluator("x")) for n in (network, loaded, fewer)]
        assert values[0] == values[1] == pytest.approx(values[2], rel=1e-6)


def test_wide_cells_in_three_words() -> None:
    """Cells of six bits, ten in a word: an index by hand, and points of all values."""
    points = tuple(float(k * k) for k in range(64))
    wide = CellFeatures(cells=25, bits=6, words=(2, 0, 1), views=square_views(5), points=points, stages=("tile",))
    game = of(wide)
    network = random_ntuples(game, NTupleShape(((9, 10, 11, 20), (3,)), power=1.0))
    values = np.random.default_rng(4).integers(0, 64, 25)
    row = np.zeros(3, dtype=np.uint64)
    for k, value in enumerate(values):
        row[wide.words[k // 10]] |= np.uint64(int(value) << 6 * (k % 10))
    assert cell_values(wide, row, None) == values.tolist()
    T, own = game.tables(network.evaluator("wide")), network.functions
    expected = sum(
        float(network.tables(0)[t][sum(int(values[view[c]]) << 6 * k for k, c in enumerate(t))])
        for view in wide.views
        for t in network.shape.tuples
    )
    assert own.to_come(row[None], ZERO, T) == pytest.approx(expected, rel=1e-5)
    assert own.board.potential(row[None], ZERO, T) == sum(int(v) ** 2 for v in values)
    assert own.board.highest(row[None], ZERO, T) == values.max()


@jit(inline=True)
def uneven_cell(S, i, k, T):
    return np.int64(S[i, 0] >> np.uint64(4 * k)) & 15


UNEVEN = CellFeatures(
    cells=3, bits=4, cell_bits=(2, 4, 2), cell=uneven_cell, views=((0, 1, 2), (2, 1, 0)), stages=("tile",)
)


def test_cells_of_different_sizes_share_a_table_of_as_many_entries_as_they_need() -> None:
    game = of(UNEVEN)
    network = random_ntuples(game, NTupleShape(((0, 1, 2), (2, 1), (0,)), power=0.0))
    assert network.shape.sizes(game) == [256, 64, 4]
    T, fewer = game.tables(network.evaluator("uneven")), merged(quantised(network, 0.25))
    assert fewer.shape.tuples == ((0, 1, 2),)
    T_fewer = game.tables(fewer.evaluator("fewer"))
    for a, b, c in ((3, 9, 1), (0, 15, 2), (2, 0, 3)):
        row = np.array([[a | b << 4 | c << 8, 0, 0]], dtype=np.uint64)
        whole, pair, one = (network.tables(0)[t] for t in network.shape.tuples)
        expected = sum(whole[x + 4 * b + 64 * z] + pair[z + 4 * b] + one[x] for x, z in ((a, c), (c, a)))
        assert network.functions.to_come(row, ZERO, T) == pytest.approx(expected, rel=1e-5)
        assert fewer.functions.to_come(row, ZERO, T_fewer) == pytest.approx(expected, abs=0.8)
    with one_line(r"expected tuples of 1 to 28 different cells 0..7 with 28 bits in all, got \(0, 1, 2\)"):
        many = CellFeatures(cells=8, bits=16, cell_bits=(16,) * 7 + (1,), cell=uneven_cell, stages=("tile",))
        NTupleShape(((0, 1, 2),)).check(of(many))


def test_the_boards_of_a_room_are_those_of_its_views() -> None:
    cells, T = THREES.features["ntuple"], THREES.tables()
    for seed in range(5):
        row = THREES.new(seed).row
        given = [cell_values(cells, np.array([b], dtype=np.uint64), T) for b in cells.boards(row[None], ZERO, T)]
        own = cell_values(cells, row, T)
        assert given == [[own[c] for c in view] for view in cells.views]
        assert int(cells.highest(row[0])) == max(own)
    assert square_views(3)[4] == (0, 3, 6, 1, 4, 7, 2, 5, 8)
    assert rectangle_views(2, 3) == ((0, 1, 2, 3, 4, 5), (2, 1, 0, 5, 4, 3), (3, 4, 5, 0, 1, 2), (5, 4, 3, 2, 1, 0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bits": 0}, "expected cells of 1 to 16 bits, got 16 of 0"),
        ({"cells": 25}, r"expected 2 words for 25 cells, got \(0,\)"),
        ({"views": ((0, 1),)}, "expected views that reorder 16 cells, the board itself first"),
        ({"points": (1.0,)}, "expected 16 points, 0 for value 0"),
        (
            {"cell_bits": (2,) * 16},
            "expected 1 to 4 bits for each of 16 cells read by cell, alike under all views, got",
        ),
        ({"tables": {"x": SmallTable(3)}}, "expected an index into x, got none"),
        ({"cells": 25, "words": (0, 1), "highest": max}, "only where one word holds all cells"),
    ],
)
def test_impossible_features_are_refused(given: dict[str, Any], message: str) -> None:
    with one_line(message):
        CellFeatures(**given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tuples": ((0, 25),)}, r"expected tuples of 1 to 7 different cells 0..24, got \(0, 25\)"),
        ({"power": 0.5}, "expected a power of 0 or 1 in a game whose score is not a sum over cells, got 0.5"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    with one_line(message):
        NTupleNetwork.create(WORDS, NTupleShape(**{"tuples": TUPLES, **options}))


def test_tuples_are_words_of_cells_or_lists() -> None:
    assert parse_tuples("0z 1,40,2") == ((0, 35), (1, 40, 2))
