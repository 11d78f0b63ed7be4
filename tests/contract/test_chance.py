"""Chance: a distribution at every stage, and sampling that agrees with enumeration."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from contract.cases import CASES, chance_of, positions, row_bytes, some
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST, SECOND, State
from leafwise.envs.core.contract.stream import new_stream

DRAWS = 2000


def chi_square_score(counts: list[int], expected: list[float]) -> float:
    """Returns how many standard deviations a chi-square statistic lies above its mean (Wilson and Hilferty 1931)."""
    bins: list[list[float]] = []
    for count, mean in sorted(zip(counts, expected, strict=True), key=lambda pair: pair[1]):
        if bins and bins[-1][1] < 5:  # too rare alone: counted together
            bins[-1][0] += count
            bins[-1][1] += mean
        else:
            bins.append([count, mean])
    freedom = len(bins) - 1
    if freedom == 0:
        return 0.0
    statistic = sum((count - mean) ** 2 / mean for count, mean in bins)
    return ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / np.sqrt(2 / (9 * freedom))


def test_the_chi_square_score_sees_a_small_bias() -> None:
    assert abs(chi_square_score([500, 300, 200], [500.0, 300.0, 200.0])) < 6
    assert chi_square_score([1000, 1000], [1000.0, 1000.0]) < 0
    assert chi_square_score([1120, 880], [1000.0, 1000.0]) > 4


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_each_stage_is_a_distribution_over_distinct_outcomes(game: Game) -> None:
    for state in chance_of(game):
        outcomes = state.outcomes()
        assert 1 <= len(outcomes) <= game.max_outcomes
        assert sum(p for p, _ in outcomes) == pytest.approx(1.0, abs=1e-12)
        assert all(p > 0 for p, _ in outcomes), str(state)
        assert len({s for _, s in outcomes}) == len(outcomes), str(state)
        names = [game.text.outcome_name(state.row, s.row, game.tables()) for _, s in outcomes]
        assert len(set(names)) == len(names), f"{state}: {names}"
        assert all(names), str(state)


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_no_more_stages_follow_each_other_than_the_game_says(game: Game) -> None:
    def stages(state: State) -> int:
        return 1 + max(stages(after) for _, after in state.outcomes()) if state.is_chance else 0

    def drawn_stages(state: State, stream: np.ndarray[Any, Any]) -> int:
        return 1 + drawn_stages(state.sample(stream), stream) if state.is_chance else 0

    few, stream = game.max_stages < 5, new_stream(9)  # long chains have too many ends to see them all
    for state in positions(game):
        for action in some(state.legal_actions):
            after = state.play(action)
            assert (stages(after) if few else drawn_stages(after, stream)) <= game.max_stages


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_enumeration_leaves_other_rows_alone(game: Game) -> None:
    T = game.tables()
    for state in chance_of(game):
        n = len(state.outcomes())
        rows = np.full((game.max_outcomes + 4, game.width), 77, dtype=game.dtype)
        rows[1] = state.row
        P = np.full(game.max_outcomes + 4, -1.0)
        assert game.rules.chance_outcomes(rows, SECOND, P, np.uint64(3), T) == n
        assert (rows[[0, 2, game.max_outcomes + 3]] == 77).all()
        assert rows[1].tobytes() == state.row.tobytes()
        assert (P[[0, 1, 2, game.max_outcomes + 3]] == -1.0).all()


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_sampling_agrees_with_enumeration(game: Game) -> None:
    T, sample = game.tables(), game.rules.sample_outcome
    for stage in game.stages[1:]:
        of_stage = [s for s in chance_of(game) if s.stage == stage]
        richest = sorted(of_stage, key=lambda s: (len(s.outcomes()), str(s)), reverse=True)[:2]
        for k, state in enumerate([*richest, *of_stage[:3]]):
            stream, rows, counts = new_stream(1000 + k), game.rows(1), Counter[bytes]()
            for _ in range(DRAWS):
                rows[0] = state.row
                sample(rows, FIRST, stream, T)
                counts[rows.tobytes()] += 1
            law = {s.row.tobytes(): p for p, s in state.outcomes()}
            assert set(counts) <= set(law), str(state)
            score = chi_square_score([counts[row] for row in law], [DRAWS * p for p in law.values()])
            assert score < 4.5, f"{state}: sampled outcomes are off by {score:.1f} standard deviations"


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_a_seed_means_one_game(game: Game) -> None:
    def rows_of(seed: int) -> list[bytes]:
        stream, state, rows = new_stream(seed), game.start(), []
        for _ in range(60):
            rows.append(state.row)
            if state.is_terminal:
                break
            state = state.sample(stream) if state.is_chance else state.play(state.legal_actions[0])
        return row_bytes(np.array(rows))

    games = [rows_of(seed) for seed in range(12)]
    assert games == [rows_of(seed) for seed in range(12)]
    assert (len({tuple(rows) for rows in games}) > 1) == (len(game.stages) > 1)
    assert all(game.new(seed) == game.new(seed) for seed in range(3))
