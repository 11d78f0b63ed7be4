"""The memory of a Monte Carlo tree search: nodes found by their rows, edges, and the paths of unfinished simulations.

In games without chance the tree also has proven bounds of nodes and edges, which finished games tighten. This is score bounded
Monte Carlo tree search (Cazenave and Saffidine, 2010), after MCTS-Solver (Winands, Björnsson and Saito, "Monte-Carlo tree search
solver", 2008). Bounds are player 0's. An edge that cannot exceed the proven value of its node is not taken again. A node whose
bounds are equal is a leaf of exact value. Values that are backed up from a node stay within its bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.compile.intrinsics import softmax_term
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import row_hash
from leafwise.search.search_options import ints

NODES, EDGES, SIMULATIONS, LEAVES, FULL, FAILED, DEEPEST = 0, 1, 2, 3, 4, 5, 6
"""Columns of `MctsTree.counts`: nodes and edges in use, simulations, leaves valued, nodes for which memory was full, whether the
search was stopped, and the largest number of edges in one simulation."""
COUNTS = 7
NONE = -1
LONGEST = 512
"""Maximum number of edges in one simulation; a longer path is valued where it is."""
ROOT_ROW, ROW, ABOVE = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows of the scratch S: the node, the position after an action, and the first row that a one-ply search may use."""
SQUARES, DEVIATIONS = 0, 1
"""Columns of `MctsTree.spread`: the sum of squared distances of simulations from the mean of their edge, and their number."""
FIRST_SPREAD, FIRST_WEIGHT = 0.25, 10.0
"""Initial spread as a share of the span, and the number of simulations as which it counts."""
MIN_SPREAD = 0.01
"""Minimum spread as a share of the span: simulations that agree must not end exploration."""
MAX_SQUARE = 1e290
"""Largest square of the span with which the spread is measured: more would overflow."""
MAX_NODES = 1 << 20
EDGE_BYTES, NODE_BYTES, BOUND_BYTES = 48, 72, 16
EDGES_A_NODE = 8
"""Maximum average number of edges per node for which there is memory."""

hash_of = jit(inline=True)(row_hash)


class MctsTree(NamedTuple):
    """N nodes and E edges; the edges of a node are adjacent."""

    rows: Array
    """[N, width]."""
    slots: Ints
    """Hash table of node + 1, [a power of two, at least 2 N]; rows are compared whole."""
    at: Ints
    """Slot of a node, [N]."""
    player: Ints
    first: Ints
    end: Ints
    visits: Ints
    """Simulations through a node, [N]."""
    total: Floats
    """Sum of their values, [N]."""
    action: Ints
    prior: Floats
    """Prior of an edge, [E]; those of a node add up to 1 until proofs close edges."""
    known: Floats
    """One-ply value of an edge, [E]; nan: it has none."""
    n: Ints
    """Visits of an edge, [E]."""
    w: Floats
    """Sum of the values of its visits, [E]."""
    waiting: Ints
    """Simulations through an edge that have no value yet, [E]."""
    weights: Floats
    """Scratch: weights of actions by a policy, [max_actions]."""
    path_nodes: Ints
    """Nodes on the path of a simulation, [simulations at once, LONGEST]."""
    path_edges: Ints
    """Edges on it, of the same shape."""
    path_values: Floats
    """The value within the bounds of each edge on it, of the same shape; [., 0] without proofs."""
    lengths: Ints
    """Number of edges on it, [simulations at once]."""
    low: Floats
    """Lower bound of a node, [N]; [0] without proofs, like the next three."""
    high: Floats
    edge_low: Floats
    """Lower bound of an edge, [E]."""
    edge_high: Floats
    limits: Floats
    """Bounds of the value of any game, [2]."""
    span: Floats
    """Smallest and largest value seen, [2]."""
    spread: Floats
    """Columns SQUARES and DEVIATIONS, [2]."""
    counts: Ints
    stream: Words


class CompiledMctsOptions(NamedTuple):
    """Options that compiled code reads at run time."""

    exploration: float
    """The exploration constant of PUCT."""
    by_spread: bool
    """Whether its unit is the spread of the tree; else the span of values seen."""
    temperature: float
    """Divides one-ply values, scaled to 0 to 1 at each node, in the softmax that makes them a prior."""
    one_ply: bool
    """Whether the actions of a new node are valued one ply deep."""
    policy: bool
    """Whether the prior of a new node is the evaluator's policy."""


