"""Backgammon without a cube: the rules, as compiled functions on rows of 59 words.

Each player counts the points from their own side: 25 is the bar, 24 to 1 the points on the way home, 0 the checkers that are off.
A row has the checkers of player 0 at each of these (words 0 to 25), then those of player 1 (words 26 to 51), then the words below.

A turn is a throw and up to four moves of one checker. Each move is an action: a point and a number of pips. By the rules a player
makes as many moves as the throw allows, and uses the higher die if either can move but not both. If nothing can move, `PASS` is
the only action. A win counts 1. A gammon counts 2: the loser has borne nothing off. A backgammon counts 3: the loser also
has a checker on the bar or in the winner's home.

People move in any order. A search would repeat each position for every order, so with `T.canonical` each position has one order:
doubles from the highest point down, two dice with the higher first, or the lower first if no order with the higher first leads
there.

The first throw: each player throws one die, the higher begins and plays both; equal dice are thrown again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import CHANCE, TERMINAL, below, copy_row, jit, mix

BAR, OFF, CHECKERS = 25, 0, 15
SIDE = 26
"""Words of one player's checkers."""
MOVER, PHASE, DIE, OTHER, LEFT, LAST, HIT = range(52, 59)
"""Words: the player in turn (or the winner); the phase; a die to move by; the other die; the number of moves left. For canonical
turns: the point of the last move, and whether the first move by two different dice hit a blot."""
WIDTH = 59
OPENING, THROW, MOVE, OVER = range(4)
"""Values of PHASE."""
PASS = BAR * 6
"""The action of a player who cannot move; the others are (point - 1) * 6 + pips - 1."""
START = {24: 2, 13: 5, 8: 3, 6: 5}
"""Checkers at the start by the player's own points."""
NO_POINT = -1
"""Stands for no move."""


class Tables(NamedTuple):
    """Tables of the rules."""

    canonical: bool
    stop: NDArray[np.uint8]
    leaf: Any


@jit(inline=True)
def word(S, i, w):
    """Returns a word of a row as an ordinary whole number, compiled or not."""
    return 0 + int(S[i, w])


@jit(inline=True)
def count(S, i, player, point):
    """Returns how many checkers a player has at a point of theirs."""
    return word(S, i, SIDE * player + point)


@jit(inline=True)
def landing(point, pips):
    """Returns the point after a move."""
    return max(point - pips, OFF)


@jit
def initial_state(S, i, T):
    for w in range(WIDTH):
        S[i, w] = 0
    for player in range(2):
        S[i, SIDE * player + 24], S[i, SIDE * player + 13] = 2, 5
        S[i, SIDE * player + 8], S[i, SIDE * player + 6] = 3, 5
    S[i, PHASE] = OPENING


@jit
def stage(S, i, T):
    phase = S[i, PHASE]
    return 1 if phase == OPENING else 2 if phase == THROW else 0


@jit
def current_player(S, i, T):
    phase = S[i, PHASE]
    if phase == MOVE:
        return word(S, i, MOVER)
    return TERMINAL if phase == OVER else CHANCE


@jit(inline=True)
def checkers_at(S, i, player, point, gone, come, gone2, come2):
    """Returns how many checkers are at a point of a player, once two have gone from `gone` to `come`, `gone2` to `come2`."""
    return count(S, i, player, point) - (point == gone) + (point == come) - (point == gone2) + (point == come2)


@jit
def can_move(S, i, player, point, pips, gone, come, gone2, come2):
    """Whether a player's checker at `point` can move by `pips`, after up to two other moves of theirs (NO_POINT: none).

    Those moves change only the player's own checkers: a blot that they hit blocks nothing.
    """
    if checkers_at(S, i, player, point, gone, come, gone2, come2) <= 0:
        return False
    if point != BAR and checkers_at(S, i, player, BAR, gone, come, gone2, come2) > 0:
        return False
    if point > pips:
        return count(S, i, 1 - player, BAR - (point - pips)) < 2
    # all checkers are home, and none is behind if the die is larger
    for behind in range(7 if point == pips else point + 1, BAR):
        if checkers_at(S, i, player, behind, gone, come, gone2, come2) > 0:
            return False
    return True


