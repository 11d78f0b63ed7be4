"""What holds in every game of Threes: tiles, values, decks, scores and the share of bonuses."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream

THREES = leafwise.game("threes")


def tiles(state: State) -> list[int]:
    return [int(v) for v in str(state).replace("/", " ").split()[:16]]


def deck(state: State) -> list[int]:
    return [int(n) for n in str(state).split("deck=")[1].split()[0].split(",")]


def score(values: list[int]) -> int:
    return sum(3 ** round(np.log2(v / 3) + 1) for v in values if v >= 3)


def played(seed: int, game: leafwise.Game = THREES) -> list[State]:
    """Returns every row of a random game."""
    rng, stream, state = Random(seed), new_stream(seed), game.start()
    rows = [state]
    while not state.is_terminal:
        state = state.sample(stream) if state.is_chance else state.play(rng.choice(state.legal_actions))
        rows.append(state)
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_a_random_game_keeps_the_books(seed: int) -> None:
    rows = played(900_000 + seed)
    start = score(tiles(rows[9]))
    for before, after in pairwise(rows):
        old, new = tiles(before), tiles(after)
        if before.stage == "setup":
            assert len([v for v in new if v]) == len([v for v in old if v]) + 1
            assert after.returns == 0.0
            continue
        assert after.returns == score(new) - start
        if before.stage == "decision":
            assert sum(new) == sum(old), "merging conserves the sum of values"
            assert after.stage == "enter"
            merges = len([v for v in old if v]) - len([v for v in new if v])
            assert 0 <= merges <= 4
        elif before.stage == "enter":
            shown = str(before).split("next=")[1].split()[0]
            (cell,) = [k for k in range(16) if old[k] != new[k]]
            assert old[cell] == 0
            assert str(new[cell]) in shown.split("|")
        else:
            assert new == old
    assert rows[-1].returns == score(tiles(rows[-1])) - start
    assert all(tiles(rows[-1]))


def test_twelve_base_cards_in_a_row_are_four_of_each() -> None:
    """Counts every base card from the start; bonuses do not shift the decks."""
    game = THREES.variant(bonus_p=0.5)
    bonuses = 0
    for seed in range(900_010, 900_022):
        drawn: list[int] = []
        for before, after in pairwise(played(seed, game)):
            if before.stage == "setup":
                drawn.append(next(b for a, b in zip(tiles(before), tiles(after), strict=True) if a != b))
            elif before.stage == "draw":
                shown = str(after).split("next=")[1].split()[0]
                drawn += [] if shown == "+" else [int(shown)]
                bonuses += shown == "+"
            left = Counter({1: 4, 2: 4, 3: 4}) - Counter(drawn[len(drawn) // 12 * 12 :])
            assert deck(after) == [left[1], left[2], left[3]]
        assert len(drawn) > 24
        for k in range(0, len(drawn) // 12 * 12, 12):
            assert Counter(drawn[k : k + 12]) == {1: 4, 2: 4, 3: 4}
    assert bonuses > 5


@pytest.mark.parametrize("schedule", ["iid", "slot21"])
def test_the_long_run_share_of_bonuses(schedule: str) -> None:
    """Draws again and again on one board; the row keeps deck and cycle."""
    game = THREES.variant(bonus_schedule=schedule)
    T, stream, rows = game.tables(), new_stream(5), game.rows(1)
    rows[0] = game.parse("48 0 0 0/0 0 0 0/0 0 0 0/0 0 0 0").row
    came = []
    for _ in range(21 * 200):
        game.rules.sample_outcome(rows, np.uint64(0), stream, T)
        came.append("next=+" in str(State(game, rows[0])))
        rows[0, 1] = (rows[0, 1] & ~np.uint64((1 << 13) - 1)) | np.uint64(2)  # no tile is shown, chance draws
    cycles = [sum(came[k : k + 21]) for k in range(0, len(came), 21)]
    if schedule == "slot21":
        assert cycles == [1] * 200
        slots = Counter(came[k : k + 21].index(True) for k in range(0, len(came), 21))
        assert set(slots) == set(range(21))
    else:
        assert sum(came) == pytest.approx(200, abs=5 * np.sqrt(200))
        assert max(cycles) > 1


def test_the_other_rewards() -> None:
    T = THREES.tables()
    before = THREES.parse("3 3 1 2/0 0 0 0/0 0 0 0/0 0 0 0 next=3 deck=4,4,3")
    slid = before.play("left")
    entered = slid.outcomes()[0][1].outcomes()[0][1]
    rows = np.array([before.row, slid.row, entered.row])
    i, j, k = (np.uint64(n) for n in range(3))
    merges, survival = THREES.rewards["merges"], THREES.rewards["survival"]
    assert merges is not None
    assert survival is not None
    assert merges(rows, i, j, k, T) == 3.0
    assert survival(rows, i, j, k, T) == 1.0
    assert entered.returns - before.returns == 6.0
