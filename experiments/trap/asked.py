"""What a search says of one game of Trap: of standing elsewhere, of every throw, decision by decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import play_out
from leafwise.envs.registry import game as find_game
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.text import MARKS, cells
from leafwise.models.leaves import named_leaf
from leafwise.models.units import Units, units_of
from leafwise.search.engine import Search

GAME = find_game("trap")
SIDE = int(GAME.options.size)
RANDOM_TURNS = 2
"""Turns at the beginning of a game that are drawn at random, so that games differ from the first."""
SURE = 1 - 1e-9
"""A value as far from 0 is that of a game that is won or lost whatever the other does."""
LAST_TURN = 60
"""No question is asked after it: few games last longer, and then both players often stand walled off and pass for ever."""
THROWS = "near+traps"
"""Throws that the searches consider below the one that is asked about."""
STAGES = ("0 to 7 traps", "8 to 15 traps", "16 traps and more")


def stage_of(traps: int) -> int:
    """Returns which of STAGES a board belongs to."""
    return min(2, traps // 8)


class Stand(NamedTuple):
    """One cell where the player who has just thrown could stand instead, as the other's turn begins."""

    traps: int
    """On the board."""
    cell: int
    """Row by row, the same for cells that a symmetry of the board turns into each other."""
    distance: int
    """King's steps to the opponent."""
    free: int
    """Free cells around it."""
    gain: float
    """Chance to win there, less the mean of all free cells of the position."""


class Throw(NamedTuple):
    """One decision where to throw; chances are those of the best throw of a kind, None where there is none."""

    own_free: int
    """Free cells around the thrower."""
    their_free: int
    """Free cells around the opponent."""
    apart: int
    """Rows and columns between the players: what makes a throw miss."""
    near: float | None
    """At the free cells beside the opponent that are nearest to the thrower."""
    behind: float | None
    """At the others of them, further away."""
    elsewhere: float | None
    """At other free cells."""
    certain: float | None
    """A certain pass: at a trap right beside the thrower."""
    trap: float | None
    """At traps further away."""
    hit: float
    """How likely the best throw of all hits."""
    steps: int
    """King's steps from the opponent to where the best throw of all aims."""


@dataclass
class Told:
    """What was asked in one game."""

    stands: list[Stand] = field(default_factory=list)
    throws: list[Throw] = field(default_factory=list)
    boards: list[int] = field(default_factory=lambda: [0] * len(STAGES))
    """Positions in which was asked where to stand, by stage."""
    turns: int = 0
    """Played, those at random too."""
    first: float = 0.0
    """Points of the player who begins."""


def corner_of(cell: int) -> int:
    """Returns the first of the cells that symmetries of the board turn a cell into."""
    row, column = sorted(min(k, SIDE - 1 - k) for k in divmod(cell, SIDE))
    return row * SIDE + column


def king_steps(one: int, other: int) -> int:
    """Returns how many steps two cells are apart."""
    (a, b), (c, d) = divmod(one, SIDE), divmod(other, SIDE)
    return max(abs(a - c), abs(b - d))


def rows_apart(one: int, other: int) -> int:
    """Returns how many rows and columns two cells are apart."""
    (a, b), (c, d) = divmod(one, SIDE), divmod(other, SIDE)
    return abs(a - c) + abs(b - d)