@jit
def can_any(S, i, player, pips, gone, come):
    """Whether any checker can move by `pips`, after another move of the player's."""
    for point in range(1, BAR + 1):  # noqa: SIM110 (compiled code has no generators)
        if can_move(S, i, player, point, pips, gone, come, NO_POINT, NO_POINT):
            return True
    return False


@jit
def double_moves(S, i, player, pips, limit, most, gone):
    """Returns how often checkers from `limit` down can move by `pips`, up to `most`, after a move from `gone` (NO_POINT: none).

    A move never blocks another one by the same pips, so the points are emptied from above. Groups of four bits of `came` count the
    checkers that have come to the six points below.
    """
    came, behind, total = np.uint64(0), 0, 0
    for step in range(BAR):
        point = BAR - step
        here = checkers_at(S, i, player, point, gone, gone - pips, NO_POINT, NO_POINT)
        here += int((came >> np.uint64(4 * (pips - 1))) & np.uint64(15))
        if point > pips:
            free = count(S, i, 1 - player, BAR - (point - pips)) < 2
        else:  # the remaining checkers are home, and none is behind if the die is larger
            free = behind < 2 if point == pips else behind == 0
        leaving = here if free and point <= limit else 0
        total += leaving
        if total >= most:
            return most
        if here > leaving:
            if point == BAR:
                return 0
            behind = 2 if point > 6 else max(behind, 1)
        came = (came << np.uint64(4)) | np.uint64(leaving)
    return total


@jit
def is_blot(S, i, player, point, back, hit):
    """Whether the other player has one checker at a point of `player`; with `hit` also one before, at `back`."""
    return point > OFF and (count(S, i, 1 - player, BAR - point) == 1 or (hit and point == back))


@jit
def high_first(S, i, player, high, low, first, second, undo):
    """Whether the position after `first` by the low die and `second` by the high one can be reached with the high one first.

    `undo`: row i is after the first of the two, which hit a blot if its word HIT says so.
    """
    to, to2 = landing(first, low), landing(second, high)
    back, hit = (to, S[i, HIT] != 0) if undo else (NO_POINT, False)
    again = first if undo else NO_POINT
    for way in range(3):
        one = second if way == 0 else first
        two = first if way == 0 else second if way == 1 else landing(first, high)
        there, there2 = landing(one, high), landing(two, low)
        same = two > OFF
        for k in range(8):
            p = (first, second, one, two, to, to2, there, there2)[k]
            before = (p == to) + (p == to2) - (p == first) - (p == second)
            same = same and (p == OFF or before == (p == there) + (p == there2) - (p == one) - (p == two))
            if is_blot(S, i, player, p, back, hit):
                same = same and (p in (to, to2)) == (p in (there, there2))
        if not same or not can_move(S, i, player, one, high, back, again, NO_POINT, NO_POINT):
            continue
        if can_move(S, i, player, two, low, back, again, one, there):
            return True
    return False


@jit
def in_one_go(S, i, player, high, low, first, second, undo):
    """Whether two moves lead where one checker gets from `second`, by the high die and then by the low one.

    The moves are `first` by the high die, then `second` by the low die to the point that `first` has left. With `undo` row i is the
    position after the first move.
    """
    between = second - high
    if second - low != first or between <= OFF or is_blot(S, i, player, between, NO_POINT, False):
        return False
    back, again = (landing(first, high), first) if undo else (NO_POINT, NO_POINT)
    return can_move(S, i, player, second, high, back, again, NO_POINT, NO_POINT) and can_move(
        S, i, player, between, low, back, again, second, between
    )


@jit
def leads_on(S, i, player, high, low, first):
    """Whether `first` by the high die leads to a turn of two moves that equals no other canonical one."""
    for second in range(1, BAR + 1):
        can = can_move(S, i, player, second, low, first, landing(first, high), NO_POINT, NO_POINT)
        if can and not in_one_go(S, i, player, high, low, first, second, False):
            return True
    return False


