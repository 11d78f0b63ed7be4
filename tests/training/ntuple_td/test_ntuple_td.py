"""TD and Q-learning with n-tuples: they learn, log, where games begin, and a run that was stopped ends as one that was not."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.rules import TERMINAL
from leafwise.models import load_ntuples
from leafwise.models.files import model_path
from leafwise.models.ntuple import NTupleNetwork, NTupleShape, parse_tuples
from leafwise.models.tensors import load_tensors
from leafwise.training import publish
from leafwise.training.evaluation.arena import evaluate
from leafwise.training.games import HERE
from leafwise.training.ntuple_td import ntuple_q
from leafwise.training.ntuple_td import ntuple_td as td
from leafwise.training.ntuple_td.kernels import (
    FRESH_GAMES,
    GAMES,
    MOVES,
    RESTARTED,
    kernels,
    looked_up,
    new_trainer,
    play_games,
)
from leafwise.training.ntuple_td.ntuple_q import Config as QConfig
from leafwise.training.runs import REMATCH_SEED, SELECTION_SEED
from leafwise.training.runs.files import Curves
from running.training import learn, refusal, train_command
from running.waiting import until

GAME = leafwise.game("threes")
SMALL: dict[str, Any] = {
    "game": "threes", "total_steps": 400_000, "interval": 50_000, "evaluate_every": 2, "evaluate_games": 20,
    "checkpoint_seconds": 0.0, "average_exponent": 2.0,
}  # fmt: skip
WORDS = [
    "--game", "threes", "--total-steps", "400000", "--interval", "50000", "--evaluate-every", "2", "--evaluate-games", "20",
    "--checkpoint-seconds", "0.0", "--average-exponent", "2.0",
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "whole"
    return td.train(td.Config(run=str(path), **SMALL))


def weights(path):
    return load_ntuples(path / "model.safetensors", GAME).weights.table, json.loads((path / "results.json").read_text())


@pytest.mark.long
def test_it_learns_to_beat_the_hand_made_leaf(run):
    learned = evaluate(GAME, f'greedy:"{run}"', 40, 10_000)
    hand_made = evaluate(GAME, "greedy:total_score", 40, 10_000)
    assert learned.interval()[0] > hand_made.interval()[1]


def test_compiled_games_equal_the_players_games(run):
    network = load_ntuples(run / "model.safetensors", GAME)
    for depth, seed, cutoff in ((1, 20_000, 0.0), (2, 20_003, 0.0), (2, 20_003, 0.02)):
        played = play_games(network, depth, seed, 3, cutoff=cutoff)
        evaluation = evaluate(GAME, f'search:"{run}",depth={depth},cutoff={cutoff}', 3, seed)
        assert np.array_equal(evaluation.scores, played.scores)
        assert np.array_equal(evaluation.best_cells, played.ranks)
        assert evaluation.moves == played.moves


@pytest.mark.parametrize("lead", [0, 10**9], ids=["lucky", "better"])
def test_the_last_network_is_kept_unless_another_is_clearly_better(lead, tmp_path, monkeypatch):
    met: list[int] = []

    def play(network, depth, seed, games):
        """The first evaluation is the best of all; the rematch, of the best and then of the last, says whether that was luck."""
        met.append(seed)
        played = play_games(network, depth, seed, games)
        ahead = 10**9 if len(met) == 1 else lead if met.count(REMATCH_SEED) == 1 else 0
        return played._replace(scores=played.scores + ahead)

    monkeypatch.setattr(td, "play_games", play)
    options = {**SMALL, "total_steps": 100_000, "evaluate_every": 1, "average_exponent": 0.0, "evaluate_games": 4}
    run = td.train(td.Config(run=str(tmp_path), **options))
    assert met == [SELECTION_SEED, SELECTION_SEED, REMATCH_SEED, REMATCH_SEED]
    last = load_tensors(run / "state.safetensors")[0]["table"]
    assert np.array_equal(weights(run)[0], last) == (lead == 0)


def test_entries_that_games_do_not_look_up_stay_0(run, tmp_path):
    options = {**SMALL, "total_steps": 200_000, "average_exponent": 0.0, "evaluate_every": 100, "evaluate_games": 4}
    options |= {"coherence": True, "init_from": str(run), "prune_moves": 2000, "learning_rate": 1.0}
    before = load_ntuples(run / "model.safetensors", GAME)
    kept = looked_up(before, 2000, options.get("seed", 1))
    assert 0 < np.count_nonzero(kept) < 0.5 * np.count_nonzero(before.weights.table)
    learner = td.NTupleTd(td.Config(run=str(tmp_path / "cut"), **options))
    assert np.array_equal(learner.network.weights.table, np.where(kept, before.weights.table, 0))
    learner.step()
    learner.save()
    learner.folder.lock.release()
    for name, resume in (("cut", True), ("whole", False)):
        td.train(td.Config(run=str(tmp_path / name), **options, resume=resume))
    cut, whole = (load_ntuples(tmp_path / name / "model.safetensors", GAME).weights.table for name in ("cut", "whole"))
    assert np.array_equal(cut, whole)
    assert not whole[~kept].any()
    assert np.count_nonzero(whole[kept] != before.weights.table[kept]) > 0.5 * np.count_nonzero(kept)
    with pytest.raises(
        ValueError, match="expected --coherence and --init-from with --prune-moves, got at most one of them"
    ):
        td.NTupleTd(td.Config(game="threes", prune_moves=5, coherence=True))


def test_games_that_look_entries_up_learn_nothing_and_more_of_them_look_up_more():
    network = NTupleNetwork.create(GAME, NTupleShape(((0, 1, 2, 3), (0, 1, 4, 5)), power=0.7, stage="draw", small=()))
    network.weights.table[:] = np.random.default_rng(1).normal(size=len(network.weights.table)) * 10
    before = network.weights.table.copy()
    few, more = (looked_up(network, moves) for moves in (200, 20_000))
    assert np.array_equal(network.weights.table, before)
    assert 0 < np.count_nonzero(few) < np.count_nonzero(more) < len(before)
    assert more[few].all()


@pytest.mark.long
def test_a_run_is_published(run, tmp_path, capsys):
    words = ["--run", str(run), "--out", str(tmp_path), "--name", "x", "--games", "6", "--loss-games", "6"]
    words += ["--first-seed", "1500000"]
    assert publish.main(words) == 0
    network = load_ntuples(tmp_path / "x.safetensors", GAME)
    assert network.packed
    card = (tmp_path / "x.md").read_text()
    assert f"`leafwise.load({(tmp_path / 'x.safetensors').as_posix()!r})` loads the network." in card
    scores = play_games(network, 1, 1_500_000, 6).scores
    assert f"| 1 | 6 | {scores.mean():,.0f} |" in card, "the file that was written is what was measured"
    assert "The games have seeds from 1,500,000 on." in card
    assert publish.main([*words, "--largest-mb", "0.01"]) == 2
    assert "expected a file of at most 0.01 MB, got" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.md", "x.safetensors"]


def command(path, *more):
    return train_command("ntuple-td", ["--run", str(path), *WORDS, *more])


VARIANTS: dict[str, list[str]] = {
    "coherence, stages, score": [
        "--coherence", "--learning-rate", "1.0", "--final-learning-rate", "0.1", "--splits", "24 96", "--target", "score",
    ],
    "afterstate, survival, target depth": [
        "--value-stage", "afterstate", "--small-tables", "hint blank_merge", "--target", "survival", "--initial-value", "20",
        "--target-depth", "1",
    ],
    "actors, TD(0)": ["--actors", "2", "--td-lambda", "0"],
}  # fmt: skip
"""Ways of learning, a few at a time: each kind is compiled."""


@pytest.mark.long
@pytest.mark.parametrize("name", VARIANTS)
def test_every_way_of_learning_learns(name, tmp_path):
    path = tmp_path / "run"
    words = f"--game threes --run {path} --total-steps 150000 --interval 75000 --evaluate-every 1".split()
    assert learn("ntuple-td", [*words, "--evaluate-games", "50", *VARIANTS[name]]) == 0
    results = json.loads((path / "results.json").read_text())
    assert results["score"]["ci_low"] > 700, "random play makes some 150, unlearned play no more"
    load_ntuples(path / "model.safetensors", GAME)


@pytest.mark.parametrize(("hold", "last"), [(1.0, 0.25), (0.5, 0.01), (0.0, 0.01)])
def test_the_rate_ends_where_it_should_though_a_trajectory_overshoots(hold, last):
    config = td.Config(game="threes", total_steps=100, learning_rate=0.25, final_learning_rate=0.01, decay_start=hold)
    assert [td.rate_at(config, moves) for moves in (0, 100, 130)] == pytest.approx([0.25, last, last])


def test_a_deep_target_learns_on_from_a_model(run, tmp_path):
    path = tmp_path / "deep"
    words = ["--game", "threes", "--run", str(path), "--init-from", str(run), "--target-depth", "2"]
    words += ["--total-steps", "3000", "--interval", "1500"]
    assert (
        learn("ntuple-td", [*words, "--evaluate-every", "1", "--evaluate-games", "50", "--learning-rate", "0.01"]) == 0
    )
    assert weights(path)[1]["score"]["mean"] > weights(run)[1]["score"]["mean"] / 2
    assert not np.array_equal(weights(path)[0], weights(run)[0])


def test_a_run_starts_from_a_packed_model_with_fewer_tuples_and_stages():
    small = load_ntuples(model_path("threes-small"), GAME)
    assert small.packed
    shape = replace(small.shape, tuples=(*reversed(small.shape.tuples), (0, 1)), splits=(9,))
    grown = td.started(GAME, shape, "threes-small")
    for stage in range(2):
        stage_tables = grown.tables(stage)
        assert not stage_tables[0, 1].any()
        for (name, table), scale in zip(small.tables(0).items(), small.weights.scales, strict=True):
            assert np.array_equal(stage_tables[name], table * scale)
            assert table.any() or name not in shape.tuples


def test_a_stopped_run_resumes_to_the_same_end(run, tmp_path):
    path = tmp_path / "cut"
    process = subprocess.Popen(command(path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    until((path / "state.safetensors").exists, process)
    os.kill(process.pid, signal.SIGINT)
    output = process.communicate()[0]
    assert "Traceback" not in output
    if (path / "results.json").exists():
        pytest.fail("the run was over before it could be cut; make it longer")
    subprocess.run(command(path, "--resume"), check=True, capture_output=True)
    assert np.array_equal(weights(path)[0], weights(run)[0])
    assert weights(path)[1]["steps"] == weights(run)[1]["steps"]


def test_a_run_is_not_overwritten_or_changed(run):
    with pytest.raises(ValueError, match="with a run in it; --resume continues it"):
        td.train(td.Config(run=str(run), **SMALL))
    with pytest.raises(ValueError, match=r"resume: expected --learning-rate 0.25 as before, got 0.5"):
        td.train(td.Config(run=str(run), resume=True, learning_rate=0.5, **SMALL))
    with pytest.raises(ValueError, match="expected a run to resume in"):
        td.train(td.Config(run=str(run / "nothing"), resume=True, **SMALL))


def test_the_ntuple_extra_is_asked_for_in_one_line(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    message = refusal("ntuple-td", ["--game", "threes", "--total-steps", "1000"], capsys)
    assert "expected tensorboard, found no tensorboard: pip install 'leafwise[ntuple]'" in message
    assert not list(tmp_path.iterdir())


TORCHLESS = """
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *where: None if name.partition(".")[0] == "torch" else find(name, *where)
from leafwise.__main__ import run
for line in sys.argv[1:]:
    print(line, run(["train", *line.split()]))
