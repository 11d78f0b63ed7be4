"""What learners see of Trilobite: observations, the patterns on its lines, its threats, and the mirror image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures, looked_up_in, repeated
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trilobite.rules import ONE, THREE, ZERO, landing_cells, mover, threats
from leafwise.envs.trilobite.tables import Options, line_tables, lines, parity_tables, windows

if TYPE_CHECKING:
    import gymnasium as gym


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [width * height]: cells row by row from the top, 1 own chip, -1 the other's, 0 empty."""
    import gymnasium as gym

    width, height = options.size
    return gym.spaces.Box(-1.0, 1.0, (width * height,), dtype=np.float32)


CELLS = "cells, row by row from the top"


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the numbers that `observe` writes."""
    width, height = options.size
    cells = tuple(f"row {y + 1}, column {x + 1}" for y in range(height) for x in range(width))
    return {"": (Labels(cells, "1: own chip; -1: the opponent's chip; 0: empty", CELLS),)}


@jit(inline=True)
def observe_as(S, i, player, O, e, T):
    own, other = S[i, player], S[i, 1 - player]
    for y in range(T.height):
        for x in range(T.width):
            bit = u64(x) * T.stride + u64(T.height - 1 - y)
            O[e, y * T.width + x] = np.float32(np.int64((own >> bit) & ONE) - np.int64((other >> bit) & ONE))


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, mover(S, i), O, e, T)


def planes_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [2, height, width] of 0 and 1: own chips, the other's."""
    import gymnasium as gym

    width, height = options.size
    return gym.spaces.Box(0.0, 1.0, (2, height, width), dtype=np.float32)


