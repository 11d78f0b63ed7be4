"""What can follow a decision, valued together, is valued as one by one: tables that are asked for ahead or not, in any order."""

import os
import subprocess
import sys

CODE = """
import numpy as np
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.threes import GAME
from leafwise.models.ntuple import NTupleNetwork, Shape, parse_tuples
from leafwise.models.ntuple_functions import compiled
from leafwise.training.ntuple_td.kernels import FAR, make_best_sibling
from leafwise.training.games import HERE
from leafwise.training.ntuple_td.kernels import new_trainer

shape = Shape(parse_tuples("01234 0123 569a 12345 4567 0145 56 9a 01245")).check(GAME)
rng = np.random.default_rng(1)
table = rng.normal(size=sum(shape.sizes(GAME))).astype(np.float32)
network = NTupleNetwork.create(GAME, shape, table)
assert network.layout.fetched and min(shape.sizes(GAME)) < FAR
own, valued = compiled(GAME, network.layout), GAME.stages.index(shape.stage)
best_action = make_best_sibling(GAME, own, network.layout, valued)
trainer, T = new_trainer(GAME, 1), GAME.tables(network.evaluator("test"))
value, stream, state, met = network.evaluator("test"), new_stream(3), GAME.new(5), 0
while not state.is_terminal and met < 12:
    trainer.S[HERE] = state.row
    chosen, best = best_action(trainer, T)
    expected = {}
    for action in state.legal_actions:
        expected[action] = 0.0
        for p, after in state.play(action).outcomes():  # `sum` of floats is another sum from Python 3.12 on
            expected[action] += p * after.value(value)
    assert best == max(expected.values()) == expected[chosen], (best, chosen, expected)
    state, met = state.play(int(chosen)).settle(stream), met + 1
print(met)
"""


def test_values_are_those_of_positions_one_by_one() -> None:
    plain = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=plain, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "12"), done.stderr