"""


def test_n_tuples_learn_without_torch_and_other_methods_say_what_is_missing(tmp_path):
    learnt = f"threes --method ntuple-td --no-recipe --run {tmp_path / 'run'} --total-steps 1000 --evaluate-games 2 --tuples 01"
    others = ("threes --method dqn", "threes --method ppo", "cassis --method selfplay", "cassis --method value-td",
              "cassis --method alphazero", "starship --method ship-values", "starship --method ship-changes",
              "starship --method ppo")  # fmt: skip
    command = [sys.executable, "-c", TORCHLESS, learnt, *others]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert [line for line in done.stdout.splitlines() if "--method" in line] == [
        f"{learnt} 0",
        *(f"{o} 2" for o in others),
    ]
    message = "error: expected torch and tensorboard, found no torch: pip install 'leafwise[train]'"
    assert done.stderr.splitlines() == [message] * len(others)
    assert Curves(tmp_path / "run").read()["eval/score_mean"]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


RANKS = [6, 8]


def highest(row):
    return max(int(row[0]) >> shift & 15 for shift in range(0, 64, 4))


def test_a_carousel_begins_in_turn_at_a_start_and_where_its_tiles_were_first_met(tmp_path):
    options = {**SMALL, "tuples": "0123 4567", "carousel": "24 96", "average_exponent": 0.0}
    learner = td.NTupleTd(td.Config(run=str(tmp_path / "run"), **options))
    actor, turns = learner.actors[0], []
    for _ in range(400):
        met, games, turn = actor.met.copy(), int(actor.counts[GAMES]), int(actor.counts[RESTARTED])
        if turn:
            kept = actor.firsts[turn - 1, : met[turn - 1]]
            assert (kept == actor.S[HERE]).all(1).any()
        learner.kernels.td_games(
            actor, 1, 0.001, 0.5, 100, learner.T
        )  # one trajectory, before it those that are over at once
        if actor.counts[GAMES] == games + 1:
            turns.append(turn)
            assert actor.counts[RESTARTED] == (turn + 1 if turn < 2 and actor.met[turn] else 0)
    learner.folder.lock.release()
    assert actor.met.min() > 20
    for k, rank in enumerate(RANKS):
        assert {highest(row) for row in actor.firsts[k, : actor.met[k]]} == {rank}
    assert min(turns.count(turn) for turn in (0, 1, 2)) > 80
    assert turns.count(0) <= actor.counts[FRESH_GAMES] < actor.counts[GAMES] / 2, (
        "games of the network begin at a start"
    )


CODE = """
import numpy as np
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.threes import GAME
from leafwise.models.ntuple import NTupleNetwork, NTupleShape, parse_tuples
from leafwise.models.ntuple_functions import compiled
from leafwise.training.ntuple_td.kernels import FAR, make_best_sibling
from leafwise.training.games import HERE
from leafwise.training.ntuple_td.kernels import new_trainer

