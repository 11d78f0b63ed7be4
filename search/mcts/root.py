"""The root of a Monte Carlo tree search: noise on its prior, sequential halving among its actions, and the choice of an action.

With Dirichlet noise, games for training also try actions with a low prior (Silver et al., "A general reinforcement learning
algorithm that masters chess, shogi, and Go through self-play", Science, 2018). Gamma variables are drawn as in Marsaglia and Tsang,
"A simple method for generating gamma variables" (2000). Sequential halving with Gumbel noise is that of Danihelka et al., "Policy
improvement by planning with Gumbel" (ICLR 2022).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from leafwise.envs.core.arrays import Ints
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import uniform
from leafwise.search.mcts.tree import NONE, MctsTree, bounds_of_edge, edges_of, proves, scaled

TINY = 1e-300


@jit
def normal(R):
    """Draws a standard normal variable from stream R (Box and Muller, 1958)."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(R)))
    return radius * np.cos(2.0 * np.pi * uniform(R))


@jit
def gamma(R, shape):
    """Draws a gamma variable from stream R, of scale 1 and a shape above 0."""
    boost = (1.0 - uniform(R)) ** (1.0 / shape) if shape < 1.0 else 1.0
    d = (shape + 1.0 if shape < 1.0 else shape) - 1.0 / 3.0
    while True:
        x = normal(R)
        v = (1.0 + x / np.sqrt(9.0 * d)) ** 3
        if v > 0.0 and np.log(1.0 - uniform(R)) < 0.5 * x * x + d - d * v + d * np.log(v):
            return max(boost * d * v, TINY)


@jit
def add_noise(tree, node, share, concentration, kept):
    """Mixes a share of Dirichlet noise into a node's prior, and writes the prior without noise to `kept` [the node's edges or
    more].

    The parameters of the noise are equal and add up to `concentration`.
    """
    first, n = tree.first[node], tree.end[node] - tree.first[node]
    total = 0.0
    for k in range(n):
        kept[k] = tree.prior[first + k]
        tree.prior[first + k] = gamma(tree.stream, concentration / n)
        total += tree.prior[first + k]
    for k in range(n):
        tree.prior[first + k] = (1.0 - share) * kept[k] + share * tree.prior[first + k] / total


@jit
def take_back(tree, node, kept):
    """Restores the prior of a node from `kept`, as `add_noise` wrote it."""
    for k in range(tree.end[node] - tree.first[node]):
        tree.prior[tree.first[node] + k] = kept[k]


VISITS, SCALE = 50.0, 1.0
"""The paper's c_visit and c_scale."""


