"""The actions of the position that is asked about, one after another, in one compiled call."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import Compiled, Rules
from leafwise.search.frames import FAILED, NODES

ROOT, TOP, ABOVE = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the position, the one after an action, the first that the search below may use."""


def make_plain_root(rules: Rules, depth_first: Compiled, name: str, room: Path) -> Compiled:
    """Compiles `plain_root` for a game and the depth-first search of a leaf kind."""
    considered = rules.candidates or rules.legal_actions
    current_player, apply_action, action_cost = rules.current_player, rules.apply_action, rules.action_cost

    @bind(name, room)
    def plain_root(S, B, actions, values, depth, T):
        """Writes the actions of row ROOT that are considered to `actions`, and their values, for the player who acts, to
        `values`; returns how many until the search was stopped. Counts the decision."""
        B.counts[NODES] += 1
        player = current_player(S, ROOT, T)
        n = considered(S, ROOT, actions, T)
        for k in range(n):
            apply_action(S, ROOT, actions[k], TOP, T)
            left = depth - action_cost(S, ROOT, actions[k], T)
            value = depth_first(S, B, TOP, ABOVE, left, T)
            if B.counts[FAILED]:
                return k
            values[k] = -value if player == 1 else value
        return n

    return plain_root


def make_search_root(rules: Rules, alpha_beta: Compiled, name: str, room: Path) -> Compiled:
    """Compiles `search_root` for a game and the alpha-beta search of a leaf kind."""
    current_player, apply_action, action_cost = rules.current_player, rules.apply_action, rules.action_cost

    @bind(name, room)
    def search_root(S, B, actions, values, is_bound, depth, all_values, rounding, T):
        """Writes the values of actions [n] of row ROOT, for the player who acts, to values [n]; returns how many until the
        search was stopped.

        Without `all_values` an action after the first is searched with a window above the best: `is_bound` [n] says whether
        its value is only an upper bound. A mean's bound may pass the window by its last bits, `rounding` relative to the
        greater of 1 and its size; 0: the values are exact, and the first of equals is to be.
        """
        player = current_player(S, ROOT, T)
        best, first = -np.inf, -1
        for k in range(actions.shape[0]):
            a = actions[k]
            apply_action(S, ROOT, a, TOP, T)
            known, slack = -np.inf, 0.0
            if not all_values and first >= 0:
                known = best
                slack = rounding * max(1.0, abs(best))
                if rounding == 0.0 and a < first:
                    known = np.nextafter(best, -np.inf)
            lower, upper = known, np.inf
            if player == 1:
                lower, upper = -np.inf, -known
            value = alpha_beta(S, B, TOP, ABOVE, depth - action_cost(S, ROOT, a, T), lower, upper, T)
            if B.counts[FAILED]:
                return k
            if player == 1:
                value = -value
            values[k] = value
            is_bound[k] = value <= known + slack
            if not is_bound[k] and (value > best or (value == best and a < first)):
                best, first = value, a
        return actions.shape[0]

    return search_root
