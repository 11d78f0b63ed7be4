"""The statistic that compares draws with probabilities sees a small bias, and is seldom alarmed without one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from games import dice, strange
from leafwise.envs.core.check import process, source
from leafwise.envs.core.check.checking import settled
from leafwise.envs.core.check.counting import CYCLES, SUSPICIOUS, Kinds, Met, chi_square_score
from leafwise.envs.core.check.inspection import PLAIN
from leafwise.envs.core.check.source import ContractError


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


def test_a_die_that_is_off_at_one_turn_of_six(tmp_path: Path) -> None:
    games = {"sound": dice.GAME, **strange.RACES}
    jobs = [{"origin": source.origin(game, tmp_path), "task": {"seconds": {PLAIN: 8.0}}} for game in games.values()]
    results = dict(zip(games, process.run(jobs, tmp_path, process.Limits(call_s=30.0)), strict=True))
    assert settled("dice", results.pop("sound"))["positions"] > 100
    for result in results.values():
        with pytest.raises(ContractError) as caught:
            settled("dice", result)
        said = r"dice: sample_outcome: expected outcome \d with the probability that chance_outcomes gives it, 0.\d+, got it in"
        assert re.match(said, str(caught.value)), str(caught.value)