def halve(tree: MctsTree, root: int, considered: int, simulations: int, run: Callable[[int, int, int], None]) -> int:
    """Divides simulations among the root actions by sequential halving: the worse half leaves after each round.

    It begins with the `considered` actions of the highest noisy priors. `run(root, edge, n)` makes n simulations that begin with an
    edge. Returns the edge that is left. An action makes all its simulations of a round in one call; in the schedule of
    `visits_wanted`, for trees that search side by side, actions take turns.
    """
    edge_slice = edges_of(tree, root)
    edges = np.arange(edge_slice.start, edge_slice.stop)
    noise = np.array([-math.log(-math.log(max(float(uniform(tree.stream)), 1e-300))) for _ in edges])
    noisy = noise + np.log(np.maximum(tree.prior[edges], 1e-12))
    player = int(tree.player[root])
    left = list(np.argsort(-noisy, kind="stable")[:considered])
    rounds = max(1, math.ceil(math.log2(len(left))))
    budget = simulations

    def score(k: int) -> float:
        e = int(edges[k])
        q = 0.5
        if tree.n[e]:
            q = float(scaled(tree, tree.w[e] / tree.n[e], player))
        return float(noisy[k] + (VISITS + tree.n[edges].max()) * SCALE * q)

    for step in range(rounds):
        n_each = max(1, budget // ((rounds - step) * len(left)))
        for k in left:
            n = min(n_each, budget)
            if n:
                run(root, int(edges[k]), n)
            budget -= n
        left = sorted(left, key=score, reverse=True)[: max(1, len(left) // 2)]
    if budget > 0:
        run(root, int(edges[left[0]]), budget)
    return int(edges[left[0]])


@cache
def visits_wanted(actions: int, considered: int, simulations: int) -> Ints:
    """Returns the schedule of sequential halving among at most `considered` actions, which take simulations in turn.

    Entry [n, k] of [actions + 1, simulations] is for n legal actions: how many visits the action of simulation k has before it.
    """
    wanted = np.zeros((actions + 1, simulations), np.int64)
    for n in range(1, actions + 1):
        left = most = min(considered, n)
        rounds, visits, planned = max(1, math.ceil(math.log2(most))), 0, list[int]()
        while len(planned) < simulations:
            for _ in range(max(1, simulations // (rounds * left))):
                planned += [visits] * left
                visits += 1
            left = max(min(2, most), left // 2)
        wanted[n] = planned[:simulations]
    return wanted


@jit
def draw_noise(tree, root, noisy):
    """Writes the logarithms of a root's priors plus Gumbel noise to `noisy` [the root's edges or more]."""
    first = tree.first[root]
    for k in range(tree.end[root] - first):
        noise = -np.log(-np.log(max(uniform(tree.stream), TINY)))
        noisy[k] = noise + np.log(max(tree.prior[first + k], TINY))


@jit
def noisy_score(tree, root, k, noisy, most):
    """Returns the score of a root's k-th edge in sequential halving; `most` is the largest number of visits of an edge."""
    e = tree.first[root] + k
    value = scaled(tree, tree.w[e] / tree.n[e], tree.player[root]) if tree.n[e] > 0 else 0.0
    return noisy[k] + (VISITS + most) * SCALE * value


@jit
def best_visited(tree, root, noisy, visits):
    """Returns the root's edge with the highest score among those with exactly `visits` visits; NONE if there is none."""
    first, best, choice, most = tree.first[root], -np.inf, NONE, 0
    for e in range(first, tree.end[root]):
        most = max(most, tree.n[e])
    for e in range(first, tree.end[root]):
        if tree.n[e] == visits:
            score = noisy_score(tree, root, e - first, noisy, most)
            if choice == NONE or score > best:
                best, choice = score, e
    return choice


@jit
def most_visited(tree, root, noisy):
    """Returns the edge that sequential halving chooses: of the most visited ones that with the highest score."""
    most = 0
    for e in range(tree.first[root], tree.end[root]):
        most = max(most, tree.n[e])
    return best_visited(tree, root, noisy, most)


@jit
def improved_policy(tree, root, value, shares):
    """Writes the improved policy of the paper's section 4 to `shares` [the root's edges or more].

    It is a softmax of logarithms of priors plus scaled values. Edges without visits get a mix of the values of the others and of
    `value`, the network's value for the player who acts.
    """
    first, n, player = tree.first[root], tree.end[root] - tree.first[root], tree.player[root]
    sign = -1.0 if player == 1 else 1.0
    visits, most, prior, weighted = 0, 0, 0.0, 0.0
    for e in range(first, first + n):
        visits, most = visits + tree.n[e], max(most, tree.n[e])
        if tree.n[e] > 0:
            prior += tree.prior[e]
            weighted += tree.prior[e] * sign * tree.w[e] / tree.n[e]
    mixed = (value + visits * weighted / prior) / (1.0 + visits) if prior > 0.0 else value
    greatest, total = -np.inf, 0.0
    for k in range(n):
        e = first + k
        worth = tree.w[e] / tree.n[e] if tree.n[e] > 0 else sign * mixed
        shares[k] = np.log(max(tree.prior[e], TINY)) + (VISITS + most) * SCALE * scaled(tree, worth, player)
        greatest = max(greatest, shares[k])
    for k in range(n):
        shares[k] = np.exp(shares[k] - greatest)
        total += shares[k]
    for k in range(n):
        shares[k] /= total


@jit
def judge(tree, node, values):
    """Returns the index among a node's edges of the one to play, and writes their values to `values` [the node's edges or more].

    A value is the mean of the edge's simulations, within its bounds, for the player who acts. The edge with most visits is played,
    of equals the one with the highest value. Edges that cannot exceed the best proven value are left out; the edge with that value
    is played if the others seem worse.
    """
    first, n, proven = tree.first[node], tree.end[node] - tree.first[node], proves(tree)
    sign = -1.0 if tree.player[node] == 1 else 1.0
    mean = tree.total[node] / tree.visits[node] if tree.visits[node] > 0 else 0.0
    certain = -np.inf
    for k in range(n):
        e = first + k
        value = mean if np.isnan(tree.known[e]) else tree.known[e]
        if tree.n[e] > 0:
            value = tree.w[e] / tree.n[e]
        least, most = -np.inf, np.inf
        if proven:
            least, most = bounds_of_edge(tree, e, sign)
        certain = max(certain, least)
        values[k] = min(max(sign * value, least), most) + 0.0  # no -0.0
    # First among edges that may exceed the best proven value, then among those that have it
    best = 0
    for only_certain in (False, True):
        oftenest, choice = -1, -1
        for k in range(n):
            e = first + k
            least, most = -np.inf, np.inf
            if proven:
                least, most = bounds_of_edge(tree, e, sign)
            if (least == certain if only_certain else most > certain) and (
                tree.n[e] > oftenest or (tree.n[e] == oftenest and values[k] > values[choice])
            ):
                oftenest, choice = tree.n[e], k
        if choice >= 0:
            best = choice
            if values[best] > certain or (proven and bounds_of_edge(tree, first + best, sign)[0] == certain):
                break
    return best