class Asked:
    """Plays games by searches with a leaf, and asks them what else could be done."""

    def __init__(self, model: str, depth: int) -> None:
        """`depth` is that of the searches below what is asked about, in decisions."""
        evaluator = named_leaf(GAME, model)
        units = units_of(GAME, model)
        if units is None or not units.is_chance:
            raise UserError(f"expected a model of Trap that tells chances to win, got {model!r}")
        self.units: Units = units
        self.T = GAME.tables()
        self.move = Search(GAME, evaluator, depth + 2, all_values=False, candidates=THROWS, rare=0.25)
        self.below = Search(GAME, evaluator, depth, all_values=False, candidates=THROWS, rare=0.1)

    def warm(self) -> None:
        """Loads the compiled code."""
        start = GAME.start()
        throw = start.play("S").play("5,3")
        for search in (self.move, self.below):
            search(start)
        self.below(throw)

    def chance(self, state: State, player: int) -> float:
        """Returns the chance to win of the player who is not to act next."""
        if state.is_terminal:
            return (1 + state.returns * (1 if player == 0 else -1)) / 2
        value = self.below(state).value
        if state.is_chance and player == 0:  # the value is player 0's there, and the other player is next to act
            value = -value
        return 1 - self.units(value) if abs(value) < SURE else float(value < 0)

    def stands(self, state: State) -> list[Stand]:
        """Returns what each free cell would be worth to the player who is not to move."""
        actor = state.current_player
        board = cells(state.row, self.T)
        opponent = int(r.cell_of(state.row[1], actor))
        board[int(r.cell_of(state.row[1], 1 - actor))] = 0
        found = []
        for cell, what in enumerate(board):
            if what == 0:
                marks = [MARKS[2 + 1 - actor if k == cell else mark] for k, mark in enumerate(board)]
                rows = "/".join("".join(marks[k : k + SIDE]) for k in range(0, len(marks), SIDE))
                moved = GAME.parse(f"{rows} turn={int(r.turn_of(state.row[1]))}")
                free = self.free_around(cell, moved)
                apart = king_steps(cell, opponent)
                found.append(Stand(board.count(1), corner_of(cell), apart, free, self.chance(moved, 1 - actor)))
        mean = float(np.mean([stand.gain for stand in found]))
        return [stand._replace(gain=round(stand.gain - mean, 4)) for stand in found]

    def free_around(self, cell: int, state: State) -> int:
        """Returns how many free cells are around a cell."""
        board = cells(state.row, self.T)
        return sum(1 for to in self.T.step[cell].tolist() if to >= 0 and board[to] == 0)

    def throw(self, state: State) -> tuple[int, Throw]:
        """Returns the best throw of all, and what each kind of throw is worth."""
        thrower = state.current_player
        me, they = (int(r.cell_of(state.row[1], player)) for player in (thrower, 1 - thrower))
        board = cells(state.row, self.T)
        chances = {action - 8: self.chance(state.play(action), thrower) for action in state.legal_actions}
        beside = {int(to) for to in self.T.step[they] if to >= 0 and board[int(to)] == 0}
        nearest = min((rows_apart(me, cell) for cell in beside), default=0)

        def best(kind: set[int]) -> float | None:
            return round(max(chances[cell] for cell in kind), 4) if kind else None

        near = {cell for cell in beside if rows_apart(me, cell) == nearest}
        traps = {cell for cell in chances if board[cell] == 1}
        certain = {cell for cell in traps if rows_apart(me, cell) == 1}
        free = set(chances) - traps
        chosen = max(chances, key=chances.__getitem__)
        return 8 + chosen, Throw(
            own_free=self.free_around(me, state),
            their_free=len(beside),
            apart=rows_apart(me, they),
            near=best(near),
            behind=best(beside - near),
            elsewhere=best(free - beside),
            certain=best(certain),
            trap=best(traps - certain),
            hit=float(self.T.accuracy[me, chosen]),
            steps=king_steps(they, chosen),
        )

    def __call__(self, seed: int) -> Told:
        """Plays the game of a seed, and tells what was asked."""
        stream, told = new_stream(seed), Told()

        def choose(state: State) -> int:
            told.turns = int(r.turn_of(state.row[1]))
            if told.turns < RANDOM_TURNS:  # a draw of the game's own stream, like its landings
                return state.legal_actions[int(below(stream, len(state.legal_actions)))]
            if told.turns < LAST_TURN:
                if r.phase_of(state.row[1]) == r.THROW:
                    action, throw = self.throw(state)
                    told.throws.append(throw)
                    return action
                stands = self.stands(state)
                told.stands += stands
                told.boards[stage_of(stands[0].traps)] += 1
            found = self.move(state).action
            assert found is not None
            return found

        end = play_out(GAME.start(), choose, lambda state: state.settle(stream))
        told.first = (1 + end.returns) / 2
        return told
