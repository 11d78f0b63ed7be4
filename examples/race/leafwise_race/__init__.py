"""A dice race for two players: turns of several decisions, chance in one or two stages, a limit on turns.

Each player has a runner on a left and on a right lane. The player in turn repeatedly picks a lane to roll for, or holds.
Chance picks the plain die (2/3) or the wild one (1/3), then a face: plain 1 (1/2), 2 (1/3) or bust (1/6); wild 3 or bust
(1/2 each). A bust loses the steps of this turn and ends it; "hold" keeps them. "wild", which costs no search depth, makes
the next die the wild one. A player who holds with both runners home wins. After the last turn the player further ahead
wins, and equal ways are a draw.
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
    SearchDefaults,
    Sizes,
    Symmetries,
    Text,
    below,
    jit,
    settle_fields,
    u64,
)

LEFT, RIGHT, HOLD, WILD = range(4)
ACTIONS = ("left", "right", "hold", "wild")
DECISION, DIE, FACE = u64(0), u64(1), u64(2)
ZERO, ONE, TWO, THREE, SEVEN = u64(0), u64(1), u64(2), u64(3), u64(7)
# The word: phase (2 bits), lane rolled for (1), wild die asked for or rolled (1), turn (6), then 3 bits each: steps of
# this turn left and right, ways of player 0 left and right, of player 1 left and right.
LANE, WILD_DIE, TURN, STEPS, WAYS = u64(2), u64(3), u64(4), u64(10), u64(16)


class Tables(NamedTuple):
    """Run-time options."""

    length: np.uint64
    turns: np.uint64
    stop: NDArray[np.uint8]
    leaf: Any


@jit(inline=True)
def steps(word, lane):
    return (word >> (STEPS + THREE * lane)) & SEVEN


@jit(inline=True)
def way(word, player, lane):
    return (word >> (WAYS + THREE * (TWO * player + lane))) & SEVEN


@jit(inline=True)
def turn(word):
    return (word >> TURN) & u64(63)


@jit(inline=True)
def total(word, player):
    return way(word, player, ZERO) + way(word, player, ONE)


@jit(inline=True)
def at_home(word, lane, T):
    """Whether a runner of the player in turn is home, counting the steps of this turn."""
    return way(word, turn(word) & ONE, lane) + steps(word, lane) >= T.length


@jit(inline=True)
def is_over(word, T):
    return turn(word) == T.turns or total(word, ZERO) == TWO * T.length or total(word, ONE) == TWO * T.length


@jit(inline=True)
def next_turn(word):
    """Clears the data of the turn and passes to the other player."""
    return ((word >> WAYS) << WAYS) | ((turn(word) + ONE) << TURN)


@jit(inline=True)
def hold(word, T):
    player = turn(word) & ONE
    for lane in range(2):
        old = way(word, player, u64(lane))
        new = min(T.length, old + steps(word, u64(lane)))
        word += (new - old) << (WAYS + THREE * (TWO * player + u64(lane)))
    return next_turn(word)


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO


@jit(inline=True)
def stage(S, i, T):
    return np.int64(S[i, 0] & THREE)


@jit(inline=True)
def current_player(S, i, T):
    if S[i, 0] & THREE != DECISION:
        return CHANCE
    if is_over(S[i, 0], T):
        return TERMINAL
    return np.int64(turn(S[i, 0]) & ONE)


@jit(inline=True)
def returns(S, i, T):
    word = S[i, 0]
    if not is_over(word, T):
        return 0.0
    ahead = np.float64(total(word, ZERO)) - np.float64(total(word, ONE))
    return 1.0 if ahead > 0.0 else (-1.0 if ahead < 0.0 else 0.0)


@jit(inline=True)
def legal_actions(S, i, A, T):
    word = S[i, 0]
    n = 0
    for lane in range(2):
        if not at_home(word, u64(lane), T):
            A[n] = lane
            n += 1
    can_roll = n > 0
    if (word >> STEPS) & u64(63):
        A[n] = HOLD
        n += 1
    if can_roll and not (word >> WILD_DIE) & ONE:
        A[n] = WILD
        n += 1
    return n


@jit(inline=True)
def apply_action(S, i, a, j, T):
    word = S[i, 0]
    if a == HOLD:
        S[j, 0] = hold(word, T)
    elif a == WILD:
        S[j, 0] = word | (ONE << WILD_DIE)
    else:
        S[j, 0] = word | (u64(a) << LANE) | (FACE if (word >> WILD_DIE) & ONE else DIE)


@jit(inline=True)
def with_face(word, face):
    """Adds the steps of a face (0: bust) and goes back to a decision."""
    if face == ZERO:
        return next_turn(word)
    lane = (word >> LANE) & ONE
    word &= ~(THREE | (ONE << LANE) | (ONE << WILD_DIE))
    return word + (face << (STEPS + THREE * lane))


@jit
def chance_outcomes(S, j, P, o, T):
    word = S[j, 0]
    if word & THREE == DIE:
        S[o, 0] = (word & ~THREE) | FACE
        S[o + ONE, 0] = (word & ~THREE) | FACE | (ONE << WILD_DIE)
        P[o], P[o + ONE] = 2.0 / 3.0, 1.0 / 3.0
        return 2
    S[o, 0] = with_face(word, ZERO)
    if (word >> WILD_DIE) & ONE:
        S[o + ONE, 0] = with_face(word, THREE)
        P[o], P[o + ONE] = 0.5, 0.5
        return 2
    S[o + ONE, 0] = with_face(word, ONE)
    S[o + TWO, 0] = with_face(word, TWO)
    P[o], P[o + ONE], P[o + TWO] = 1.0 / 6.0, 0.5, 1.0 / 3.0
    return 3


@jit
def sample_outcome(S, j, R, T):
    word = S[j, 0]
    k = below(R, u64(6))
    if word & THREE == DIE:
        S[j, 0] = (word & ~THREE) | FACE | (u64(k >= u64(4)) << WILD_DIE)
    elif (word >> WILD_DIE) & ONE:
        S[j, 0] = with_face(word, ZERO if k < THREE else THREE)
    else:
        S[j, 0] = with_face(word, ZERO if k == ZERO else (ONE if k < u64(4) else TWO))


@jit(inline=True)
def action_cost(S, i, a, T):
    return 0 if a == WILD else 1


@jit(inline=True)
def observe_as(S, i, player, O, e, T):
    word, player = S[i, 0], u64(player)
    for lane in range(2):
        O[e, lane] = np.float32(way(word, player, u64(lane)))
        O[e, 2 + lane] = np.float32(way(word, ONE - player, u64(lane)))
        O[e, 4 + lane] = np.float32(steps(word, u64(lane)))
    O[e, 6] = np.float32(T.turns - turn(word))
    O[e, 7] = np.float32((word >> WILD_DIE) & ONE)


@jit(inline=True)
def observe(S, i, O, e, T):
    observe_as(S, i, turn(S[i, 0]) & ONE, O, e, T)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Swaps the lanes."""
    word = S[i, 0]
    if k == 1:
        swapped = ZERO
        for pair in range(3):
            at = STEPS + u64(6 * pair)
            swapped |= (((word >> at) & SEVEN) << (at + THREE)) | (((word >> (at + THREE)) & SEVEN) << at)
        rolling = u64(word & THREE != DECISION)
        word = swapped | ((word & u64(1023)) ^ (rolling << LANE))
    S[j, 0] = word


