"""The features of backgammon's network: binary features of a position before a throw.

Points count from each player's own side; the features of the player who throws come first, then those of the other. Besides the
checkers at each point they describe contact: blockades, the points before the last checker, the home board against checkers on the
bar, and the number of throws that hit.
"""

from __future__ import annotations

from leafwise.authoring import jit
from leafwise_backgammon.rules import BAR, MOVER, OFF, count, word

MANY = 7
"""Number of checkers at a point from which one feature covers more."""
WINDOW = 6
"""Number of points of a blockade: the reach of a die."""
PATTERNS = 1 << WINDOW
WINDOWS = BAR - 1 - WINDOW + 1
PIPS = 24
"""Classes of a player's remaining pips, 8 in each."""
LEADS = 33
"""Classes of the difference of pips, 6 in each."""

# First features of each table of one player.
POINTS = 0
BORNE = POINTS + BAR * MANY
BLOCKS = BORNE + 16
AHEAD = BLOCKS + WINDOWS * PATTERNS
HOME = AHEAD + (BAR + 1) * PATTERNS
COUNTED = HOME + 3 * PATTERNS
OWN = COUNTED + PIPS
"""Features of one player."""
LEAD = 2 * OWN
CONTACT = LEAD + LEADS
SHOTS = CONTACT + 2
SIZE = SHOTS + 2 * 37
MOST = 2 * (15 + 1 + WINDOWS + 1 + 1 + 1) + 1 + 1 + 2


@jit(inline=True)
def side(S, i, T):
    """Returns the player who throws."""
    return word(S, i, MOVER)


@jit
def mask(S, i, player, least, most):
    """Returns a bit for each point of a player, with the bar, that has `least` to `most` checkers."""
    bits = 0
    for point in range(1, BAR + 1):
        if least <= count(S, i, player, point) <= most:
            bits |= 1 << point
    return bits


@jit(inline=True)
def turned(bits):
    """Returns the bits of points, without the bar, as the other player counts them."""
    points = 0
    for point in range(1, BAR):
        points |= (bits >> point & 1) << (BAR - point)
    return points


@jit
def shots(on, bar, blocked, blots):
    """Counts the throws of 36 that hit one of `blots` with one checker, perhaps after entering from the bar with `bar` checkers."""
    if blots == 0:
        return 0
    total = 0
    for high in range(1, 7):
        for low in range(1, high + 1):
            hit = False
            for swap in range(2 if high > low else 1):
                first, second = (high, low) if swap == 0 else (low, high)
                here = 1 << BAR if bar > 0 else on
                to = here >> first & ~blocked
                hit = hit or to & blots != 0
                if bar > 1:
                    continue
                if bar == 1:
                    to = (to | on) & ~(1 << BAR) if to & ~1 else 0
                steps = 3 if high == low else 1
                for _ in range(steps):
                    to = to >> second & ~blocked
                    hit = hit or to & blots != 0
            if hit:
                total += 1 if high == low else 2
    return total


@jit
def of_player(S, i, player, first, F, n):
    """Writes the features of one player, from `first` on; returns their number so far, the pips and the last point."""
    made, blocked = mask(S, i, player, 2, 15), turned(mask(S, i, 1 - player, 2, 15))
    pips, last = 0, 0
    for point in range(1, BAR + 1):
        checkers = count(S, i, player, point)
        if checkers > 0:
            F[n] = first + POINTS + (point - 1) * MANY + min(checkers, MANY) - 1
            n += 1
            pips += point * checkers
            last = point
    F[n] = first + BORNE + count(S, i, player, OFF)
    n += 1
    for window in range(WINDOWS):
        pattern = made >> (window + 1) & PATTERNS - 1
        if pattern & pattern - 1:  # two points at least: single ones are above
            F[n] = first + BLOCKS + window * PATTERNS + pattern
            n += 1
    before = blocked << WINDOW >> last & PATTERNS - 1
    F[n] = first + AHEAD + last * PATTERNS + before
    F[n + 1] = first + HOME + min(count(S, i, 1 - player, BAR), 2) * PATTERNS + (made >> 1 & PATTERNS - 1)
    F[n + 2] = first + COUNTED + min(pips // 8, PIPS - 1)
    return n + 3, pips, last


@jit
def active(S, i, F, T):
    """Writes the features of row i; returns their number."""
    player = word(S, i, MOVER)
    n, pips, last = of_player(S, i, player, 0, F, 0)
    n, others, other_last = of_player(S, i, 1 - player, OWN, F, n)
    contact = last + other_last > BAR
    F[n] = LEAD + min(max((pips - others + 6 * (LEADS // 2) + 3) // 6, 0), LEADS - 1)
    F[n + 1] = CONTACT + contact
    n += 2
    if contact:
        for k in range(2):
            who = player if k == 0 else 1 - player
            blocked, blots = turned(mask(S, i, 1 - who, 2, 15)), turned(mask(S, i, 1 - who, 1, 1))
            F[n] = SHOTS + 37 * k + shots(mask(S, i, who, 1, 15), count(S, i, who, BAR), blocked, blots)
            n += 1
    return n
