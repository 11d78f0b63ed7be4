"""Exact rules of Trap as functions on rows: move one step, then throw a trap; a player who cannot move loses.

A turn is MOVE (to one of the eight neighbours, if it is free), a test, THROW (at any cell without a player, also at a trap),
the landing (the only chance stage), a test. A throw over the Manhattan distance d hits with probability (21 - d) / 20. A miss
lands on a neighbour of the target without a player, each equally likely, trap or not. A landing on a trap changes nothing.

A player is stuck if no neighbour is free. After a move the player wins if the opponent is stuck; after a landing too, even if
the thrower is stuck as well. If only the thrower is stuck he loses at once (`self_trap="immediate"`), or play goes on
(`"deferred"`). After `max_turns` turns the game is a draw. A player who has to move and cannot, loses.

Word 0 holds the traps of cells 0..63, row by row from the top. Word 1 holds, from bit 0 on, those of cells 64..80, the cells of
both players, phase, target, turns played, and the end (0 none, 1 or 2 the winner, 3 draw).

Source: "AI Squid Game: Trap!", Columbia COMS W4701, autumn 2021.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.stream import below, mix, u64, uniform

ZERO, ONE, TWO = u64(0), u64(1), u64(2)
PLAYER, PHASE, TARGET, TURN, END = u64(17), u64(31), u64(33), u64(40), u64(56)
"""First bits of word 1's fields; each player's cell takes `CELL` bits."""
CELL, LOW2, LOW7, LOW16 = u64(7), u64(3), u64(127), u64(65535)
MOVE, THROW, LANDING = u64(0), u64(1), u64(2)
DRAW = u64(3)
SECOND_TRAPS = u64((1 << 17) - 1)
KEEP = ~((LOW2 << PHASE) | (LOW7 << TARGET) | (LOW2 << END))
"""The bits of word 1 without phase, target and end."""
COUNTED = u64(34)
"""Turns before the draw from which on the number of turns belongs to the key: no search is deeper."""
KEY_SALT = u64(0x5851F42D4C957F2D)


@jit(inline=True)
def cell_of(word, player):
    """Returns the cell of a player from word 1."""
    return (word >> (PLAYER + CELL * u64(player))) & LOW7


@jit(inline=True)
def phase_of(word):
    """Returns MOVE, THROW or LANDING from word 1."""
    return (word >> PHASE) & LOW2


@jit(inline=True)
def turn_of(word):
    """Returns the number of turns played before this one; even if player 0 acts."""
    return (word >> TURN) & LOW16


@jit(inline=True, ignores_leaf=True)
def blocked(S, i, T):
    """Returns all cells with a trap or a player as two words."""
    word = S[i, 1]
    first, second = cell_of(word, 0), cell_of(word, 1)
    low = S[i, 0] | T.bit[first, 0] | T.bit[second, 0]
    return low, (word & SECOND_TRAPS) | T.bit[first, 1] | T.bit[second, 1]


@jit(inline=True)
def holds(low, high, cell, T):
    """Whether a set of cells, two words, contains a cell."""
    return (low & T.bit[cell, 0]) | (high & T.bit[cell, 1]) != ZERO


@jit(inline=True)
def stuck(cell, low, high, T):
    """Whether no neighbour of a cell is free; `low` and `high` are the free cells."""
    return (T.near[cell, 0] & low) | (T.near[cell, 1] & high) == ZERO


@jit(inline=True)
def count_beside(cell, low, high, T):
    """Returns the number of neighbours of a cell in a set of cells."""
    return count_bits(T.near[cell, 0] & low) + count_bits(T.near[cell, 1] & high)


@jit(inline=True)
def has_trap(S, i, cell, T):
    """Whether a trap lies on a cell."""
    return holds(S[i, 0], S[i, 1] & SECOND_TRAPS, cell, T)


@jit(inline=True)
def is_stuck(S, i, player, T):
    """Whether no neighbour of a player is free."""
    low, high = blocked(S, i, T)
    return stuck(cell_of(S[i, 1], player), ~low, ~high, T)


@jit(inline=True)
def initial_state(S, i, T):
    first, second = u64(T.size // 2), u64(T.cells - T.size + T.size // 2)
    S[i, 0] = ZERO
    S[i, 1] = (first << PLAYER) | (second << (PLAYER + CELL))


@jit(inline=True)
def stage(S, i, T):
    return np.int64(phase_of(S[i, 1]) == LANDING)


@jit(inline=True)
def current_player(S, i, T):
    word = S[i, 1]
    if word >> END:
        return TERMINAL
    if phase_of(word) == LANDING:
        return CHANCE
    return np.int64(turn_of(word) & ONE)


@jit(inline=True)
def returns(S, i, T):
    end = S[i, 1] >> END
    if end == ONE:
        return 1.0
    return -1.0 if end == TWO else 0.0


@jit(inline=True)
def legal_actions(S, i, A, T):
    word = S[i, 1]
    n = 0
    if phase_of(word) == MOVE:
        low, high = blocked(S, i, T)
        cell = cell_of(word, turn_of(word) & ONE)
        for direction in range(8):
            to = T.step[cell, direction]
            if to >= 0 and not holds(low, high, to, T):
                A[n] = direction
                n += 1
        return n
    first, second = np.int64(cell_of(word, 0)), np.int64(cell_of(word, 1))
    for cell in range(T.cells):
        if cell != first and cell != second:
            A[n] = 8 + cell
            n += 1
    return n


@jit(inline=True)
def apply_action(S, i, a, j, T):
    word = S[i, 1]
    player = turn_of(word) & ONE
    S[j, 0] = S[i, 0]
    if a >= 8:
        S[j, 1] = (word & KEEP) | (LANDING << PHASE) | (u64(a - 8) << TARGET)
        return
    at = PLAYER + CELL * player
    to = u64(T.step[cell_of(word, player), a])
    S[j, 1] = (word & KEEP & ~(LOW7 << at)) | (to << at) | (THROW << PHASE)
    if is_stuck(S, j, ONE - player, T):
        S[j, 1] |= (player + ONE) << END


@jit(inline=True)
def pass_turn(S, i, T):
    """Ends the turn at row i, after the landing, and tests who has won."""
    word = S[i, 1]
    player = turn_of(word) & ONE
    S[i, 1] = (word & KEEP) + (ONE << TURN)
    if is_stuck(S, i, ONE - player, T):
        S[i, 1] |= (player + ONE) << END
    elif T.immediate and is_stuck(S, i, player, T):
        S[i, 1] |= (TWO - player) << END
    elif turn_of(S[i, 1]) >= T.max_turns:
        S[i, 1] |= DRAW << END


@jit(inline=True)
def land(S, i, cell, j, T):
    """Writes row i with the trap landed on `cell` to row j."""
    S[j, 0] = S[i, 0] | T.bit[cell, 0]
    S[j, 1] = S[i, 1] | T.bit[cell, 1]
    pass_turn(S, j, T)


@jit(inline=True)
def is_player(word, cell):
    """Whether a player stands on a cell."""
    return u64(cell) == cell_of(word, 0) or u64(cell) == cell_of(word, 1)


@jit(inline=True)
def spill_cells(word, target, T):
    """Returns the number of cells where a miss can land."""
    n = 0
    for direction in range(8):
        cell = T.step[target, direction]
        if cell >= 0 and not is_player(word, cell):
            n += 1
    return n


@jit(inline=True)
def chance_outcomes(S, j, P, o, T):
    word = S[j, 1]
    target = np.int64((word >> TARGET) & LOW7)
    hit = T.accuracy[cell_of(word, turn_of(word) & ONE), target]
    share = (1.0 - hit) / spill_cells(word, target, T)
    unchanged, n = 0.0, ZERO
    for k in range(9):  # the target, then the cells around it
        cell, p = (target, hit) if k == 0 else (T.step[target, k - 1], share)
        if cell < 0 or is_player(word, cell) or p == 0.0:
            continue
        if has_trap(S, j, cell, T):
            unchanged += p
        else:
            land(S, j, cell, o + n, T)
            P[o + n] = p
            n += ONE
    if unchanged > 0.0:
        S[o + n, 0] = S[j, 0]
        S[o + n, 1] = S[j, 1]
        pass_turn(S, o + n, T)
        P[o + n] = unchanged
        n += ONE
    return np.int64(n)


@jit(inline=True)
def sample_outcome(S, j, R, T):
    word = S[j, 1]
    target = np.int64((word >> TARGET) & LOW7)
    cell = target
    if uniform(R) >= T.accuracy[cell_of(word, turn_of(word) & ONE), target]:
        remaining = np.int64(below(R, spill_cells(word, target, T)))
        for direction in range(8):
            spill = T.step[target, direction]
            if spill >= 0 and not is_player(word, spill):
                if remaining == 0:
                    cell = spill
                remaining -= 1
    land(S, j, cell, j, T)


@jit(inline=True)
def key_word(word, turns, T):
    """Returns word 1 with the turns played, if the draw is at most `turns` away; otherwise only with the player who acts."""
    turn = turn_of(word)
    if turn + turns < T.max_turns:
        word = (word & ~(LOW16 << TURN)) | ((turn & ONE) << TURN)
    return word


@jit(inline=True)
def hash_of(low, word):
    """Returns a hash of the two words of a row."""
    return mix(mix(low ^ KEY_SALT) ^ word)


@jit(inline=True)
def key(S, i, T):
    """Returns a hash of everything that the next 64 decisions depend on."""
    return hash_of(S[i, 0], key_word(S[i, 1], COUNTED, T))


@jit
def is_valid(S, i, T):
    """Whether a row is a position: players and traps on the board, on different cells, and an end that fits the board."""
    word = S[i, 1]
    first, second, phase, turn = cell_of(word, 0), cell_of(word, 1), phase_of(word), turn_of(word)
    if first >= u64(T.cells) or second >= u64(T.cells) or first == second or phase > LANDING:
        return False
    low, high, end = S[i, 0], word & SECOND_TRAPS, word >> END
    off_board = (low & ~T.board[0]) | (high & ~T.board[1])
    beneath = (low & (T.bit[first, 0] | T.bit[second, 0])) | (high & (T.bit[first, 1] | T.bit[second, 1]))
    if off_board | beneath or turn > T.max_turns or (turn == T.max_turns and (phase != MOVE or end == ZERO)):
        return False
    target = (word >> TARGET) & LOW7
    if phase == LANDING:
        if target >= u64(T.cells) or is_player(word, target):
            return False
    elif target != ZERO:
        return False
    return is_end(S, i, end, T)


@jit
def is_end(S, i, end, T):
    """Whether `end` (0: none) is the correct end of the position at row i, now or by the throw before it."""
    turn, phase = turn_of(S[i, 1]), phase_of(S[i, 1])
    player = turn & ONE
    if phase != MOVE:
        won = player + ONE if is_stuck(S, i, ONE - player, T) else ZERO
        return end == won and (end == ZERO or phase == THROW)
    self_trapped = T.immediate and is_stuck(S, i, ONE - player, T)
    if self_trapped and end == player + ONE:
        return True
    if is_stuck(S, i, player, T):
        return end == TWO - player
    if turn == T.max_turns:
        return end == DRAW and not self_trapped
    return end == ZERO


CANDIDATES = ("all", "near", "near+traps")
"""Names of the sets of throws that a search may consider; all are legal."""


@jit(inline=True)
def candidates(S, i, A, T):
    """Writes the actions that a search considers, and returns their number: every move, and throws at cells next to the
    opponent.

    "near" takes the free cells among these. "near+traps" also takes those with a trap, and one certain pass, a throw at a trap
    right beside the thrower.
    """
    word = S[i, 1]
    if T.candidates == 0 or phase_of(word) == MOVE:
        return legal_actions(S, i, A, T)
    player = turn_of(word) & ONE
    me, opponent = cell_of(word, player), cell_of(word, ONE - player)
    n = 0
    for direction in range(8):
        cell = T.step[opponent, direction]
        if cell < 0 or u64(cell) == me:
            continue
        if T.candidates == 2 or not has_trap(S, i, cell, T):
            A[n] = 8 + cell
            n += 1
    if T.candidates == 2:
        for direction in range(0, 8, 2):
            cell = T.step[me, direction]
            if cell >= 0 and has_trap(S, i, cell, T):
                if not holds(T.near[opponent, 0], T.near[opponent, 1], cell, T):
                    A[n] = 8 + cell
                    n += 1
                break
    return n
