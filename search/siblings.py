"""The last decisions below one chance node: their actions are tried once for all outcomes, and their leaves valued together.

Games for one may bring the rules `afterstates` and `apply_outcome`, leaves the hook `siblings`; each alone is of use, and neither
changes a value.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leafwise.envs.core.compile.intrinsics import is_late
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import Compiled, Rules
from leafwise.search.expectiminimax import FAILED, LEAVES, NODES, ONE, POLL, STOPPED


def no_means(S, k, o, end, M, P, T):
    """Of leaves that are valued each alone."""
    return 0


def make_last_decisions(
    rules: Rules,
    max_actions: int,
    siblings: Compiled | None,
    last_step: Compiled,
    room: Path,
) -> Compiled | None:
    """Compiles `last_decisions(S, B, row, top, T)`, to be inlined, for a game and a leaf kind; None: its outcomes share no actions.

    It returns whether the outcomes of a chance row are decisions of which all is known once, and if so their mean value with
    one decision to go. Rows from `top` on are free.
    """
    own = bind(room, inline=True)
    afterstates, apply_outcome, chance_outcomes = rules.afterstates, rules.apply_outcome, rules.chance_outcomes
    if afterstates is None or apply_outcome is None or rules.candidates is not None:
        return None
    means = siblings or own(no_means)
    needed = np.uint64(max_actions + 2 * rules.chance.max_outcomes + 2)

    @own
    def means_one_by_one(S, B, k, first, end, T):
        """Does what `siblings` does where that cannot say; returns whether there are only leaves, which it counts."""
        for o in range(first, end):
            apply_outcome(S, k, o, end, T)
            known, worth = last_step(S, B, end, end + ONE, -np.inf, np.inf, T)
            if not known:
                return False
            B.best[o] = max(B.best[o], worth)
        return True

    @own
    def last_decisions(S, B, row, top, T):
        if top + needed > np.uint64(S.shape[0]) or B.counts[FAILED]:
            return False, 0.0
        actions = np.uint64(afterstates(S, row, top, T))
        if actions == np.uint64(0):
            return False, 0.0
        first = top + actions
        end = first + np.uint64(chance_outcomes(S, row, B.P, first, T))
        leaves = B.counts[LEAVES]
        for o in range(first, end):
            B.best[o] = -np.inf
        for k in range(top, first):
            count = means(S, k, first, end, B.best, B.P, T)
            B.counts[LEAVES] += count
            if count == 0 and not means_one_by_one(S, B, k, first, end, T):
                B.counts[LEAVES] = leaves
                return False, 0.0
        total = 0.0
        for o in range(first, end):
            total += B.P[o] * B.best[o]
        before = B.counts[NODES]
        B.counts[NODES] = before + np.int64(end - first)
        if (before ^ B.counts[NODES]) & ~np.int64(POLL) and (T.stop[0] or is_late(B.deadline)):
            B.counts[FAILED] = STOPPED
        return True, total

    return last_decisions
