"""The exact solver of Cassis: a canonical form of boards, a compiled search that stores them by it, and the solver's interface."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.cassis.rules import LOST, ONE, ZERO, spoiled
from leafwise.envs.cassis.tables import MAX_EDGES, MAX_POINTS, Tables, make_tables
from leafwise.envs.core.arrays import Bytes, Ints, Words
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import Solution, check_question
from leafwise.envs.core.ranges import Range, need_in

# A true canonical form of Cassis boards: equal if and only if a renaming of the points maps one board to the other.
#
# Individualisation and refinement, as in McKay, "Practical graph isomorphism" (1981): points are split into cells
# by their edges. If cells with several points remain, each point of the first such cell is tried in front of
# its cell, and the least board wins. Points that can be swapped without changing the board (twins) are tried once.


S3, S24, S28, S51 = u64(3), u64(24), u64(28), u64(51)
SEVEN = u64(7)


class Scratch(NamedTuple):
    """Buffers of the canonical form; one set per thread."""

    cell: Words
    """Level, point [10, 8] -> its cell, named by the cell's first place."""
    trying: Ints
    """Level [10, 2]: the cell to split, the next point to try."""
    label: Words
    """Point [8]: its refined label, then its place; bits 0 to 2 are the point."""


def make_scratch() -> Scratch:
    """Returns new buffers."""
    return Scratch(
        cell=np.zeros((MAX_POINTS + 2, MAX_POINTS), dtype=np.uint64),
        trying=np.zeros((MAX_POINTS + 2, 2), dtype=np.int64),
        label=np.zeros(MAX_POINTS, dtype=np.uint64),
    )


@jit(inline=True)
def renamed(own, other, cell, T):
    """Returns a board (other's edges from bit 28 on) after every point has taken the name `cell[point]`."""
    result = ZERO
    for e in range(T.edges):
        bit = u64(e)
        colours = ((own >> bit) & ONE) | (((other >> bit) & ONE) << S28)
        if colours:
            result |= colours << u64(T.edge_of[cell[T.ends[e, 0]], cell[T.ends[e, 1]]])
    return result


@jit(inline=True)
def refine(own, other, level, scratch, T):
    """Splits the cells of a level until nothing changes; returns the number of cells.

    A point's label is its cell and, for each colour, the number of its edges into each cell (three bits per cell).
    """
    cells = 0
    while True:
        # The label of each point, from its edges.
        for v in range(T.n):
            scratch.label[v] = (scratch.cell[level, v] << S51) | u64(v)
        for e in range(T.edges):
            bit = u64(e)
            shift = ZERO
            if (other >> bit) & ONE:
                shift = S24
            elif (own >> bit) & ONE == ZERO:
                continue
            a, b = T.ends[e, 0], T.ends[e, 1]
            scratch.label[a] += ONE << (shift + S3 * scratch.cell[level, b] + S3)
            scratch.label[b] += ONE << (shift + S3 * scratch.cell[level, a] + S3)
        # Sorts the points by label.
        for v in range(1, T.n):
            label = scratch.label[v]
            k = v
            while k > 0 and scratch.label[k - 1] > label:
                scratch.label[k] = scratch.label[k - 1]
                k -= 1
            scratch.label[k] = label
        # Points with equal labels form a cell.
        before = cells
        cells = 0
        first = ZERO
        for k in range(T.n):
            if k == 0 or (scratch.label[k] ^ scratch.label[k - 1]) > SEVEN:
                cells += 1
                first = u64(k)
            scratch.cell[level, np.int64(scratch.label[k] & SEVEN)] = first
        if cells == before or cells == T.n:
            return cells


@jit(inline=True)
def are_twins(own, other, a, b, T):
    """Whether swapping two points leaves the board unchanged."""
    for c in range(T.n):
        if c != a and c != b:
            d, e = u64(T.edge_of[a, c]), u64(T.edge_of[b, c])
            if ((own >> d) ^ (own >> e)) & ONE or ((other >> d) ^ (other >> e)) & ONE:
                return False
    return True