shape = NTupleShape(parse_tuples("01234 0123 569a 12345 4567 0145 56 9a 01245")).check(GAME)
rng = np.random.default_rng(1)
table = rng.normal(size=sum(shape.sizes(GAME))).astype(np.float32)
network = NTupleNetwork.create(GAME, shape, table)
assert network.layout.prefetches and min(shape.sizes(GAME)) < FAR
functions, valued = compiled(GAME, network.layout), GAME.stages.index(shape.stage)
best_action = make_best_sibling(GAME, functions, network.layout, valued)
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


Q: dict[str, Any] = {
    "game": "threes", "total_steps": 20_000, "interval": 10_000, "evaluate_games": 20, "evaluate_every": 1, "tuples": "0145",
    "exploration": 0.1,
}  # fmt: skip


def test_q_learning_learns(tmp_path: Path) -> None:
    whole = ntuple_q.train(QConfig(run=str(tmp_path / "whole"), **Q))
    events = Curves(whole).read()
    leaf = leafwise.load(whole)
    scores = [leafwise.Search(GAME, leaf, 1)(GAME.new(seed)).value for seed in range(3)]
    assert min(scores) > 0
    assert events["eval/score_mean"][-1][1] > 500


def test_without_random_actions_games_are_those_of_temporal_differences() -> None:
    """The same stream, so the same games; what is learned with no trace is the best value of the next decision in both."""
    shape = NTupleShape(parse_tuples("0145"))
    tables = []
    for q in (True, False):
        network = NTupleNetwork.create(GAME, shape)
        trainer, T = new_trainer(GAME, 7), GAME.tables(network.evaluator("x"))
        kernels(network, searched=True, exploring=q).td_games(trainer, 2000, 0.1 / network.active, 0.0, 0, T)
        assert trainer.counts[MOVES] >= 2000
        tables.append(network.weights.table.copy())
    assert np.abs(tables[0]).max() > 0
    assert np.allclose(tables[0], tables[1], atol=1e-4)


def test_random_actions_are_a_share_and_end_traces() -> None:
    network = NTupleNetwork.create(GAME, NTupleShape(parse_tuples("0145")))
    trainer, T = new_trainer(GAME, 7), GAME.tables(network.evaluator("x"))
    trainer.exploration[:] = 0.25
    kernels(network, exploring=True).td_games(trainer, 4000, 0.1 / network.active, 0.5, 0, T)
    assert 1 - trainer.greedy[0] / trainer.counts[MOVES] == pytest.approx(0.25, abs=0.03)
    assert trainer.greedy[1] > 0
    assert leafwise.State(GAME, trainer.S[0]).current_player == TERMINAL


def test_a_potential_that_merging_lowers_is_told():
    cells = td.features(GAME)
    doubling = replace(cells, points=tuple(max(0.0, (k - 1) * 2.0**k) for k in range(16)))  # as 2048's
    assert not td.falls_by_merging(cells, 0.7)
    assert not td.falls_by_merging(doubling, 0.0)
    assert not td.falls_by_merging(doubling, 1.0)
    assert "two cells 6 count more than one 12 in the learned potential" in td.falls_by_merging(doubling, 0.7)
