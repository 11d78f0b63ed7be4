"""The statistic that compares draws with probabilities sees a small bias, and is seldom alarmed without one."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.check.walk import CYCLES, SUSPICIOUS, Kinds, Met, chi_square_score


def test_a_small_bias_is_seen() -> None:
    assert abs(chi_square_score([500, 300, 200], [500.0, 300.0, 200.0])) < 6
    assert chi_square_score([1000, 1000], [1000.0, 1000.0]) < 0
    assert chi_square_score([1120, 880], [1000.0, 1000.0]) > 4


def test_a_sound_draw_is_seldom_suspected() -> None:
    rng = np.random.default_rng(1)
    for law in ([0.5, 0.5], [1 / 6] * 6, [0.9, 0.05, 0.03, 0.01, 0.01]):
        samples = rng.multinomial(2000, law, size=3000)
        scores = [chi_square_score(list(counts), [2000 * p for p in law]) for counts in samples]
        assert sum(score > SUSPICIOUS for score in scores) <= 6
        assert sum(score > 2.3 for score in scores) >= 3  # about one in a hundred


def test_the_rarest_kind_of_turn_comes_first() -> None:
    kinds = Kinds()
    row = np.zeros(1, dtype=np.uint64)
    for decisions in (*range(3), *range(3), 5):
        kinds.add(Met(row, 1, 3, decisions % 2, decisions, decisions))
    kinds.add(Met(row, 1, 1, 0, 7, 7))  # nothing to be counted
    told = [met.decisions for met in iter(kinds.next, None)]
    assert told[0] == 5
    assert sorted(told) == [0, 1, 2, 5]
    assert max(CYCLES) >= 8
