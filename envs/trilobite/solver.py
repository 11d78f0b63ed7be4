"""The exact solver of Trilobite: win, draw or loss, and how soon, for any position of any board.

The compiled alpha-beta search comes first, then the questions about a position, the stored scores of Connect Four's first
plies, and the interface for people, tools and learners.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from leafwise.envs.core.arrays import Array, Bytes, Ints, Words
from leafwise.envs.core.compile.emitted import bind_arguments
from leafwise.envs.core.compile.jit import ResolvedEntry, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import values_of
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import UNKNOWN, Solution, check_question
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.trilobite.features import reversed_columns
from leafwise.envs.trilobite.rules import FOUR, ONE, TWO, ZERO, has_line, landing_cells, safe_replies, threats
from leafwise.envs.trilobite.tables import Tables, make_tables

# The alpha-beta search.
#
# Null-window alpha-beta on bitboards (fail-soft, with an explicit stack), repeated until both bounds meet.
# What makes it fast: the replies to a move are computed before it is searched, so a move without a safe reply wins
# without a visit. Only moves that do not lose at once are searched, those with most threats first. The table is
# read for every child before one is searched. The table starts small enough for the processor's cache and grows only under
# pressure, which beats a large table by a factor of two.
#
# Scores: the winner's is (cells + 1 - m) // 2, with m chips before the winning one; the loser's is its negative; a
# draw is 0. This is the convention of the Connect Four literature.

MIN_TABLED = 8
"""Positions with fewer empty cells are not stored, but searched again."""
MIRRORED_CHIPS = 14
"""Positions with at most this many chips share a table entry with their mirror image."""
FIRST_BITS = 19
"""The table starts with 2**19 entries of 8 bytes: 4 MB."""
PRESSURE = 48
"""The table doubles after this many stores per entry."""
MOST_PLIES = 64
"""Plies for which buffers have room."""
POLL = 1023
"""The stop byte is read every POLL + 1 nodes."""

SIX, EIGHT, TWELVE, SIXTY_FOUR = u64(6), u64(8), u64(12), u64(64)
LOW6 = u64(63)
DATA = u64((1 << 18) - 1)
"""An entry: the hash without the bits of its slot, then left (6 bits), low + 32 (6), high + 32 (6)."""
SCATTER = u64(0x9E3779B97F4A7C15)
"""An odd factor, so that multiplication is one-to-one: slot and tag together identify the position."""

BITS, STORES = 0, 1
NODES, STOPPED, SCORING, LOWEST, HIGHEST, LENGTH, ANSWERED, LIMIT = 0, 1, 2, 3, 4, 5, 6, 7


class TrilobiteMemory(NamedTuple):
    """The memory of the compiled search: the board's geometry (as in `tables.Tables`), the table, one stack."""

    width: int
    k: np.uint64
    stride: np.uint64
    board: np.uint64
    bottom: np.uint64
    cells: int
    columns: Words
    """Cells of each column, centre first."""
    good: Words
    """Empty cells left, modulo 2 -> cells where a threat of the mover lasts (odd rows for player 0)."""
    table: Words
    """Pairs of entries: the deepest, then the newest."""
    size: Ints
    """BITS: log2 of the entries in use; STORES since it last grew."""
    max_bits: int
    frames: Words
    """Ply [64, 8]: mover's chips, all chips, opponent's threats, next move, end of moves, hash."""
    bounds: Ints
    """Ply [64, 3]: best so far, proven low, proven high."""
    moves: Words
    """Eight moves a ply [512, 4]: cell, mover's threats after it, replies that do not lose at once, order."""
    out: Ints
    """NODES visited, whether STOPPED, whether SCORING the root, its LOWEST and HIGHEST score, LENGTH of the line, number of
    columns that are ANSWERED, and the LIMIT of nodes (0: none).
    """
    line: Ints
    """Columns of the principal variation [56]."""
    stop: Bytes