@jit(inline=True)
def transform_action(a, k, T):
    return a ^ 1 if k == 1 and a < HOLD else a


@jit(inline=True)
def lead(S, i, T):
    """Scales the difference of the ways (steps of this turn included) into (-1, 1)."""
    word = S[i, 0]
    player = turn(word) & ONE
    way_of_player = total(word, player) + steps(word, ZERO) + steps(word, ONE)
    value = (np.float64(way_of_player) - np.float64(total(word, ONE - player))) / 29.0
    if word & THREE != DECISION and player == ONE:
        return -value
    return value


def text(row: NDArray[Any], T: Tables) -> str:
    word = u64(row[0])
    n = [int(word >> (STEPS + u64(3 * k)) & SEVEN) for k in range(6)]
    words = [f"{n[2]},{n[3]} {n[4]},{n[5]} turn={int(turn(word))} steps={n[0]},{n[1]}"]
    if word & THREE != DECISION:
        words.append(f"roll={ACTIONS[int(word >> LANE & ONE)]}")
    die = "wild" if word >> WILD_DIE & ONE else "plain" if word & THREE == FACE else ""
    return " ".join(words + ([die] if die else []))


PATTERN = r"(\d),(\d) (\d),(\d) turn=(\d\d?) steps=(\d),(\d)(?: roll=(left|right))?(?: (plain|wild))?"


