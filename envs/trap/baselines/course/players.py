"""Players of the course by name: `course:is`, `course:hard`, `course:ais,depth=3,chance=full`, `course:PATH/PlayerAI.py`.

A folder means the PlayerAI.py in it. The class of a program is PlayerAI, or the only one that moves and throws, such as HardAI.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.core.errors import Forfeit, UserError
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.play.program import KNOWN, ProgramPlayer
from leafwise.envs.core.programs import NoAnswer, Refused
from leafwise.envs.core.ranges import Range, need_among, need_in
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.rules import ZERO, count_beside, holds, stuck
from leafwise.envs.trap.scores import COUNTS, WEIGHTS, weigh
from leafwise.envs.trap.tables import DIRECTIONS
from leafwise.envs.trap.text import fields

# The course's two search trees. In each, one player moves and the other, who stands still, throws at him.
#
# getMove: my moves, then throws at me; getTrap: my throws, then the other's moves. Both are alpha-beta over alternating moves
# and throws, at most five plies deep, with values for the player who moves. A throw is valued by one of three models of
# chance: "p_only" (probability times the value of a hit; a miss counts 0: the course's simplification, not an
# expectation), "hit_miss" (a miss changes nothing), "full" (every cell in which the trap can land). Values are raw counts;
# a win is worth `BIG`. Source: handout and staff programs of COMS W4701.


ROOM = Path(__file__).parents[2]
"""Trap's folder."""
BIG = 1000.0
MAX_DEPTH = 5
P_ONLY, HIT_MISS, FULL = 0, 1, 2
CHANCE_MODELS = ("p_only", "hit_miss", "full")
NEAR, NEAR_AND_TRAPS, ALL = 0, 1, 2
THROWS = ("near", "near+traps", "all")
"""Targets of throws: free cells next to the player who moves, all cells next to him, or all cells."""


class TreeSettings(NamedTuple):
    """Settings of a tree."""

    factors: Floats
    """[2, 2, 5]: while more than half of the cells are free and later; me and the opponent; weights of `scores.COUNTS`."""
    around: float
    """Weight of the open cells around all my neighbours, including blocked ones."""
    chance: int
    throws: int


@jit(inline=True)
def free_cells(mover, thrower, low, high, T):
    """Returns the free cells of a board with traps `low`, `high` as two words."""
    return (
        T.board[0] & ~(low | T.bit[mover, 0] | T.bit[thrower, 0]),
        T.board[1] & ~(high | T.bit[mover, 1] | T.bit[thrower, 1]),
    )


@jit
def throw_leaf(mover, thrower, low, high, lower, upper, mine, settings, T):
    """Returns the leaf's value for the player who moves; `mine` says whether that is me."""
    me, opponent = (mover, thrower) if mine else (thrower, mover)
    low, high = free_cells(mover, thrower, low, high, T)
    k = 1 if np.int64(count_bits(low) + count_bits(high)) * 2 <= T.cells else 0
    value = weigh(me, low, high, settings.factors[k, 0], T) + weigh(opponent, low, high, settings.factors[k, 1], T)
    if settings.around != 0.0:
        summed = ZERO
        for direction in range(8):
            cell = T.step[me, direction]
            if cell >= 0:
                summed += count_beside(cell, low, high, T)
        value += settings.around * np.float64(summed)
    return value if mine else -value


@jit
def move_leaf(mover, thrower, low, high, lower, upper, mine, settings, T):
    """Returns the value for the player to move without a further search."""
    free_low, free_high = free_cells(mover, thrower, low, high, T)
    if stuck(mover, free_low, free_high, T):
        return -BIG
    if T.immediate and stuck(thrower, free_low, free_high, T):
        return BIG
    return throw_leaf(mover, thrower, low, high, lower, upper, mine, settings, T)