def planes_labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the planes that `planes_as` writes."""
    return {"": (Labels(("own chips", "the opponent's chips"), "1 at each of these chips"),)}


@jit(inline=True)
def planes_as(S, i, player, O, e, T):
    for side in range(2):
        chips = S[i, player ^ side]
        for y in range(T.height):
            for x in range(T.width):
                O[e, side, y, x] = np.float32((chips >> (u64(x) * T.stride + u64(T.height - 1 - y))) & ONE)


@jit(inline=True)
def reversed_columns(chips, T):
    """Returns a bitboard with its columns in reverse order."""
    column = (ONE << T.stride) - ONE
    result = ZERO
    for _ in range(T.width):
        result = (result << T.stride) | (chips & column)
        chips >>= T.stride
    return result


@jit(inline=True)
def transform(S, i, k, j, T):
    """Writes row i mirrored left-right (k = 1), or unchanged."""
    for player in range(2):
        S[j, player] = reversed_columns(S[i, player], T) if k else S[i, player]


@jit(inline=True)
def transform_action(a, k, T):
    return T.width - 1 - a if k else a


@jit(inline=True)
def canonical_board(S, i, T):
    """Returns the chips of both players on the lesser of a board and its mirror image, all chips, and the threats of each
    player.
    """
    first, second = S[i, 0], S[i, 1]
    mirrored, mirrored_second = reversed_columns(first, T), reversed_columns(second, T)
    if mirrored < first or (mirrored == first and mirrored_second < second):
        first, second = mirrored, mirrored_second
    filled = first | second
    empty = T.board & ~filled
    return first, second, filled, threats(first, empty, T), threats(second, empty, T)


@jit(inline=True)
def column_of(filled, wins, losses, c, T):
    """Returns the bits of column c, its number of empty cells, and the number of the pattern of threats in them."""
    start = T.stride * u64(c)
    column = ((ONE << (T.stride - ONE)) - ONE) << start
    height = count_bits(filled & column)
    empty, lowest = T.stride - ONE - height, start + height
    pattern = ((wins & column) >> lowest) | ((losses & column) >> lowest) << empty
    return column, empty, ((ONE << (empty + empty)) - ONE) // THREE + pattern


@jit(inline=True)
def sparse_active(S, i, F, T):
    """Writes the features of row i and returns their number.

    They are the pattern on every row and diagonal, in base 3 (1 player 0's chip, 2 player 1's); the empty cells of every column
    in which a chip of either player would complete k in a row; the number of chips; the player to move.

    Such cells and their heights decide who must play under one at the end (the odd and even threats of Connect Four). The
    lesser of a board and its mirror image is described, so both have the same features.
    """
    first, second, filled, wins, losses = canonical_board(S, i, T)
    n = T.line_features.shape[0] - 1
    for k in range(n):
        F[k] = T.line_features[k]
    for player in range(2):
        chips = second if player else first
        # Each chip adds its power of 3 to the lines on its cell.
        while chips:
            bit = count_bits((chips - ONE) & ~chips)
            chips &= chips - ONE
            for k in range(3):
                F[u64(T.lines_on[bit, k, 0])] += T.lines_on[bit, k, 1] << player
    start = T.line_features[n]
    for c in range(T.width):
        F[n + c] = start + np.int64(column_of(filled, wins, losses, c, T)[2])
        start += T.column_features
    n += T.width
    number = np.int64(count_bits(filled))
    F[n] = start + number
    F[n + 1] = start + T.width * T.height + 1 + (number & 1)
    return n + 2


def sparse_count(options: Options) -> int:
    """Returns the number of features."""
    width, height = options.size
    known = line_tables(width, height, options.k)
    return int(known["line_features"][-1]) + width * known["column_features"] + width * height + 3


class ObservedColumns(NamedTuple):
    """Columns as read from observations: integer arrays [n, columns], except the chips; cells are bits from below."""

    first: Any
    """[n, cells]: the chips of player 0 on the lesser of a board and its mirror image."""
    second: Any
    stacks: tuple[Any, Any]
    """The chips of each player as bits."""
    height: Any
    """Chips in a column."""
    wins: Any
    """The empty cells in which a chip of player 0 would complete k in a row."""
    losses: Any
    threats: Any
    """The threats of both players."""
    pattern: Any
    """The number of the pattern of both in the empty cells, as in `column_of`."""
    number: Any
    """[n, 1]: number of chips."""


def observed_columns(obs, options: Options) -> ObservedColumns:
    """Returns the columns of observations [n, cells]."""
    (width, height), k = options.size, options.k
    y, x = np.divmod(np.arange(width * height), width)
    y = height - 1 - y
    number = (obs * obs).sum(axis=1)[:, None]
    chips = obs * (1 - number % 2 * 2)  # 1 player 0's, -1 player 1's
    # The lesser of the board and its mirror image, as `seen` compares them
    first, mirrored = (
        [((chips == own) * (1 << (c * (height + 1) + y))).sum(axis=1)[:, None] for own in (1, -1)]
        for c in (x, width - 1 - x)
    )
    less = (first[0] > mirrored[0]) + (first[0] == mirrored[0]) * (first[1] > mirrored[1])
    chips = chips + (chips[:, np.arange(len(x)).reshape(height, width)[:, ::-1].ravel()] - chips) * less
    both = chips == 1, chips == -1
    # Threats: the only empty cells of windows of k cells.
    upright = [[(c, h) for h in range(height)] for c in range(width)]
    cells = [
        [(height - 1 - h) * width + c for c, h in line[at : at + k]]
        for line in lines(width, height, k) + upright
        for at in range(len(line) - k + 1)
    ]
    inside = np.zeros((width * height, len(cells)), dtype=np.int64)
    inside[np.array(cells).T, np.arange(len(cells))] = 1
    bits = (x[:, None] == np.arange(width)) << y[:, None]
    lacks = [np.minimum((own @ inside == k - 1) @ inside.T, 1) * (chips == 0) for own in both]
    wins, losses, threats = (part @ bits for part in (*lacks, np.maximum(*lacks)))
    filled = (both[0] + both[1]) @ (x[:, None] == np.arange(width))
    powers = 1 << np.arange(height + 1)
    here, left = looked_up_in(powers, filled), looked_up_in(powers, height - filled)
    pattern = wins // here + losses // here * left + looked_up_in((powers**2 - 1) // 3, height - filled)
    return ObservedColumns(*both, (both[0] @ bits, both[1] @ bits), filled, wins, losses, threats, pattern, number)


def sparse_observed(obs, options: Options):
    """Returns the features of observations, as `sparse_active` writes them, and the player who acts."""
    (width, height), columns, known = (
        options.size,
        observed_columns(obs, options),
        line_tables(*options.size, options.k),
    )
    starts = known["line_features"]
    powers = np.zeros((width * height, len(starts) - 1), dtype=np.int64)
    for n, line in enumerate(lines(width, height, options.k)):
        for index, (c, h) in enumerate(line):
            powers[(height - 1 - h) * width + c, n] = 3**index
    after = starts[-1] + width * known["column_features"]
    return [
        (columns.first + columns.second * 2) @ powers + starts[:-1],
        columns.pattern + (starts[-1] + np.arange(width) * known["column_features"]),
        columns.number + after,
        columns.number % 2 + (after + width * height + 1),
        columns.number % 2,
    ]


SPARSE = SparseFeatures(
    active=sparse_active,
    size=sparse_count,
    most=lambda options: len(lines(options.size[0], options.size[1], options.k)) + options.size[0] + 2,
    view="first",  # the seats differ: the first player owns the odd threats
    invariant=True,
    observed=sparse_observed,
    version=2,
)


# The features `parity`: patterns on lines, threats in columns, and who has to move last.
#
# There are fewer than in `sparse` (12 thousand on 7x6 instead of 56), so that all weights fit into a processor's cache. They
# contain what players of Connect Four count: when only cells under a threat are left, the player to move is in zugzwang.


DRAWN, FIRST, SECOND, UNDECIDED = 0, 1, 2, 3
"""How a board ends that is filled up without new threats."""
WINS, LOST, FORCED, QUIET = 0, 1, 2, 3
"""What the next two moves decide: the mover wins at once; cannot prevent the other's win; has one move; has several."""
MOST = 3
"""Threatened columns are counted up to this number, given-up threats up to one less."""


