"""How a search arrives at a row: what acts there, and whether the line of play ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leafwise.envs.core.compile.clock import is_late
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules
from leafwise.search import frames as F
from leafwise.search.frames import ONE, open_frame
from leafwise.search.leaves import LeafValues


def make_arrive(rules: Rules, leaves: LeafValues, max_outcomes: int, name: str, room: Path, *, apart: bool) -> Compiled:
    """Compiles `arrive`, to be inlined into the searches; `apart`: few leaves are met by it, most are valued without a frame."""
    current_player, chance_outcomes = rules.current_player, rules.chance_outcomes
    is_leaf, finished_value = leaves.is_leaf, leaves.finished_value
    value = leaves.value_apart if apart else leaves.seen_value
    most = np.uint64(max_outcomes)

    @bind(name, room, inline=True)
    def arrive(S, B, f, row, top, left, reach, T):
        """Returns who acts at a row and its value: LEAF and the value, CHANCE with frame f opened, or a player.

        Decisions less probable than the cutoff are leaves, and are counted. GIVEN_UP: the stop byte is set, the time
        is up, or there are no rows left. Rows from `top` on are free; `left` decisions are to go, `reach` is the
        probability of the row.
        """
        player = current_player(S, row, T)
        if player == TERMINAL:
            B.counts[F.LEAVES] += 1
            return F.LEAF, finished_value(S, B, row, T)
        cut = left > 0 and player != CHANCE and reach < B.options.cutoff
        if cut or (left == 0 and is_leaf(S, row, T)):
            B.counts[F.LEAVES] += 1
            B.counts[F.CUTS] += np.int64(cut)
            return F.LEAF, value(S, B, row, T)
        if f >= B.frames.shape[0] or top + ONE + most > np.uint64(S.shape[0]):
            B.counts[F.FAILED] = F.NO_ROWS
            return F.GIVEN_UP, 0.0
        if player == CHANCE:
            n = np.uint64(chance_outcomes(S, row, B.P, top, T))
            open_frame(B, f, top, top + n, left, row, top + n, F.AVERAGE, reach)
            return CHANCE, 0.0
        B.counts[F.NODES] += 1
        if B.counts[F.NODES] & B.deadline[2] == 0 and (T.stop[0] or is_late(B.deadline)):
            B.counts[F.FAILED] = F.STOPPED
        if B.counts[F.FAILED]:
            return F.GIVEN_UP, 0.0
        return player, 0.0

    return arrive