class Plies(NamedTuple):
    """The compiled functions of a tree, called with (mover, thrower, low, high, lower, upper, mine, settings, T).

    `mover` and `thrower` are cells, `low` and `high` the traps as two words of 64 cells, `lower` and `upper` the window, and
    `mine` says whether I am the mover.
    """

    move_value: Compiled
    """The mover is to move: the value for him."""
    throw_value: Compiled
    """The thrower is to throw: the value for the mover."""
    aim_value: Any = None
    """The thrower throws at a cell, the first argument; None for leaves."""


@cache
def compiled(depth: int) -> Plies:
    """Returns the functions of a tree `depth` plies deep; depth 0 means leaves.

    Each depth has its own code, which calls the next one: compiled code should not rely on recursion.
    """
    if depth == 0:
        return Plies(move_leaf, throw_leaf)
    deeper_move, deeper_throw, _ = compiled(depth - 1)

    @bind(ROOM)
    def move_value(mover, thrower, low, high, lower, upper, mine, settings, T):
        """Returns the value after a trap has landed."""
        free_low, free_high = free_cells(mover, thrower, low, high, T)
        if T.immediate and stuck(thrower, free_low, free_high, T) and not stuck(mover, free_low, free_high, T):
            return BIG
        best = -BIG
        for direction in range(8):
            to = T.step[mover, direction]
            if to < 0 or not holds(free_low, free_high, to, T):
                continue
            after_low, after_high = free_cells(to, thrower, low, high, T)
            if stuck(thrower, after_low, after_high, T):
                return BIG
            best = max(best, deeper_throw(to, thrower, low, high, max(lower, best), upper, mine, settings, T))
            if best >= upper:
                return best
        return best

    @bind(ROOM)
    def aim_value(target, mover, thrower, low, high, lower, upper, mine, settings, T):
        """Returns the value of a throw at a cell for the player who moves."""
        p = T.accuracy[thrower, target]
        hit_low, hit_high = low | T.bit[target, 0], high | T.bit[target, 1]
        rest = 0.0
        if p < 1.0 and settings.chance == HIT_MISS:
            rest = (1.0 - p) * deeper_move(mover, thrower, low, high, -np.inf, np.inf, mine, settings, T)
        elif p < 1.0 and settings.chance == FULL:
            n = 0
            for direction in range(8):
                cell = T.step[target, direction]
                if cell >= 0 and cell != mover and cell != thrower:
                    spilt_low, spilt_high = low | T.bit[cell, 0], high | T.bit[cell, 1]
                    rest += deeper_move(mover, thrower, spilt_low, spilt_high, -np.inf, np.inf, mine, settings, T)
                    n += 1
            rest *= (1.0 - p) / n
        lower, upper = (lower - rest) / p, (upper - rest) / p
        return rest + p * deeper_move(mover, thrower, hit_low, hit_high, lower, upper, mine, settings, T)

    @bind(ROOM)
    def throw_value(mover, thrower, low, high, lower, upper, mine, settings, T):
        """Returns the value when the other player throws."""
        best = np.inf
        for k in range(T.cells if settings.throws == ALL else 8):
            target = k if settings.throws == ALL else T.step[mover, k]
            if target < 0 or target in (mover, thrower):
                continue
            if settings.throws == NEAR and holds(low, high, target, T):
                continue
            best = min(best, aim_value(target, mover, thrower, low, high, lower, min(upper, best), mine, settings, T))
            if best <= lower:
                return best
        return best

    return Plies(move_value, throw_value, aim_value)


# Anyone's program for the course as a player, in a separate process with a time limit.


CHILD = Path(__file__).with_name("child.py")


