"""The compiled part of temporal-difference learning: games played by the network, then learned from backward.

One set of templates, compiled per game, shape of the network and way of learning, with the game's rules and the network's
functions injected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import specialise
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, copy_row
from leafwise.envs.core.contract.stream import new_stream
from leafwise.models.ntuple import Kind, NTupleNetwork
from leafwise.models.ntuple import compiled as ntuple_functions
from leafwise.search.compiled import compiled_search
from leafwise.search.frames import Buffers
from leafwise.search.settings import Settings, make_buffers

HERE, AFTER, FIRST = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the decision, the row after an action, the first outcome of chance."""
MOVES, GAMES, FRESH_GAMES, RESTARTED = 0, 1, 2, 3
"""Counters: actions, trajectories, games played from a start, and whether this trajectory began in mid-game."""
LONGEST = 30_000
"""Longest trajectory that is kept; a longer game is learned from in parts."""
DEEPEST = 3
"""Greatest depth of the search that a trajectory is played with."""


class Trainer(NamedTuple):
    """State and scratch of one actor."""

    S: NDArray[np.uint64]
    A: NDArray[np.int64]
    B: Buffers
    R: NDArray[np.uint64]
    H: NDArray[np.uint64]
    """Rows of the trajectory, each at the stage that is valued; a game that ended before it adds its last row."""
    found: NDArray[np.float64]
    """What the search at the decision after each of these rows said it was worth."""
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    """Sum of returns and of squared errors, since the caller last cleared them."""
    errors: NDArray[np.float32]
    """Sum of the errors of every weight, for coherent rates; shared by all actors."""
    sizes: NDArray[np.float32]
    """Sum of the sizes of those errors."""


def new_trainer(
    game: Game,
    seed: int,
    depth: int = 1,
    coherence: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None,
    cutoff: float = 0.0,
) -> Trainer:
    """Returns an actor that is about to start its first game and plays `depth` decisions deep, with the search's `cutoff`."""
    S, B = make_buffers(game, depth, 1, False, Settings(depth=depth, cutoff=cutoff).options(game, -np.inf, np.inf))
    errors, sizes = coherence or (np.zeros(1, dtype=np.float32), np.zeros(1, dtype=np.float32))
    return Trainer(
        S=S,
        A=np.zeros(game.max_actions, dtype=np.int64),
        B=B,
        R=new_stream(seed),
        H=game.rows(LONGEST + 1),
        found=np.zeros(LONGEST + 1),
        counts=np.zeros(4, dtype=np.int64),
        sums=np.zeros(2),
        errors=errors,
        sizes=sizes,
    )


def settle(S, R, T):
    """Draws every chance stage up to the next decision or end of row HERE."""
    while current_player(S, HERE, T) == CHANCE:
        sample_outcome(S, HERE, R, T)


def shallow(L, T):
    """Returns the expected value of row AFTER where it is first valued."""
    if current_player(L.S, AFTER, T) != CHANCE or stage(L.S, AFTER, T) == VALUED_STAGE:
        return ntuple_value(L.S, AFTER, T)
    total = 0.0
    outcomes = np.uint64(chance_outcomes(L.S, AFTER, L.B.P, FIRST, T))
    for o in range(FIRST, FIRST + outcomes):
        fetch(L.S, o, T)
    for o in range(FIRST, FIRST + outcomes):
        total += L.B.P[o] * ntuple_value(L.S, o, T)
    return total


def deep(L, T):
    """Returns the value of row AFTER by a search of the decisions that remain."""
    return depth_first(L.S, L.B, AFTER, FIRST, np.int64(DEPTH - 1), T)


def best_action(L, T):
    """Returns the action of row HERE with the best expected value, and that value."""
    n = legal_actions(L.S, HERE, L.A, T)
    best, chosen = 0.0, L.A[0]
    for k in range(n):
        apply_action(L.S, HERE, L.A[k], AFTER, T)
        total = look_ahead(L, T)
        if k == 0 or total > best:
            best, chosen = total, L.A[k]
    return chosen, best


def act(S, R, a, T):
    """Plays an action at row HERE and draws chance up to the stage that is valued."""
    apply_action(S, HERE, a, AFTER, T)
    copy_row(S, AFTER, HERE)
    while current_player(S, HERE, T) == CHANCE and stage(S, HERE, T) != VALUED_STAGE:
        sample_outcome(S, HERE, R, T)


def plain_step(L, index, rate, error, W):
    """Moves one weight."""
    W.table[index] += np.float32(rate * error)


def coherent_step(L, index, rate, error, W):
    """Moves one weight by a rate of its own, the share of its errors that did not cancel out."""
    share = abs(L.errors[index]) / L.sizes[index] if L.sizes[index] > 0 else np.float32(1.0)
    W.table[index] += np.float32(rate * error) * share
    L.errors[index] += np.float32(error)
    L.sizes[index] += np.float32(abs(error))


def move_weights(L, i, rate, error, T):
    """Moves every weight that row i of the trajectory uses."""
    W = T.leaf
    n = W.pieces.shape[0]
    start = stage_start(L.H[i, 0], W)
    seen = boards(L.H, i, T)
    for t in range(n):
        for b in seen:
            step_weight(L, start + tuple_index(b, t, W), rate, error, W)
    for k in range(EXTRAS):
        if SMALL >> k & 1:
            step_weight(L, start + W.offsets[n + k] + extra(L.H, i, k, T), rate, error, W)


