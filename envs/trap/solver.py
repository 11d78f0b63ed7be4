"""The exact solver of Trap on boards of 3 and 4 a side: values of every position, and the solver's interface.

Values are expected results. With fewer than NEAR turns left until the draw, turns are counted, and the values are exact for
this position. Earlier, values are those of the game without a cap, in which endless play is worth 0.
"""

from __future__ import annotations

import time
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Bytes, Floats, Ints
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import Solution, check_question
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.tables import Tables, make_tables, solver_mb
from leafwise.envs.trap.text import fields

# Values of every position of a small board, without a cap on turns or with a number of turns left until the draw.
#
# Without a cap: value iteration, layer by layer of equally many traps. Traps are never removed, so the boards with most traps come
# first. Throws that change nothing stay in their layer, in cycles. A layer starts from 0 and is swept synchronously until no value
# changes: the limit of games with ever later caps, in which endless play is worth 0.
#
# With a cap: one turn more at a time, starting with no turn left, where every position is worth 0. The changes of each turn are
# stored, so that the table can go back to fewer turns.
#
# Positions are stored with the player to move in one eighth of the board, the rest by symmetry. A position is valued again only if
# a value that it depends on has changed.


TINY = 1e-13
"""A smaller change of a value does not count."""


class TrapMemory(NamedTuple):
    """Geometry and values; C cells, E cells in an eighth of the board."""

    cells: int
    step: Ints
    """[C, 8]: neighbours, -1 off the board."""
    near: Ints
    """[C]: neighbours as a bitboard."""
    hits: Floats
    """[C, C]: from, target -> probability of a hit."""
    eighth: Ints
    """[C]: the cell of the eighth that is an image of this cell, counted from 0."""
    turn: Ints
    """[C]: the symmetry that moves a cell there."""
    image: Ints
    """[8, C]"""
    turned: NDArray[np.int32]
    """[8, 2**C]: bitboards under each symmetry."""
    values: Floats
    """[E * C * 2**C]: for the player to move, by his cell, the other's and the traps."""
    fresh: Floats
    """New values, in the order of a layer; as long as the largest layer."""
    places: NDArray[np.int32]
    """Slots whose values changed in a layer; as long as the largest layer."""
    before: Floats
    """Their old values; equally long."""
    due: Bytes
    """[E * C * 2**C]: whether a value that this one depends on has changed."""
    worth: Floats
    """[C]: scratch, value after the trap has landed on each cell."""
    immediate: bool