class GuestPlayer(ProgramPlayer):
    """Plays the moves of a PlayerAI.py; raises Forfeit if it breaks a rule, fails, or takes too long.

    The clock runs for move and throw together, and is read after each: `seconds` and an `allowance`. Every game gets a new
    PlayerAI; a process that did not answer is ended, and the next game starts another. It runs in the program's folder.
    """

    draws = False  # like the course's own players

    def __init__(self, game: Game, name: str, path: str, seconds: float = 5.0, allowance: float = 1.0) -> None:
        """Starts the process; raises ValueError for a missing file, one that does not load, or a time that is not positive."""
        self.path = Path(path).resolve()
        if not self.path.is_file():
            raise UserError(f"expected a Python file with a class PlayerAI, got {path!r}")
        seconds = need_in(seconds, KNOWN["seconds"], "seconds")
        self.limit = seconds + need_in(allowance, KNOWN["allowance"], "allowance")
        self.name, self.game, self.seed, self._spent = name, game, 0, 0.0
        self._start([sys.executable, "-u", str(CHILD), str(self.path)], self.path.parent, group=False)
        self._begin(player=0)

    def begin(self) -> None:
        """Does nothing: the position shows whether a game begins."""

    def choose(self, state: State) -> int:
        """Returns the id of a legal action; raises Forfeit if the program has none."""
        position_fields = fields(state.row)
        moving = position_fields.phase == r.MOVE
        call = "getMove" if moving else "getTrap"
        if moving:
            self._spent = 0.0
            if not self._program.is_running or position_fields.turn < 2:
                try:
                    self._begin(player=position_fields.turn % 2)
                except UserError as problem:
                    raise Forfeit(f"{self.name}: {problem}") from None
        started = time.perf_counter()
        position = {"state": str(state), "moves": list(state.legal_names)}
        try:
            answer = self._program.go(position, {"seconds": max(self.limit - self._spent, 0.001)})
            self._spent += time.perf_counter() - started
            name = answer["move"]
            if name not in state.legal_names:
                legal = "legal: any cell of the board without a player"
                if moving:
                    at = divmod(position_fields.me, self.game.options.size)
                    steps = [step for name_of_step, step in DIRECTIONS.items() if name_of_step in state.legal_names]
                    legal = f"legal: {', '.join(str((at[0] + down, at[1] + right)) for down, right in steps)}"
                raise Refused(f"expected a legal cell from {call}, got {tuple(answer['cell'])}", report=[legal])
        except NoAnswer as problem:
            took = f"took more than {self.limit:g} s for its turn"
            raise self.forfeit(state, problem, took, f"{call}, turn {position_fields.turn // 2 + 1}") from None
        return self.game.action(name)


# The players by name.


@dataclass(frozen=True)
class Leaves:
    """How the leaves of one tree are valued."""

    early: str
    """A score, or "own": my moves."""
    late: str = ""
    """The score after half of the cells are taken; "": the same."""
    around: float = 0.0
    """Weight of the open cells around all my neighbours."""


@dataclass(frozen=True)
class Recipe:
    """A player of the course: leaves of both trees, depth, throws."""

    move: Leaves
    throw: Leaves | None = None
    """None: the same as for moves."""
    depth: int = MAX_DEPTH
    throws: str = "near"


RECIPES = {
    **{score: Recipe(Leaves(score)) for score in ("is", "ais", "ocls")},
    "easy": Recipe(Leaves("is"), depth=3),
    "medium": Recipe(Leaves("own", around=0.5), Leaves("ais_own"), depth=3, throws="near+traps"),
    "hard": Recipe(Leaves("ais_own", "ais"), depth=3),
}
"""is, ais, ocls: the handout's scores at the allowed depth. easy, medium, hard: the staff's Minimax, Hard and Super."""
LEVELS = ("easy", "medium", "hard")
"""The course's three opponents, which are this game's levels of play."""


def settings(leaves: Leaves, chance: str, throws: str) -> TreeSettings:
    """Returns the settings of the compiled tree."""
    factors, known = np.zeros((2, 2, len(COUNTS))), {**WEIGHTS, "own": ((1,), (0,))}
    for k, score in enumerate((leaves.early, leaves.late or leaves.early)):
        for who, (weights, sign) in enumerate(zip(known[score], (1, -1), strict=True)):
            factors[k, who, : len(weights)] = sign * np.array(weights)
    return TreeSettings(factors, leaves.around, CHANCE_MODELS.index(chance), THROWS.index(throws))