@jit(inline=True)
def key_of(own, filled, left, M):
    """Returns a number that identifies a position; near the start it is the same for the mirror image."""
    key = own + filled  # the carry marks the height of every column, so the sum determines both
    if left >= M.cells - MIRRORED_CHIPS:
        other = reversed_columns(own, M) + reversed_columns(filled, M)
        if other < key:
            key = other
    return key


@jit(inline=True)
def hash_of(own, filled, left, M):
    """Returns a one-to-one hash of a position; near the start it is the same for the mirror image."""
    return key_of(own, filled, left, M) * SCATTER


@jit(inline=True)
def lookup(h, bits, M):
    """Returns the data stored for a hash; 0 if there are none."""
    first = (h >> (SIXTY_FOUR - bits + ONE)) << ONE
    tag = h << (bits - ONE)
    entry = M.table[first]
    if (entry ^ tag) <= DATA:
        return entry & DATA
    entry = M.table[first + ONE]
    if (entry ^ tag) <= DATA:
        return entry & DATA
    return ZERO


@jit(inline=True)
def most_stores(M):
    """Returns the number of stores after which the table grows; a number never reached if it may not grow."""
    return np.int64(PRESSURE) << M.size[BITS] if M.size[BITS] < M.max_bits else np.int64(1) << 62


@jit(inline=True)
def remember(h, bits, low, high, left, M):
    """Stores bounds: the deeper position keeps the first slot of a pair, the newer one gets the second."""
    first = (h >> (SIXTY_FOUR - bits + ONE)) << ONE
    entry = (h << (bits - ONE)) | (u64(left) << TWELVE) | (u64(low + 32) << SIX) | u64(high + 32)
    present = M.table[first]
    if (present ^ entry) <= DATA:
        M.table[first] = entry
    elif (present >> TWELVE) & LOW6 <= u64(left):
        M.table[first] = entry
        M.table[first + ONE] = present
    else:
        M.table[first + ONE] = entry


@jit
def grow(M):
    """Doubles the table in place: a pair of entries splits into two pairs by the next bit of their hashes."""
    bits = u64(M.size[BITS])
    for k in range(1 << (M.size[BITS] - 1)):
        pair = (ONE << (bits - ONE)) - ONE - u64(k)
        deep, new = M.table[TWO * pair], M.table[TWO * pair + ONE]
        for half in range(2):
            slot = FOUR * pair + TWO * u64(half)
            M.table[slot] = ZERO
            M.table[slot + ONE] = ZERO
            for entry in (new, deep):  # the deep one last, into the first slot
                if entry & DATA and (entry >> u64(63)) == u64(half):
                    M.table[slot + ONE] = M.table[slot]
                    M.table[slot] = ((entry & ~DATA) << ONE) | (entry & DATA)
    M.size[BITS] += 1
    M.size[STORES] = 0


@jit(inline=True)
def expand(own, filled, moves, base, left, M):
    """Writes the moves, best first, to M.moves from `base` on; returns the end, or `base` if a move wins.

    A move wins if every reply of the opponent loses at once.
    """
    landing = landing_cells(filled, M)
    good = M.good[left & 1]
    end = base
    for c in range(M.width):
        cell = moves & M.columns[c]
        if cell == ZERO:
            continue
        mine = threats(own | cell, M.board ^ filled ^ cell, M)
        below = (landing ^ cell) | ((cell << ONE) & M.board)
        replies = safe_replies(below, mine)
        if replies == ZERO:
            return base
        order = TWO * (TWO * count_bits(mine) + count_bits(mine & good))
        if below & mine == ZERO:  # among equal moves, forcing ones come later
            order += ONE
        j = end
        while j > base and M.moves[j - ONE, 3] < order:
            for field in range(4):
                M.moves[j, field] = M.moves[j - ONE, field]
            j -= ONE
        M.moves[j, 0], M.moves[j, 1], M.moves[j, 2], M.moves[j, 3] = cell, mine, replies, order
        end += ONE
    return end


