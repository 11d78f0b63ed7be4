"""Kernels of learning: a second process compiles nothing and answers alike, and games of one name never meet."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.compile.jit import DISABLED
from leafwise.models.ntuple import NTupleNetwork, NTupleShape
from leafwise.training import games
from leafwise.training.dqn import games as dqn
from leafwise.training.games import make_open_game, make_settle, new_record, new_table
from leafwise.training.ntuple_td import kernels as td
from leafwise.training.selfplay import games as selfplay
from leafwise.training.starship import grid
from running.networks import random_network


def td_games(depth: int, searched: bool, coherent: bool) -> list[np.ndarray]:
    game = leafwise.game("threes")
    network = NTupleNetwork.create(game, NTupleShape(((0, 1, 2, 3), (0, 1, 4, 5)), small=("deck",)))
    sizes = len(network.weights.table) if coherent else 1
    coherence = np.zeros(sizes, dtype=np.float32), np.zeros(sizes, dtype=np.float32)
    trainer, T = td.new_trainer(game, 1, depth, coherence), game.tables(network.evaluator("td"))
    run = td.kernels(network, depth, searched=searched, coherent=coherent)
    run.td_games(trainer, 300, 0.01, 0.5, 100, T)
    scores, ranks = np.zeros(2), np.zeros(2, dtype=np.int64)
    run.greedy_games(trainer, np.arange(2, dtype=np.uint64), scores, ranks, T)
    return [network.weights.table, trainer.counts, trainer.sums, scores, ranks, *coherence]


def self_played(name: str, head: str) -> list[np.ndarray]:
    game = leafwise.game(name)
    evaluator = random_network(game, head=head).evaluator("x")
    run, T = selfplay.kernels(game, evaluator), game.tables(evaluator)
    table, record = new_table(game, 1, 3, evaluator, nodes=5), new_record(game, 2000)
    meet, many = games.kernels(game, evaluator), dqn.kernels(game, evaluator)
    every = (1 << len(game.stages)) - 1
    n = run.record_games(
        table, record, 60, 1, 2, np.inf, 0.1, 0.3 * (game.players == 2), 0.7, False, 0.5, False, every, T, T
    )
    arrays, keys = [record.rows[:n], record.targets[:n]], np.arange(2, dtype=np.uint64)
    if game.players == 2:
        results = np.zeros((2, 2))
        meet.play_matches(table, keys, results, 1, 3, None, T, T)
        arrays += [results]
    else:
        scores, values = np.zeros(2), np.zeros(2000)
        ends, players = np.zeros(2, dtype=np.int64), np.zeros(2000, dtype=np.int64)
        meet.play_games(table, keys, 1, 0, False, values, players, scores, ends, T)
        arrays += [scores, values, ends]
    rows, streams = game.rows(4), np.array([(k, 0) for k in range(4)], dtype=np.uint64)
    many.start_games(table, rows, streams, 0, T)
    actions, rewards, signs = np.zeros(4, dtype=np.int64), np.zeros(4), np.zeros(4)
    asked, after = game.rows(4), game.rows(4)
    many.choose_actions(table, rows, 1, actions, T)
    many.advance(table, rows, asked, after, streams, actions, rewards, signs, 0, 0.5, T)
    both = np.concatenate([rows, rows])
    many.transform_rows(both, np.arange(4) % game.symmetry_count, actions, T)
    return [*arrays, both, asked, after, rewards, signs, actions, table.counts, table.R]


def pooled() -> list[np.ndarray]:
    rng, side, kinds, maps, a, b = np.random.default_rng(2), 3, 4, 4, 8, 4
    codes = rng.integers(0, kinds, (2, (side + 2) ** 2)).astype(np.uint8)
    shapes = ((9 * kinds, a), (maps, a), (a,), (a, b), (b,))
    weights = [rng.normal(0, 1, shape).astype(np.float32) for shape in shapes]
    gradients = [np.zeros(shape, dtype=np.float32) for shape in shapes]
    seen = rng.random((2, side**2, maps), dtype=np.float32)
    scratch, sums = [np.zeros(a, dtype=np.float32), np.zeros(b, dtype=np.float32)], np.zeros((2, b), dtype=np.float32)
    given = [codes, seen, *weights, *scratch, side]
    grid.pool(*[*given, sums])
    grid.pool_gradients(*[*given, np.ones_like(sums), *gradients])
    return [sums, *gradients]


KERNELS = {
    "td": lambda: td_games(1, False, False),
    "td, searched": lambda: td_games(2, True, False),
    "td, coherent": lambda: td_games(1, False, True),
    "selfplay, two": lambda: self_played("trilobite", "value"),
    "selfplay, alone": lambda: self_played("friday", "chance"),
    "grid": pooled,
}


@pytest.mark.long
@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
def test_a_second_process_compiles_nothing() -> None:
    how: dict[str, Any] = {"env": {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, "check": True}
    answers = {name: hashed(play()) for name, play in KERNELS.items()}  # this process is the first
    second = json.loads(subprocess.run([sys.executable, __file__], capture_output=True, **how).stdout)
    assert second == {"answers": answers, "compiled": []}


@pytest.mark.skipif(DISABLED, reason="nothing is compiled")
@pytest.mark.parametrize("make", [make_settle, make_open_game])
def test_games_of_one_name_with_other_rules_never_meet(make) -> None:
    game, other = leafwise.game("threes"), leafwise.game("friday")
    chance = replace(game.rules.chance, sample=other.rules.sample_outcome)
    changed = replace(game, rules=replace(game.rules, chance=chance))
    one = make(game)
    assert make(changed) is not one
    assert make(game) is one
    assert make(game.variant(top="continue")) is one


def hashed(answers: list[np.ndarray]) -> str:
    return hashlib.sha256(b"".join(array.tobytes() for array in answers)).hexdigest()


def main() -> None:
    """Prints a hash of what each of the kernels answers, and what was compiled for them."""
    from numba.core import event

    with event.install_recorder("numba:compile") as recorder:
        answers = {name: hashed(play()) for name, play in KERNELS.items()}
    compiled = [e.data["dispatcher"].py_func.__qualname__ for _, e in recorder.buffer if e.is_start]
    print(json.dumps({"answers": answers, "compiled": sorted(set(compiled))}))


if __name__ == "__main__":
    main()
