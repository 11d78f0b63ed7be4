"""Q-learning and PPO: they learn, their models are leaves, runs that were cut end as those that were not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.models import load_sparse
from leafwise.models.players import by_logits
from leafwise.models.seen import features_of
from leafwise.models.sparse import SparseNetwork
from leafwise.training.dqn import dqn
from leafwise.training.dqn.games import kernels
from leafwise.training.evaluation.agreement import critical_positions
from leafwise.training.games import new_table
from leafwise.training.ppo import ppo
from leafwise.training.runs.files import Curves

GAME = leafwise.game("trilobite")
DQN: dict[str, Any] = {
    "game": "trilobite", "total_steps": 60_000, "envs": 100, "buffer_size": 20_000, "batch_size": 256, "train_every": 100,
    "learning_starts": 2000, "learning_rate": 0.004, "plies": 5,
    "final_exploration": 0.5, "hidden": (32, 16), "interval": 20_000, "match_pairs": 100, "judged": 0,
    "checkpoint_seconds": 0.0,
}  # fmt: skip
PPO: dict[str, Any] = {
    "game": "trilobite", "total_steps": 30_720, "envs": 32, "rollout": 64, "batch_size": 256, "evaluate_every": 5,
    "hidden": (32, 16), "opponent": "random",
    "match_pairs": 100, "match_plies": 5, "judged": 0, "checkpoint_seconds": 0.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def q_run(tmp_path_factory):
    return dqn.train(dqn.Config(run=str(tmp_path_factory.mktemp("runs") / "q"), **DQN))


@pytest.fixture(scope="module")
def short_q_run(tmp_path_factory):
    """One that has learned something, though not to play well."""
    options = {**DQN, "total_steps": 6000, "interval": 3000}
    return dqn.train(dqn.Config(run=str(tmp_path_factory.mktemp("runs") / "q"), **options))


@pytest.fixture(scope="module")
def ppo_run(tmp_path_factory):
    return ppo.train(ppo.Config(run=str(tmp_path_factory.mktemp("runs") / "ppo"), **PPO))


def share_untrained() -> float:
    rng, judged = np.random.default_rng(1), critical_positions(GAME, 150, 5, (1, 7))
    found = []
    for _ in range(4):
        blank = SparseNetwork.create(GAME, (8,), sees="observation")
        tensors = {k: rng.normal(0, 0.4, t.shape).astype(np.float32) for k, t in blank.tensors.items()}
        found.append(judged.share(blank.with_tensors(tensors).evaluator("x")))
    return float(np.mean(found))


@pytest.mark.long
def test_q_learning_learns_to_keep_the_value(q_run) -> None:
    judged = critical_positions(GAME, 150, 5, (1, 7))
    assert judged.share(leafwise.load(q_run)) > share_untrained() + 0.1


def test_ppo_learns_to_win(ppo_run) -> None:
    events = Curves(ppo_run).read()
    rewards = [value for _, value in events["rollout/ep_rew_mean"]]
    assert rewards[-1] > rewards[0] + 0.3
    assert {"time/fps", "train/value_loss", "train/loss", "eval/elo"} <= set(events)


@pytest.mark.parametrize("which", ["short_q_run", "ppo_run"])
def test_the_model_is_a_leaf_in_all_three_forms(which: str, request) -> None:
    run = request.getfixturevalue(which)
    evaluator, network = leafwise.load(run), load_sparse(run / "model.safetensors", GAME)
    rng, T = np.random.default_rng(2), GAME.tables(leafwise.load(run))
    rows: list[Any] = []
    while len(rows) < 300:
        state = GAME.start()
        while not state.is_terminal:
            rows.append(state.row)
            state = state.play(int(rng.choice(state.legal_actions)))
    table = np.array(rows)
    compiled = np.array([evaluator.compiled(table, np.uint64(i), T) for i in range(len(table))])
    assert evaluator.batch is not None
    assert np.abs(compiled - evaluator.batch(table, T)).max() < 1e-5
    import torch

    from leafwise.training.networks import SparseModule

    features, legal, _ = network.describe(table, T)
    with torch.no_grad():
        outputs = SparseModule(network)(torch.from_numpy(features)).numpy()
    best = np.where(legal, outputs, -np.inf).max(axis=1) if network.head == "max" else outputs[:, 0]
    assert np.abs(compiled - 0.9999 * np.tanh(best)).max() < 1e-5
    assert leafwise.Search(GAME, evaluator, 3)(GAME.start()).action in range(3)


@pytest.mark.parametrize("sees", ["observation", "features+observation"])
def test_what_is_exported_says_ppos_values_and_policy(tmp_path, sees: str) -> None:
    import torch

    learner = ppo.MaskedPpo(ppo.Config(run=str(tmp_path / "x"), sees=sees, **PPO))
    learner.step()
    network: Any = learner.exported()
    obs = learner.model.env.observations()
    assert obs[:, -1].any() == (sees != "observation")  # the room's features take the side of who moves first
    rows = learner.envs.get_state()["rows"]
    with torch.no_grad():
        expected = learner.model.policy.predict_values(torch.as_tensor(obs)).numpy()[:, 0]
        masks = learner.envs.action_masks()
        policy = learner.model.policy.get_distribution(torch.as_tensor(obs), masks).distribution.probs.numpy()
    T = GAME.tables(network.evaluator("x"))
    assert np.abs(network.batch(rows, T) - 0.9999 * expected).max() < 1e-5
    assert np.abs(by_logits(network.action_values(rows, T)) - policy).max() < 1e-5


def test_ppo_refuses_features_that_its_game_has_not_or_that_cannot_tell_actions_apart(tmp_path) -> None:
    for sees, wanted in (("words", "expected sees among"), ("features", "expected --sees features\\+observation")):
        with pytest.raises(ValueError, match=wanted):
            ppo.MaskedPpo(ppo.Config(run=str(tmp_path / "x"), sees=sees, **PPO))
    with pytest.raises(ValueError, match="expected --sees features\\+observation"):
        ppo.MaskedPpo(ppo.Config(run=str(tmp_path / "x"), game="friday", sees="features"))


def test_features_beside_an_observation_are_asked_at_decisions_where_they_alone_are_asked_at_chance() -> None:
    game = leafwise.game("friday")
    assert features_of(game).stage == "hazard"
    network = SparseNetwork.create(game, (8, 8), head="policy", sees="features+observation")
    assert network.evaluator("x").stage == "decision"
    assert np.isfinite(game.new(1).value(network.evaluator("x")))


def test_ppo_plays_against_itself_as_it_is_and_was(tmp_path) -> None:
    learner = ppo.MaskedPpo(ppo.Config(run=str(tmp_path / "x"), **{**PPO, "opponent": "self", "newest": 0.0}))
    first = learner.newest.tensors["dense"]
    learner.step()
    assert np.array_equal(learner.seated.weights.dense, first)  # the only one in the pool
    assert not np.array_equal(learner.exported().tensors["dense"], first)
    learner.config = replace(learner.config, newest=1.0)
    learner.seat_opponent()
    assert np.array_equal(learner.seated.weights.dense, learner.exported().tensors["dense"])
    assert learner.rate() < learner.config.learning_rate
    learner.folder.lock.release()


def test_rewards_and_signs_add_up_to_the_outcome_for_whoever_acts() -> None:
    evaluator = SparseNetwork.create(GAME, (4,)).evaluator("x")
    T, run = GAME.tables(evaluator), kernels(GAME, evaluator)
    table, streams = new_table(GAME, 1, 0), np.array([(7, 0)], dtype=np.uint64)
    rows, asked, after, rewards, signs = GAME.rows(1), GAME.rows(1), GAME.rows(1), np.zeros(1), np.zeros(1)
    run.start_games(table, rows, streams, 0, T)
    rng, steps, decided = np.random.default_rng(1), [], 0
    for _ in range(400):
        state = leafwise.State(GAME, rows[0])
        actions = np.array([rng.choice(state.legal_actions)])
        run.advance(table, rows, asked, after, streams, actions, rewards, signs, 0, 0.0, T)
        assert leafwise.State(GAME, after[0]) == state.play(int(actions[0]))
        assert np.array_equal(asked, after)
        steps.append((state.current_player, rewards[0], signs[0]))
        if signs[0] == 0:
            outcome, total = leafwise.State(GAME, after[0]).returns, 0.0
            for player, reward, sign in reversed(steps):
                total = reward + sign * total
                assert total == (outcome if player == 0 else -outcome)
            assert leafwise.State(GAME, rows[0]) == GAME.start()
            decided += outcome != 0
            steps = []
    assert decided > 20


@pytest.mark.long
def test_q_learning_alone(tmp_path) -> None:
    """Threes: rewards in units, the return still to come, symmetric boards with their actions."""
    threes = leafwise.game("threes")
    config = dqn.Config(
        game="threes", run=str(tmp_path / "x"), total_steps=6400, envs=64, buffer_size=4000, batch_size=64, train_every=640,
        learning_starts=640, gamma=0.98,
        scale=50.0, hidden=(16,), interval=3200, match_pairs=100, plies=0,
    )  # fmt: skip
    run = dqn.train(config)
    evaluator = leafwise.load(run)
    state = threes.new(5)
    expected = state.returns + state.value(evaluator)
    assert evaluator.to_go
    assert np.isfinite(expected)
    assert evaluator.batch is not None
    assert evaluator.batch(state.row[None], threes.tables(evaluator))[0] == pytest.approx(
        state.value(evaluator), abs=1e-3
    )
    assert leafwise.Search(threes, evaluator, 1, batched=True)(state).action in state.legal_actions
