"""Sequential halving with Gumbel noise at the root (Danihelka et al., "Policy improvement by planning with Gumbel", ICLR 2022)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from leafwise.envs.core.contract.stream import uniform
from leafwise.search.mcts.tree import Tree, scaled

VISITS, SCALE = 50.0, 1.0
"""The paper's c_visit and c_scale."""


def halve(tree: Tree, root: int, considered: int, simulations: int, run: Callable[[int, int, int], None]) -> int:
    """Shares simulations out among the root actions with the best noisy priors, half of which stay after each round.

    `run(root, edge, n)` makes n simulations that begin with an edge. Returns the edge that is left, by noise, prior and value.
    """
    edges = np.arange(int(tree.first[root]), int(tree.end[root]))
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
        each = max(1, budget // ((rounds - step) * len(left)))
        for k in left:
            n = min(each, budget)
            if n:
                run(root, int(edges[k]), n)
            budget -= n
        left = sorted(left, key=score, reverse=True)[: max(1, len(left) // 2)]
    while budget > 0 and len(left) == 1:
        run(root, int(edges[left[0]]), budget)
        budget = 0
    return int(edges[left[0]])
