"""Learning a single-player game that is won or lost: chances, all levels by one network, runs that were cut, calibration."""

from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.stream import new_stream
from leafwise.models import load_sparse
from leafwise.models.files import load_tensors, model_path, save_network, save_tensors
from leafwise.models.sparse import SparseNetwork
from leafwise.training import publish
from leafwise.training.dqn import dqn
from leafwise.training.dqn.games import kernels as q_kernels
from leafwise.training.evaluation.calibration import calibration, rescaled, scaling
from leafwise.training.games import AFTERSTATE, CHOSEN, new_record, new_table, play_solo
from leafwise.training.runs.files import Curves
from leafwise.training.runs.gating import prefixed
from leafwise.training.runs.recipes import with_recipe
from leafwise.training.selfplay import selfplay, value_td
from leafwise.training.selfplay.games import kernels
from running.training import cut_and_compare, learn

GAME = leafwise.game("friday")
EVERY_STAGE = -1
"""As bits."""
SMALL: dict[str, Any] = {
    "game": "friday", "total_steps": 3, "positions": 1500, "buffer_size": 4000, "epochs": 4.0, "batch_size": 256,
    "hidden": (8, 8), "plies": 0, "exploration": 0.05, "nodes": 10, "guide": "pirates",
    "partial_credit": 0.5, "partial_credit_iterations": 3, "curriculum_iterations": 1,
    "variants": ("level=1", "level=4"), "easy_variants": ("level=1,start_life=31",), "match_pairs": 100, "evaluate_every": 2,
    "checkpoint_seconds": 0.0,
}  # fmt: skip

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return selfplay.train(selfplay.Config(run=str(tmp_path_factory.mktemp("runs") / "whole"), **SMALL))


def some_rows(game: leafwise.Game, n: int) -> Any:
    """Returns decisions of random games."""
    rng = np.random.default_rng(1)
    rows: list[Any] = []
    for seed in range(n):
        state = game.new(seed)
        while not state.is_terminal and len(rows) < n:
            rows.append(state.row)
            state = state.play(int(rng.choice(state.legal_actions))).settle(new_stream(seed))
    return np.array(rows)


def test_a_run_logs_every_level_and_a_cut_one_ends_as_it(run, tmp_path) -> None:
    events = Curves(run).read()
    tags = {"eval/score_mean_level1", "eval/score_mean_level4", "eval/calibration_error", "rollout/first_wins"}
    assert tags <= set(events)
    assert [step for step, _ in events["eval/score_mean"]] == [1, 2, 3]  # the first, every second, and the last
    losses = [value for _, value in events["train/loss"]]
    assert losses[-1] < losses[0]
    config = selfplay.Config(run=str(tmp_path / "cut"), **SMALL)
    cut_and_compare(selfplay.SelfPlay, config, run)


def test_one_network_says_chances_at_all_levels_in_three_forms(run) -> None:
    import torch

    from leafwise.training.networks import SparseModule

    evaluator, seen = leafwise.load(run), []
    assert (evaluator.low, evaluator.high, evaluator.to_go) == (0.0, 1.0, False)
    for level in (1, 4):
        game = GAME.variant(level=level)
        rows, T = some_rows(game, 60), game.tables(evaluator)
        compiled = np.array([evaluator.compiled(rows, np.uint64(i), T) for i in range(len(rows))])
        assert evaluator.batch is not None
        assert np.abs(compiled - evaluator.batch(rows, T)).max() < 1e-6
        network = load_sparse(run / "model.safetensors", game)
        features, _, _ = network.describe(rows, T)
        with torch.no_grad():
            outputs = torch.sigmoid(SparseModule(network)(torch.from_numpy(features))[:, 0]).numpy()
        assert np.abs(compiled - outputs).max() < 1e-5
        assert ((compiled > 0) & (compiled < 1)).all()
        seen.append(compiled[0])
    assert seen[0] != seen[1]  # the level is seen
    with pytest.raises(ValueError, match="expected the head chance for a game that is won or lost, got 'threes'"):
        SparseNetwork.create(leafwise.game("threes"), (8,), head="chance", sees="observation")


def test_targets_are_outcomes_and_rows_before_hazards_are_worth_what_follows(run) -> None:
    evaluator = leafwise.load(run)
    T, D = GAME.tables(evaluator), new_record(GAME, 3000)
    run_games = kernels(GAME, evaluator).record_games
    n = run_games(
        new_table(GAME, 1, 7, nodes=10), D, 800, 1, 0, np.inf, 0.0, 0.0, 1.0, False, 0.5, False, EVERY_STAGE, T, T
    )
    passed = np.flatnonzero(D.kinds[:n] == AFTERSTATE)
    assert len(passed) > 20
    assert (D.targets[passed] == D.targets[passed + 1]).all()
    assert ((D.targets[:n] > 0) & (D.targets[:n] <= 0.5)).any()  # a lost game got some way
    n = run_games(
        new_table(GAME, 1, 7, nodes=10), D, 800, 1, 0, np.inf, 0.0, 0.0, 0.0, True, 0.0, False, EVERY_STAGE, T, T
    )
    k = int(np.flatnonzero(D.kinds[: n - 1] == CHOSEN)[5])
    assert D.targets[k] == pytest.approx(evaluator.compiled(D.rows, np.uint64(k + 1), T))


