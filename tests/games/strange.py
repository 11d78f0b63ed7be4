"""The coins with what they say of rows and texts from outside, well and wrongly; and a race whose dice are off at some turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from games import coins, dice
from games.coins import OVER, PHASE, TOSS_LEFT, TOSS_RIGHT, TOSSES, Mistakes
from leafwise.authoring import Game, below, bind, jit, u64

ONE, TWO, SIX = u64(1), u64(2), u64(6)
FACE, FACE_PLAIN = u64(2), u64(11)
"""The phase of a race in which a face is drawn, and the bits of the phase and of the wild die."""

MISTAKES = Mistakes(__name__)
PLANTED = MISTAKES.games
planted = MISTAKES.add


@jit
def is_valid(S, i, T):
    total, tosses, phase = np.int64(S[i, 0]) + np.int64(S[i, 1]), np.int64(S[i, TOSSES]), S[i, PHASE]
    if tosses > T.limit or phase > OVER or total < tosses or total > 2 * tosses:
        return False
    return phase == OVER or tosses < T.limit


SOUND = coins.make(__name__, is_valid=is_valid)


@jit
def valid_at_the_start(S, i, T):
    return S[i, TOSSES] == 0 and S[i, PHASE] == 0


planted(
    r"is_valid: expected True for a row that play leads to, got False, at '\d \d \d \d'", is_valid=valid_at_the_start
)


@jit
def always_valid(S, i, T):
    return True


planted(
    r"is_valid: expected False for a row that breaks a promise, got True \(\w+: expected .*, got .*\), at '\d+ ",
    is_valid=always_valid,
)


@jit
def valid_piles(S, i, T):
    tosses, phase = np.int64(S[i, TOSSES]), S[i, PHASE]
    return tosses <= T.limit and (phase == OVER or (tosses < T.limit and phase in (0, TOSS_LEFT, TOSS_RIGHT)))


planted(r"is_valid: expected False for a row .*, got True \(\w+: expected .*\), at '\d+ ", is_valid=valid_piles)


@jit
def reads_beyond(S, i, T):
    return T.worth[S[i, TOSSES]] >= 0 and is_valid(S, i, T)


planted(r"is_valid: expected index 0 to 1 of T.worth to be read, got \d+ in strange.py line \d+", is_valid=reads_beyond)


def parse_words_by_number(text, T):
    words = text.split()
    return np.array([int(words[k]) for k in range(coins.WIDTH)], dtype=np.uint16)


planted(
    r"parse: expected a position or a ValueError, got IndexError: list index out of range, at '",
    parse=parse_words_by_number,
)


def make_race(turn: int) -> Game:
    """Returns the race whose plain die never busts at one turn of six."""
    sample, turn_of, with_face, off = dice.GAME.rules.sample_outcome, dice.turn, dice.with_face, u64(turn)

    @bind(Path(__file__))
    def sample_outcome(S, j, R, T):
        word = S[j, 0]
        if word & FACE_PLAIN == FACE and turn_of(word) % SIX == off:
            S[j, 0] = with_face(word, ONE + below(R, TWO))
        else:
            sample(S, j, R, T)

    chance = replace(dice.GAME.rules.chance, sample=sample_outcome)
    return replace(dice.GAME, module=__name__, ids={}, rules=replace(dice.GAME.rules, chance=chance))


RACES = {f"turn {turn}": make_race(turn) for turn in (0, 3, 5)}