@jit(inline=True)
def known_child(own, filled, base, end, left, g, M):
    """Returns the table's score of the first move known to reach `g`; g - 1 if there is none."""
    bits = u64(M.size[BITS])
    for j in range(base, end):
        data = lookup(hash_of(own ^ filled, filled | M.moves[j, 0], left - 1, M), bits, M)
        if data and 32 - np.int64(data & LOW6) >= g:
            return 32 - np.int64(data & LOW6)
    return g - 1


@jit
def search(own, filled, g, M):
    """Returns a score on the same side of `g` as the true one: at least g, or below it; it is a bound to the true score."""
    # The loop below needs positions without a win in one and with a safe move.
    left = M.cells - np.int64(count_bits(filled))
    empty = M.board ^ filled
    hostile = threats(own ^ filled, empty, M)
    landing = landing_cells(filled, M)
    moves = safe_replies(landing, hostile)
    if threats(own, empty, M) & landing:
        return (left + 1) // 2
    if moves == ZERO:
        return -(left // 2)  # also a full board
    nodes = M.out[NODES]
    bits = u64(M.size[BITS])
    limit = most_stores(M)
    ply = ZERO
    while True:
        # Every 1,024 nodes: the stop byte, the limit of nodes, and the size of the table.
        nodes += 1
        if nodes & POLL == 0:
            M.out[NODES] = nodes
            if M.stop[0] or 0 < M.out[LIMIT] < nodes:
                M.out[STOPPED] = 1
                return 0
            if M.size[STORES] > limit:
                grow(M)
                bits += ONE
                limit = most_stores(M)
        # Nobody wins with the next two chips: the mover cannot now, the opponent cannot after a safe move.
        low, high = -((left - 2) // 2), (left - 1) // 2
        result, done, h = 0, True, ZERO
        if left <= 2:
            result = 0
        elif low >= g:
            result = low
        elif high < g:
            result = high
        else:
            done = False
            # The table may decide.
            if left >= MIN_TABLED:
                h = hash_of(own, filled, left, M)
                data = lookup(h, bits, M)
                if data:
                    low = max(low, np.int64((data >> SIX) & LOW6) - 32)
                    high = min(high, np.int64(data & LOW6) - 32)
                    if low >= g:
                        result, done = low, True
                    elif high < g:
                        result, done = high, True
        if not done:
            # The moves: one may win, or reach `g` by the table's score of its successor.
            base = ply * EIGHT
            end = expand(own, filled, moves, base, left, M)
            if end == base:
                result = (left - 1) // 2
                done = True
            else:
                high = min(high, (left - 3) // 2)  # nor with its second chip
                if high < g:
                    result = high
                    done = True
                elif left > MIN_TABLED:
                    result = known_child(own, filled, base, end, left, g, M)
                    done = result >= g
            if not done:
                # Otherwise the position becomes a frame of the stack.
                M.frames[ply, 0], M.frames[ply, 1], M.frames[ply, 2] = own, filled, hostile
                M.frames[ply, 3], M.frames[ply, 4], M.frames[ply, 5] = base, end, h
                M.bounds[ply, 0], M.bounds[ply, 1], M.bounds[ply, 2] = -99, low, high
        # The result goes up to the position above, and further while that is decided or has no moves left.
        while done:
            if ply == ZERO:
                M.out[NODES] = nodes
                return result
            ply -= ONE
            left, g, result = left + 1, 1 - g, -result
            low, high = M.bounds[ply, 1], M.bounds[ply, 2]
            # It reaches `g` there, or is the best so far while other moves may be better.
            if result >= g:
                low = result
            else:
                M.bounds[ply, 0] = max(M.bounds[ply, 0], result)
                if M.frames[ply, 3] < M.frames[ply, 4]:
                    break
                result = min(M.bounds[ply, 0], high)
                high = result
            if left >= MIN_TABLED:
                M.size[STORES] += 1
                remember(M.frames[ply, 5], bits, low, high, left, M)
        # The next move of the last frame.
        j = M.frames[ply, 3]
        M.frames[ply, 3] = j + ONE
        cell, hostile, moves = M.moves[j, 0], M.moves[j, 1], M.moves[j, 2]
        filled = M.frames[ply, 1]
        own = M.frames[ply, 0] ^ filled
        filled |= cell
        ply += ONE
        left -= 1
        g = 1 - g


@jit
def narrow(own, filled, low, high, M):
    """Returns the exact score, which lies in low..high (any number after a stop)."""
    while low < high:
        g = low + 1
        if low <= 0:
            g = 1 if high > 0 else high  # first the sign, then step by step away from 0
        result = search(own, filled, g, M)
        if M.out[STOPPED]:
            return low
        if result >= g:
            low = result
        else:
            high = result
        if M.out[SCORING]:
            M.out[LOWEST], M.out[HIGHEST] = low, high
    return low


@jit
def outcome(own, filled, M):
    """Returns 1, 0 or -1 for the mover (any number after a stop)."""
    if search(own, filled, 1, M) >= 1:
        return 1
    if M.out[STOPPED]:
        return 0
    return 0 if search(own, filled, 0, M) >= 0 else -1


@jit
def score_rows(S, results, M):
    """Writes the exact score of every row, none of them finished, to `results`."""
    for i in range(S.shape[0]):
        filled = S[i, 0] | S[i, 1]
        own = S[i, np.int64(count_bits(filled) & ONE)]
        left = M.cells - np.int64(count_bits(filled))
        results[i] = narrow(own, filled, -(left // 2), (left + 1) // 2, M)


# Questions about one position, answered in one compiled call: its score, its columns' scores and the principal variation.


VALUES, BEST, NO_COLUMNS, OUTCOME = 0, 1, 2, 3
"""Questions about columns: their scores, whether they keep the position's score, nothing; OUTCOME: not even the score."""
FULL = -99
"""The score of a full column."""
FINISHED = -1
"""The value of ANSWERED for a finished position."""


@jit
def follow(own, filled, score, most, M):
    """Writes up to `most` plies of the principal variation from a position with a known score to M.line.

    Among equal moves it takes one in the table.
    """
    n = 0
    while filled != M.board and n < most:
        landing = landing_cells(filled, M)
        left = M.cells - np.int64(count_bits(filled))
        wins = threats(own, M.board ^ filled, M) & landing
        bits = u64(M.size[BITS])
        choice = wins & (~wins + ONE)
        for certain in range(2):
            for c in range(M.width):
                cell = landing & M.columns[c]
                if cell == ZERO or choice:
                    continue
                other, after = own ^ filled, filled | cell
                if certain:
                    reached = search(other, after, 1 - score, M) <= -score
                else:
                    data = lookup(hash_of(other, after, left - 1, M), bits, M)
                    reached = data and np.int64(data & LOW6) - 32 <= -score
                if M.out[STOPPED]:
                    return
                if reached:
                    choice = cell
        M.line[n] = count_bits(choice - ONE) // M.stride
        n += 1
        M.out[LENGTH] = n
        if wins:
            return
        own, filled = own ^ filled, filled | choice
        score = -score


@jit
def answer(own, filled, question, most, scores, M):
    """Returns the score of an unfinished position, and writes the scores of its columns and the principal variation.

    Scores go to scores [width], and up to `most` plies to M.line. For the question BEST, a column that does not keep the
    position's score gets that score minus 1. A full column gets FULL.
    """
    left = M.cells - np.int64(count_bits(filled))
    M.out[LOWEST], M.out[HIGHEST], M.out[SCORING] = -(left // 2), (left + 1) // 2, 1
    score = narrow(own, filled, M.out[LOWEST], M.out[HIGHEST], M)
    M.out[SCORING] = 0
    landing = landing_cells(filled, M)
    wins = threats(own, M.board ^ filled, M) & landing
    below, above = -((left - 1) // 2), left // 2
    for c in range(M.width if question != NO_COLUMNS else 0):
        cell = landing & (((ONE << M.stride) - ONE) << (M.stride * u64(c)))
        if cell & wins:
            scores[c] = (left + 1) // 2
        elif cell and question == BEST:
            scores[c] = score if search(own ^ filled, filled | cell, 1 - score, M) <= -score else score - 1
        elif cell:
            scores[c] = -narrow(own ^ filled, filled | cell, max(-score, below), above, M)
        else:
            scores[c] = FULL
        if M.out[STOPPED]:
            return score
        M.out[ANSWERED] = c + 1
    if not M.out[STOPPED]:
        follow(own, filled, score, most, M)
    return score


@jit
def ask(bound):
    """Returns the score of a position, or only its sign, as `request` [4] says.

    A request has the chips of each player, the question, and the most plies of the line. `bound` are the request, scores
    [width] and M; `answer` writes the results there. Results of the last position are cleared. A FINISHED position has only a
    score.
    """
    request, scores, M = bound[0], bound[1], bound[2]
    M.stop[0] = 0
    for k in range(M.out.shape[0]):
        M.out[k] = 0
    filled = request[0] | request[1]
    chips = np.int64(count_bits(filled))
    own = request[chips & 1]
    lost = has_line(own ^ filled, M)
    if lost or filled == M.board:
        M.out[ANSWERED] = FINISHED
        return -((M.cells + 2 - chips) // 2) if lost else 0
    if request[2] != u64(OUTCOME):
        return answer(own, filled, np.int64(request[2]), np.int64(request[3]), scores, M)
    return outcome(own, filled, M)


# Exact scores of the first plies of Connect Four (7x6, k = 4), so that the solver answers at once there.
#
# `openings.safetensors` holds every unfinished position of these plies, up to the mirror image;
# `python -m leafwise.experiments.trilobite.openings` computes it with the solver itself.


FILE = Path(__file__).with_name("openings.safetensors")
BOARD = {"board": "7x6", "k": 4}


class Openings(NamedTuple):
    """Scores of positions of the first plies, the later plies first."""

    keys: Words
    """`key_of` of each position [n]."""
    left: Bytes
    """Empty cells [n]."""
    scores: NDArray[np.int8]
    """For the player to move [n]."""
    about: dict[str, Any]
    """How the table was made."""


def read_openings(path: Path = FILE) -> Openings:
    """Reads a table; raises ValueError if it is not for this board."""
    with safe_open(path, framework="numpy") as file:
        about = json.loads(file.metadata()["leafwise"])
        keys, left, scores = (file.get_tensor(name) for name in ("keys", "left", "scores"))
    if {name: about.get(name) for name in BOARD} != BOARD:
        raise UserError(f"openings {str(path)!r}: expected a table of {BOARD}, got {about}")
    return Openings(keys, left, scores, about)


@jit
def remember_all(keys, left, scores, M):
    """Stores exact scores in the solver's table, in this order: of two that share a slot the later one stays longer."""
    bits = u64(M.size[BITS])
    for i in range(keys.shape[0]):
        score = np.int64(scores[i])
        remember(keys[i] * SCATTER, bits, score, score, np.int64(left[i]), M)


# The interface of the solver.


def make_memory(T: Tables, table_mb: float) -> TrilobiteMemory:
    """Returns memory for one thread; the table uses at most `table_mb` and touches its pages as it grows.

    Raises ValueError below 4 MB.
    """
    need_in(table_mb, Range(2**FIRST_BITS * 8 >> 20, unit="MB"), "a table", "trilobite")
    max_bits = int(np.log2(table_mb * 2**20 / 8))
    width, height = T.width, T.height
    bottom = int(T.bottom)
    column = (1 << height) - 1
    centre_first = sorted(range(width), key=lambda c: abs(2 * c - (width - 1)))
    odd_rows = sum(bottom << y for y in range(0, height, 2))
    good = [odd_rows, int(T.board) ^ odd_rows]
    if width * height % 2:
        good.reverse()
    return TrilobiteMemory(
        width=width,
        k=T.k,
        stride=T.stride,
        board=T.board,
        bottom=T.bottom,
        cells=width * height,
        columns=np.array([column << c * (height + 1) for c in centre_first], dtype=np.uint64),
        good=np.array(good, dtype=np.uint64),
        table=np.zeros(1 << max_bits, dtype=np.uint64),
        size=np.array([FIRST_BITS, 0], dtype=np.int64),
        max_bits=max_bits,
        frames=np.zeros((64, 8), dtype=np.uint64),
        bounds=np.zeros((64, 3), dtype=np.int64),
        moves=np.zeros((512, 4), dtype=np.uint64),
        out=np.zeros(8, dtype=np.int64),
        line=np.zeros(64, dtype=np.int64),
        stop=np.zeros(1, dtype=np.uint8),
    )


COLUMN_QUESTIONS = {"all": VALUES, "best": BEST}
"""The question about columns for each value of `actions`; NO_COLUMNS for others."""


class TrilobiteSolver:
    """Solves positions of one board, win, draw or loss and how soon; its table serves later positions too.

    At 7x6 with k = 4 it reads the first plies from a file (`openings`), unless `by_heart` is False.
    """

    def __init__(self, game: Game, table_mb: float = 64, *, by_heart: bool = True) -> None:
        self.game = game
        self.tables = make_tables(game.options)
        self.memory = make_memory(self.tables, table_mb)
        self.stop: Bytes = self.memory.stop
        self.openings = read_openings() if by_heart and values_of(game.options) == BOARD else None
        self._first_plies = self.memory.cells if self.openings is None else int(self.openings.left.min())
        self._remembered: list[int] = []
        """`memory.size` after the openings were last stored."""
        self._scores = np.zeros(self.memory.width, dtype=np.int64)
        self._score_rows, self._remember_all = ResolvedEntry(score_rows), ResolvedEntry(remember_all)
        request = np.zeros(4, dtype=np.uint64)
        self._request = request.data
        self._ask = bind_arguments(ask, request, self._scores, self.memory)
        self.scores(game.rows(0))  # compiles

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`."""
        check_question(self.game, state, actions)
        started = time.perf_counter()
        score = self._answer(state, COLUMN_QUESTIONS.get(actions, NO_COLUMNS), 1 if actions == "move" else MOST_PLIES)
        out, names = self.memory.out.tolist(), self.game.actions
        if out[ANSWERED] == FINISHED:
            return Solution(value=_sign(score), score=score, action_scores={}, bounds=(score, score))
        scores_by_name = {}
        if out[ANSWERED]:
            scores = self._scores.tolist()[: out[ANSWERED]]
            scores_by_name = {name: s for name, s in zip(names, scores, strict=False) if s != FULL}
        line = tuple([names[c] for c in self.memory.line[: out[LENGTH]].tolist()])
        low, high, all_actions = out[LOWEST], out[HIGHEST], actions == "all"
        is_exact = low == high
        return Solution.of(
            value=_sign(score) if is_exact else None,
            score=score if is_exact else None,
            best_actions=tuple([name for name, s in scores_by_name.items() if s == score]) or line[:1],
            action_values={name: (s > 0) - (s < 0) for name, s in scores_by_name.items()} if all_actions else {},
            action_scores=scores_by_name if all_actions else {},
            line=line,
            nodes=out[NODES],
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(low, high),
            complete=not out[STOPPED],
        )

    def _answer(self, state: State, question: int, most: int) -> int:
        """Asks a question about a position; returns its score, or its sign for the question OUTCOME."""
        first, second = state.row.tolist()
        self._refresh((first | second).bit_count())
        request = self._request
        request[0], request[1], request[2], request[3] = first, second, question, most
        return int(stoppable(self._ask, self.stop))

    def _refresh(self, chips: int) -> None:
        """Stores the opening table again if a search may have displaced parts of it.

        `chips` are those of the position in question: after the first plies no stored opening can occur.
        """
        if self.openings is None or self.memory.cells - chips < self._first_plies:
            return
        size = self.memory.size.tolist()
        if size != self._remembered:
            self._remember_all(self.openings.keys, self.openings.left, self.openings.scores, self.memory)
            self._remembered = size

    def scores(self, rows: Words) -> Ints:
        """Returns the exact scores of many positions, none of them finished; rows [n, 2]."""
        M = self.memory
        M.stop[0] = 0
        M.out[:] = 0
        self._refresh(int(rows[0, 0] | rows[0, 1]).bit_count() if len(rows) == 1 else 0)
        results = np.zeros(len(rows), dtype=np.int64)
        stoppable(lambda: self._score_rows(np.ascontiguousarray(rows, dtype=np.uint64), results, M), self.stop)
        return results

    def value(self, state: State) -> int:
        """Returns 1, 0 or -1 for the player to move, without "how soon", which is faster than `solve`."""
        return _sign(self._answer(state, OUTCOME, 0))

    def moves_left(self, state: State, score: int) -> int:
        """Returns the winner's remaining moves, with the last one, from a score other than 0."""
        first, second = state.row.tolist()
        chips = (first | second).bit_count()
        before = self.memory.cells - 2 * abs(
            score
        )  # chips before the winning one, or one more: depends on whose turn it is
        return (before + (before - chips - (score < 0)) % 2 - chips) // 2 + 1

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the score and `nodes`, of the running search."""
        out = self.memory.out
        return {"bounds": (int(out[LOWEST]), int(out[HIGHEST])), "nodes": int(out[NODES])}


def _sign(score: int) -> int:
    return (score > 0) - (score < 0)


# Exact outcomes of positions as labels for learning, by the alpha-beta search with a limit of nodes.


@jit
def label_rows(S, first, results, limit, M):
    """Writes the values of rows for the player to move, 1, 0 or -1, to `results` [n]; UNKNOWN beyond `limit` nodes.

    The rows belong to games one after another; `first` [n] is the number of the first row of each row's game, and no row is
    finished. A game is searched from its end, so that the table knows what follows, up to the first row that needs more than
    `limit` nodes.
    """
    i = S.shape[0] - 1
    while i >= 0:
        filled = S[i, 0] | S[i, 1]
        own = S[i, np.int64(count_bits(filled) & ONE)]
        M.out[NODES], M.out[STOPPED], M.out[LIMIT] = 0, 0, limit
        value = outcome(own, filled, M)
        if M.out[STOPPED]:
            for j in range(first[i], i + 1):
                results[j] = UNKNOWN
            i = first[i]
        else:
            results[i] = value
        i -= 1
    M.out[LIMIT] = 0


class TrilobiteLabels:
    """Labels positions with exact outcomes, by a search of limited nodes without an opening table.

    See `leafwise.envs.core.play.solver.LabelSolver`.
    """

    def __init__(self, game: Game, table_mb: float) -> None:
        self.memory = make_memory(make_tables(game.options), table_mb)
        self._label_rows = ResolvedEntry(label_rows)

    def __call__(self, rows: Array, first: Ints, nodes: int) -> NDArray[np.int8]:
        """Returns the value of each row for the player to move, or `UNKNOWN`."""
        results = np.zeros(len(rows), dtype=np.int8)
        contiguous = np.ascontiguousarray(rows)
        stoppable(lambda: self._label_rows(contiguous, first, results, nodes, self.memory), self.memory.stop)
        return results
