"""The statistic that compares draws with probabilities sees a small bias, and is seldom alarmed without one."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.check.counting import SUSPICIOUS, chi_square_score


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