@jit
def canonical(own, other, scratch, T):
    """Returns the least renamed board, own edges in bits 0 to 27, the other's from bit 28 on."""
    for v in range(T.n):
        scratch.cell[0, v] = ZERO
    best = ~ZERO
    level = 0
    cells = refine(own, other, 0, scratch, T)
    while True:
        # A complete renaming, or a cell to split.
        if cells == T.n:
            best = min(best, renamed(own, other, scratch.cell[level], T))
            level -= 1
        else:
            # The first cell with several points has the least name that two points share.
            split = T.n
            for a in range(T.n):
                for b in range(a):
                    if scratch.cell[level, a] == scratch.cell[level, b]:
                        split = min(split, np.int64(scratch.cell[level, a]))
            scratch.trying[level, 0] = split
            scratch.trying[level, 1] = 0
        # The next point to try in front of its cell; a twin of an earlier point is skipped.
        cells = 0
        while level >= 0 and cells == 0:
            v = scratch.trying[level, 1]
            scratch.trying[level, 1] = v + 1
            if v >= T.n:
                level -= 1
                continue
            split = u64(scratch.trying[level, 0])
            if scratch.cell[level, v] != split:
                continue
            twin = False
            for a in range(v):
                if scratch.cell[level, a] == split and are_twins(own, other, a, v, T):
                    twin = True
            if twin:
                continue
            for a in range(T.n):
                name = scratch.cell[level, a]
                scratch.cell[level + 1, a] = name + ONE if name == split and a != v else name
            level += 1
            cells = refine(own, other, level, scratch, T)
        if level < 0:
            return best


def canonical_form(row: Words, T: Tables) -> Words:
    """Returns the canonical board of a row: equal for two rows if and only if a renaming of the points maps one to the other."""
    board = int(canonical(row[0] & ~LOST, row[1] & ~LOST, make_scratch(), T))
    return np.array([board & (1 << 28) - 1, board >> 28], dtype=np.uint64) | (row & LOST)


# The compiled search: is the value at least g?
#
# Depth-first with an explicit stack. Only safe edges are searched (one that closes an own triangle loses at once); a
# move that leaves the opponent none wins without a visit. Moves with most safe edges for the mover and fewest for the
# opponent come first. Positions with many safe edges are stored under their true canonical form.


MIN_TABLED = u64(12)
"""Positions with fewer safe edges of both players together are not stored, but searched again."""
POLL = 1023
"""The stop byte is read every POLL + 1 nodes."""
ALWAYS_DECIDED = 6
"""From this number of points on no game is drawn: R(3, 3) = 6."""

SCATTER = u64(0x9E3779B97F4A7C15)
"""An odd factor, so that multiplication is one-to-one: slot and tag together identify the position."""
TWO, THREE, MOVES, S56, SIXTY_FOUR = u64(2), u64(3), u64(28), u64(56), u64(64)
NODES, STOPPED, STORED, LOWEST, HIGHEST = 0, 1, 2, 3, 4


class CassisMemory(NamedTuple):
    """The memory of the search: the table and one stack."""

    table: Words
    """Entries: the hash without the bits of its slot, then 2 + answer; a new entry replaces an old one."""
    bits: np.uint64
    """log2 of the number of entries."""
    frames: Words
    """Ply [32, 8]: mover's edges, opponent's, spoiled edges of both, next move, end of moves, hash."""
    moves: Words
    """28 moves a ply [32 * 28, 3]: edge, mover's spoiled edges after it, order."""
    out: Ints
    """NODES visited, whether STOPPED, positions STORED, LOWEST and HIGHEST value."""
    scratch: Scratch
    stop: Bytes


