"""The Royal Game of Ur by Finkel's rules, for two players: `leafwise.game("ur")`.

Each player moves seven pieces over 14 squares: 1 to 4 and 13 to 14 are the player's own, 5 to 12 are shared. A throw of 0 to 4
moves one piece by exactly this number, if possible, but never to a square with an own piece. An opponent's piece on a shared
square goes back to its start, except on the rosette 8. Squares 4, 8 and 14 give another throw. The first player to bear all
pieces off, by exact throws, wins.

`solver` knows the value of every position.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import (
    CHANCE,
    RULE_ONLY,
    TERMINAL,
    About,
    Canvas,
    Chance,
    Evaluator,
    ExactSolver,
    Game,
    Labels,
    Observation,
    Range,
    Rules,
    Sizes,
    SparseFeatures,
    Text,
    copy_row,
    count_bits,
    jit,
    next_u64,
    reads_back,
    settle_fields,
    u64,
)

SQUARES, OFF_BOARD = 14, 15
ROSETTES = 1 << 4 | 1 << 8 | 1 << 14
SAFE, SHARED = 1 << 8, 255 << 5
PASS = 15
"""The action of a player who cannot move; the others are the square that a piece leaves, 0 for its start."""
THROWS = (1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16)
# Words of a row: a bit for each square that player 0 is on (bits 1 to 14), the same of player 1, pieces that each has borne off,
# whose turn it is, and the throw, TO_THROW before it.
BOARD, OFF, MOVER, THROW, WIDTH = 0, 2, 4, 5, 6
TO_THROW = 5
PLAYERS = ("white", "black")


class Tables(NamedTuple):
    pieces: int
    stop: NDArray[np.uint8]
    leaf: Any


@dataclass(frozen=True)
class Options:
    """Options of the game."""

    pieces: Annotated[int, Range(1, 7)] = field(default=7, metadata=RULE_ONLY)

    def __post_init__(self) -> None:
        settle_fields(self, "ur")


@jit(inline=True)
def count(board):
    return np.int64(count_bits(u64(board)))


@jit(inline=True)
def starts(mine, other, home, n):
    """Returns a bit for each square from which a throw can move a piece, bit 0 for the `home` pieces at the start."""
    if n == 0:
        return 0
    to = ((mine | (1 if home > 0 else 0)) << n) & 0xFFFF & ~mine
    return (to & ~(other & SAFE)) >> n


@jit(inline=True)
def captured(other, to):
    """Returns the other player's pieces on the board after a move to a square."""
    return other & ~(1 << to) if 5 <= to <= 12 else other


@jit
def initial_state(S, i, T):
    for word in range(WIDTH):
        S[i, word] = 0
    S[i, THROW] = TO_THROW


@jit
def current_player(S, i, T):
    if max(S[i, OFF], S[i, OFF + 1]) == T.pieces:
        return TERMINAL
    return CHANCE if S[i, THROW] == TO_THROW else S[i, MOVER]


@jit
def legal_actions(S, i, A, T):
    player = S[i, MOVER]
    mine, other = S[i, BOARD + player], S[i, BOARD + 1 - player]
    bits = starts(mine, other, T.pieces - S[i, OFF + player] - count(mine), S[i, THROW])
    n = 0
    for square in range(SQUARES + 1):
        if bits >> square & 1:
            A[n] = square
            n += 1
    if n == 0:
        A[0] = PASS
        return 1
    return n


@jit
def apply_action(S, i, a, j, T):
    copy_row(S, i, j)
    player, to = S[j, MOVER], np.int64(a) + S[j, THROW]
    S[j, THROW] = TO_THROW
    if a != PASS:
        S[j, BOARD + player] &= ~(1 << np.int64(a))
        if to == OFF_BOARD:
            S[j, OFF + player] += 1
        else:
            S[j, BOARD + player] |= 1 << to
            S[j, BOARD + 1 - player] = captured(S[j, BOARD + 1 - player], to)
            if ROSETTES >> to & 1:
                return
    S[j, MOVER] = 1 - player


