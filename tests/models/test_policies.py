"""Trained policies and Q-networks as priors: what they say of the actions, and the players that name them."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from games.refusals import one_line
from leafwise.models.files import save_network
from leafwise.models.players import by_logits, by_values, policy
from leafwise.models.sparse import SparseNetwork
from leafwise.search.mcts import Mcts
from leafwise.search.players import MctsPlayer
from running.networks import METADATA, random_sparse

GAME = leafwise.game("trilobite")
STATE = GAME.new(1).play("1").play("3").play("1").play("3")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Files of networks of random weights: one with a value for each action, one with a value and a policy."""
    folder = tmp_path_factory.mktemp("models")
    for head, sees, spread in (("max", "observation", 1.0), ("policy", "features+observation", 0.3)):
        network = random_sparse(GAME, (8,), spread, head=head, sees=sees)
        save_network(folder / f"{head}.safetensors", network, METADATA)
    return folder


@pytest.fixture
def q_network(saved):
    return saved / "max.safetensors"


@pytest.fixture
def policy_network(saved):
    return saved / "policy.safetensors"


def test_action_values_are_those_whose_best_is_the_leaf(q_network):
    network = leafwise.models.files.load_network(q_network, GAME)
    T = GAME.tables(network.evaluator("q"))
    rows = np.array([STATE.row, STATE.play("2").row])
    values = network.action_values(rows, T)
    assert values.shape == (2, len(GAME.actions))
    for row, state in zip(values, (STATE, STATE.play("2")), strict=True):
        assert set(np.flatnonzero(np.isfinite(row))) == set(state.legal_actions)
    signs = network.describe(rows, T)[2]
    assert np.allclose(np.tanh(values.max(axis=1)) * signs, network.batch(rows, T), atol=1e-3)


def test_a_prior_is_greatest_where_the_values_are():
    weights = by_values(np.array([[0.5, -np.inf, 1.5], [2.0, 2.0, 2.0]], dtype=np.float32))
    assert np.allclose(weights.sum(axis=1), 1)
    assert weights[0, 1] == 0
    assert np.isclose(weights[0, 2] / weights[0, 0], np.exp(5))
    assert np.allclose(weights[1], 1 / 3)


@pytest.mark.parametrize("size", [1.0, 1e4, 3e38])
def test_a_prior_of_numbers_of_any_size_adds_up_to_1(size):
    numbers = np.array([[-size, -np.inf, size], [size, size, -np.inf], [0, -np.inf, -np.inf]], dtype=np.float32)
    for weights in (by_values(numbers), by_logits(numbers)):
        assert np.allclose(weights.sum(axis=1), 1)
        assert (weights[numbers == -np.inf] == 0).all()
        assert weights[0, 2] > 0.8
        assert np.allclose(weights[1:], np.array([[0.5, 0.5, 0], [1, 0, 0]]))


@pytest.mark.parametrize("unfit", [np.nan, np.inf, -np.inf])
def test_a_prior_of_no_numbers_is_refused(unfit):
    numbers = np.array([[1.0, 2.0], [unfit, -np.inf]], dtype=np.float32)
    for prior in (by_values, by_logits):
        with one_line(f"expected a policy with a finite number .*, got {unfit:g}"):
            prior(numbers)


def test_a_player_s_text_names_a_q_network_as_prior(q_network):
    text = f'mcts:simulations=60,proofs=0,prior="{q_network}"'
    player = leafwise.player(text, GAME, seed=1)
    assert isinstance(player, MctsPlayer)
    prior = policy(GAME, str(q_network))(STATE.row[None], None)[0]
    player.choose(STATE)
    tree = player.search.tree
    edges = slice(int(tree.first[0]), int(tree.end[0]))
    assert np.allclose(tree.prior[edges], prior[tree.action[edges]])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:.*loading a .zip")
def test_a_policy_of_stable_baselines3_is_a_prior(tmp_path):
    import gymnasium as gym
    from sb3_contrib import MaskablePPO

    model = MaskablePPO("MlpPolicy", gym.make("leafwise/Trilobite-v0"), n_steps=64, seed=0)
    model.save(tmp_path / "ppo.zip")
    weights = policy(GAME, f"sb3:{tmp_path / 'ppo.zip'}")(STATE.row[None], None)[0]
    assert np.isclose(weights.sum(), 1)
    assert set(np.flatnonzero(weights)) == set(STATE.legal_actions)
    assert (
        leafwise.player(f'mcts:simulations=20,prior="sb3:{tmp_path / "ppo.zip"}"', GAME).choose(STATE)
        in STATE.legal_actions
    )


def test_a_leaf_s_own_policy_is_asked_with_its_value(policy_network):
    """The tree is that of the same leaf whose policy is asked apart, for the nodes of a batch of one."""
    network = leafwise.models.files.load_network(policy_network, GAME)
    leaf = network.evaluator("policy")
    T, weights = GAME.tables(leaf), np.zeros(GAME.max_actions)
    rows = np.array([STATE.row, STATE.play("2").row])
    outputs = network.action_values(rows, T)
    for i, state in enumerate((STATE, STATE.play("2"))):
        assert leaf.policy(rows, np.uint64(i), weights, T) == pytest.approx(leaf.compiled(rows, np.uint64(i), T))
        legal = list(state.legal_actions)
        assert weights[legal] == pytest.approx(outputs[i][legal], abs=1e-5)
        assert np.isinf(np.delete(outputs[i], legal)).all()
    by_policy, by_values = (
        leafwise.player(f'mcts:"{policy_network}",simulations=60,proofs=0{p}', GAME) for p in ("", ",prior=uniform")
    )
    assert isinstance(by_policy, MctsPlayer)
    assert isinstance(by_values, MctsPlayer)
    together = by_policy.search(STATE)
    assert together.leaves <= 60
    by_values.search(STATE)
    root = slice(int(by_policy.search.tree.first[0]), int(by_policy.search.tree.end[0]))
    assert np.unique(by_values.search.tree.prior[root]).size == 1 < np.unique(by_policy.search.tree.prior[root]).size
    told_apart = policy(GAME, str(policy_network))
    for proofs in (True, False):
        asked = Mcts(GAME, leaf, simulations=60, prior=told_apart, at_once=1, proofs=proofs)
        assert asked(STATE).visits == Mcts(GAME, leaf, simulations=60, proofs=proofs)(STATE).visits
    assert np.allclose(asked.tree.prior[:20], by_policy.search.tree.prior[:20], atol=1e-6)


def test_a_policy_tells_mirrored_actions_apart_where_features_do_not(policy_network):
    network = leafwise.models.files.load_network(policy_network, GAME)
    T = GAME.tables(network.evaluator("policy"))
    mirrored = STATE.transformed(1)
    values = network.batch(np.array([STATE.row, mirrored.row]), T)
    outputs = network.action_values(np.array([STATE.row, mirrored.row]), T)
    assert abs(values[0] - values[1]) > 1e-4  # the observation is seen too
    assert not np.allclose(outputs[0], outputs[1])


def test_a_leaf_without_a_policy_is_told_so():
    with one_line("expected a leaf with a policy for the prior policy, got"):
        leafwise.player("mcts:simulations=20,prior=policy", GAME)
    with one_line("expected the head policy for a game whose decisions are valued, got 'friday'"):
        SparseNetwork.create(leafwise.game("friday"), (8,), head="policy")


def test_what_is_no_prior_is_refused():
    for name in ("best", "trilobite"):
        with one_line(r"expected a prior (among|with a value for each action)"):
            leafwise.player(f"mcts:simulations=20,prior={name}", GAME)