@jit
def leads_elsewhere(S, i, player, high, low, first):
    """Whether `first` by the low die, then the high one, leads to a position that no order with the high one first reaches."""
    for second in range(1, BAR + 1):
        can = can_move(S, i, player, second, high, first, landing(first, low), NO_POINT, NO_POINT)
        if can and not high_first(S, i, player, high, low, first, second, False):
            return True
    return False


@jit
def has_pair(S, i, player, high, low):
    """Whether both dice can be played, one after the other."""
    for point in range(1, BAR + 1):
        for pips, other in ((high, low), (low, high)):
            can = can_move(S, i, player, point, pips, NO_POINT, NO_POINT, NO_POINT, NO_POINT)
            if can and can_any(S, i, player, other, point, landing(point, pips)):
                return True
    return False


@jit
def legal_actions(S, i, A, T):
    player, left = word(S, i, MOVER), word(S, i, LEFT)
    die, other, last = word(S, i, DIE), word(S, i, OTHER), word(S, i, LAST)
    n = 0
    if left == 2 and die != other:
        pair = has_pair(S, i, player, die, other)
        low_alone = not pair and not can_any(S, i, player, die, NO_POINT, NO_POINT)
        for point in range(1, BAR + 1):
            if can_move(S, i, player, point, other, NO_POINT, NO_POINT, NO_POINT, NO_POINT):
                if pair and T.canonical:
                    legal = leads_elsewhere(S, i, player, die, other, point)
                elif pair:
                    legal = can_any(S, i, player, die, point, landing(point, other))
                else:
                    legal = low_alone
                if legal:
                    A[n] = (point - 1) * 6 + other - 1
                    n += 1
            if can_move(S, i, player, point, die, NO_POINT, NO_POINT, NO_POINT, NO_POINT):
                if pair and T.canonical:
                    legal = leads_on(S, i, player, die, other, point)
                else:
                    legal = not pair or can_any(S, i, player, other, point, landing(point, die))
                if legal:
                    A[n] = (point - 1) * 6 + die - 1
                    n += 1
    else:
        most = double_moves(S, i, player, die, last, left, NO_POINT) if die == other else 0
        for point in range(1, (last if die == other else BAR) + 1):
            legal = can_move(S, i, player, point, die, NO_POINT, NO_POINT, NO_POINT, NO_POINT)
            if legal and die == other and T.canonical:
                legal = 1 + double_moves(S, i, player, die, point, left - 1, point) >= most
            elif legal and last > 0 and die > other:
                legal = not high_first(S, i, player, die, other, last, point, True)
            elif legal and last > 0 and die < other:
                legal = not in_one_go(S, i, player, other, die, last, point, True)
            if legal:
                A[n] = (point - 1) * 6 + die - 1
                n += 1
    if n == 0:
        A[0] = PASS
        return 1
    return n


@jit(inline=True)
def end_turn(S, j):
    """Gives the turn to the other player, who throws."""
    S[j, MOVER], S[j, PHASE] = 1 - S[j, MOVER], THROW
    for w in range(DIE, WIDTH):
        S[j, w] = 0


@jit
def action_cost(S, i, a, T):
    """Counts a turn as one decision at its last action: 1 if nothing can move afterwards."""
    left, die, other = word(S, i, LEFT), word(S, i, DIE), word(S, i, OTHER)
    if a == PASS or left == 1:
        return 1
    player, point, pips = word(S, i, MOVER), int(a) // 6 + 1, int(a) % 6 + 1
    if point <= pips and count(S, i, player, OFF) == CHECKERS - 1:
        return 1
    if die == other:
        return int(double_moves(S, i, player, die, point if T.canonical else BAR, 1, point) == 0)
    return int(not can_any(S, i, player, other if pips == die else die, point, landing(point, pips)))