def nodes_within(game: Game, memory_mb: float, proofs: bool) -> int:
    """Returns how many nodes a tree of so many MB has."""
    edges = min(game.max_actions, EDGES_A_NODE)
    per_node = game.rows(1).nbytes + NODE_BYTES + EDGE_BYTES * edges + (BOUND_BYTES * (1 + edges) if proofs else 0)
    return max(2, min(MAX_NODES, int(memory_mb * 1e6) // per_node))


def new_tree(
    game: Game, nodes: int, at_once: int, stream: Words, limits: tuple[float, float] | None = None
) -> MctsTree:
    """Returns an empty tree for so many nodes; with `limits`, bounds of the value of any game, it proves values."""
    edges = nodes * min(game.max_actions, EDGES_A_NODE) + game.max_actions
    bounded = (0, 0, 0) if limits is None else (nodes, edges, LONGEST)
    return MctsTree(
        rows=game.rows(nodes),
        slots=ints(1 << (2 * nodes).bit_length()),
        at=ints(nodes),
        player=ints(nodes),
        first=ints(nodes),
        end=ints(nodes),
        visits=ints(nodes),
        total=np.zeros(nodes),
        action=ints(edges),
        prior=np.zeros(edges),
        known=np.zeros(edges),
        n=ints(edges),
        w=np.zeros(edges),
        waiting=ints(edges),
        weights=np.zeros(game.max_actions),
        path_nodes=ints((at_once, LONGEST)),
        path_edges=ints((at_once, LONGEST)),
        path_values=np.zeros((at_once, bounded[2])),
        lengths=ints(at_once),
        low=np.zeros(bounded[0]),
        high=np.zeros(bounded[0]),
        edge_low=np.zeros(bounded[1]),
        edge_high=np.zeros(bounded[1]),
        limits=np.array(limits or (-np.inf, np.inf)),
        span=np.array([np.inf, -np.inf]),
        spread=np.zeros(2),
        counts=ints(COUNTS),
        stream=stream,
    )


CLOSED = -np.inf
"""The prior of an edge that is not taken again."""


@jit(inline=True)
def proves(tree):
    """Whether a tree has bounds."""
    return tree.low.shape[0] > 0


@jit(inline=True)
def is_proven(tree, node):
    """Whether the value of a node is proven."""
    return proves(tree) and tree.low[node] == tree.high[node]


@jit(inline=True)
def bounds_of_edge(tree, e, sign):
    """Returns the bounds of an edge for the player who acts, whose `sign` is -1 for player 1; the tree has bounds."""
    return (-tree.edge_high[e], -tree.edge_low[e]) if sign < 0.0 else (tree.edge_low[e], tree.edge_high[e])


@jit(inline=True)
def open_bounds(tree, node):
    """Sets the bounds of a new node and its edges to those of any game."""
    tree.low[node], tree.high[node] = tree.limits[0], tree.limits[1]
    for e in range(tree.first[node], tree.end[node]):
        tree.edge_low[e], tree.edge_high[e] = tree.limits[0], tree.limits[1]


@jit
def tighten(tree, node):
    """Computes the bounds of a node from those of its edges, and closes edges that cannot exceed its proven value.

    The prior of a closed edge is CLOSED.
    """
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
    """Tightens bounds along the path of simulation b, which ended at node `below` (if not negative) or with a finished game.

    Writes the value within the bounds of each edge to `path_values`.
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
    """Does what `is_proven` does, for callers in Python: a compiled call costs more than its work."""
    return bool(len(tree.low) and tree.low[node] == tree.high[node])


def edges_of(tree, node: int) -> slice:
    """Returns the indices of a node's edges."""
    return slice(int(tree.first[node]), int(tree.end[node]))


def bounds_of_edges(tree, node: int) -> tuple[Floats, Floats]:
    """Returns the lower and upper bounds of a node's edges, for the player who acts."""
    edges = edges_of(tree, node)
    if not proves(tree):
        n = edges.stop - edges.start
        return np.full(n, -np.inf), np.full(n, np.inf)
    low, high = tree.edge_low[edges], tree.edge_high[edges]
    return (-high, -low) if tree.player[node] == 1 else (low, high)


@jit
def forget_nodes(tree):
    """Forgets all nodes, in time proportional to the nodes in use."""
    for node in range(tree.counts[NODES]):
        tree.slots[tree.at[node]] = 0
    tree.span[0], tree.span[1] = np.inf, -np.inf
    tree.spread[:] = 0.0
    tree.counts[NODES], tree.counts[EDGES], tree.counts[FULL] = 0, 0, 0


@jit(inline=True)
def slot_of(tree, S, i):
    """Returns the slot of the node whose row is row i of S, or the empty slot for it."""
    mask = np.uint64(tree.slots.shape[0] - 1)
    at = hash_of(S, i, tree) & mask
    while tree.slots[at] != 0:
        node = tree.slots[at] - 1
        same = True
        for w in range(S.shape[1]):
            if tree.rows[node, w] != S[i, w]:
                same = False
                break
        if same:
            break
        at = (at + np.uint64(1)) & mask
    return at


@jit
def find_node(tree, S, i):
    """Returns the node whose row is row i of S, NONE if the tree has none."""
    return tree.slots[slot_of(tree, S, i)] - 1


@jit(inline=True)
def scaled(tree, value, player):
    """Scales player 0's value to 0 to 1 by the span of values seen, for the acting player; 1/2 while the span is empty."""
    least, most = tree.span[0], tree.span[1]
    x = 0.5
    if most > least:
        x = (value - least) / (most - least)
    return 1.0 - x if player == 1 else x


@jit(inline=True)
def widen(tree, value):
    """Widens the span of values seen to contain a value."""
    if value < tree.span[0]:
        tree.span[0] = value
    if value > tree.span[1]:
        tree.span[1] = value


@jit(inline=True)
def unit(tree, by_spread):
    """Returns the unit of exploration for values scaled to 0 to 1: the root mean square of the spread, or 1."""
    if not by_spread:
        return 1.0
    span = tree.span[1] - tree.span[0]
    square = span * span
    squares = tree.spread[SQUARES] / square if 0.0 < square < MAX_SQUARE else 0.0
    spread = np.sqrt((squares + FIRST_WEIGHT * FIRST_SPREAD**2) / (tree.spread[DEVIATIONS] + FIRST_WEIGHT))
    return max(MIN_SPREAD, spread)


@jit(inline=True)
def select(tree, node, options):
    """Returns the edge of a node with the highest PUCT score, the first of equals; closed edges are not taken.

    An edge without visits has its one-ply value, or the node's mean. Unfinished simulations count as visits with a value that is
    lower by the exploration constant, at least 0.
    """
    player = tree.player[node]
    here = 0.5
    if tree.visits[node] > 0:
        here = scaled(tree, tree.total[node] / tree.visits[node], player)
    taken = 1
    for e in range(tree.first[node], tree.end[node]):
        taken += tree.n[e] + tree.waiting[e]
    constant = options.exploration * unit(tree, options.by_spread)
    root = constant * np.sqrt(np.float64(taken))
    best, choice = -np.inf, tree.first[node]
    for e in range(tree.first[node], tree.end[node]):
        n, waiting = tree.n[e], tree.waiting[e]
        q = here
        if n > 0:
            q = scaled(tree, tree.w[e] / n, player)
        elif not np.isnan(tree.known[e]):
            q = scaled(tree, tree.known[e], player)
        if waiting > 0:
            q -= min(q, constant) * waiting / (n + waiting)
        score = q + root * tree.prior[e] / (1 + n + waiting)
        if score > best:
            best, choice = score, e
    return choice


@jit(inline=True)
def share_prior(tree, node, total):
    """Divides the weights in a node's priors by their sum; if that is 0, sets equal priors."""
    first, end = tree.first[node], tree.end[node]
    for e in range(first, end):
        tree.prior[e] = tree.prior[e] / total if total > 0.0 else 1.0 / (end - first)


@jit(inline=True)
def softmax_prior(tree, node, weights):
    """Sets a node's prior to the softmax of logits `weights` [max_actions] over its actions."""
    total, greatest = 0.0, -np.inf
    for e in range(tree.first[node], tree.end[node]):
        greatest = max(greatest, weights[tree.action[e]])
    for e in range(tree.first[node], tree.end[node]):
        tree.prior[e] = softmax_term(weights[tree.action[e]], greatest)
        total += tree.prior[e]
    share_prior(tree, node, total)


@jit(inline=True)
def back_up(tree, b, value, below, ended):
    """Adds player 0's value to the edges and nodes on the path of simulation b, which `ended` a game or stopped at node `below`."""
    widen(tree, value)
    proven = proves(tree)
    if proven:
        back_up_bounds(tree, b, value, below, ended)
    for k in range(tree.lengths[b]):
        node, e = tree.path_nodes[b, k], tree.path_edges[b, k]
        if proven:
            value = tree.path_values[b, k]
        before = tree.w[e] / tree.n[e] if tree.n[e] > 0 else tree.known[e]
        if not np.isnan(before):
            tree.spread[SQUARES] += (value - before) ** 2
            tree.spread[DEVIATIONS] += 1.0
        tree.visits[node] += 1
        tree.total[node] += value
        tree.n[e] += 1
        tree.w[e] += value
        tree.waiting[e] -= 1
    tree.counts[SIMULATIONS] += 1
    tree.counts[DEEPEST] = max(tree.counts[DEEPEST], tree.lengths[b])


@jit
def give_back(tree, b):
    """Cancels simulation b, which gets no value."""
    for k in range(tree.lengths[b]):
        tree.waiting[tree.path_edges[b, k]] -= 1