def test_plain_differences_are_learned_through_the_same_door(tmp_path, capsys) -> None:
    words = f"--game friday --variant level=4 --run {tmp_path / 'x'} --total-steps 1 --positions 400 --hidden 8 8"
    line = with_recipe("friday", "value-td", [*words.split(), "--match-pairs", "100", "--batch-size", "64"])
    assert line[line.index("--easy-variants") + 1] == "level=4,start_life=31"
    assert "--variants" not in line
    assert learn("value-td", line) == 0
    metadata = load_tensors(tmp_path / "x" / "model.safetensors")[1]
    assert metadata["command"].startswith("leafwise train friday --method value-td --no-recipe --variant level=4")
    assert value_td.ValueTd.leaf_targets
    assert leafwise.load(tmp_path / "x").high == 1.0


def test_calibration_is_the_mean_distance_by_tenths() -> None:
    values = np.array([0.05, 0.05, 0.95, 0.95, 0.95, 0.95])
    error, tenths = calibration(values, np.array([0.0, 1.0, 1.0, 1.0, 1.0, 0.0]))
    assert error == pytest.approx((2 * 0.45 + 4 * 0.2) / 6)
    assert [t["decisions"] for t in tenths] == [2, 4]
    assert calibration(np.array([1.0, 0.0]), np.array([1.0, 0.0]))[0] == 0.0


def test_scaling_finds_the_slope_and_offset_of_log_odds() -> None:
    rng = np.random.default_rng(1)
    odds = rng.normal(0.3, 2.0, 40_000)
    outcomes = (rng.random(len(odds)) < 1 / (1 + np.exp(-(1.5 * odds - 0.4)))).astype(float)
    chances = 1 / (1 + np.exp(-odds))
    slope, offset = scaling(chances, outcomes)
    assert (slope, offset) == pytest.approx((1.5, -0.4), abs=0.06)
    assert calibration(chances, outcomes)[0] > 0.05
    assert calibration(1 / (1 + np.exp(-(slope * odds + offset))), outcomes)[0] < 0.01
    with pytest.raises(ValueError, match=r"^calibration: expected won and lost games, got a share of 0 won$"):
        scaling(chances, np.zeros(len(chances)))


def test_a_rescaled_network_says_so(run) -> None:
    network, rows = load_sparse(run / "model.safetensors", GAME), some_rows(GAME, 40)
    before, after = (
        net.batch(rows, GAME.tables(net.evaluator("x"))) for net in (network, rescaled(network, 1.5, -0.4))
    )
    assert np.log(after / (1 - after)) == pytest.approx(1.5 * np.log(before / (1 - before)) - 0.4, abs=1e-5)


def test_a_publication_tells_what_it_measured(run, tmp_path) -> None:
    config = publish.Config(run=str(run), out=str(tmp_path), variants=("level=1",), games=(20,), nodes=10, unit_games=0)
    path = publish.publish(config)
    score = load_tensors(path)[1]["score"][0]
    played = play_solo(GAME, leafwise.load(path), 1_000_000, 20, nodes=10)
    assert path.name == "friday.safetensors"
    assert score["mean"] == played.scores.mean()
    assert played.ends[-1] == len(played.values) == len(played.outcomes())
    assert "| level=1 | 1 | 20 |" in path.with_suffix(".md").read_text()


def told_of(run: Any) -> dict[str, Any]:
    """Returns what a run's model file says of how it was made."""
    metadata = load_tensors(run / "model.safetensors")[1]
    return {name: metadata[name] for name in ("steps", "seconds", "command", "commit", "score")}


def test_a_publication_may_set_the_scale_of_what_is_said(run, tmp_path) -> None:
    shipped = load_sparse(model_path("friday"), GAME)
    save_network(tmp_path / "model.safetensors", shipped, told_of(run))
    words = f"--run {tmp_path} --out {tmp_path} --variants level=4 --games 5 --calibrate 15 --unit-games 0"
    assert publish.main(words.split()) == 0
    done = load_tensors(tmp_path / "friday.safetensors")[1]["calibrated"]
    expected = rescaled(shipped, done["slope"], done["offset"]).tensors["dense"]
    assert done["slope"] > 0
    assert np.array_equal(load_sparse(tmp_path / "friday.safetensors", GAME).tensors["dense"], expected)
    page = (tmp_path / "friday.md").read_text()
    assert f"multiplied by {done['slope']:.3f}" in page
    given = "--unit-games 0 --games 5 --variants level=4 --calibrate 15 --run RUN"
    assert f"python -m leafwise.training.publish --out {tmp_path} {given}`" in page


