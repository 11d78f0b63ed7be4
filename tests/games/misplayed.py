"""The coins with mistakes in sizes, in who acts, in what actions and chance do."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from games.coins import (
    DECIDING,
    LEFT,
    ONE,
    OVER,
    PHASE,
    RIGHT,
    STOP,
    TOSS_LEFT,
    TOSSES,
    WIDTH,
    Mistakes,
    chance_outcomes,
    copy,
    current_player,
    land,
    legal_actions,
    stage,
)
from leafwise.authoring import CHANCE, below, jit, u64

MISTAKES = Mistakes(__name__)
PLANTED = MISTAKES.games
planted = MISTAKES.add

# sizes


planted(
    r"chance_outcomes: expected row 0 to 3 of S to be written, got 4.*max_outcomes = 1, at '\d \d \d [12]'",
    max_outcomes=1,
)
planted(
    r"legal_actions: expected index 0 to 1 of A to be written, got 2.*max_actions = 2, at '0 0 0 0'",
    max_actions=2,
    action_names=("left", "right"),
)
planted(r"initial_state: expected index 1 0 to 2 of S to be written, got 3", width=3)
planted(
    r"observe: expected O\[e, \d\] in 0..3 \(observation space\), got [456], at '\d \d \d \d'",
    space=gym.spaces.Box(0, 3, (WIDTH,), np.float32),
)
planted(r"returns: expected a number within return_range 0 to 4, got [56]", return_range=(0.0, 4.0))
planted(
    r"legal_actions: expected ids in 0..1 \(action names\), got \[0, 1, 2\]",
    action_names=("left", "right"),
)


@jit
def narrow_observation(S, i, O, e, T):
    for w in range(WIDTH + 1):
        O[e, w] = 0


planted(
    r"observe: expected index 1 0 to 3 of O to be written, got 4.*the observation space", observe=narrow_observation
)

# who acts, and when


@jit
def stage_never(S, i, T):
    return 0


planted(r"stage: expected a chance stage, 1 or more .* where chance acts, got 0, at '0 0 0 [12]'", stage=stage_never)


@jit
def stage_always(S, i, T):
    return 1


planted(r"stage: expected 0, 'decision', where a player acts, got 1", stage=stage_always)


@jit
def stage_beyond(S, i, T):
    return 2 * stage(S, i, T)


planted(r"stage: expected a stage in 0..1 .*, got 2", stage=stage_beyond)


@jit
def second_player(S, i, T):
    return 1 if S[i, PHASE] == DECIDING else current_player(S, i, T)


planted(
    r"current_player: expected 0, CHANCE \(-1\) or TERMINAL \(-4\), got 1, at '0 0 0 0'", current_player=second_player
)


@jit
def never_over(S, i, T):
    return CHANCE if S[i, PHASE] == OVER else current_player(S, i, T)


planted(r"stage: expected a chance stage", current_player=never_over)


@jit
def half_players(S, i, T):
    return 0.5


planted(r"current_player: expected a whole number, got 0.5", current_player=half_players)

# actions


@jit
def descending(S, i, A, T):
    A[0], A[1], A[2] = STOP, RIGHT, LEFT
    return 3


planted(r"legal_actions: expected ids that ascend, each once, got \[2, 1, 0\]", legal_actions=descending)


@jit
def unwritten_action(S, i, A, T):
    A[0], A[1] = LEFT, RIGHT
    return 3


planted(r"legal_actions: expected the same actions twice, each written, got \[0, 1, ", legal_actions=unwritten_action)


@jit
def no_action(S, i, A, T):
    return 0


planted(r"legal_actions: expected at least one action at a decision, got none", legal_actions=no_action)


@jit
def too_many_actions(S, i, A, T):
    return 4


planted(r"legal_actions: expected a number of actions in 0..3 \(max_actions\), got 4", legal_actions=too_many_actions)


@jit
def forgets_a_word(S, i, a, j, T):
    for w in range(WIDTH - 2):
        S[j, w] = S[i, w]
    S[j, PHASE] = OVER if a == STOP else TOSS_LEFT + a


planted(r"apply_action: expected every word of the row to be written.*got word 2", apply_action=forgets_a_word)


@jit
def changes_the_position(S, i, a, j, T):
    S[i, PHASE] = OVER if a == STOP else TOSS_LEFT + a
    copy(S, i, j)


planted(r"apply_action: expected only rows \(2\) of S to be written, got row 1", apply_action=changes_the_position)


@jit
def not_in_place(S, i, a, j, T):
    S[j, PHASE] = OVER if a == STOP else TOSS_LEFT + a
    for w in range(PHASE):
        S[j, w] = S[i, w]
    if S[i, PHASE] != DECIDING:
        S[j, TOSSES] = 9


planted(r"apply_action: expected the same row where i and j are one, got another word 2", apply_action=not_in_place)


@jit
def negative_index(S, i, a, j, T):
    copy(S, i, j)
    S[j, -1] = OVER if a == STOP else TOSS_LEFT + a


planted(
    r"apply_action: expected index 1 0 to 3 of S to be written, got -1 in misplayed.py line \d+, `S\[j, -1\].*action 'left'",
    apply_action=negative_index,
)


@jit
def does_not_fit(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = a - 1


planted(r"apply_action: expected a number in 0..65535 \(uint16\) in S\[2, 3\], got -1", apply_action=does_not_fit)


@jit
def fractions(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = a + 0.5


planted(r"apply_action: expected a whole number in S\[2, 3\], got 0.5", apply_action=fractions)


@jit
def misspelt(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = OVER if a == STOP or S[j, TOSSES] == T.limmit else TOSS_LEFT + a


planted(
    r"apply_action: expected a field of Tables among \(worth, limit, .*, leaf\), got 'limmit' in misplayed.py line \d+",
    apply_action=misspelt,
)


@jit
def costs_two(S, i, a, T):
    return 2


planted(r"action_cost: expected 0 or 1, got 2.*action 'left'", action_cost=costs_two)


@jit
def free_tosses(S, i, a, T):
    return 1 if a == STOP else 0


planted(
    r"action_cost: expected at most 1 decisions in one unit of search depth \(decisions_per_depth\), got 2",
    action_cost=free_tosses,
)


@jit
def other_candidates(S, i, A, T):
    A[0] = LEFT if T.candidates == 0 else STOP + 1
    return 1 if T.candidates else legal_actions(S, i, A, T)


planted(r"candidates: expected some of the legal actions \[0, 1, 2\], got \[3\]", candidates=other_candidates)


@jit
def never_all_candidates(S, i, A, T):
    A[0] = LEFT
    return 1


planted(
    r"candidates: expected all legal actions \[0, 1, 2\] under the first name, 'all', got \[0\]",
    candidates=never_all_candidates,
)

# chance


@jit
def sums_to_more(S, j, P, o, T):
    n = chance_outcomes(S, j, P, o, T)
    P[o] = 0.7
    return n


planted(r"chance_outcomes: expected probabilities that sum to 1, got 1.0333", outcomes=sums_to_more)


@jit
def impossible_outcome(S, j, P, o, T):
    n = chance_outcomes(S, j, P, o, T)
    P[o], P[o + ONE] = 1.0, 0.0
    return n


planted(r"chance_outcomes: expected probabilities above 0 and at most 1, got 0", outcomes=impossible_outcome)


@jit
def same_outcomes(S, j, P, o, T):
    for side in range(2):
        land(S, j, o + u64(side), 0, T)
        P[o + u64(side)] = 0.5
    return 2


planted(r"chance_outcomes: expected outcomes that differ, got one row twice", outcomes=same_outcomes)


@jit
def from_the_first_row(S, j, P, o, T):
    for side in range(2):
        land(S, j, u64(side), side, T)
        P[side] = 0.5
    return 2


planted(r"chance_outcomes: expected only rows \(3, 4\) of S to be written, got row 0", outcomes=from_the_first_row)


@jit
def fair_coin(S, j, R, T):
    land(S, j, j, 1 if below(R, 2) == 1 else 0, T)


planted(
    r"sample_outcome: expected outcome [01] with the probability that chance_outcomes gives it, 0.[36]\d+, got it in 0.[45]",
    sample=fair_coin,
)


@jit
def other_outcome(S, j, R, T):
    land(S, j, j, 0, T)
    S[j, TOSSES] += 1


planted(r"sample_outcome: expected one of the outcomes, got the row \[", sample=other_outcome)
planted(r"outcome_name: expected names that differ, got 'coin' twice", outcome_name=lambda before, after, T: "coin")


@jit
def two_stages(S, i, T):
    return 1


@jit
def tosses_again(S, j, P, o, T):
    for side in range(2):
        land(S, j, o + u64(side), side, T)
        if S[j, TOSSES] == 0:
            S[o + u64(side), PHASE] = TOSS_LEFT
        P[o + u64(side)] = (2 - side) / 3
    return 2


@jit
def samples_again(S, j, R, T):
    before = S[j, TOSSES]
    land(S, j, j, 1 if below(R, 3) == 2 else 0, T)
    if before == 0:
        S[j, PHASE] = TOSS_LEFT


planted(
    r"stage: expected at most 1 chance stages in a row \(max_stages\), got 2",
    outcomes=tosses_again,
    sample=samples_again,
    count=1,
)
