"""What is known for certain in the tree of a game without chance: bounds of nodes and edges, which finished games tighten.

Score bounded Monte Carlo tree search (Cazenave and Saffidine, 2010), after MCTS-Solver (Winands, Björnsson and Saito,
"Monte-Carlo tree search solver", 2008). Bounds are player 0's. An edge that cannot be better than what its player has for certain
is not taken again, a node whose bounds meet is a leaf of exact value, and what goes up from a node stays within its bounds. The
memory of a tree without proofs has no bounds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit

CLOSED = -np.inf
"""The prior of an edge that is not taken again."""


@jit(inline=True)
def proves(tree):
    """Whether a tree has bounds."""
    return tree.low.shape[0] > 0


@jit(inline=True)
def is_proven(tree, node):
    """Whether the value of a node is known for certain."""
    return proves(tree) and tree.low[node] == tree.high[node]


@jit(inline=True)
def open_bounds(tree, node):
    """Gives a new node and its edges the bounds of all games."""
    tree.low[node], tree.high[node] = tree.limits[0], tree.limits[1]
    for e in range(tree.first[node], tree.end[node]):
        tree.edge_low[e], tree.edge_high[e] = tree.limits[0], tree.limits[1]


@jit
def tighten(tree, node):
    """Works the bounds of a node out from those of its edges, and closes the edges that cannot be better for who acts than what is
    certain: their prior is CLOSED."""
    first, minimises = tree.first[node], tree.player[node] == 1
    low, high = tree.edge_low[first], tree.edge_high[first]
    for e in range(first + 1, tree.end[node]):
        if minimises:
            low, high = min(low, tree.edge_low[e]), min(high, tree.edge_high[e])
        else:
            low, high = max(low, tree.edge_low[e]), max(high, tree.edge_high[e])
    tree.low[node], tree.high[node] = low, high
    for e in range(first, tree.end[node]):
        if tree.edge_low[e] >= high if minimises else tree.edge_high[e] <= low:
            tree.prior[e] = CLOSED


@jit(inline=True)
def back_up_bounds(tree, b, value, below, ended):
    """Tightens bounds along the way of simulation b, which ended at node `below`, if not negative, or with a finished game.

    What its value counts as for each edge goes to `path_values`.
    """
    for k in range(tree.lengths[b] - 1, -1, -1):
        e = tree.path_edges[b, k]
        low, high = tree.edge_low[e], tree.edge_high[e]
        if ended:
            low, high = value, value
        elif below >= 0:
            low, high = max(low, tree.low[below]), min(high, tree.high[below])
        below, ended = tree.path_nodes[b, k], False
        if low != tree.edge_low[e] or high != tree.edge_high[e]:
            tree.edge_low[e], tree.edge_high[e] = low, high
            tighten(tree, below)
        value = min(max(value, low), high)
        tree.path_values[b, k] = value


def knows_all(tree, node: int) -> bool:
    """`is_proven` for callers in Python, to whom a compiled call costs more than the answer."""
    return bool(len(tree.low) and tree.low[node] == tree.high[node])


def edges_of(tree, node: int) -> slice:
    """Returns where the edges of a node stand."""
    return slice(int(tree.first[node]), int(tree.end[node]))


def bounds_of_edges(tree, node: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Returns the least and the most that each edge of a node is worth to who acts."""
    edges = edges_of(tree, node)
    if not proves(tree):
        n = edges.stop - edges.start
        return np.full(n, -np.inf), np.full(n, np.inf)
    low, high = tree.edge_low[edges], tree.edge_high[edges]
    return (-high, -low) if tree.player[node] == 1 else (low, high)
