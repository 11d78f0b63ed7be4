"""N-tuple networks against a plain twin, and their tuples as text."""

from typing import Any

import numpy as np
import pytest

from games.refusals import one_line
from leafwise.envs.threes import GAME
from leafwise.models.ntuple import NTupleNetwork, NTupleShape, parse_tuples
from running.networks import random_ntuples

TUPLES = parse_tuples("0123 0145 0a5 f")


def trained(**options: Any) -> NTupleNetwork:
    return random_ntuples(GAME, NTupleShape(TUPLES, **options))


def can_merge(a: int, b: int) -> bool:
    return {a, b} == {1, 2} or (a == b and a >= 3)


def small_indices(state, cells) -> dict[str, int]:
    """The index into each small table, from the position's text."""
    text = str(state)
    deck = [int(n) for n in text.split("deck=")[1].split()[0].split(",")]
    shown = next((word[5:] for word in text.split() if word.startswith("next=")), "0")
    shown_code = int(shown) if shown in ("0", "1", "2", "3") else 4  # a bonus, even if only one is possible
    ones, twos = min(7, int((cells == 1).sum())), min(7, int((cells == 2).sum()))
    empties = int((cells == 0).sum()) % 16
    pairs = sum(can_merge(int(cells[r, c]), int(cells[r, c + 1])) for r in range(4) for c in range(3))
    pairs += sum(can_merge(int(cells[r, c]), int(cells[r + 1, c])) for r in range(3) for c in range(4))
    number = 25 * deck[0] + 5 * deck[1] + deck[2]
    return {
        "deck": 64 * number + 8 * ones + twos,
        "deck_empties": 16 * number + empties,
        "large": sum(min(3, int((cells == rank).sum())) << (2 * (14 - rank)) for rank in range(10, 15)),
        "hint": 64 * shown_code + 8 * ones + twos,
        "blank_merge": 16 * empties + min(15, pairs),
    }


SIZES = {"deck": 8000, "deck_empties": 2000, "large": 1024, "hint": 512, "blank_merge": 256}


def twin_value(network: NTupleNetwork, state) -> float:
    """The value by NumPy's own rotations and the definition, table by table."""
    cells = np.array([int(state.row[0]) >> (4 * k) & 15 for k in range(16)]).reshape(4, 4)
    shape = network.shape
    points = np.where(cells >= 3, 3.0 ** (cells - 2), 0) ** shape.power
    so_far = float(points.sum()) if shape.power else 0.0
    if state.is_terminal:
        return so_far
    small = shape.small or ()
    sizes = [16 ** len(t) for t in TUPLES] + [SIZES[name] for name in small]
    offsets = np.cumsum([0, *sizes]) + sum(sizes) * sum(int(cells.max()) >= rank for rank in shape.splits)
    table, total = network.weights.table.astype(float), so_far + shape.base
    for board in (cells, cells.T):
        for turns in range(4):
            seen = np.rot90(board, turns).reshape(-1)
            for t, start in zip(TUPLES, offsets, strict=False):
                total += table[start + sum(int(seen[c]) << (4 * k) for k, c in enumerate(t))]
    for name, start in zip(small, offsets[len(TUPLES) :], strict=False):
        total += table[start + small_indices(state, cells)[name]]
    return total


def valued_states(n: int, afterstates: bool = False):
    """States right after a tile has entered, or just before, from random games and a few boards with big tiles."""
    rng = np.random.default_rng(5)
    stream = np.array([11, 0], dtype=np.uint64)
    state = GAME.new(11)
    for _ in range(n):
        if state.is_terminal:
            yield state
            state = GAME.start().settle(stream)
        entering = state.play(int(rng.choice(state.legal_actions)))
        drawing = entering.sample(stream)
        yield entering if afterstates else drawing
        state = drawing.settle(stream)
    if afterstates:
        return
    for big in ("6144 3072 1536 768/384 768 1536 3072/1 2 3 384/0 0 384 384", "1 2 1 2/2 1 2 1/1 1 1 1/0 2 2 2"):
        yield GAME.parse(big + " deck=1,0,3")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"splits": (4, 6, 13), "base": 100.0, "small": ("deck", "blank_merge")},
        {"stage": "enter", "small": ("hint",), "power": 0.0},
        {"small": (), "power": 1.0},
    ],
)
def test_values_equal_the_twin(options):
    network = trained(**options)
    evaluator = network.evaluator("random")
    for state in valued_states(150 if options else 400, options.get("stage") == "enter"):
        assert state.value(evaluator) == pytest.approx(twin_value(network, state), rel=1e-5, abs=1e-3)


def test_a_finished_game_has_nothing_to_come():
    state = GAME.parse("1 3 1 3/3 1 3 1/1 3 1 3/3 1 3 1")
    assert state.value(trained().evaluator("random")) == pytest.approx(8 * 3**0.7, rel=1e-6)


def test_symmetric_boards_are_worth_the_same():
    evaluator = trained().evaluator("random")
    for state in list(valued_states(40)):
        values = [state.transformed(k).value(evaluator) for k in range(8)]
        assert values == pytest.approx([values[0]] * 8, rel=1e-5)


def test_wrong_tuples_are_refused():
    for text in ("0123 x!z", "0,1,g"):
        with one_line("tuples as words of cells"):
            parse_tuples(text)
    for tuples in ([(0, 0)], [()], [(16,)], [tuple(range(8))], []):
        with one_line("n-tuple networks: expected"):
            NTupleNetwork.create(GAME, NTupleShape(tuple(tuples)))
    with one_line(r"power in \[0, 1\], got .* 1.5"):
        NTupleNetwork.create(GAME, NTupleShape(((0,),), 1.5))
