"""What networks see of Threes: boards with large tiles, downgraded."""

from dataclasses import replace

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.nibbles import symmetries_of
from leafwise.envs.threes.features import CELLS, downgraded
from leafwise.models.files import model_path
from leafwise.models.ntuple import NTupleNetwork, Shape
from leafwise.models.ntuple_files import load_ntuples

THREES = leafwise.game("threes")


def word(ranks):
    return np.uint64(sum(int(rank) << 4 * cell for cell, rank in enumerate(ranks)))


def naive(ranks):
    """What `downgraded` says in words: the highest missing rank from 9 on closes while there is a rank of 14 or 15."""
    ranks = list(ranks)
    while max(ranks) >= 14:
        gaps = [rank for rank in range(9, max(ranks)) if rank not in ranks]
        if not gaps:
            break
        ranks = [rank - (rank > gaps[-1]) for rank in ranks]
    return ranks


def boards():
    rng = np.random.default_rng(4)
    for _ in range(400):
        ranks = rng.integers(0, 10, size=16)
        large = rng.choice(np.arange(8, 16), size=rng.integers(0, 8), replace=False)
        ranks[rng.choice(16, size=len(large), replace=False)] = large
        yield ranks


def test_large_tiles_close_the_gap_below_them():
    lowered = 0
    for ranks in boards():
        assert downgraded(word(ranks)) == word(naive(ranks)), ranks
        lowered += naive(ranks) != list(ranks)
    assert 50 < lowered < 350


def test_every_symmetry_is_downgraded_alike():
    assert CELLS.downgraded is not None
    for ranks in list(boards())[:40]:
        row = np.array([[word(ranks), 0]], dtype=np.uint64)
        own = [word([naive(ranks)[place] for place in view]) for view in CELLS.views]
        assert list(CELLS.downgraded(row, np.uint64(0), THREES.tables())) == own
        assert list(symmetries_of(word(naive(ranks)))) == own


def test_a_network_values_what_is_to_come_as_on_the_smaller_board():
    plain = load_ntuples(model_path("threes-small"), THREES)
    shape = Shape(plain.shape.tuples, plain.shape.power, plain.shape.stage, small=())
    tables = plain.weights.table[: sum(shape.sizes(THREES))]
    scales = [float(scale) for scale in plain.weights.scales[: len(shape.tuples)]]
    networks = {
        flag: NTupleNetwork.create(
            THREES, Shape(*(shape.tuples, shape.power, shape.stage, ()), downgraded=flag), tables, scales
        )
        for flag in (False, True)
    }
    large, small = (
        THREES.parse(f"{top} 768 192 96/12 24 48 96/6 3 2 1/1 2 0 3 next=1 deck=0,1,2") for top in (6144, 3072)
    )
    to_come = {}
    for flag, network in networks.items():
        T = THREES.tables(network.evaluator("own"))
        for state in (large, small):
            rows = np.asarray(state.row)[None]
            to_come[flag, state] = network.functions.to_come(rows, np.uint64(0), T)
    assert to_come[True, large] == to_come[True, small] == to_come[False, small] != to_come[False, large]


def test_games_without_downgraded_boards_have_no_such_networks():
    other = replace(THREES, features={**THREES.features, "ntuple": replace(CELLS, downgraded=None)})
    with pytest.raises(ValueError, match="n-tuple networks of threes: expected downgraded false, got True"):
        Shape(((0, 1),), downgraded=True).check(other)
    with pytest.raises(ValueError, match="expected downgraded true or false, got 'yes'"):
        Shape(((0, 1),), downgraded="yes").check(THREES)  # type: ignore[arg-type]