@jit(inline=True)
def gathered(chips, line, k):
    """Returns the chips on a window as its lowest bits."""
    return (((chips >> line[k, 0]) & line[k, 1]) * line[k, 2] >> line[k, 3]) & line[k, 4]


@jit(inline=True)
def tactics(own, other, landing):
    """Returns what the next two moves decide, from the threats of the mover and of the other player."""
    hostile = other & landing
    if own & landing:
        return WINS
    if hostile & (hostile - ONE) or (hostile << ONE) & other or landing & ~(other >> ONE) == ZERO:
        return LOST
    return FORCED if hostile else QUIET


@jit(inline=True)
def column_below(cell, T):
    """Returns all cells under a cell."""
    return cell - (ONE << (count_bits(cell - ONE) // T.stride * T.stride))


@jit(inline=True)
def counted(cells, most):
    """Returns the number of cells, at most `most`."""
    n = np.int64(count_bits(cells))
    return n if n < most else np.int64(most)


@jit(inline=True)
def filled_up(filled, wins, losses, T):
    """Fills the board up with safe moves, and returns how it ends.

    Returns the end, the number of given-up threats, who is first in zugzwang, and the columns blocked by the first and by the
    second player.

    A column is safe up to the cell under its lowest threat. When no safe cell is left, the player to move plays under a threat
    of his own, which the other stops, or, without one, under the other's, and loses. New threats are ignored.
    """
    lowest_wins, lowest_losses, last = np.int64(0), np.int64(0), np.int64(0)
    given_up = np.int64(0)
    while True:
        # The safe cells, and the lowest threat of each column.
        landing = landing_cells(filled, T)
        dangers = (wins | losses) & ~filled & ~landing
        safe = landing
        for _ in range(T.height - 1):
            safe |= (safe << ONE) & T.board & ~dangers
        lowest = (safe << ONE) & dangers
        chips = count_bits(filled) + count_bits(safe) - count_bits(lowest)
        mover = np.int64(chips & ONE)
        if given_up == 0:
            last = mover
            lowest_wins, lowest_losses = counted(lowest & wins, MOST), counted(lowest & losses, MOST)
        # Zugzwang: the mover gives up a threat, or loses.
        own, other = (wins, losses) if mover == 0 else (losses, wins)
        mine = lowest & own & ~other
        end = np.int64(-1)
        if lowest == ZERO:
            end = np.int64(DRAWN)
        elif mine == ZERO:
            end = SECOND - mover
        else:
            cell = mine & (~mine + ONE)
            filled |= cell | column_below(cell, T)
            given_up += 1
            if (cell << ONE) & own & T.board:
                end = FIRST + mover
        if end >= 0:
            return end, given_up if given_up < MOST else np.int64(MOST - 1), last, lowest_wins, lowest_losses


@jit(inline=True)
def parity_active(S, i, F, T):
    """Writes the features of row i and returns their number.

    They are the pattern in every window of `tables.windows`, in base 3 (1 player 0's chip, 2 player 1's); the two lowest
    threats in the empty part of every column, and the run under it; how the board ends when it is filled up, with the number of
    chips; what the next moves decide.

    The lesser of a board and its mirror image is described, so both have the same features.
    """
    # The windows.
    first, second, filled, wins, losses = canonical_board(S, i, T)
    n = T.windows.shape[0]
    for k in range(n):
        pattern = T.base3[gathered(first, T.windows, k)] + 2 * T.base3[gathered(second, T.windows, k)]
        F[k] = np.int64(T.windows[k, 5]) + pattern
    # The columns.
    start = T.parity_features[0]
    landing = landing_cells(filled, T)
    top = (landing | ((filled & T.top) << ONE)) >> ONE
    twos, other_twos = first & (first << ONE) & top, second & (second << ONE) & top
    for c in range(T.width):
        column, empty, pattern = column_of(filled, wins, losses, c, T)
        run = 1 if twos & column else 2 if other_twos & column else 0
        F[n + c] = start + T.threat_starts[empty, 0] + run * T.threat_starts[empty, 1] + T.threat_ranks[pattern]
        start += T.parity_features[1]
    n += T.width

    # The end of the board, and the next moves.
    chips = np.int64(count_bits(filled))
    mover = chips & 1
    end, given_up, last, blocked, other_blocked = filled_up(filled, wins, losses, T)
    own, other = (wins, losses) if mover == 0 else (losses, wins)
    F[n] = start + (end * MOST + given_up) * (T.width * T.height + 1) + chips
    start += 3 * MOST * (T.width * T.height + 1)
    counts = (last * (MOST + 1) + blocked) * (MOST + 1) + other_blocked
    F[n + 1] = start + (counts * 4 + tactics(own, other, landing)) * 2 + mover
    return n + 2


def parity_count(options: Options) -> int:
    """Returns the number of features."""
    width, height = options.size
    after, size = parity_tables(width, height, options.k)["parity_features"].tolist()
    return int(after + width * size + 3 * MOST * (width * height + 1) + 2 * (MOST + 1) ** 2 * 4 * 2)


def parity_observed(obs, options: Options):
    """Returns the features of observations, as `parity_active` writes them, and the player who acts."""
    (width, height), columns, known = (
        options.size,
        observed_columns(obs, options),
        parity_tables(*options.size, options.k),
    )
    filled, wins, losses, number = columns.height, columns.wins, columns.losses, columns.number
    after, of_column = known["parity_features"].tolist()
    # The windows.
    powers = np.zeros((width * height, len(known["windows"])), dtype=np.int64)
    for n, (begin, mask, *_) in enumerate(known["windows"].tolist()):
        for place, bit in enumerate(bit for bit in range(64) if mask >> bit & 1):
            c, h = divmod(begin + bit, height + 1)
            powers[(height - 1 - h) * width + c, n] = 3**place
    features = [(columns.first + columns.second * 2) @ powers + known["windows"][:, 5].astype(np.int64)]
    # The columns: two chips of one player on top, and the lowest threats.
    upper = looked_up_in(1 << np.maximum(np.arange(height + 1) - 2, 0), filled)
    twos, other_twos = (stack // upper == 3 for stack in columns.stacks)
    start, of_run = (looked_up_in(part, height - filled) for part in known["threat_starts"].T)
    rank = looked_up_in(known["threat_ranks"].astype(np.int64), columns.pattern)
    features.append(start + (twos + other_twos * 2) * of_run + rank + (after + np.arange(width) * of_column))
    after += width * of_column
    # The end of the board, as in `filled_up`.
    words = range(1 << height)
    lowest = [
        min((h for h in range(low + 1, height) if word >> h & 1), default=height)
        for word in words
        for low in range(height + 1)
    ]
    bits = np.array([word >> h & 1 for word in words for h in range(height + 2)])

    def has(word, place):
        """Returns whether the cell at a place of each column is set in a word."""
        return looked_up_in(bits, word * (height + 2) + place)

    def fill(filled, end, given_up, last, own_lowest, other_lowest):
        danger = looked_up_in(np.array(lowest), columns.threats * (height + 1) + filled)
        exists = 1 - (danger == height)
        mover = (danger - exists).sum(axis=1)[:, None] % 2
        own, other = wins + (losses - wins) * mover, losses + (wins - losses) * mover
        mine = has(own, danger) * (1 - has(other, danger))
        under = mine * (mine @ np.triu(np.ones((width, width)), 1) == 0)
        any_under = under.sum(axis=1)[:, None]
        above = (under * has(own, danger + 1)).sum(axis=1)[:, None]
        ends = any_under * (above * (mover + FIRST) + (1 - above) * UNDECIDED) + (1 - any_under) * (SECOND - mover)
        ends = ends * np.minimum(exists.sum(axis=1)[:, None], 1)  # DRAWN is 0
        goes_on, first = end == UNDECIDED, given_up == 0

        def counted(word):
            return np.minimum((has(word, danger) * exists).sum(axis=1)[:, None], MOST)

        return (
            goes_on * (ends == UNDECIDED),
            filled + under * (danger + 1 - filled) * goes_on,
            end + (ends - end) * goes_on,
            given_up + any_under * goes_on,
            last + (mover - last) * first,
            own_lowest + (counted(wins) - own_lowest) * first,
            other_lowest + (counted(losses) - other_lowest) * first,
        )

    none = number * 0
    _, end, given_up, last, blocked, other_blocked = repeated(fill, filled, none + UNDECIDED, none, none, none, none)
    features.append((end * MOST + np.minimum(given_up, MOST - 1)) * (width * height + 1) + number + after)
    after += 3 * MOST * (width * height + 1)
    # What the next two moves decide, as in `tactics`.
    mover = number % 2
    own, other = wins + (losses - wins) * mover, losses + (wins - losses) * mover
    hostile, above = has(other, filled), has(other, filled + 1)
    wins_now = np.minimum(has(own, filled).sum(axis=1)[:, None], 1)
    threats = hostile.sum(axis=1)[:, None]
    free = ((1 - (filled == height)) * (1 - above)).sum(axis=1)[:, None]
    lost = np.maximum(np.maximum(threats > 1, (hostile * above).sum(axis=1)[:, None] > 0), free == 0)
    decided = (1 - wins_now) * (lost * LOST + (1 - lost) * (QUIET - (threats > 0)))
    counts = (last * (MOST + 1) + blocked) * (MOST + 1) + other_blocked
    return [*features, (counts * 4 + decided) * 2 + mover + after, mover]


PARITY = SparseFeatures(
    active=parity_active,
    size=parity_count,
    most=lambda options: len(windows(options.size[0], options.size[1], options.k)[0]) + options.size[0] + 2,
    view="first",  # the seats differ: the first player owns the odd threats
    invariant=True,
    observed=parity_observed,
)