def make_memory(T: Tables) -> TrapMemory:
    """Returns empty memory for a variant."""
    cells = T.cells
    turn = T.image.argmin(axis=0)
    home = T.image.min(axis=0)
    firsts, eighth = np.unique(home, return_inverse=True)
    boards = np.arange(1 << cells)
    turned = np.zeros((8, 1 << cells), dtype=np.int32)
    for cell in range(cells):
        turned |= ((boards >> cell & 1) << T.image[:, cell, None]).astype(np.int32)
    entries = len(firsts) * cells << cells
    largest = len(firsts) * (cells - 1) * comb(cells - 2, cells // 2 - 1)
    return TrapMemory(
        cells=cells,
        step=T.step,
        near=T.near[:, 0].astype(np.int64),
        hits=T.accuracy,
        eighth=eighth.astype(np.int64),
        turn=turn,
        image=T.image,
        turned=turned,
        values=np.zeros(entries),
        fresh=np.zeros(largest),
        places=np.zeros(largest, dtype=np.int32),
        before=np.zeros(largest),
        due=np.ones(entries, dtype=np.uint8),
        worth=np.zeros(cells),
        immediate=T.immediate,
    )


@jit(inline=True)
def slot_of(me, opponent, traps, M):
    """Returns the slot of a position's value."""
    k = M.turn[me]
    return ((M.eighth[me] * M.cells + M.image[k, opponent]) << M.cells) + np.int64(M.turned[k, traps])


@jit(inline=True)
def landed(me, opponent, traps, M):
    """Returns the value of a board for the thrower after the landing."""
    if M.near[opponent] & ~(traps | (1 << me)) == 0:
        return 1.0
    if M.immediate and M.near[me] & ~(traps | (1 << opponent)) == 0:
        return -1.0
    return -M.values[slot_of(opponent, me, traps, M)]


@jit
def value_landings(me, opponent, traps, M):
    """Writes the value of a landing on each cell for the thrower to M.worth; both players' cells get 0."""
    same = landed(me, opponent, traps, M)
    for cell in range(M.cells):
        if cell in (me, opponent):
            M.worth[cell] = 0.0
        elif traps >> cell & 1:
            M.worth[cell] = same
        else:
            M.worth[cell] = landed(me, opponent, traps | (1 << cell), M)


@jit(inline=True)
def throw_value(me, opponent, target, M):
    """Returns the value of a throw for the thrower, from the landings in M.worth."""
    hit = M.hits[me, target]
    total, n = 0.0, 0
    for direction in range(8):
        cell = M.step[target, direction]
        if cell >= 0 and cell != me and cell != opponent:
            total += M.worth[cell]
            n += 1
    return hit * M.worth[target] + (1.0 - hit) * total / n


@jit
def moved_value(me, opponent, traps, M):
    """Returns the value of having moved to a cell: 1 if the other player is stuck, otherwise the best throw."""
    if M.near[opponent] & ~(traps | (1 << me)) == 0:
        return 1.0
    value_landings(me, opponent, traps, M)
    best = -1.0
    for target in range(M.cells):
        if target != me and target != opponent:
            best = max(best, throw_value(me, opponent, target, M))
    return best


@jit(inline=True)
def mark(me, opponent, traps, M):
    """Marks a position as due, in all forms in which it is stored (several if a player stands on an axis)."""
    home = M.image[M.turn[me], me]
    for k in range(8):
        if M.image[k, me] == home:
            M.due[((M.eighth[me] * M.cells + M.image[k, opponent]) << M.cells) + np.int64(M.turned[k, traps])] |= 1


@jit
def mark_before(me, opponent, traps, M):
    """Marks the positions from which a turn leads here: the opponent moved to its cell, and a trap landed or nothing changed."""
    for direction in range(8):
        start = M.step[opponent, direction]
        if start >= 0 and start != me:
            if traps >> start & 1 == 0:
                mark(start, me, traps, M)
            for cell in range(M.cells):
                fewer = traps & ~(1 << cell)
                if fewer != traps and fewer >> start & 1 == 0:
                    mark(start, me, fewer, M)


@jit
def sweep(states, M):
    """Values every due position of a layer from its successors' values in the table.

    Writes the slots of changed values to `places` and the old values to `before`; returns how many.
    """
    # New values of due positions.
    mask = (1 << M.cells) - 1
    for i in range(states.shape[0]):
        at = states[i, 0]
        if M.due[at]:
            me, traps, opponent = states[i, 1], at & mask, (at >> M.cells) % M.cells
            best = -1.0
            for direction in range(8):
                to = M.step[me, direction]
                if to >= 0 and to != opponent and traps >> to & 1 == 0:
                    best = max(best, moved_value(to, opponent, traps, M))
            M.fresh[i] = best

    # Stores the values that changed.
    moved = 0
    for i in range(states.shape[0]):
        at = states[i, 0]
        if M.due[at]:
            M.due[at] = 0
            if abs(M.fresh[i] - M.values[at]) > TINY:
                M.due[at] = 2
                M.places[moved] = at
                M.before[moved] = M.values[at]
                M.values[at] = M.fresh[i]
                moved += 1

    # Positions that depend on these are due.
    for i in range(states.shape[0]):
        at = states[i, 0]
        if M.due[at] & 2:
            M.due[at] &= 1
            mark_before(states[i, 1], (at >> M.cells) % M.cells, at & mask, M)
    return moved


def layer(number: int, M: TrapMemory) -> Ints:
    """Returns the stored positions with `number` traps; shape [n, 2]: slot, cell of the player to move."""
    boards = np.arange(1 << M.cells)
    boards = boards[np.bitwise_count(boards) == number]
    parts = []
    for k in range(int(M.eighth.max()) + 1):
        me = next(cell for cell in range(M.cells) if M.eighth[cell] == k and M.turn[cell] == 0)
        for opponent in range(M.cells):
            if opponent != me:
                free = boards[boards & (1 << me | 1 << opponent) == 0]
                slots = ((k * M.cells + opponent) << M.cells) + free
                parts.append(np.stack([slots, np.full(len(slots), me)], axis=1))
    return np.concatenate(parts)


MOST_SWEEPS = 5000
"""Sweeps of a layer without a cap; its last values then change by less than 1e-9 a sweep."""

Moves = list[tuple[NDArray[np.int32], Floats]]
"""Slots whose values differ between two turns, and the values that are not in the table, by layer."""


def size(moves: Moves) -> int:
    """Returns the bytes of a turn's changes."""
    return sum(places.nbytes + values.nbytes for places, values in moves)


class TurnTable:
    """The values of all positions, without a cap or with a number of turns left; it moves between these on request."""

    def __init__(self, T: Tables, table_mb: float) -> None:
        """Raises ValueError for less memory than the values need; the rest of it stores the changes of the last turns."""
        self.memory = make_memory(T)
        needed = sum(array.nbytes for array in self.memory if isinstance(array, np.ndarray)) / 2**20
        need_in(table_mb, Range(needed, unit="MB"), "a table", "trap")
        self.nodes = 0
        """Positions visited."""
        self._room = (table_mb - needed) * 2**20
        self._layers: list[Ints] = []
        """Layers by their number of traps, for counted turns."""
        self._begin(capped=False)

    def _begin(self, *, capped: bool) -> None:
        """Clears the table; with a cap, to the values with no turn left."""
        self.memory.values[:] = 0.0
        self.memory.due[:] = 1
        self._capped = capped
        self._done = 0
        """Layers done: of all, or of the current turn."""
        self._turns = self._first = 0
        """The turns left in the table, and the fewest to which it can go back."""
        self._moves: list[Moves] = []
        """The changes of each turn from `_first` on."""
        self._current_moves: Moves = []
        self._is_stable = False
        """Whether more turns change nothing."""

    def solve(self, stop: Bytes, turns: int | None = None) -> bool:
        """Goes to `turns` turns left (None: no cap); returns False if stopped, and continues at the next call."""
        if (turns is not None) != self._capped or (turns is not None and turns < self._first):
            self._begin(capped=turns is not None)
        return self._add_layers(stop) if turns is None else self._count(stop, turns)

    def _add_layers(self, stop: Bytes) -> bool:
        """Computes the missing values without a cap."""
        while self._done < self.memory.cells - 1:
            states = layer(self.memory.cells - 2 - self._done, self.memory)
            for _ in range(MOST_SWEEPS):
                if stop[0]:
                    return False
                self.nodes += len(states)
                if sweep(states, self.memory) == 0:
                    break
            self._done += 1
        return True

    def _count(self, stop: Bytes, turns: int) -> bool:
        """Goes to `turns` turns left, at least `_first`."""
        while self._done or self._turns != turns:
            known = self._first + len(self._moves)
            if self._done or self._turns == known < turns:
                if self._is_stable:
                    break
                if not self._add_turn(stop):
                    return False
            elif self._turns < turns:
                self._swap(self._moves[self._turns - self._first])
                self._turns += 1
            else:
                self._turns -= 1
                self._swap(self._moves[self._turns - self._first])
        return True

    def _swap(self, moves: Moves) -> None:
        """Exchanges values with those in the table."""
        for places, values in moves:
            values[:], self.memory.values[places] = self.memory.values[places], values.copy()

    def _add_turn(self, stop: Bytes) -> bool:
        """Computes the values with one turn more, from layers with fewest traps on, which read only values with a turn less."""
        M = self.memory
        while self._done < M.cells - 1:
            if self._done == len(self._layers):
                self._layers.append(layer(self._done, M))
            if stop[0]:
                return False
            states = self._layers[self._done]
            moved = sweep(states, M)
            self.nodes += len(states)
            self._current_moves.append((M.places[:moved].copy(), M.before[:moved].copy()))
            self._done += 1
        moves, self._current_moves, self._done = self._current_moves, [], 0
        self._is_stable = size(moves) == 0
        if not self._is_stable:
            self._moves.append(moves)
            self._turns += 1
        while sum(map(size, self._moves)) > self._room and len(self._moves) > 1:
            self._moves.pop(0)
            self._first += 1
        return True


# The interface of the solver.


NEAR = 32
"""Turns before the draw from which on they are counted; no search looks further. On 3x3 a draw further away changes no value by
more than 0.015.
"""
SAME = 1e-9
"""Actions with a smaller difference in value are equally good."""


class TrapSolver:
    """Solves every position of a board at the first question (at once for 3x3, some 10 s for 4x4), and keeps the values.

    Near the draw it does so for each number of turns left (minutes for 4x4).

    Raises ValueError for a larger board, or for less memory than its values need.
    """

    def __init__(self, game: Game, table_mb: float = 64) -> None:
        solver_mb(game.options)
        self.game = game
        self.table = TurnTable(make_tables(game.options), table_mb)
        self.memory = self.table.memory
        self.stop: Bytes = np.zeros(1, dtype=np.uint8)
        sweep(np.zeros((0, 2), dtype=np.int64), self.memory)  # compiles or loads the code
        moved_value(0, 2, 0, self.memory)
        value_landings(0, 2, 0, self.memory)
        throw_value(0, 2, 1, self.memory)

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; see `leafwise.envs.core.play.solver.Solver`. Scores are None."""
        check_question(self.game, state, actions)
        if state.is_chance:
            raise UserError(f"trap: expected a position in which a player acts, got {str(state)!r}")
        started = time.perf_counter()
        self.table.nodes = 0
        self.stop[0] = 0
        if state.is_terminal:
            value = -state.returns if fields(state.row).turn % 2 else state.returns
            return Solution(value=value, score=None, bounds=(value, value))
        turns_left = self.game.options.last_turn - fields(state.row).turn
        is_near = turns_left < NEAR
        if not stoppable(lambda: self.table.solve(self.stop, turns_left - 1 if is_near else None), self.stop):
            return Solution(None, None, nodes=self.table.nodes, seconds=time.perf_counter() - started, complete=False)
        values = self.values(state)
        best = max(values.values())
        best_actions = tuple(name for name, value in values.items() if value > best - SAME)
        line = best_actions[:1]
        if state.play(line[0]).legal_actions:  # the throw of the same turn
            throws = self.values(state.play(line[0]))
            line += (max(throws, key=throws.__getitem__),)
        return Solution(
            value=best,
            score=None,
            best_actions=best_actions[: None if actions != "none" else 1],
            action_values=values if actions == "all" else {},
            line=line,
            nodes=self.table.nodes,
            depth=len(line),
            seconds=time.perf_counter() - started,
            bounds=(best, best),
            note="" if is_near else f"as without the draw, which is {turns_left} turns away",
        )

    def values(self, state: State) -> dict[str, float]:
        """Returns the value of every legal action for the player who acts, by name; only after `solve` for the same turn."""
        M, position, names = self.memory, fields(state.row), self.game.actions
        if position.phase == r.MOVE:
            cells = {names[a]: int(M.step[position.me, a]) for a in state.legal_actions}
            return {name: float(moved_value(to, position.other, position.traps, M)) for name, to in cells.items()}
        value_landings(position.me, position.other, position.traps, M)
        return {names[a]: float(throw_value(position.me, position.other, a - 8, M)) for a in state.legal_actions}

    def known(self) -> dict[str, Any]:
        """Returns `bounds` of the value (trivial until all is known) and `nodes`, of the running search."""
        return {"bounds": (-1, 1), "nodes": self.table.nodes}