@jit(inline=True)
def expand(own, other, mine, theirs, base, g, M, T):
    """Writes the safe moves, best first, to M.moves; returns their end, or `base` if one decides."""
    free = T.all & ~(own | other)
    safe = free & ~mine
    end = base
    while safe:
        bit = safe & (~safe + ONE)
        safe ^= bit
        edge = count_bits(bit - ONE)
        after = spoiled(own | bit, T)
        remaining = free ^ bit
        replies = remaining & ~theirs
        if replies == ZERO and (remaining or g <= 0):
            return base
        order = SIXTY_FOUR + count_bits(remaining & ~after) - count_bits(replies)
        j = end
        while j > base and M.moves[j - ONE, 2] < order:
            for field in range(3):
                M.moves[j, field] = M.moves[j - ONE, field]
            j -= ONE
        M.moves[j, 0], M.moves[j, 1], M.moves[j, 2] = edge, after, order
        end += ONE
    return end


@jit
def reaches(own, other, g, M, T):
    """Whether the mover can get a value of at least g, 0 or 1; any answer after a stop."""
    mine, theirs = spoiled(own, T), spoiled(other, T)
    nodes = M.out[NODES]
    ply = ZERO
    while True:
        nodes += 1
        if nodes & POLL == 0:
            M.out[NODES] = nodes
            if M.stop[0]:
                M.out[STOPPED] = 1
                return False
        # The answer without a search, if possible: the end, no safe move, or the table.
        free = T.all & ~(own | other)
        h = ZERO
        answer = -1
        if free == ZERO:
            answer = 1 if g <= 0 else 0
        elif free & ~mine == ZERO:
            answer = 0
        elif count_bits(free & ~mine) + count_bits(free & ~theirs) >= MIN_TABLED:
            # The hash identifies the position up to renaming; if draws exist, each question g has its own hash.
            h = canonical(own, other, M.scratch, T)
            if T.n < ALWAYS_DECIDED:
                h |= u64(g) << S56
            h *= SCATTER
            entry = M.table[h >> (SIXTY_FOUR - M.bits)] ^ (h << M.bits)
            if entry ^ TWO <= ONE:  # 2 or 3: the tag fits
                answer = 1 if entry & ONE else 0
                h = ZERO
        # Otherwise a new node.
        if answer < 0:
            base = ply * MOVES
            end = expand(own, other, mine, theirs, base, g, M, T)
            if end == base:
                answer = 1
            else:
                M.frames[ply, 0], M.frames[ply, 1], M.frames[ply, 2], M.frames[ply, 3] = own, other, mine, theirs
                M.frames[ply, 4], M.frames[ply, 5], M.frames[ply, 6] = base, end, h
        # An answer goes back up to a node with moves left.
        while answer >= 0:
            if ply == ZERO:
                M.out[NODES] = nodes
                return answer == 1
            ply -= ONE
            g = 1 - g
            answer = 1 - answer
            if answer == 0 and M.frames[ply, 4] < M.frames[ply, 5]:
                break
            h = M.frames[ply, 6]
            if h:
                M.out[STORED] += 1
                M.table[h >> (SIXTY_FOUR - M.bits)] = (h << M.bits) | TWO | u64(answer)
        # The next move of that node.
        j = M.frames[ply, 4]
        M.frames[ply, 4] = j + ONE
        own, other = M.frames[ply, 1], M.frames[ply, 0] | (ONE << M.moves[j, 0])
        mine, theirs = M.frames[ply, 3], M.moves[j, 1]
        ply += ONE
        g = 1 - g


# The interface of the solver.


ENOUGH_BITS = {7: 17, 8: 23}
"""Points -> log2 of the number of entries beyond which a larger table does not help; 13 for fewer points."""


class SolverStopped(Exception):
    """The solver's stop byte is set."""