@jit
def chance_outcomes(S, j, P, o, T):
    for n in range(5):
        row = o + u64(n)
        copy_row(S, j, row)
        S[row, THROW] = n
        P[row] = THROWS[n]
    return 5


@jit
def sample_outcome(S, j, R, T):
    S[j, THROW] = count(next_u64(R) >> u64(60))


@jit
def returns(S, i, T):
    return 1.0 if S[i, OFF] == T.pieces else -1.0 if S[i, OFF + 1] == T.pieces else 0.0


@jit
def observe_as(S, i, player, O, e, T):
    """Writes the squares of the player and of the other, pieces borne off, the throw, and whether it is the player's turn."""
    for side in range(2):
        who = player if side == 0 else 1 - player
        for square in range(SQUARES):
            O[e, SQUARES * side + square] = S[i, BOARD + who] >> (square + 1) & 1
        O[e, 2 * SQUARES + side] = S[i, OFF + who]
    O[e, 2 * SQUARES + 2] = S[i, THROW]
    O[e, 2 * SQUARES + 3] = S[i, MOVER] == player


@jit
def observe(S, i, O, e, T):
    observe_as(S, i, S[i, MOVER], O, e, T)


@jit
def in_turn(S, i, T):
    return S[i, MOVER]


@jit
def active(S, i, F, T):
    """Writes the features: squares and pieces not borne off, of the player in turn and of the other.

    So a network for seven pieces also plays with fewer, as if the others were borne off.
    """
    n = 0
    for side in range(2):
        who = S[i, MOVER] if side == 0 else 1 - S[i, MOVER]
        for square in range(SQUARES):
            if S[i, BOARD + who] >> (square + 1) & 1:
                F[n] = SQUARES * side + square
                n += 1
        F[n] = 2 * SQUARES + 8 * side + T.pieces - S[i, OFF + who]
        n += 1
    return n


SEEN = SparseFeatures(
    active, lambda options: 2 * SQUARES + 16, lambda options: 2 * options.pieces + 2, side=in_turn, stage="throw"
)


@jit
def race(S, i, T):
    """Values a position by the progress of both players; for player 0 before a throw."""
    ahead = 0
    for player in range(2):
        way = OFF_BOARD * S[i, OFF + player]
        for square in range(1, SQUARES + 1):
            way += square * (S[i, BOARD + player] >> square & 1)
        ahead += way if player == 0 else -way
    value = ahead / (OFF_BOARD * T.pieces + 1.0)
    return -value if S[i, THROW] != TO_THROW and S[i, MOVER] == 1 else value


NEXT = rf"({'|'.join(PLAYERS)}) (?:(throws)|(has won)|moves ([0-4]))"
SIDES = ", ".join(rf"{name} off ([0-7])((?: \d+)*)" for name in PLAYERS)
EXPECTED = (
    "a position like 'white off 2 5 14, black off 0 8, white moves 3', '..., black throws' or '..., white has won'"
)


def write(row: NDArray[Any], T: Tables) -> str:
    sides = (
        " ".join([name, "off", str(row[OFF + p]), *(str(k) for k in range(1, 15) if row[BOARD + p] >> k & 1)])
        for p, name in enumerate(PLAYERS)
    )
    mover, what = row[MOVER], "throws" if row[THROW] == TO_THROW else f"moves {row[THROW]}"
    if max(row[OFF : OFF + 2]) == T.pieces:
        mover, what = int(row[OFF + 1] == T.pieces), "has won"
    return ", ".join([*sides, f"{PLAYERS[mover]} {what}"])


