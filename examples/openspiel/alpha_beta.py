"""Uses a leaf of Leafwise in OpenSpiel's alpha-beta search, on OpenSpiel's `connect_four`, which is Trilobite 7x6.

    pip install "leafwise[openspiel]"
    python examples/openspiel/alpha_beta.py --games 4 --depth 3

The shipped network for Connect Four plays in that search against OpenSpiel's tree search with rollouts.
"""

import argparse

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts, minimax

import leafwise

OURS = leafwise.game("trilobite", board="7x6", k=4)
NETWORK = leafwise.load("trilobite7x6")


def our_state(state):
    """Returns the Leafwise position of an OpenSpiel state: the same columns in the same order."""
    position = OURS.start()
    for column in state.history():
        position = position.play(int(column))
    return position


def value(state):
    """Returns the network's value of a state for player 0."""
    position = our_state(state)
    worth = position.value(NETWORK)
    return worth if position.current_player == 0 else -worth


def choose(game, state, depth):
    """Returns the action of OpenSpiel's alpha-beta with the network."""
    player = state.current_player()
    return minimax.alpha_beta_search(game, state, lambda s: value(s) * (1 if player == 0 else -1), depth, player)[1]


def play(game, seat, depth, seed):
    """Plays a game against OpenSpiel's tree search; returns the result for the network."""
    rng = np.random.RandomState(seed)
    rival = mcts.MCTSBot(game, 2.0, 100, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)
    state = game.new_initial_state()
    while not state.is_terminal():
        ours = state.current_player() == seat
        state.apply_action(choose(game, state, depth) if ours else rival.step(state))
    return state.returns()[seat]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=4)
    parser.add_argument("--depth", type=int, default=3)
    options = parser.parse_args()
    scores = [play(pyspiel.load_game("connect_four"), k % 2, options.depth, k) for k in range(options.games)]
    print(f"{scores.count(1.0)} won, {scores.count(0.0)} drawn, {scores.count(-1.0)} lost")
