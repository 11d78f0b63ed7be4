"""The stack of open nodes that the depth-first and the alpha-beta search share: its columns, its memory.

An explicit stack takes the place of recursion: a search may then be called from compiled code, and the tables are not
passed on at every node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit

NODES, LEAVES, HITS, FAILED, CUTS = 0, 1, 2, 3, 4
"""What `Buffers.counts` counts: decisions searched, leaves valued, table hits; why the search failed, if it did; and decisions
that a limit made leaves."""
COUNTS = 5

STOPPED, NO_ROWS = 1, 2

POLL, POLL_EXPENSIVE = 63, 0
"""The stop byte and the clock are read at every decision whose number has these bits clear: with expensive leaves at each, as some
of them take longer than the clock may be late."""

NEXT, END, DEPTH, ROW, FREE, KIND, HASH, CHECK = 0, 1, 2, 3, 4, 5, 6, 7
"""Columns of a frame: next child and end of children, depth left, row, first free row, player (or 2 for chance), and
the two hashes of a decision that goes to the transposition table (CHECK 0: it does not)."""
ALL, ORDERED, SCORED, PHASE, MOVE, PROBED = 8, 9, 10, 11, 12, 13
"""More columns, for alpha-beta: legal actions, how many of them have a score and whether they need one, what the open
child is for, best action (at chance nodes: first outcome), whether only one action is to be searched."""
CUTS_BEFORE = 14
"""`counts[CUTS]` when a decision was opened: where it has grown since, the value is not that of the full depth."""
COLUMNS = 15

BEST, REACH, LOWER, UPPER, ENTRY_LOWER, ENTRY_UPPER, OPEN_LOW, OPEN_HIGH = 0, 1, 2, 3, 4, 5, 6, 7
"""Columns of `Buffers.worth`: best or summed value and the probability of reaching the node; for alpha-beta the window,
the window at the start, and the least and the most that a chance node's open outcomes add, or a decision is worth."""
WORTHS = 8

AVERAGE = np.uint64(2)
ZERO, ONE = np.uint64(0), np.uint64(1)

SEARCHING, ORDERING, PROBING = np.uint64(0), np.uint64(1), np.uint64(2)
"""PHASE: what the open child of a node is for: its value, its one-ply value, a bound of it."""

LEAF, GIVEN_UP = -2, -3
"""What `arrive` answers beside a player or CHANCE: the row has a value; the search is stopped or out of rows."""


class Buffers(NamedTuple):
    """Scratch and run-time options of one search thread."""

    P: NDArray[np.float64]
    """Probabilities, one per row."""
    A: NDArray[np.int64]
    """Legal actions, [frame, action]."""
    scores: NDArray[np.float64]
    """What orders them, [frame, action], the highest first; alpha-beta alone."""
    frames: NDArray[np.uint64]
    """The open nodes from the root down, [frame, COLUMNS]."""
    worth: NDArray[np.float64]
    """Their values, [frame, WORTHS]."""
    between: NDArray[np.float64]
    """The least and the most that each row can be worth, [row, 2]; outcomes that alpha-beta probes."""
    best: NDArray[np.float64]
    """What the best action so far is worth after each outcome, [row]; outcomes that share their afterstates."""
    killers: NDArray[np.int64]
    """The last two actions that cut a decision, [depth left, 2]; alpha-beta alone."""
    counts: NDArray[np.int64]
    deadline: NDArray[np.int64]
    """When the search is to end, [3]: a clock's number and the nanoseconds on it (0: never); and how often that is looked at,
    POLL or POLL_EXPENSIVE."""
    table: NDArray[np.uint64]
    """Transposition table, [entries, 4], a power of two of them; one entry is no table. Columns: `leafwise.search.table`."""
    proven: NDArray[np.float64]
    """The same memory read as floats."""
    leaves: NDArray[np.uint64]
    """Memory of leaves valued before, [entries, 2]: second hash of the row, value; one entry is none. Alpha-beta alone."""
    leaf_values: NDArray[np.float64]
    """The same memory read as floats."""
    rows: NDArray[Any]
    """The whole row of each entry, [entries, width], so that no hash can err; one entry: hashes are trusted."""
    options: Options


class Options(NamedTuple):
    """What may change from search to search without compiling again."""

    cutoff: float
    """Decisions reached with a smaller probability than this are leaves (0: exact)."""
    toll: float
    """What a decision takes of the probability that it is reached with, before the rest is shared out among its actions (0: each
    action keeps it all)."""
    generation: np.uint64
    """Entries of the table that have another number are old."""
    recall: bool
    """Whether old entries count too."""
    prune: bool
    least: float
    """No leaf is worth less than `least` or more than `most` (infinite: not known, and no pruning at chance nodes)."""
    most: float
    table_from: int
    """Least depth left at which decisions go to the table."""
    table_move: bool
    values_from: int
    """Least depth left at which one-ply values order the actions."""
    killers: bool
    probe_from: int
    """Least depth left at which chance nodes probe their outcomes first (Star2)."""
    rare: float
    """Outcomes less probable than this are valued at once, by the leaf (approximate; alpha-beta alone)."""
    width: int
    """Most actions searched at a decision with two or more decisions to go (approximate)."""
    symmetries: int
    """Decisions share an entry of the table with those that so many symmetries of the game turn them into (1: none);
    alpha-beta alone."""


@jit(inline=True)
def open_frame(B, f, first, end, left, row, free, kind, reach):
    """Opens node f of the stack."""
    B.frames[f, NEXT] = first
    B.frames[f, END] = end
    B.frames[f, DEPTH] = np.uint64(left)
    B.frames[f, ROW] = row
    B.frames[f, FREE] = free
    B.frames[f, KIND] = kind
    B.frames[f, CHECK] = ZERO
    B.worth[f, BEST] = 0.0
    B.worth[f, REACH] = reach


@jit(inline=True)
def reach_below(B, f, row):
    """Returns the probability that the row of a child of node f is reached with; the toll of a decision is off."""
    reach = B.worth[f, REACH]
    if B.frames[f, KIND] == AVERAGE:
        return reach * B.P[row]
    if B.options.toll > 0.0:
        return (reach - B.options.toll) / np.float64(B.frames[f, END])
    return reach


@jit(inline=True)
def set_window(B, f, lower, upper, low, high):
    """Sets the window of node f, and the least and the most that its open outcomes add, or that it is worth."""
    B.worth[f, LOWER], B.worth[f, UPPER] = lower, upper
    B.worth[f, ENTRY_LOWER], B.worth[f, ENTRY_UPPER] = lower, upper
    B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH] = low, high