def test_a_publication_may_play_the_best_and_the_newest_again(run, tmp_path) -> None:
    shipped = load_sparse(model_path("friday"), GAME)
    blank = shipped.with_tensors({name: np.zeros_like(tensor) for name, tensor in shipped.tensors.items()})
    save_network(tmp_path / "model.safetensors", blank, told_of(run))
    config = publish.Config(
        run=str(tmp_path), out=str(tmp_path), variants=("level=1",), games=(5,), nodes=10, rematch=8, unit_games=0
    )
    with pytest.raises(ValueError, match=r"expected a model file, found nothing at .*state\.safetensors"):
        publish.publish(config)
    save_tensors(tmp_path / "state.safetensors", prefixed("newest", shipped.tensors), {"done": 7, "seconds": 9.0})
    written = load_tensors(publish.publish(config))[1]
    assert (written["steps"], written["seconds"], written["selected"]["games"]) == (7, 9.0, 8)
    assert written["selected"]["mean"] > 0


def test_a_variant_that_is_named_twice_is_played_twice_as_much(tmp_path) -> None:
    mix = ("level=1", "level=4", "level=4")
    learner = selfplay.SelfPlay(selfplay.Config(run=str(tmp_path / "mixed"), **{**SMALL, "variants": mix}))
    assert learner.variant_indices(9) == [0, 1, 1]
    assert learner.variant_indices(1) == [0, 1, 1, 2]
    learner.play()
    assert (learner.replay["places"][: learner.replay.filled] == 2).all()
    learner.done = 9
    before = learner.replay.filled
    learner.play()
    first, second = (
        np.count_nonzero(learner.replay["places"][before : learner.replay.filled] == place) for place in range(2)
    )
    assert 1.5 < second / first < 2.5
    learner.folder.lock.release()


QUICK: dict[str, Any] = {
    "game": "friday", "head": "value", "sees": "features", "gamma": 1.0, "nodes": 10, "guide": "pirates", "guide_decisions": 2000,
    "partial_credit": 0.5, "n_step": 5, "total_steps": 6000, "envs": 50, "buffer_size": 3000, "batch_size": 64, "train_every": 200,
    "learning_starts": 1000, "hidden": (8, 8), "interval": 3000, "match_pairs": 100, "plies": 0, "checkpoint_seconds": 0.0,
}  # fmt: skip


def test_q_learning_of_states_of_chance_ends_alike_where_it_was_cut(tmp_path) -> None:
    whole = dqn.train(dqn.Config(run=str(tmp_path / "whole"), **QUICK))
    learner = dqn.QLearner(dqn.Config(run=str(tmp_path / "first"), **QUICK))
    learner.step()
    assert learner.replay.has_chance_stage(np.arange(learner.replay.filled)).any()
    assert not learner.playing(learner.done).guided
    assert learner.playing(0)[1:] == (0.5, True)
    cut_and_compare(dqn.QLearner, dqn.Config(run=str(tmp_path / "cut"), **QUICK), whole)
    assert leafwise.player(f'search:"{whole}",depth=1,nodes=10', GAME).choose(GAME.new(5)) in GAME.new(5).legal_actions


def test_steps_of_q_learning_tell_what_a_leaf_is_asked_and_credit_of_lost_games() -> None:
    evaluator = SparseNetwork.create(GAME, (4, 4)).evaluator("x")
    run, T, table = q_kernels(GAME, evaluator), GAME.tables(evaluator), new_table(GAME, 1, 0, evaluator)
    rows, streams = GAME.rows(8), np.array([(k, 0) for k in range(8)], dtype=np.uint64)
    run.start_games(table, rows, streams, 0, T)
    rng, passed, lost = np.random.default_rng(1), 0, 0
    for _ in range(600):
        before = [leafwise.State(GAME, row.copy()) for row in rows]
        actions = np.array([rng.choice(state.legal_actions) for state in before])
        asked, after, rewards, signs = GAME.rows(8), GAME.rows(8), np.zeros(8), np.zeros(8)
        run.advance(table, rows, asked, after, streams, actions, rewards, signs, 0, 0.5, T)
        for k, state in enumerate(before):
            between, reached = (leafwise.State(GAME, found[k]) for found in (asked, after))
            if between != reached:
                assert between.stage == evaluator.stage
                assert between == state.play(int(actions[k])) or state.play(int(actions[k])).is_chance
                assert not reached.is_chance
                passed += 1
            if reached.is_terminal and reached.returns == 0:
                assert rewards[k] == pytest.approx(0.5 * GAME.rules.progress(after, np.uint64(k), T))
                lost += 1
    assert passed > 50
    assert lost > 5
