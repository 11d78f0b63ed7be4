"""What a Monte Carlo tree search thinks of the actions of a decision, and which it chooses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafwise.search.mcts.proofs import bounds_of_edges
from leafwise.search.mcts.tree import Tree


def values_of_edges(tree: Tree, node: int) -> NDArray[np.float64]:
    """Returns what each edge of a node is worth to who acts: the mean of its simulations, within its bounds."""
    edges = slice(int(tree.first[node]), int(tree.end[node]))
    n, known = tree.n[edges], tree.known[edges]
    mean = tree.total[node] / tree.visits[node] if tree.visits[node] else 0.0
    sign = -1.0 if tree.player[node] == 1 else 1.0
    values = sign * np.where(n > 0, tree.w[edges] / np.maximum(n, 1), np.where(np.isnan(known), mean, known))
    return np.clip(values, *bounds_of_edges(tree, node)) + 0.0  # no -0.0


def choice(tree: Tree, node: int) -> int:
    """Returns the place among a node's edges of the one to play: that with most simulations, the best of equals.

    What can be no better than what is certain is left out, and what is certain goes before what seems worth less.
    """
    n, values = tree.n[int(tree.first[node]) : int(tree.end[node])], values_of_edges(tree, node)
    least, most = bounds_of_edges(tree, node)
    certain, hoped = least.max(), most > least.max()
    best = 0
    for among in (hoped, least == certain):
        oftenest = np.flatnonzero(among & (n == n[among].max(initial=-1)))
        if len(oftenest):
            best = int(oftenest[values[oftenest].argmax()])
            if values[best] > certain or least[best] == certain:
                break
    return best
