"""Which rows are positions of Threes: exactly those whose text reads back as the row."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.state import reads_back
from leafwise.envs.threes import rules, text

VARIANTS = [
    {},
    {"bonus_value": "window3", "hint": "window3"},
    {"hint": "colour"},
    {"hint": "colour", "bonus_p": 0.0},
    {"hint": "exact", "top": "no_merge_6144"},
    {"bonus_schedule": "slot21", "entry": "any_empty_edge"},
    {"bonus_p": 0.0, "top": "continue"},
]


def rows_of_games(game: leafwise.Game, rng: np.random.Generator, n: int) -> np.ndarray:
    """Returns rows [n, 2] of random games in all stages; some start with high tiles."""
    rows: list[np.ndarray] = []
    while len(rows) < n:
        state = game.start()
        if rng.random() < 0.8:
            ranks = rng.integers(0, rng.integers(5, 16), 16) * (rng.random(16) < 0.8)
            cells = [str(text.tile_value(int(rank))) for rank in ranks]
            typed = "/".join(" ".join(cells[k : k + 4]) for k in range(0, 16, 4))
            if any(ranks):
                state = game.parse(typed) if game.options.top != "no_merge_6144" or max(ranks) < 15 else state
        for _ in range(40):
            rows.append(state.row)
            if state.is_terminal:
                break
            if state.is_chance:
                outcomes = [after for _, after in state.outcomes()]
                state = outcomes[int(rng.integers(len(outcomes)))]
            else:
                state = state.play(int(rng.choice(state.legal_actions)))
    return np.array(rows[:n])


@pytest.mark.parametrize("options", VARIANTS)
def test_rows_are_valid_whose_text_reads_back(options: dict[str, object]) -> None:
    game, rng = leafwise.game("threes", **options), np.random.default_rng(0)
    T, expected = game.tables(), reads_back(text.to_text, text.parse_row)
    played = rows_of_games(game, rng, 600)
    assert all(rules.is_valid(played, k, T) for k in range(len(played)))
    # A bit or a whole field is another one, or the board is that of another position
    changed = np.repeat(played, 4, axis=0)
    fields = [value for value in vars(rules).values() if isinstance(value, rules.WordField)]
    for k, row in enumerate(changed):
        where = fields[rng.integers(len(fields))]
        if k % 4 == 0:
            row[rng.integers(2)] ^= np.uint64(1) << np.uint64(rng.integers(64))
        elif k % 4 == 3:
            row[0] = played[rng.integers(len(played)), 0]
        for _ in range(k % 4 if k % 4 < 3 else 0):
            row[1] = row[1] & ~(where.mask << where.shift) | (
                np.uint64(rng.integers(int(where.mask) + 1)) << where.shift
            )
            where = fields[rng.integers(len(fields))]
    are_valid = [bool(rules.is_valid(changed, k, T)) for k in range(len(changed))]
    wanted = [expected(changed, k, T) for k in range(len(changed))]
    wrong = [text.to_text(row, T) for row, a, b in zip(changed, are_valid, wanted, strict=True) if a != b]
    assert not wrong, wrong[:3]
    assert 0.1 < np.mean(wanted) < 0.9