class CassisSolver:
    """Solves positions for one number of points: win, draw or loss; its table serves later positions too.

    The table uses at most `table_mb`, and no more than this number of points can fill. Raises ValueError below 1 MB.
    """

    def __init__(self, game: Game, table_mb: float = 64) -> None:
        need_in(table_mb, Range(1, unit="MB"), "a table", "cassis")
        bits = min(int(np.log2(table_mb * 2**20 / 8)), ENOUGH_BITS.get(game.options.n, 13))
        self.game = game
        self.memory = CassisMemory(
            table=np.zeros(1 << bits, dtype=np.uint64),
            bits=np.uint64(bits),
            frames=np.zeros((32, 8), dtype=np.uint64),
            moves=np.zeros((32 * MAX_EDGES, 3), dtype=np.uint64),
            out=np.zeros(8, dtype=np.int64),
            scratch=make_scratch(),
            stop=np.zeros(1, dtype=np.uint8),
        )
        self.tables = make_tables(game.options)
        self.stop: Bytes = self.memory.stop
        self._reaches(0, int(self.tables.all), 0)  # compiles or loads the code

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`. Cassis defines no "how soon": scores are None."""
        check_question(self.game, state, actions)
        return stoppable(lambda: self._solve(state, actions), self.stop)

    def _solve(self, state: State, actions: str) -> Solution:
        """Solves a position, or stops early."""
        started = time.perf_counter()
        names, out = self.game.actions, self.memory.out
        if state.is_terminal:
            final_value = 0 if state.returns == 0 else 1  # the player who closed a triangle has just moved
            return Solution(value=final_value, score=None, bounds=(final_value, final_value))
        player = state.current_player
        own, other = int(state.row[player]), int(state.row[1 - player])
        self.stop[0], out[:], out[LOWEST], out[HIGHEST] = 0, 0, -1, 1
        values: dict[str, int] = {}
        line: list[str] = []
        value = None
        with contextlib.suppress(SolverStopped):
            value = self._value(own, other)
            out[LOWEST] = out[HIGHEST] = value
            safe = self._safe(own, other)
            for e in state.legal_actions:
                if actions == "all":
                    values[names[e]] = -self._value(other, own | 1 << e) if e in safe else -1
                elif actions == "best" and (value == -1 or (e in safe and self._keeps(own, other, e, value))):
                    values[names[e]] = value
            plies = 1 if actions == "move" else MAX_EDGES
            line += [names[e] for e in islice(self._line(own, other, value), plies)]
        return Solution(
            value=value,
            score=None,
            best_actions=tuple(name for name, v in values.items() if v == value) or tuple(line[:1]),
            action_values=values if actions == "all" else {},
            line=tuple(line),
            depth=len(line),
            seconds=time.perf_counter() - started,
            **self.known(),
            complete=not out[STOPPED],
        )

    def _reaches(self, own: int, other: int, g: int) -> bool:
        """Whether the mover can get at least g; raises SolverStopped."""
        answer = reaches(np.uint64(own), np.uint64(other), g, self.memory, self.tables)
        if self.memory.out[STOPPED]:
            raise SolverStopped
        return bool(answer)

    def _value(self, own: int, other: int) -> int:
        """Returns the value for the mover of a position without a triangle."""
        if self._reaches(own, other, 1):
            return 1
        return 0 if self.tables.n < ALWAYS_DECIDED and self._reaches(own, other, 0) else -1

    def _safe(self, own: int, other: int) -> list[int]:
        """Returns the free edges that close no triangle of the mover."""
        spoilt = int(spoiled(np.uint64(own), self.tables)) | own | other
        return [e for e in range(self.tables.edges) if not spoilt >> e & 1]

    def _keeps(self, own: int, other: int, edge: int, value: int) -> bool:
        """Whether colouring a safe edge keeps the position's `value`."""
        return value == -1 or not self._reaches(other, own | 1 << edge, 1 - value)

    def _line(self, own: int, other: int, value: int) -> Iterator[int]:
        """Yields the principal variation; it closes a triangle only if it must."""
        while free := int(self.tables.all) & ~(own | other):
            choice = next((e for e in self._safe(own, other) if self._keeps(own, other, e, value)), None)
            if choice is None:
                yield (free & -free).bit_length() - 1
                return
            yield choice
            own, other, value = other, own | 1 << choice, -value

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value and `nodes`, of the running search."""
        out = self.memory.out
        return {"bounds": (int(out[LOWEST]), int(out[HIGHEST])), "nodes": int(out[NODES])}
