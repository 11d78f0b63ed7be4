"""N-tuple networks against a plain twin, and their tuples as text."""

import numpy as np
import pytest

from leafwise.envs.threes import GAME
from leafwise.models.ntuple import NTupleNetwork, parse_tuples

TUPLES = parse_tuples("0123 0145 0a5 f")
ZERO = np.uint64(0)


def trained(seed: int = 0) -> NTupleNetwork:
    blank = NTupleNetwork.create(GAME, TUPLES, 0.7)
    table = np.random.default_rng(seed).normal(size=blank.weights.table.shape).astype(np.float32)
    return NTupleNetwork.create(GAME, TUPLES, 0.7, table)


def twin_value(network: NTupleNetwork, state) -> float:
    """The value by NumPy's own rotations and the definition, table by table."""
    cells = np.array([int(state.row[0]) >> (4 * k) & 15 for k in range(16)]).reshape(4, 4)
    points = np.where(cells >= 3, 3.0 ** (cells - 2), 0) ** 0.7
    if state.is_terminal:
        return float(points.sum())
    offsets = np.cumsum([0] + [16 ** len(t) for t in TUPLES])
    table, total = network.weights.table.astype(float), float(points.sum())
    for board in (cells, cells.T):
        for turns in range(4):
            seen = np.rot90(board, turns).reshape(-1)
            for t, start in zip(TUPLES, offsets, strict=False):
                total += table[start + sum(int(seen[c]) << (4 * k) for k, c in enumerate(t))]
    deck = [int(n) for n in str(state).split("deck=")[1].split()[0].split(",")]
    number = 25 * deck[0] + 5 * deck[1] + deck[2]
    first = offsets[-1]
    total += table[first + 64 * number + 8 * min(7, (cells == 1).sum()) + min(7, (cells == 2).sum())]
    total += table[first + 8000 + 16 * number + (cells == 0).sum() % 16]
    counts = [min(3, int((cells == rank).sum())) for rank in range(10, 15)]
    total += table[first + 10000 + sum(n << (2 * (4 - k)) for k, n in enumerate(counts))]
    return total


def valued_states(n: int):
    """States right after a tile has entered, from random games and a few boards with big tiles."""
    rng = np.random.default_rng(5)
    stream = np.array([11, 0], dtype=np.uint64)
    state = GAME.new(11)
    for _ in range(n):
        if state.is_terminal:
            yield state
            state = GAME.start().settle(stream)
        entering = state.play(int(rng.choice(state.legal_actions)))
        drawing = entering.sample(stream)
        yield drawing
        state = drawing.settle(stream)
    for big in ("6144 3072 1536 768/384 768 1536 3072/1 2 3 384/0 0 384 384", "1 2 1 2/2 1 2 1/1 1 1 1/0 2 2 2"):
        yield GAME.parse(big + " deck=1,0,3")


def test_values_equal_the_twin():
    network = trained()
    evaluator = network.evaluator("random")
    for state in valued_states(400):
        assert state.value(evaluator) == pytest.approx(twin_value(network, state), rel=1e-5, abs=1e-3)


def test_a_finished_game_has_nothing_to_come():
    state = GAME.parse("1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1")
    assert state.value(trained().evaluator("random")) == pytest.approx(8 * 3**0.7, rel=1e-6)


def test_symmetric_boards_are_worth_the_same():
    evaluator = trained().evaluator("random")
    for state in list(valued_states(40)):
        values = [state.transformed(k).value(evaluator) for k in range(8)]
        assert values == pytest.approx([values[0]] * 8, rel=1e-5)


def test_a_step_moves_the_value_by_that_much():
    network = NTupleNetwork.create(GAME, parse_tuples("0123 569a"), 1.0)
    T = GAME.tables(network.evaluator("x"))
    rows = np.array([GAME.parse("1 2 3 6/0 0 0 0/0 0 12 0/3 3 0 0").row])
    network.functions["add_to_weights"](rows, ZERO, 2.0, T)
    assert (
        network.functions["to_come"](rows, ZERO, T) >= 2.0 * network.active
    )  # entries that symmetry shares count twice
    assert network.active == 8 * 2 + 3


def test_wrong_tuples_are_refused():
    for text in ("0123 xyz", "0 1 g"):
        with pytest.raises(ValueError, match="tuples as words of cells"):
            parse_tuples(text)
    for tuples in ([(0, 0)], [()], [(16,)], [tuple(range(8))], []):
        with pytest.raises(ValueError, match="n-tuple networks: expected"):
            NTupleNetwork.create(GAME, tuples, 0.7)
    with pytest.raises(ValueError, match=r"power in \(0, 1\]"):
        NTupleNetwork.create(GAME, [(0,)], 0.0)