class CoursePlayer(ByName):
    """Plays by the two trees: the first best move, then the first best throw."""

    def __init__(
        self,
        game: Game,
        name: str,
        recipe: Recipe,
        *,
        depth: int | None = None,
        chance: str = "p_only",
        throws: str | None = None,
    ) -> None:
        """Compiles the trees; raises ValueError for an unknown depth, chance model or kind of throws."""
        self.name, self.game = name, game
        self.depth = need_in(recipe.depth if depth is None else depth, Range(1, MAX_DEPTH), "a depth", kind=int)
        throws = throws or recipe.throws
        need_among(chance, CHANCE_MODELS, "chance")
        need_among(throws, THROWS, "throws")
        self._move = settings(recipe.move, chance, throws)
        self._throw = settings(recipe.throw or recipe.move, chance, throws)
        self._T = game.tables()
        self.values(game.start())
        self.values(game.start().play(game.start().legal_actions[0]))

    def values(self, state: State) -> dict[int, float]:
        """Returns the values of the considered actions, in the tree's raw counts; after the best so far they are bounds."""
        T, position = self._T, fields(state.row)
        low, high = u64(position.traps & (1 << 64) - 1), u64(position.traps >> 64)
        values: dict[int, float] = {}
        if position.phase == r.THROW:
            aim, throws = compiled(self.depth).aim_value, self._throw.throws
            for target in range(T.cells) if throws == ALL else T.step[position.other].tolist():
                if target < 0 or target in position.players or (throws == NEAR and position.traps >> target & 1):
                    continue
                least = min((-value for value in values.values()), default=np.inf)
                values[8 + target] = -float(
                    aim(target, position.other, position.me, low, high, -np.inf, least, False, self._throw, T)
                )
            return values
        throw = compiled(self.depth - 1).throw_value
        beside = int(T.near[position.other, 0]) | int(T.near[position.other, 1]) << 64
        for direction in state.legal_actions:
            to, best = T.step[position.me, direction], max(values.values(), default=-np.inf)
            values[direction] = BIG
            if beside & ~(position.traps | 1 << int(to)):
                values[direction] = float(throw(to, position.other, low, high, best, np.inf, True, self._move, T))
        return values

    def choose(self, state: State) -> int:
        """Returns the id of the first best action at a decision."""
        values = self.values(state)
        return max(values, key=values.__getitem__)


def named(game: Game, name: str, words: list[str]) -> Any:
    """Returns the player `course:WORDS`; raises ValueError for unknown words."""
    if not words:
        raise UserError(f"expected course:NAME with a name among {', '.join(RECIPES)}, or a path, got none")
    first, rest = os.path.expanduser(words[0]), words[1:]
    options: dict[str, Any] = dict(word.partition("=")[::2] for word in rest)
    if first not in RECIPES and Path(first).is_dir():
        first = str(Path(first) / "PlayerAI.py")
    if first.endswith(".py"):
        return GuestPlayer(game, name, first, **checked(options, {"seconds": float, "allowance": float}))
    if first not in RECIPES:
        raise UserError(f"expected a name among {', '.join(RECIPES)}, or a path that ends with .py, got {first!r}")
    return CoursePlayer(game, name, RECIPES[first], **checked(options, {"depth": int, "chance": str, "throws": str}))


def checked(options: dict[str, Any], kinds: dict[str, Any]) -> dict[str, Any]:
    """Returns options with their values converted; raises ValueError for unknown ones."""
    for option, value in options.items():
        need_among(option, kinds, "options")
        try:
            options[option] = kinds[option](value)
        except ValueError:
            raise UserError(f"expected a number for {option}, got {value!r}") from None
    return options