@jit
def apply_action(S, i, a, j, T):
    ends = action_cost(S, i, a, T) == 1
    copy_row(S, i, j)
    if a == PASS:
        end_turn(S, j)
        return
    player, point, pips = word(S, j, MOVER), int(a) // 6 + 1, int(a) % 6 + 1
    to = landing(point, pips)
    S[j, SIDE * player + point] -= 1
    S[j, SIDE * player + to] += 1
    hit = to > OFF and count(S, j, 1 - player, BAR - to) == 1
    if hit:
        S[j, SIDE * (1 - player) + BAR - to] = 0
        S[j, SIDE * (1 - player) + BAR] += 1
    die, other = word(S, j, DIE), word(S, j, OTHER)
    S[j, LEFT] -= 1
    if ends:
        end_turn(S, j)
        if count(S, j, player, OFF) == CHECKERS:
            S[j, MOVER], S[j, PHASE] = player, OVER
    elif die == other:
        S[j, LAST] = point if T.canonical else BAR
    else:
        S[j, DIE] = other if pips == die else die
        S[j, OTHER], S[j, LAST], S[j, HIT] = (pips, point, hit) if T.canonical else (0, 0, 0)


@jit(inline=True)
def throw(S, j, player, high, low):
    """Writes a player's throw to row j."""
    double = high == low
    S[j, MOVER], S[j, PHASE], S[j, DIE], S[j, OTHER] = player, MOVE, high, low
    S[j, LEFT], S[j, LAST], S[j, HIT] = 4 if double else 2, BAR if double else 0, 0


@jit
def chance_outcomes(S, j, P, o, T):
    n = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            for player in range(2):
                opening = S[j, PHASE] == OPENING
                if (opening and high == low) or (not opening and player != S[j, MOVER]):
                    continue
                row = o + np.uint64(n)
                copy_row(S, j, row)
                throw(S, row, player, high, low)
                P[row] = 1 / 30 if opening else 1 / 36 if high == low else 1 / 18
                n += 1
    return n


@jit
def sample_outcome(S, j, R, T):
    one, two = int(below(R, 6)) + 1, int(below(R, 6)) + 1
    player = word(S, j, MOVER)
    if S[j, PHASE] == OPENING:
        two = int(below(R, 5)) + 1
        two += two >= one
        player = 0 if one > two else 1
    throw(S, j, player, max(one, two), min(one, two))


@jit
def returns(S, i, T):
    if S[i, PHASE] != OVER:
        return 0.0
    winner = word(S, i, MOVER)
    points = 1.0
    if count(S, i, 1 - winner, OFF) == 0:
        points = 2.0
        for point in range(19, BAR + 1):
            if count(S, i, 1 - winner, point) > 0:
                points = 3.0
    return points if winner == 0 else -points


@jit
def observe_as(S, i, player, O, e, T):
    own_side = int(player)
    for w in range(SIDE):
        O[e, w] = S[i, SIDE * own_side + w]
        O[e, SIDE + w] = S[i, SIDE * (1 - own_side) + w]
    for w in range(2 * SIDE, 2 * SIDE + 7):
        O[e, w] = 0
    die, other, left = S[i, DIE], S[i, OTHER], S[i, LEFT]
    if left > 0:
        O[e, 2 * SIDE + die - 1] = left if die == other else 1
        if left == 2 and die != other:
            O[e, 2 * SIDE + other - 1] = 1
    O[e, 2 * SIDE + 6] = S[i, PHASE] != OPENING and S[i, MOVER] == own_side


@jit
def observe(S, i, O, e, T):
    observe_as(S, i, word(S, i, MOVER), O, e, T)


@jit
def key(S, i, T):
    """Hashes a row: a count of checkers takes four bits, so that thirteen of them go into a word."""
    h = np.uint64(0)
    for part in range(5):
        packed = np.uint64(0)
        for w in range(13 * part, min(13 * part + 13, WIDTH)):
            packed = (packed << np.uint64(4 if part < 4 else 5)) | np.uint64(S[i, w])
        h = mix(h ^ packed)
    return h
