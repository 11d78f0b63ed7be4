"""Q-learning's networks as leaves in a game with chance: the best action's value at decisions, the mean over what chance brings."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice
from games.walks import positions
from leafwise.envs.core.contract.state import State
from leafwise.models.sparse import BOUND, SparseNetwork
from leafwise.search import Search
from leafwise.training.dqn.dqn import Config, check
from leafwise.training.dqn.games import QPlayer, QPlayOptions
from leafwise.training.networks import fresh_module
from running.networks import random_network

GAME, SEEN, TRILOBITE = dice.GAME, dice.seen(dice.side_in_turn), leafwise.game("trilobite")
WILD = GAME.actions.index("wild")
"""An action that costs no depth."""


def worth_by(network: SparseNetwork) -> Callable[[State], float]:
    """Returns what a network says of a decision to player 0, by its outputs in NumPy."""
    T = GAME.tables(network.evaluator("x"))

    def worth(state: State) -> float:
        if network.head == "max":
            outputs = network.action_values(state.row[None], T)[0]
            value = BOUND * float(np.tanh(max(outputs[action] for action in state.legal_actions)))
        else:
            value = float(network.batch(state.row[None], T)[0])
        return value if state.current_player == 0 else -value

    return worth


def naive(state: State, depth: int, worth: Callable[[State], float]) -> float:
    """The value to player 0, so many decisions deep, in the words of the rules."""
    if state.is_terminal:
        return state.returns
    if state.is_chance:
        return sum(p * naive(after, depth, worth) for p, after in state.outcomes())
    if depth == 0:
        return worth(state)
    best = max if state.current_player == 0 else min
    return best(naive(state.play(a), depth - (a != WILD), worth) for a in state.legal_actions)


@pytest.mark.parametrize("head", ["max", "value"])
def test_leaves_are_the_best_at_decisions_and_the_mean_after_chance(head: str) -> None:
    network = random_network(GAME, (8, 4), 3, 0.7, head=head, sees="observation")
    evaluator, worth = network.evaluator("x"), worth_by(network)
    exact, batched = Search(GAME, evaluator, 2, nodes=0), Search(GAME, evaluator, 2, batched=True)
    player = QPlayer(network, Config(game="dice", plies=0))
    apart = 0.0
    for state in positions(GAME, 40)[::4]:
        sign = 1 if state.current_player == 0 else -1
        for depth, by_search in (
            (2, exact(state).values),
            (2, batched(state).values),
            (1, searched(player, network, state)),
        ):
            for action in state.legal_actions:
                left = depth - (action != WILD)
                assert by_search[action] == pytest.approx(sign * naive(state.play(action), left, worth), abs=1e-5)
            apart = max(apart, max(by_search.values()) - min(by_search.values()))
    assert apart > 0.1  # else any mean and any best would do


def searched(player: QPlayer, network: SparseNetwork, state: State) -> dict[int, float]:
    """What the searches say that give Q-learning its targets."""
    values: Any = player.searched(state.row[None], 1, player.new_tables(network))[0]
    return {action: float(values[action]) for action in state.legal_actions}


@pytest.mark.parametrize("dueling", [False, True])
def test_what_is_exported_says_what_the_module_says(dueling: bool) -> None:
    import torch

    module = fresh_module(TRILOBITE, (16, 8), 1, head="max", sees="observation", dueling=dueling)
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.1 * torch.randn(p.shape, generator=torch.Generator().manual_seed(2)))
    network = module.export()
    T, row = TRILOBITE.tables(network.evaluator("x")), TRILOBITE.start().row[None]
    features, _, _ = network.describe(row, T)
    outputs = module(torch.from_numpy(features)).detach().numpy()
    assert network.action_values(row, T) == pytest.approx(outputs, abs=1e-5)


def test_searches_say_what_comes_of_each_action() -> None:
    module = fresh_module(TRILOBITE, (16, 8), 1, head="value", sees="observation")
    network = module.export()
    player, leaf = QPlayer(network, Config(game="trilobite", plies=0)), network.evaluator("x")
    state = TRILOBITE.start().play(0)
    values = player.searched(state.row[None], 1, player.new_tables(network))[0]
    for action in range(len(TRILOBITE.actions)):
        if action in state.legal_actions:
            after = state.play(action)
            assert values[action] == pytest.approx(-after.value(leaf), abs=1e-6)
        else:
            assert values[action] == -np.inf


def test_states_of_chance_learn_what_follows_for_player_0() -> None:
    """In the dice race, whose features are asked for before the throw; where the game ends after it, its return is the target."""
    from leafwise.training.dqn.learning import DecisionOrder, DecisionReplay, Learning

    config = Config(game="dice", head="value", plies=0, envs=64, hidden=(8, 4), learning_starts=0)
    check(config, SEEN)
    replay = DecisionReplay(SEEN, 8192, DecisionOrder(64), cut=False, alpha=0.0, chance=True)
    learning = Learning(SEEN, config, "afterstate", replay)
    rows, streams = learning.player.new_games(np.array([(k, 0) for k in range(64)], np.uint64))
    for step in range(128):
        how, rng = QPlayOptions(np.ones(64)), np.random.default_rng(step)
        replay.keep(learning.player.step(learning.shape, learning.online, rows, streams, how, rng))
    places = np.flatnonzero(replay.has_chance_stage(np.arange(replay.filled)))
    ended = replay["gains"][places, 1] == 0
    returns = [State(SEEN, row).returns for row in replay["after"][places[ended]]]
    assert {-1.0, 1.0} <= set(returns)
    assert learning.searched(places[ended], at_chance=True) * BOUND == pytest.approx(returns, abs=1e-6)
    leaf = learning.shape.evaluator("x")
    for place, target in list(zip(places[~ended], learning.searched(places[~ended], at_chance=True), strict=True))[:20]:
        after = State(SEEN, replay["after"][place])
        best = max(Search(SEEN, leaf, 1)(after).values.values())
        assert target * BOUND == pytest.approx(best if after.current_player == 0 else -best, abs=1e-5)
