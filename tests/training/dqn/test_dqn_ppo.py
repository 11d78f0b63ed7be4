"""Q-learning and PPO: they learn, their models are leaves; and the replay of Q-learning."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.models.players import by_logits
from leafwise.models.seen import features_of
from leafwise.models.sparse import SparseNetwork
from leafwise.training.dqn import dqn
from leafwise.training.dqn.games import Decisions, kernels
from leafwise.training.dqn.learning import DecisionOrder, DecisionReplay, Priorities
from leafwise.training.evaluation.agreement import critical_positions
from leafwise.training.games import new_table
from leafwise.training.ppo import ppo
from leafwise.training.ppo.imitation import imitate, recorded, returns_of
from leafwise.training.runs.files import Curves
from running.networks import random_network

GAME = leafwise.game("trilobite")
DQN: dict[str, Any] = {
    "game": "trilobite", "total_steps": 60_000, "envs": 100, "buffer_size": 20_000, "batch_size": 256, "train_every": 100,
    "learning_starts": 2000, "learning_rate": 0.004, "plies": 5,
    "final_exploration": 0.5, "hidden": (32, 16), "interval": 20_000, "match_pairs": 100, "solver_positions": 0,
    "checkpoint_seconds": 0.0,
}  # fmt: skip
PPO: dict[str, Any] = {
    "game": "trilobite", "total_steps": 30_720, "envs": 32, "rollout": 64, "batch_size": 256, "evaluate_every": 5,
    "hidden": (32, 16), "opponent": "random",
    "match_pairs": 100, "match_plies": 5, "solver_positions": 0, "checkpoint_seconds": 0.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def q_run(tmp_path_factory):
    return dqn.train(dqn.Config(run=str(tmp_path_factory.mktemp("runs") / "q"), **DQN))


@pytest.fixture(scope="module")
def ppo_run(tmp_path_factory):
    return ppo.train(ppo.Config(run=str(tmp_path_factory.mktemp("runs") / "ppo"), **PPO))


@pytest.mark.long
def test_q_learning_learns_to_keep_the_value(q_run) -> None:
    judged = critical_positions(GAME, 150, 5, (1, 7))
    drawn = [random_network(GAME, seed=seed, sees="observation").evaluator("x") for seed in range(4)]
    assert judged.share(leafwise.load(q_run)) > np.mean([judged.share(leaf) for leaf in drawn]) + 0.1


def test_ppo_learns_to_win(ppo_run) -> None:
    events = Curves(ppo_run).read()
    rewards = [value for _, value in events["rollout/ep_rew_mean"]]
    assert rewards[-1] > rewards[0] + 0.3
    assert {"time/fps", "train/value_loss", "train/loss", "eval/elo"} <= set(events)


@pytest.mark.parametrize("sees", ["observation", "features+observation"])
def test_what_is_exported_says_ppos_values_and_policy(tmp_path, sees: str) -> None:
    import torch

    learner = ppo.MaskedPpo(ppo.Config(run=str(tmp_path / "x"), sees=sees, **PPO))
    learner.step()
    network: Any = learner.exported()
    obs = learner.model.env.observations()
    assert obs[:, -1].any() == (sees != "observation")  # the room's features take the side of who moves first
    rows = learner.ppo.envs.get_state()["rows"]
    with torch.no_grad():
        expected = learner.model.policy.predict_values(torch.as_tensor(obs)).numpy()[:, 0]
        masks = learner.ppo.envs.action_masks()
        policy = learner.model.policy.get_distribution(torch.as_tensor(obs), masks).distribution.probs.numpy()
    T = GAME.tables(network.evaluator("x"))
    assert np.abs(network.batch(rows, T) - 0.9999 * expected).max() < 1e-5
    assert np.abs(by_logits(network.action_values(rows, T)) - policy).max() < 1e-5


def test_features_beside_an_observation_are_asked_at_decisions_where_they_alone_are_asked_at_chance() -> None:
    game = leafwise.game("friday")
    assert features_of(game).stage == "hazard"
    network = SparseNetwork.create(game, (8, 8), head="policy", sees="features+observation")
    assert network.evaluator("x").stage == "decision"
    assert np.isfinite(game.new(1).value(network.evaluator("x")))


def test_ppo_plays_against_itself_as_it_is_and_was(tmp_path) -> None:
    learner = ppo.MaskedPpo(ppo.Config(run=str(tmp_path / "x"), **{**PPO, "opponent": "self", "newest_share": 0.0}))
    first = learner.newest.tensors["dense"]
    learner.step()
    assert np.array_equal(learner.opponent_network.weights.dense, first)  # the only one in the pool
    assert not np.array_equal(learner.exported().tensors["dense"], first)
    learner.config = replace(learner.config, newest_share=1.0)
    learner.seat_opponent()
    assert np.array_equal(learner.opponent_network.weights.dense, learner.exported().tensors["dense"])
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


def decisions(games: int, step: int, sign: float = 1.0, reward: float = 0.0, explored: bool = False) -> Decisions:
    """Returns a decision of every game; its row tells its step, and that of what follows the next."""
    before = np.full((games, GAME.width), step, dtype=GAME.dtype)
    gains = np.tile(np.array([[reward, sign]], dtype=np.float32), (games, 1))
    return Decisions(before, before + 1, before + 1, np.zeros(games, np.int64), gains, np.full(games, explored), 0.0)


def replay(size: int = 100, **given: Any) -> DecisionReplay:
    return DecisionReplay(GAME, size, given.pop("order", DecisionOrder(2)), **{"cut": True, "alpha": 0.0, **given})


def test_rewards_of_the_steps_count_for_who_decided() -> None:
    memory = replay()
    for step, (reward, sign) in enumerate([(0.25, -1.0), (0.5, -1.0), (1.0, 0.0), (2.0, -1.0)]):
        memory.keep(decisions(2, step, sign, reward))
    first = np.array([0, 1])
    one = memory.follow(first, 1, 0.5, action_given=True)
    assert one.gained.tolist() == [0.25, 0.25]
    assert one.factor.tolist() == [-0.5, -0.5]
    two = memory.follow(first, 2, 0.5, action_given=True)
    assert two.gained.tolist() == [0.25 - 0.5 * 0.5] * 2
    assert two.factor.tolist() == [0.25, 0.25]
    assert two.rows[:, 0].tolist() == [2, 2]
    whole = memory.follow(first, 9, 1.0, action_given=True)
    assert whole.gained.tolist() == [0.25 - 0.5 + 1.0] * 2  # what comes after the end is another game's
    assert whole.factor.tolist() == [0, 0]


def test_steps_end_before_a_random_action_and_what_is_not_known() -> None:
    memory, uncut = replay(), replay(cut=False)
    for one in (memory, uncut):
        for step in range(4):
            one.keep(decisions(2, step, 1.0, 1.0, explored=step in (0, 2)))
    first = np.array([0])
    assert memory.follow(first, 9, 1.0, action_given=True).rows[0, 0] == 2
    assert memory.follow(first, 9, 1.0, action_given=False).rows[0, 0] == 0
    assert uncut.follow(first, 9, 1.0, action_given=False).rows[0, 0] == 4
    assert uncut.follow(first, 9, 1.0, action_given=False).gained.tolist() == [4.0]


def test_what_is_old_gives_way_to_what_is_new() -> None:
    memory = replay(size=6)
    for step in range(5):
        memory.keep(decisions(2, step))
    assert memory.filled == 6
    assert sorted(memory["before"][:, 0].tolist()) == [2, 2, 3, 3, 4, 4]
    oldest = int(np.flatnonzero(memory["before"][:, 0] == 2)[0])
    assert memory.follow(np.array([oldest]), 9, 1.0, action_given=True).rows[0, 0] == 5


def test_the_next_decision_of_a_game_comes_after_those_of_other_sets() -> None:
    order, number = DecisionOrder(games=3, steps=2, sets=2), 0
    of: dict[int, tuple[int, int]] = {}
    for generation in range(6):
        for step in range(2):
            for game in range(3):
                of[number] = generation % 2 * 3 + game, generation // 2 * 2 + step
                number += 1
    by_key = {place: key for key, place in of.items()}
    for key, (game, step) in of.items():
        if (game, step + 1) in by_key:
            assert order.following(np.array([key]))[0] == by_key[game, step + 1]


def test_places_are_drawn_in_proportion_to_their_priorities() -> None:
    rng, wanted = np.random.default_rng(1), np.array([0.0, 1.0, 3.0, 0.0, 4.0])
    tree, other = Priorities(5), Priorities(5)
    tree.put(np.arange(5), wanted)
    for place in (4, 2, 1, 0, 3, 2):  # sums do not depend on how the priorities came about
        other.put(np.array([place]), wanted[[place]])
    assert np.array_equal(tree.sums, other.sums)
    drawn = tree.draw(rng.random(8000))
    assert np.bincount(drawn, minlength=5)[[0, 3]].tolist() == [0, 0]
    assert np.bincount(drawn, minlength=5) / 8000 == pytest.approx(wanted / 8, abs=0.02)
    assert tree.draw(np.array([1 - 1e-17, 1.0]))[-1] == 4


def test_errors_make_priorities_and_weights_make_up_for_them() -> None:
    memory = replay(size=4, alpha=1.0)
    memory.keep(decisions(2, 0))
    memory.keep(decisions(2, 1))
    rng = np.random.default_rng(2)
    memory.update_priorities(np.arange(4), np.array([0.99, 0.99, 0.99, 2.99]))
    places, weights = memory.draw(rng, 4000, 1.0)
    assert (places == 3).mean() == pytest.approx(0.5, abs=0.02)
    assert weights is not None
    assert np.unique(np.round(weights, 6)).tolist() == pytest.approx([1 / 3, 1.0], abs=1e-5)
    again = replay(size=4, alpha=1.0)
    again.restore(memory.tensors(), memory.recorded, memory.highest)
    assert again.priorities is not None
    assert memory.priorities is not None
    assert np.array_equal(again.priorities.sums, memory.priorities.sums)
    again.keep(decisions(1, 2))
    assert again.priorities[np.array([0])][0] == again.highest == 3.0


def test_what_a_leaf_is_asked_is_known_where_a_stage_of_chance_was_passed() -> None:
    memory = replay(chance=True)
    played = decisions(2, 0)
    memory.keep(played._replace(asked=played.after + np.array([[0], [5]], GAME.dtype)))
    assert memory.has_chance_stage(np.array([0, 1, 0])).tolist() == [False, True, False]
    again = replay(chance=True)
    again.restore(memory.tensors(), memory.recorded, memory.highest)
    assert again.has_chance_stage(np.array([1, 0])).tolist() == [True, False]
    plain = replay()
    plain.keep(played)
    assert plain.has_chance_stage(np.array([0, 1])).tolist() == [False, False]
    assert "asked" not in plain.tensors()


def test_a_module_that_a_learner_plays_against_is_asked_in_batches_and_says_the_same(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {key: value for key, value in PPO.items() if key not in ("hidden", "sees")}
    learner = ppo.MaskedPpo(
        ppo.Config(run=str(tmp_path / "x"), **config | {"opponent": "self", "network": "mlp,hidden=16"})
    )
    asked: list[int] = []
    opponent_network, policies = learner.opponent_network, learner.opponent_network.policies

    def counted(rows: list[Any]) -> Any:
        asked.append(len(rows))
        return policies(rows)

    monkeypatch.setattr(opponent_network, "policies", counted)
    learner.advance()
    assert sum(n for n in asked if n > 1) > 3 * asked.count(1)
    assert len(opponent_network.policies_ahead) > 1
    for row, shares in opponent_network.policies_ahead.items():
        alone = policies([np.frombuffer(row, np.uint64)])[0]
        assert np.allclose(shares, alone, atol=1e-6)
    learner.folder.lock.release()


FRIDAY: dict[str, Any] = {
    "game": "friday", "variant": "level=1", "reward": "shaped", "sees": "features+observation", "hidden": (16, 16), "envs": 16,
    "rollout": 16, "batch_size": 64, "evaluate_every": 100, "match_pairs": 100, "match_plies": 0, "solver_positions": 0,
}  # fmt: skip


def test_ppo_imitates_a_guide(tmp_path) -> None:
    config = ppo.Config(run=str(tmp_path / "x"), guide="greedy:pirates,ties=first", guide_decisions=6000, **FRIDAY)
    learner = ppo.MaskedPpo(config)
    seen = recorded(learner.model, learner.game, config.guide, 500)
    assert len(seen["actions"]) >= 500
    assert seen["masks"][np.arange(len(seen["actions"])), seen["actions"]].all()
    before = likely(learner.model, seen)
    imitate(learner.model, learner.game, config.guide, config.guide_decisions)
    assert likely(learner.model, seen) > before + 0.1
    learner.folder.lock.release()


def likely(model: Any, seen: dict[str, Any]) -> float:
    """Returns the mean probability of a guide's actions by a model's policy."""
    import torch

    with torch.no_grad():
        observations, actions = torch.as_tensor(seen["observations"].astype(np.int64)), torch.as_tensor(seen["actions"])
        return float(model.policy.evaluate_actions(observations, actions, seen["masks"])[1].exp().mean())


def test_returns_of_steps_end_where_an_episode_does() -> None:
    rewards, dones = np.array([[1.0], [2.0], [4.0], [8.0]]), np.array([[False], [True], [False], [False]])
    assert returns_of(rewards, dones, 0.5)[:, 0].tolist() == [2.0, 2.0, 8.0, 8.0]


def test_ppo_begins_in_easier_variants_and_goes_on_in_them(tmp_path) -> None:
    easy = ("level=1,start_life=31", "level=1,start_life=25")
    options = {
        **FRIDAY,
        "easy_variants": easy,
        "curriculum_decisions": 1024,
        "total_steps": 2048,
        "checkpoint_seconds": 0.0,
    }
    config = ppo.Config(run=str(tmp_path / "x"), **options)
    whole, stopped = ppo.MaskedPpo(config), ppo.MaskedPpo(replace(config, run=str(tmp_path / "y")))
    assert [whole.variant_index(done) for done in (0, 511, 512, 1024)] == [0, 0, 1, 2]
    for _ in range(5):
        whole.step()
    for _ in range(3):
        stopped.step()
    assert stopped.variant_number == 1
    stopped.folder.save(*stopped.state())
    stopped.folder.lock.release()
    again = ppo.MaskedPpo(replace(config, run=str(tmp_path / "y"), resume=True))
    assert again.variant_number == 1
    for _ in range(2):
        again.step()
    assert again.variant_number == 2
    expected, resumed = whole.state()[0], again.state()[0]
    assert all(np.array_equal(resumed[name], tensor) for name, tensor in expected.items())
    for learner in (whole, again):
        learner.folder.lock.release()
    with pytest.raises(ValueError, match="--easy-variants in a single-player game, got 'trilobite'"):
        ppo.train(ppo.Config(run=str(tmp_path / "z"), **{**PPO, "easy_variants": ("",)}))