def parse(text: str, T: Tables) -> NDArray[Any]:
    match = re.fullmatch(f"{SIDES}, {NEXT}", text.strip(), re.ASCII)
    if match is None:
        raise ValueError(f"ur: expected {EXPECTED}, got {text!r:.80}")
    *numbers, player, _, won, throw = match.groups()
    off, squares = (
        [int(word) for word in numbers[::2]],
        [[int(word) for word in part.split()] for part in numbers[1::2]],
    )
    boards, mover = [sum(1 << k for k in {*on} & {*range(1, 15)}) for on in squares], PLAYERS.index(player)
    row = np.array([*boards, *off, 1 - mover if won else mover, TO_THROW if throw is None else int(throw)])
    few = max(off[0] + len(squares[0]), off[1] + len(squares[1])) <= T.pieces > min(off)
    if write(row, T) != text.strip() or boards[0] & boards[1] & SHARED or not few:
        raise ValueError(
            f"ur: expected rising squares, none of 5 to 12 with pieces of both, at most {T.pieces} pieces each, and a winner where "
            f"all are borne off, got {text!r:.80}"
        )
    return row


def draw(row: NDArray[Any], T: Tables) -> Canvas:
    """Draws the board: white's own squares above, black's below, shared ones between."""
    canvas = Canvas(420, 240)
    for square in range(1, 15):
        x = 10 + 50 * (4 - square if square <= 4 else square - 5 if square <= 12 else 20 - square)
        for player in range(2):
            y = 60 if 5 <= square <= 12 else 10 if player == 0 else 110
            canvas.box(x, y, 46, 46, fill="#e0b870" if ROSETTES >> square & 1 else "#f2ead8", edge="#806040")
        for player, colour in enumerate(("#ffffff", "#3b3b3b")):
            if row[BOARD + player] >> square & 1:
                y = 83 if 5 <= square <= 12 else 33 if player == 0 else 133
                canvas.disc(x + 23, y, 16, fill=colour, edge="#222222")
    for line, words in enumerate(write(row, T).split(", ")):
        canvas.text(210, 180 + 22 * line, words, size=13)
    return canvas


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the meanings of an observation's numbers."""
    squares = tuple(f"{side}_{square}" for side in ("own", "other") for square in range(1, 15))
    parts = (squares, "1: a piece is there"), (("own_off", "other_off"), "pieces borne off")
    parts += (("throw",), f"0 to 4; {TO_THROW}: before a throw"), (("acts",), "1: it is the turn of who looks")
    return {"": tuple(Labels(*one) for one in parts)}


def solver_mb(options: Options) -> float:
    """Returns the memory that the solver takes."""
    from leafwise_ur import solver

    return solver.memory_mb(options.pieces)


GAME = Game(
    name="ur",
    title="The Royal Game of Ur (two players)",
    module=__name__,
    players=2,
    rules=Rules(
        *(initial_state, current_player, legal_actions, apply_action, returns, observe, observe_as),
        chance=Chance(chance_outcomes, sample_outcome, max_outcomes=5, stages=("decision", "throw")),
        is_valid=reads_back(write, parse),
    ),
    sizes=Sizes(width=WIDTH, max_actions=PASS + 1, dtype=np.int64),
    observation=Observation(lambda options: gym.spaces.Box(0, 7, (2 * SQUARES + 4,), np.float32), labels=labels),
    make_tables=lambda options: Tables(options.pieces, np.zeros(1, dtype=np.uint8), ()),
    action_names=("enter", *map(str, range(1, 15)), "pass"),
    text=Text(
        write=write,
        parse=parse,
        outcome_name=lambda before, after, T: f"throw{after[THROW]}",
        about=About(
            actions="The square that a piece leaves, `enter` for a new piece, or `pass`.",
            ends="The game ends when a player has borne off all pieces.",
            rewards={"outcome": "1 for a win, -1 for a loss"},
            options={"pieces": "number of pieces of each player"},
        ),
    ),
    draw=draw,
    options=Options(),
    scores={"race": lambda options: Evaluator("race", race, stage="throw", low=-1.0, high=1.0)},
    features={"sparse": SEEN},
    ais={"solver": ExactSolver("leafwise_ur.solver:Solver", memory_mb=solver_mb)},
    ids={"Ur": {}},
)
