"""A game's rules, a depth-limited search and a tree search as one compiled function, for hosts without Python.

A host writes a request into `call` (int64), calls the function and reads the response there. The position is row 0 of `S`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import CHANCE, copy_row
from leafwise.search.engine import ROOT, TOP, Search
from leafwise.search.expectiminimax import FAILED, NODES
from leafwise.search.mcts.engine import Mcts
from leafwise.search.mcts.root import judge
from leafwise.search.mcts.tree import (
    DEEPEST,
    LEAVES,
    NONE,
    ROW,
    SIMULATIONS,
    CompiledMctsOptions,
    MctsTree,
    find_node,
    is_proven,
)
from leafwise.search.search_options import SearchBuffers
from leafwise.search.table import GENERATIONS

LOOK, ACT, CHECK, BEGIN, DEEPEN, PLANT, SIMULATE, FOLLOW = range(8)
"""The request, in call[WHAT].

LOOK describes the position: who acts (PLAYER), its STAGE, the return so far (values[0]), and the numbers for people in `figures`.
COUNT is the number of legal actions, in `actions`, or of outcomes of chance, in the rows after the first with probabilities P.
ACT plays action call[AT].
CHECK sets COUNT to whether the row is a position.
BEGIN begins a search; COUNT is the number of actions it considers.
DEEPEN searches the depth call[AT], after BEGIN or the depth before it; with call[ALL] 0 only the best action's value is exact.
COUNT is the number of `values`, DONE the number searched in time. At a chance node the value is values[0].
PLANT begins a tree search of a decision; DONE is 0 if its memory is too small.
SIMULATE makes at most call[AT] simulations; DONE is how many were made, `values` and `visits` are by action, BEST is the index of
the action to play.
FOLLOW sets BEST to the action to play in a later decision of the tree; COUNT is 0 if the tree does not know it.
"""
WHAT, AT, ALL, PLAYER, STAGE, COUNT, DONE, BEST = range(8)
CALL = 8


class HostMemory(NamedTuple):
    """The arguments of the function, in this order."""

    call: Ints
    S: Array
    B: SearchBuffers
    actions: Ints
    values: Floats
    is_bound: Array
    T: Any
    W: Array
    """The rows of the tree search; `D` is its other memory."""
    D: SearchBuffers
    tree: MctsTree
    options: CompiledMctsOptions
    visits: Ints
    figures: Ints


def make_answer(search: Search, mcts: Mcts) -> tuple[Callable[..., int], HostMemory]:
    """Returns `answer(memory)` for the game, the evaluator and the options of two searches, and its memory."""
    game, rules, options = search.game, search.game.rules, search.options
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    legal_actions, apply_action, chance_outcomes = rules.legal_actions, rules.apply_action, rules.chance_outcomes
    candidates = rules.candidates or rules.legal_actions
    search_row, search_root = search._search_row._function, search._search_root._function
    is_valid: Any = rules.is_valid if hasattr(rules.is_valid, "py_func") else rules.current_player
    write_figures, has_figures = rules.figures or legal_actions, rules.figures is not None
    assert mcts._compiled is not None
    plant, simulate = mcts._compiled.plant, mcts._compiled.simulate
    has_chance, prunes, rounding = game.max_outcomes > 0, options.prunes(game), search._rounding

    @bind(game.room)
    def answer(args):
        # The arguments, one by one; row ROOT of S is the position
        call, S, B, actions, values, is_bound, T = args[0], args[1], args[2], args[3], args[4], args[5], args[6]
        W, D, tree, tree_options, visits, numbers = args[7], args[8], args[9], args[10], args[11], args[12]
        what, player = call[WHAT], np.int64(current_player(S, ROOT, T))
        call[PLAYER], n = player, np.int64(0)
        if what == LOOK:
            # What there is to know of the position
            call[STAGE], values[0] = stage(S, ROOT, T), returns(S, ROOT, T)
            if has_figures:
                write_figures(S, ROOT, numbers, T)
            if player >= 0:
                n = np.int64(legal_actions(S, ROOT, actions, T))
            elif has_chance and player == CHANCE:
                n = np.int64(chance_outcomes(S, ROOT, B.P, TOP, T))
        elif what == ACT:
            apply_action(S, ROOT, call[AT], TOP, T)
            copy_row(S, TOP, ROOT)
        elif what == CHECK:
            n = np.int64(is_valid(S, ROOT, T))
        elif what == BEGIN:
            # A new search: counts at 0, no killers, and a new generation of entries, as in `begin_search`
            B.counts[:] = 0
            B.killers[:] = -1
            B.generation[0] = (B.generation[0] + np.uint64(1)) % np.uint64(GENERATIONS)
            if B.generation[0] == 0:
                B.table[:] = np.uint64(0)
                B.generation[0] = np.uint64(1)
            n = np.int64(candidates(S, ROOT, actions, T)) if player >= 0 else n
        elif what == FOLLOW:
            # The action to play, by the tree search
            for w in range(S.shape[1]):
                W[ROW, w] = S[ROOT, w]
            node = find_node(tree, W, ROW)
            if node != NONE and (tree.visits[node] > 0 or is_proven(tree, node)):
                call[BEST], n = tree.action[tree.first[node] + judge(tree, node, values)], np.int64(1)
        elif what == PLANT:
            # A new tree with the position as its root
            for w in range(S.shape[1]):
                W[ROW, w] = S[ROOT, w]
            tree.counts[SIMULATIONS], tree.counts[LEAVES], tree.counts[DEEPEST] = 0, 0, 0
            call[DONE] = plant(W, D, tree, tree_options, T) != NONE
        elif what == SIMULATE:
            call[DONE] = simulate(W, D, tree, 0, NONE, call[AT], tree_options, T)
            call[BEST] = judge(tree, 0, values)
            n = np.int64(tree.end[0] - tree.first[0])
            for k in range(n):
                actions[k], visits[k] = tree.action[tree.first[0] + k], tree.n[tree.first[0] + k]
        elif player == CHANCE:
            values[0] = search_row(S, B, ROOT, TOP, call[AT], -np.inf, np.inf, T)
        else:
            # The actions are sorted by the values of the previous depth, of equals the lowest id first
            n = call[COUNT]
            if n == 0:
                n = np.int64(candidates(S, ROOT, actions, T))
            elif prunes:
                for k in range(1, n):
                    a, value, j = actions[k], values[k], k
                    while j > 0 and (value > values[j - 1] or (value == values[j - 1] and a < actions[j - 1])):
                        actions[j], values[j] = actions[j - 1], values[j - 1]
                        j -= 1
                    actions[j], values[j] = a, value
            B.counts[NODES] += 1
            all_values = call[ALL] != 0
            depth = call[AT]
            done = np.int64(
                search_root(S, B, actions, n, values, is_bound, depth, all_values, rounding, -np.inf, -1, T)
            )
            call[DONE] = done
            # Actions that were not searched in time keep their value of the previous depth, at most the best one
            if B.counts[FAILED] and done > 0:
                best = -np.inf
                for k in range(done):
                    if not is_bound[k]:
                        best = max(best, values[k])
                for k in range(done, n):
                    values[k], is_bound[k] = min(values[k], best), True
        call[COUNT] = n
        return 0

    memory = HostMemory(
        np.zeros(CALL, dtype=np.int64),
        search._S,
        search._B,
        search._actions,
        search._values,
        search._is_bound,
        search._T,
        mcts._S,
        mcts._B,
        mcts.tree,
        mcts._read,
        np.zeros(search.game.max_actions, dtype=np.int64),
        np.zeros(max(1, len(game.text.figures)), dtype=np.int64),
    )
    return answer, memory