def parse_row(line: str, T: Tables) -> NDArray[np.uint64]:
    match = re.fullmatch(PATTERN, line, re.ASCII)
    if match is None:
        raise ValueError(f"dice: expected 'L,R L,R turn=N steps=L,R' and perhaps 'roll=left' and a die, got {line!r}")
    *numbers, lane, die = match.groups()
    a, b, c, d, number, left, right = map(int, numbers)
    length, mover = int(T.length), (a, b, c, d)[2 * (number & 1) :][:2]
    if max(a, b, c, d) > length or number > T.turns:
        raise ValueError(f"dice: expected ways of 0 to {length} and a turn of 0 to {int(T.turns)}, got {line!r}")
    if any(gained and not old < length - max(0, gained - 3) for old, gained in zip(mover, (left, right), strict=True)):
        raise ValueError(f"dice: expected steps that do not start from home, got {line!r}")
    word = number << 4 | left << 10 | right << 13 | a << 16 | b << 19 | c << 22 | d << 25
    home = [old + gained >= length for old, gained in zip(mover, (left, right), strict=True)]
    if a + b == c + d == 2 * length or sum(mover) == 2 * length:
        raise ValueError(f"dice: expected a winner who has just held, got {line!r}")
    if (left or right or lane or die) and is_over(u64(word), T):
        raise ValueError(f"dice: expected no steps and no die when the race is over, got {line!r}")
    if (die == "plain" and not lane) or (lane and home[ACTIONS.index(lane)]) or (die and all(home)):
        raise ValueError(f"dice: expected a roll for a runner who is not home, got {line!r}")
    phase = (FACE if die else DIE) if lane else DECISION
    return np.array([word | int(phase) | (lane == "right") << 2 | (die == "wild") << 3], dtype=np.uint64)


def outcome_name(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    old, new = u64(before[0]), u64(after[0])
    if new & THREE == FACE:
        return "wild" if new >> WILD_DIE & ONE else "plain"
    gained = sum(int(steps(new, u64(lane))) - int(steps(old, u64(lane))) for lane in range(2))
    return "bust" if turn(new) != turn(old) else str(gained)


def draw(row: NDArray[Any], T: Tables) -> Canvas:
    canvas = Canvas(240, 80)
    canvas.text(120, 24, text(row, T))
    for player in range(2):
        for lane in range(2):
            x = 20 + 100 * player + 12 * int(way(u64(row[0]), u64(player), u64(lane)))
            canvas.disc(x, 48 + 16 * lane, 6, fill=("#3366cc", "#cc6633")[player])
    return canvas


@dataclass(frozen=True)
class Options:
    length: Annotated[int, Range(2, 5)] = 4
    turns: Annotated[int, Range(1, 40)] = 12

    def __post_init__(self) -> None:
        settle_fields(self, "dice")


def make_tables(options: Options) -> Tables:
    return Tables(u64(options.length), u64(options.turns), np.zeros(1, dtype=np.uint8), ())


GAME = Game(
    name="dice",
    title="A dice race on two lanes (two players)",
    module=__name__,
    players=2,
    rules=Rules(
        initial_state=initial_state,
        current_player=current_player,
        legal_actions=legal_actions,
        apply_action=apply_action,
        returns=returns,
        observe=observe,
        observe_as=observe_as,
        chance=Chance(
            outcomes=chance_outcomes,
            sample=sample_outcome,
            max_outcomes=3,
            max_stages=2,
            stages=("decision", "die", "face"),
            stage=stage,
        ),
        action_cost=action_cost,
    ),
    sizes=Sizes(width=1, max_actions=4),
    observation=Observation(lambda options: gym.spaces.Box(0, 40, (8,), np.float32)),
    make_tables=make_tables,
    action_names=ACTIONS,
    text=Text(
        write=text,
        parse=parse_row,
        outcome_name=outcome_name,
    ),
    draw=draw,
    symmetries=Symmetries(2, transform, transform_action),
    search=SearchDefaults(decisions_per_depth=2),
    options=Options(),
    scores={
        "lead": lambda options: Evaluator("lead", lead, low=-1.0, high=1.0),
        "lead_at_die": lambda options: Evaluator(
            "lead_at_die", lead, stage="die", terminal=(0.9, 0.0, -0.9), low=-1.0, high=1.0
        ),
    },
    return_range=(-1.0, 1.0),
    ids={"DiceRace": {}},
)
