"""Exact rules of Trilobite as functions on rows: chips drop into columns, k in a row win.

Word 0 holds the chips of player 0, word 1 those of player 1, as bitboards: column c, height h above the floor, at bit c *
(height + 1) + h. The bit above each column stays empty, so that lines never wrap around; boards therefore have width * (height
+ 1) <= 64. Player 0 moves when the number of chips is even.

Source: the article "Trilobite: a System of Game Rules and AI" (Lisp), which plays 3 x 3 with k = 3.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import TERMINAL
from leafwise.envs.core.contract.stream import u64

ZERO, ONE, TWO, THREE, FOUR = u64(0), u64(1), u64(2), u64(3), u64(4)


@jit(inline=True)
def has_line(chips, T):
    """Whether `chips` contain k in a row."""
    starts = ZERO
    for direction in range(4):
        d = ONE if direction == 0 else T.stride - TWO + u64(direction)
        two = chips & (chips >> d)
        if T.k == FOUR:
            starts |= two & (two >> (d + d))
        elif T.k == THREE:
            starts |= two & (chips >> (d + d))
        else:
            starts |= two & (two >> (d + d)) & (chips >> (FOUR * d))
    return starts != ZERO


@jit(inline=True)
def in_a_row(chips, d, k):
    """Returns the cells that complete k in a row along one direction (steps of d bits), ignoring other chips."""
    below, above = chips << d, chips >> d
    below2, above2 = below & (chips << (d + d)), above & (chips >> (d + d))
    if k == FOUR:
        d3 = THREE * d
        return (below2 & ((chips << d3) | above)) | (above2 & (below | (chips >> d3)))
    if k == THREE:
        return below2 | (below & above) | above2
    below3, above3 = below2 & (chips << (THREE * d)), above2 & (chips >> (THREE * d))
    d4 = FOUR * d
    return (below3 & ((chips << d4) | above)) | (below2 & above2) | (above3 & (below | (chips >> d4)))


@jit(inline=True)
def threats(chips, empty, T):
    """Returns the empty cells that would complete k in a row for the owner of `chips`, reachable now or not."""
    k = T.k
    column = (chips << ONE) & (chips << TWO)
    if k >= FOUR:
        column &= chips << THREE
    if k > FOUR:
        column &= chips << FOUR
    across = in_a_row(chips, T.stride, k)
    rising = in_a_row(chips, T.stride + ONE, k)
    falling = in_a_row(chips, T.stride - ONE, k)
    return (column | across | rising | falling) & empty


@jit(inline=True)
def landing_cells(filled, T):
    """Returns the lowest empty cell of every column that is not full."""
    return (filled + T.bottom) & T.board


@jit
def is_valid(S, i, T):
    """Whether a row is a position: chips lie on chips or the floor, colours alternate, and at most the last chip completes
    lines.
    """
    filled = S[i, 0] | S[i, 1]
    floating = filled & ~T.bottom & ~(filled << ONE)
    if filled & ~T.board or S[i, 0] & S[i, 1] or floating:
        return False
    ahead = np.int64(count_bits(S[i, 0])) - np.int64(count_bits(S[i, 1]))
    if ahead < 0 or ahead > 1 or has_line(S[i, ahead], T):
        return False
    own = S[i, 1 - ahead]
    if not has_line(own, T):
        return True
    for c in range(T.width):
        column = ((ONE << (T.stride - ONE)) - ONE) << (T.stride * u64(c))
        top = filled & column & ~(filled >> ONE)
        if own & top and not has_line(own & ~top, T):
            return True
    return False


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO
    S[i, 1] = ZERO


@jit(inline=True)
def mover(S, i):
    """Returns the player to move, also for a finished board."""
    return np.int64(count_bits(S[i, 0] | S[i, 1]) & ONE)


@jit(inline=True)
def current_player(S, i, T):
    player = mover(S, i)
    if (S[i, 0] | S[i, 1]) == T.board or has_line(S[i, 1 - player], T):
        return TERMINAL
    return player


@jit(inline=True)
def write_columns(cells, A, T):
    """Writes the columns of `cells`, ascending; returns their number."""
    column = (ONE << (T.stride - ONE)) - ONE
    n = 0
    for c in range(T.width):
        if cells & column:
            A[n] = c
            n += 1
        column <<= T.stride
    return n


@jit(inline=True)
def legal_actions(S, i, A, T):
    return write_columns(landing_cells(S[i, 0] | S[i, 1], T), A, T)


@jit(inline=True)
def apply_action(S, i, a, j, T):
    player = mover(S, i)
    filled = S[i, 0] | S[i, 1]
    chip = (filled + (ONE << (T.stride * u64(a)))) & ~filled
    other = S[i, 1 - player]
    S[j, player] = S[i, player] | chip
    S[j, 1 - player] = other


@jit(inline=True)
def returns(S, i, T):
    last = 1 - mover(S, i)
    if has_line(S[i, last], T):
        return 1.0 if last == 0 else -1.0
    return 0.0


CANDIDATES = ("all", "safe")
"""Names of the sets of moves that a search may consider."""


@jit(inline=True)
def safe_replies(landing, hostile):
    """Returns the moves that do not let the owner of the threats `hostile` win at once."""
    forced = landing & hostile
    if forced:
        if forced & (forced - ONE):
            return ZERO
        landing = forced
    return landing & ~(hostile >> ONE)


@jit(inline=True)
def candidates(S, i, A, T):
    """Writes the actions that a search considers under `T.candidates`, and returns their number.

    With `safe` it is one move that wins. If there is none, it is a move that stops a win, or all moves after which the other
    player does not win on top of the chip. If every move loses, it is one of them.
    """
    if T.candidates == 0:
        return legal_actions(S, i, A, T)
    player = mover(S, i)
    filled = S[i, 0] | S[i, 1]
    empty = T.board & ~filled
    landing = landing_cells(filled, T)
    wins, losses = threats(S[i, player], empty, T) & landing, threats(S[i, 1 - player], empty, T)
    cells = safe_replies(landing, losses)
    if wins or cells == ZERO:
        blocks = landing & losses
        cells = wins if wins else blocks if blocks else landing
        cells &= ~cells + ONE  # one of these
    return write_columns(cells, A, T)
