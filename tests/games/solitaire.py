"""A solitaire with a hidden deck for tests: lay cards on two piles in rising order; the row counts cards.

The deck holds `copies` cards each of 1 to 5, shuffled. The top card is turned up; the player lays it on the left or the right
pile, if the card on top there is not higher, or discards it while there are discards left. A card laid earns its number. The
game is over when the deck is empty or the card turned up can go nowhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import (
    CHANCE,
    TERMINAL,
    Canvas,
    Chance,
    Evaluator,
    Game,
    Observation,
    Range,
    Rules,
    Sizes,
    Symmetries,
    Text,
    below,
    jit,
    settle_fields,
    u64,
)

u16 = np.uint16
ACTIONS = ("left", "right", "discard")
LEFT, RIGHT, DISCARD = range(3)
RANKS = 5
# Words: cards 1 to 5 still in the deck (0 to 4), tops of the piles (5, 6), card turned up (7, 0 if none), discards
# left (8), points (9). Where no card is turned up, chance draws one.
LEFT_PILE, CARD, DISCARDS, POINTS, WIDTH = 5, 7, 8, 9, 10


class Tables(NamedTuple):
    """The tables of a variant."""

    copies: int
    discards: int
    stop: NDArray[np.uint8]
    leaf: Any


@jit(inline=True)
def deck_size(S, i):
    n = 0
    for k in range(RANKS):
        n += S[i, k]
    return n


@jit(inline=True)
def can_go(S, i):
    """Returns whether the open card can be laid or discarded."""
    return S[i, DISCARDS] > 0 or S[i, LEFT_PILE] <= S[i, CARD] or S[i, LEFT_PILE + 1] <= S[i, CARD]


@jit(inline=True)
def initial_state(S, i, T):
    for w in range(WIDTH):
        S[i, w] = u16(0)
    for k in range(RANKS):
        S[i, k] = u16(T.copies)
    S[i, DISCARDS] = u16(T.discards)


@jit(inline=True)
def stage(S, i, T):
    return 0 if S[i, CARD] else 1


@jit(inline=True)
def current_player(S, i, T):
    if S[i, CARD]:
        return 0 if can_go(S, i) else TERMINAL
    return CHANCE if deck_size(S, i) else TERMINAL


@jit(inline=True)
def returns(S, i, T):
    return np.float64(S[i, POINTS])


@jit(inline=True)
def legal_actions(S, i, A, T):
    n = 0
    for pile in range(2):
        if S[i, LEFT_PILE + pile] <= S[i, CARD]:
            A[n] = pile
            n += 1
    if S[i, DISCARDS]:
        A[n] = DISCARD
        n += 1
    return n


@jit(inline=True)
def apply_action(S, i, a, j, T):
    for w in range(WIDTH):
        S[j, w] = S[i, w]
    if a == DISCARD:
        S[j, DISCARDS] -= u16(1)
    else:
        S[j, LEFT_PILE + a] = S[j, CARD]
        S[j, POINTS] += S[j, CARD]
    S[j, CARD] = u16(0)


@jit
def chance_outcomes(S, j, P, o, T):
    size = np.float64(deck_size(S, j))
    n = u64(0)
    for k in range(RANKS):
        if S[j, k]:
            for w in range(WIDTH):
                S[o + n, w] = S[j, w]
            S[o + n, k] -= u16(1)
            S[o + n, CARD] = u16(k + 1)
            P[o + n] = np.float64(S[j, k]) / size
            n += u64(1)
    return np.int64(n)


@jit
def sample_outcome(S, j, R, T):
    at = np.int64(below(R, u64(deck_size(S, j))))
    k = 0
    while at >= S[j, k]:
        at -= np.int64(S[j, k])
        k += 1
    S[j, k] -= u16(1)
    S[j, CARD] = u16(k + 1)


@jit(inline=True)
def observe(S, i, O, e, T):
    for w in range(WIDTH):
        O[e, w] = np.float32(S[i, w])


@jit(inline=True)
def transform(S, i, k, j, T):
    """Swaps the piles."""
    left, right = S[i, LEFT_PILE], S[i, LEFT_PILE + 1]
    for w in range(WIDTH):
        S[j, w] = S[i, w]
    if k == 1:
        S[j, LEFT_PILE], S[j, LEFT_PILE + 1] = right, left


@jit(inline=True)
def transform_action(a, k, T):
    return a ^ 1 if k == 1 and a < DISCARD else a


@jit(inline=True)
def hope(S, i, T):
    """Returns the points still to come if half of the cards that now fit can be laid."""
    low = min(S[i, LEFT_PILE], S[i, LEFT_PILE + 1])
    value = 0.0
    for k in range(RANKS):
        if k + 1 >= low:
            value += 0.5 * (k + 1) * S[i, k]
    return value


@jit(inline=True)
def points_and_discards(S, i, T):
    return np.float64(S[i, POINTS]) + 2.0 * np.float64(S[i, DISCARDS])


def text(row: NDArray[Any], T: Tables) -> str:
    n = [int(x) for x in row]
    card = f" card={n[CARD]}" if n[CARD] else ""
    return f"deck={','.join(map(str, n[:5]))} piles={n[5]},{n[6]}{card} discards={n[DISCARDS]} points={n[POINTS]}"


PATTERN = r"deck=(\d),(\d),(\d),(\d),(\d) piles=(\d),(\d)(?: card=(\d))? discards=(\d) points=(\d\d?)"


def parse_row(line: str, T: Tables) -> NDArray[np.uint16]:
    match = re.fullmatch(PATTERN, line, re.ASCII)
    if match is None:
        raise ValueError(
            f"solitaire: expected 'deck=N,N,N,N,N piles=L,R card=C discards=D points=P' (perhaps no card), got {line!r}"
        )
    n = [int(x or 0) for x in match.groups()]
    if max(n[5:8]) > RANKS or match[8] == "0":
        raise ValueError(f"solitaire: expected cards of 1 to {RANKS}, got {line!r}")
    seen = [n[k] + (n[LEFT_PILE] == k + 1) + (n[LEFT_PILE + 1] == k + 1) + (n[CARD] == k + 1) for k in range(RANKS)]
    gone = [T.copies - seen[k] for k in range(RANKS)]
    if min(gone) < 0:
        raise ValueError(f"solitaire: expected at most {T.copies} of each card, got {line!r}")
    if n[DISCARDS] > T.discards or n[POINTS] > T.copies * 15:
        raise ValueError(f"solitaire: expected at most {T.discards} discards and {T.copies * 15} points, got {line!r}")
    return np.array(n, dtype=np.uint16)


def outcome_name(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    return str(int(after[CARD]))


def draw(row: NDArray[Any], T: Tables) -> Canvas:
    canvas = Canvas(200, 80)
    for k, x in enumerate((LEFT_PILE, CARD, LEFT_PILE + 1)):
        canvas.box(20 + 60 * k, 10, 40, 50, fill="#eef3f5", edge="#334455", radius=4)
        canvas.text(40 + 60 * k, 35, str(int(row[x]) or "-"), size=20)
    canvas.line(10, 66, 190, 66, colour="#334455")
    return canvas


@dataclass(frozen=True)
class Options:
    copies: Annotated[int, Range(1, 3)] = 2
    discards: Annotated[int, Range(0, 3)] = 2

    def __post_init__(self) -> None:
        settle_fields(self, "solitaire")


def make_tables(options: Options) -> Tables:
    return Tables(int(options.copies), int(options.discards), np.zeros(1, dtype=np.uint8), ())


GAME = Game(
    name="solitaire",
    title="Two rising piles from a hidden deck (one player)",
    module=__name__,
    players=1,
    rules=Rules(
        initial_state=initial_state,
        current_player=current_player,
        legal_actions=legal_actions,
        apply_action=apply_action,
        returns=returns,
        observe=observe,
        chance=Chance(
            outcomes=chance_outcomes,
            sample=sample_outcome,
            max_outcomes=RANKS,
            stages=("decision", "draw"),
            stage=stage,
        ),
    ),
    sizes=Sizes(width=WIDTH, max_actions=3, dtype=np.uint16),
    observation=Observation(lambda options: gym.spaces.Box(0, 45, (WIDTH,), np.float32)),
    make_tables=make_tables,
    action_names=ACTIONS,
    text=Text(
        write=text,
        parse=parse_row,
        outcome_name=outcome_name,
    ),
    draw=draw,
    symmetries=Symmetries(2, transform, transform_action),
    options=Options(),
    scores={
        "hope": lambda options: Evaluator("hope", hope, to_go=True, low=0.0, high=22.5),
        "points_and_discards": lambda options: Evaluator(
            "points_and_discards", points_and_discards, stage="draw", terminal="evaluate"
        ),
    },
    return_range=(0.0, 45.0),
    ids={"TestSolitaire": {}},
)