def learn(L, length, rate, decay, T):
    """Updates the weights backward along a trajectory; `rate` is per active weight."""
    last = np.uint64(length - 1)
    each_move = T.leaf.constants[1]
    later = 0.0 if current_player(L.H, last, T) == TERMINAL else to_come(L.H, last, T)
    target, later_potential = later, potential(L.H, last, T)
    for back in range(1, length):
        t = np.uint64(length - 1 - back)
        own_potential = potential(L.H, t, T)
        if SEARCHED:
            later = L.found[t] - later_potential
        target = each_move + later_potential - own_potential + (1.0 - decay) * later + decay * target
        later = to_come(L.H, t, T)
        error = target - later
        L.sums[1] += error * error
        move_weights(L, t, rate, error, T)
        later_potential = own_potential


def td_games(L, moves, rate, decay, restart, T):
    """Plays and learns until `moves` actions more have been played, up to the end of a trajectory.

    `rate` is the step per active weight, `decay` the lambda of TD(lambda). A trajectory longer than `restart` actions is
    followed by one from its middle (0: never).
    """
    goal = L.counts[MOVES] + moves
    while L.counts[MOVES] < goal and not T.stop[0]:
        if L.counts[RESTARTED] == 0:
            initial_state(L.S, HERE, T)
        settle(L.S, L.R, T)
        length = 0
        while current_player(L.S, HERE, T) != TERMINAL and length < LONGEST:
            chosen, found = best_action(L, T)
            if length > 0:
                L.found[length - 1] = found
            act(L.S, L.R, chosen, T)
            for w in range(L.S.shape[1]):
                L.H[length, w] = L.S[HERE, w]
            length += 1
            settle(L.S, L.R, T)
        L.counts[MOVES] += length
        L.counts[GAMES] += 1
        if L.counts[RESTARTED] == 0:
            L.counts[FRESH_GAMES] += 1
            L.sums[0] += returns(L.S, HERE, T)
        rows = length
        over = current_player(L.S, HERE, T) == TERMINAL
        if over and length > 0 and current_player(L.H, np.uint64(length - 1), T) != TERMINAL:
            rows += 1
            L.found[length - 1] = potential(L.S, HERE, T)
            for w in range(L.S.shape[1]):
                L.H[length, w] = L.S[HERE, w]
        learn(L, rows, rate, decay, T)
        L.counts[RESTARTED] = 0
        if restart > 0 and length > restart:
            L.counts[RESTARTED] = 1
            for w in range(L.S.shape[1]):
                L.S[HERE, w] = L.H[length // 2, w]


def greedy_games(L, keys, scores, ranks, T):
    """Plays one game per key of `keys` without learning; writes the returns and the highest ranks, counts the moves."""
    for g in range(keys.shape[0]):
        L.R[0], L.R[1] = keys[g], np.uint64(0)
        initial_state(L.S, HERE, T)
        settle(L.S, L.R, T)
        while current_player(L.S, HERE, T) != TERMINAL and not T.stop[0]:
            chosen, _ = best_action(L, T)
            act(L.S, L.R, chosen, T)
            L.counts[MOVES] += 1
            settle(L.S, L.R, T)
        scores[g] = returns(L.S, HERE, T)
        ranks[g] = np.int64(highest(L.S[HERE, 0]))


def kernels(
    network: NTupleNetwork, depth: int = 1, *, searched: bool = False, coherent: bool = False
) -> SimpleNamespace:
    """Returns td_games and greedy_games, compiled for networks of this shape.

    Actions are chosen by a search of `depth` decisions. `searched`: its values are the targets, not the next state's.
    `coherent`: every weight has a rate of its own. What is not called is not compiled.
    """
    return compiled(network.game, network.kind, network.shape.stage, depth, searched, coherent)


@functools.cache
def compiled(game: Game, kind: Kind, valued: str, depth: int, searched: bool, coherent: bool) -> SimpleNamespace:
    """Returns what `kernels` does."""
    scope = dict(ntuple_functions(game, kind))
    name = "_".join(str(v) for v in (scope["NAME"], valued, depth, searched, coherent))
    scope |= {"VALUED_STAGE": game.stages.index(valued), "DEPTH": depth, "SEARCHED": searched}
    if depth > 1:
        leaf = Evaluator("leaf", scope["ntuple_value"], (), valued, terminal="evaluate", fetch=scope["fetch"])
        scope["depth_first"] = compiled_search(game, leaf).depth_first
    chosen: dict[str, Callable[..., Any]] = {
        "look_ahead": deep if depth > 1 else shallow,
        "step_weight": coherent_step if coherent else plain_step,
    }
    for alias, template in chosen.items():
        scope[alias] = specialise(template, name, scope, game.room, inline=True)
    for template in (settle, best_action, act, move_weights, learn, td_games, greedy_games):
        scope[template.__name__] = specialise(
            template, name, scope, game.room, inline=template not in (td_games, greedy_games)
        )
    return SimpleNamespace(td_games=scope["td_games"], greedy_games=scope["greedy_games"])
