"""Learning by tree search: what a position teaches, that it learns, and what it refuses."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.models.seen import BOTH
from leafwise.models.sparse import SparseNetwork, load_sparse
from leafwise.training.alphazero import alphazero
from leafwise.training.alphazero.games import GAMES, PLIES, MctsPlayOptions, TreeRecorder, kernels, new_table
from leafwise.training.runs.files import Curves
from running.networks import random_network

GAME = leafwise.game("trilobite")
POSITIONS = Path(__file__).parents[3] / "experiments" / "search" / "positions" / "3x3-three-in-a-row.jsonl"
NETWORKS = [random_network(GAME, (16, 8), seed, head="policy", sees=BOTH) for seed in (1, 2)]
SMALL: dict[str, Any] = {
    "game": "trilobite", "total_steps": 8, "positions": 1500, "buffer_size": 8000, "epochs": 8.0, "plies": 5,
    "batch_size": 256, "hidden": (16, 8), "simulations": 24, "match_pairs": 100, "solver_positions": 0,
    "checkpoint_seconds": 0.0, "evaluate_every": 4,
}  # fmt: skip
HOW = MctsPlayOptions(simulations=30, sampled=4, noise=0.25, concentration=10.0, td_lambda=1.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return alphazero.train(alphazero.Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **SMALL))


def kept_by(network: SparseNetwork) -> tuple[float, float]:
    """Returns in what share of critical decisions one-ply play by the value, and the likeliest action, keep the exact value."""
    T, kept = GAME.tables(network.evaluator("x")), []
    for line in POSITIONS.read_text(encoding="utf-8").splitlines()[:100]:
        entry = json.loads(line)
        state, values = GAME.parse(entry["position"]), {GAME.action(name): x for name, x in entry["values"].items()}
        worth = {}
        for a in values:
            after = state.play(a)
            told_by_value = network.batch(after.row[None], T)[0]
            worth[a] = abs(after.returns) if after.is_terminal else -told_by_value
        likeliest = int(network.action_values(state.row[None], T)[0].argmax())
        kept.append([values[a] == max(values.values()) for a in (max(worth, key=worth.__getitem__), likeliest)])
    by_value, by_policy = np.mean(kept, axis=0)
    return float(by_value), float(by_policy)


def test_it_learns(run) -> None:
    learned = kept_by(load_sparse(run / "model.safetensors", GAME))
    untrained = np.mean([kept_by(network) for network in NETWORKS], axis=0)
    assert learned[0] > max(0.75, untrained[0] + 0.1), (learned, untrained)
    assert learned[1] > max(0.55, untrained[1] + 0.1), (learned, untrained)


def test_the_run_folder(run) -> None:
    results = json.loads((run / "results.json").read_text())
    assert results["command"].startswith("leafwise train trilobite --method alphazero --no-recipe ")
    assert results["elo"] == results["score"]["elo"] > 0
    events = Curves(run).read()
    loss, least = ([value for _, value in events[tag]] for tag in ("train/policy_loss", "train/policy_entropy"))
    assert all(a > b for a, b in zip(loss, least, strict=True))
    assert loss[-1] - least[-1] < loss[0] - least[0]
    assert [step for step, _ in events["eval/elo"]] == [1, 4, 8]
    player = leafwise.player(f'mcts:"{run}",simulations=100', GAME)
    state = GAME.new(1).play("1").play("3").play("1").play("3")
    assert GAME.actions[player.choose(state)] == "1"


def test_positions_teach_outcomes_and_the_shares_of_simulations() -> None:
    recorder = TreeRecorder(NETWORKS[0], HOW, 3, 1.25, 300)
    recorded = recorder.piece(recorder.first, 300, key=7)
    assert len(recorded.rows) == recorded.counts[PLIES] >= 300
    assert recorded.counts[GAMES] > 30
    assert np.allclose(recorded.policies.sum(axis=1), 1)
    ends = 0
    for row, shares, target in zip(recorded.rows, recorded.policies, recorded.targets, strict=True):
        state = leafwise.State(GAME, row)
        assert set(np.flatnonzero(shares)) <= set(state.legal_actions)
        assert target in (-1, 0, 1)
        winning = [a for a in state.legal_actions if state.play(a).is_terminal and state.play(a).returns != 0]
        ends += bool(winning)
        if winning and max(shares[winning]) == 1:
            assert target == 1
    assert ends > 10
    again = recorder.piece(recorder.first, 300, key=7)
    assert all(np.array_equal(getattr(recorded, name), getattr(again, name)) for name in recorded._fields)
    assert not np.array_equal(recorded.rows[:50], recorder.piece(recorder.first, 300, key=8).rows[:50])
    mixed = TreeRecorder(NETWORKS[0], HOW._replace(td_lambda=0.5), 3, 1.25, 300).piece(recorder.first, 300, key=7)
    assert np.array_equal(mixed.rows, recorded.rows)
    assert np.abs(mixed.targets - recorded.targets).max() > 0
    assert np.abs(mixed.targets).max() <= 1


def test_noise_is_the_games_alone_and_leaves_no_trace() -> None:
    network = NETWORKS[0]
    without, noisy = (
        TreeRecorder(network, HOW._replace(sampled=0, noise=noise), 0, 1.25, 50).piece(network, 50, key=3)
        for noise in (0, 0.5)
    )
    first = without.rows[0]
    same = [np.array_equal(row, first) for row in without.rows]
    assert all(np.array_equal(p, without.policies[0]) for p in without.policies[same])
    same = [np.array_equal(row, first) for row in noisy.rows]
    assert len({p.tobytes() for p in noisy.policies[same]}) > 1
    recorder = TreeRecorder(network, HOW, 3, 1.25, 50)
    keys, results = np.arange(4, dtype=np.uint64), []
    for _ in range(2):
        results.append(recorder.match(network, NETWORKS[1], keys, 20))
    assert np.array_equal(results[0], results[1])
    mirrored = recorder.match(NETWORKS[1], network, keys, 20)
    assert np.array_equal(results[0], -mirrored[:, ::-1])


def test_policies_turn_with_their_positions() -> None:
    network = NETWORKS[0]
    recorder = TreeRecorder(network, HOW, 3, 1.25, 60)
    recorded = recorder.piece(network, 60, key=1)
    n, T = len(recorded.rows), recorder.tables(network)
    rows, policies = np.concatenate([recorded.rows] * 2), np.concatenate([recorded.policies] * 2)
    symmetries = np.arange(n) % GAME.symmetry_count
    kernels(GAME, network.evaluator("x")).turn(rows, policies, symmetries, T)
    for i in range(n):
        turned = leafwise.State(GAME, recorded.rows[i]).transformed(int(symmetries[i]))
        assert np.array_equal(rows[n + i], turned.row)
        expected = recorded.policies[i] if symmetries[i] == 0 else recorded.policies[i][[2, 1, 0, 3, 4, 5, 6, 7]]
        assert np.array_equal(policies[n + i], expected)


def test_what_does_not_fit_is_refused(run, tmp_path) -> None:
    config = alphazero.Config(run=str(tmp_path / "none"), **SMALL)
    for change, message in (
        ({"game": "threes"}, "alphazero: expected a two-player game, got 'threes'"),
        ({"init_from": str(run), "hidden": (8, 8)}, "expected --init-from with the head policy and --hidden as given"),
    ):
        with pytest.raises(ValueError, match=message):
            alphazero.AlphaZero(replace(config, **change))
    assert not (tmp_path / "none").exists()
    later = alphazero.AlphaZero(replace(config, init_from=str(run)))
    before = load_sparse(run / "model.safetensors", GAME).tensors
    assert all(np.array_equal(before[name], later.newest.tensors[name]) for name in before)
    with pytest.raises(ValueError, match="expected a leaf with a policy, got"):
        kernels(GAME, GAME.score())
    assert new_table(GAME, NETWORKS[0].evaluator("x"), 1000).own.tree.rows.shape[0] == 32_000
