"""What holds in every game of Friday: each card is somewhere once, life is bounded, games end."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.friday import GAME
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, FIRST_KNOWLEDGE, VERY_STUPID
from leafwise.envs.friday.scores import final_score
from leafwise.envs.friday.text import cards_in, number, value
from twins.friday import AGING, DANGER, Twin
from twins.friday import CARDS as TWIN_CARDS

VARIANTS: list[dict[str, Any]] = [
    {},
    {"level": 2},
    {"level": 3, "destroy": "immediate"},
    {"level": 4, "empty_aging": "reshuffle_only", "double_needs_source": False},
]


def cards_of(row: Any) -> Counter[int]:
    """Counts all cards of a row, wherever they are."""
    counts: Counter[int] = Counter()
    for w in (at.STACK, at.DISCARD, at.LEFT, at.LEFT_USED, at.RIGHT, at.RIGHT_USED, at.DOWN):
        counts.update(cards_in(row[w]))
    for name in ("hazards", "away", "aging", "look", "active"):
        counts.update(value(row, name))
    return counts


def careful(state: State, rng: Random) -> str:
    """Prefers actions that continue a game: cheap hazards, abilities, and few paid cards."""
    names = state.legal_names
    if "end" in names and len(names) > 1 and rng.random() < 0.8:
        names = tuple(name for name in names if name != "end") if rng.random() < 0.7 else ("end",)
    return rng.choice(names)


def games(options: dict[str, Any], seeds: range) -> Any:
    """Yields (state, next state) of games from the start and from the twin's fights of every phase."""
    game = GAME.variant(**options)
    rng = Random(seeds.start)
    starts = [game.start() for _ in seeds] + [game.parse(text) for text in Twin(game.options).unusual(rng)]
    for k, state in enumerate(starts):
        stream = new_stream(k)
        for _ in range(2000):
            if state.is_terminal:
                break
            after = state.sample(stream) if state.is_chance else state.play(careful(state, rng))
            yield state, after
            state = after
        assert state.is_terminal


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_no_card_is_made_or_lost_and_counters_stay_within_bounds(options: dict[str, Any]) -> None:
    removing = 0
    for state, after in games(options, range(4)):
        gone = cards_of(state.row) - cards_of(after.row)
        assert not cards_of(after.row) - cards_of(state.row), f"{state} -> {after}"
        if gone:  # removed from the game: after a lost fight, face-down, or at once under destroy="immediate"
            removing += 1
            text, down = str(state), cards_in(state.row[at.DOWN])
            by_loss = text.startswith("turn=remove") and sum(gone.values()) == 1
            by_destroy = "ability=destroy" in text and options.get("destroy") == "immediate"
            assert by_loss or by_destroy or gone == Counter(down), f"{state} -> {after}"
        assert number(after.row, "life") <= int(after.game.tables().max_life)
        assert number(after.row, "uses") <= 64
        assert not Counter(value(after.row, "top") + value(after.row, "bottom")) - cards_in(after.row[at.STACK])
    assert removing > 5


def test_all_cards_are_there_at_the_start() -> None:
    for level in (1, 2, 3, 4):
        expected = Counter({k: card.copies for k, card in enumerate(CARDS) if level > 2 or k != VERY_STUPID})
        for seed in range(5):
            assert cards_of(GAME.variant(level=level).new(seed).row) == expected
    assert sum(card.copies for card in CARDS[:FIRST_KNOWLEDGE]) == 18
    assert sum(card.copies for card in CARDS[FIRST_KNOWLEDGE:FIRST_AGING]) == 30
    assert sum(card.value * card.copies for card in CARDS[:FIRST_KNOWLEDGE]) == 0
    assert sum(card.value * card.copies for card in CARDS[FIRST_KNOWLEDGE:FIRST_AGING]) == 42


def test_the_guard_masks_abilities() -> None:
    text = "turn=fight phase=green life=20 pirates=P1,P2 stack=S2*3 active=N1 left=W1,W10,S2 free=2 uses={} "
    text += "hazards=none aging=G1,D1,D2,D3"
    assert any(name.startswith("use") for name in GAME.parse(text.format(63)).legal_names)
    assert not any(name.startswith("use") for name in GAME.parse(text.format(64)).legal_names)


def test_cards_below_the_pile_can_go_round_and_round_until_the_guard() -> None:
    state = GAME.parse(
        "turn=fight phase=green life=5 pirates=P1,P2 active=N1 left=W1,W10,E8 right=W7 free=4 stack=none "
        "hazards=none aging=G1,D1,D2,D3"
    )
    uses = 0
    for _ in range(600):
        names = state.legal_names
        if state.is_chance:
            state = state.outcomes()[0][1]
        elif "draw" in names:
            state = state.play("draw")
        elif any(name.startswith(("use", "card")) for name in names):
            state = state.play(next(name for name in names if name.startswith(("use", "card"))))
        else:
            break
        uses = number(state.row, "uses")
    assert 3 < uses <= 64


@pytest.mark.parametrize("reward", ["score", "shaped"])
def test_rewards(reward: str) -> None:
    env = GameEnv("friday", reward=reward)
    _, info = env.reset(seed=4)
    total, done, start = 0.0, False, env.state
    while not done:
        _, value, done, _, info = env.step(int(np.flatnonzero(info["action_mask"])[0]))
        total += float(value)
    before, after = (Twin(GAME.options).read(str(state)) for state in (start, env.state))
    if reward == "score":  # of a lost game without beaten pirates
        owned = [*after.stack, *after.top, *after.bottom, *after.discard, *(card.name for card in after.table)]
        points = sum(-5 if name in AGING else TWIN_CARDS[name][0] for name in owned)
        assert total == points - 3 * len(after.hazards + after.away + after.active)
    else:
        left, open_still = (sum(DANGER[name[0]][3] for name in p.hazards + p.away + p.active) for p in (before, after))
        assert total == pytest.approx((left - open_still) / 198 + 0.2 * (after.life - 20) / 22)


def test_final_score_of_a_win() -> None:
    state = GAME.parse(
        "turn=won phase=pirates life=6 pirates=P2,P3 beaten=P2,P3 stack=C1*2,N1,S1,G1 away=W1,W3 aging=D1"
    )
    assert final_score(np.array([state.row]), np.uint64(0), GAME.tables()) == 4 + 4 + 3 - 1 - 5 + 30 + 30 - 6


@pytest.mark.parametrize("seed", range(16))
def test_equal_situations_are_equal_rows(seed: int) -> None:
    """A position has one row, whichever way it is written."""
    game = GAME.variant(**VARIANTS[seed % 4])
    rng = Random(seed)
    naive = Twin(game.options)
    position = naive.random_fight(rng, pirates=rng.random() < 0.5)
    text = naive.write(position)
    words = text.split()
    for shuffled in (position.table, position.stack, position.discard, words):
        rng.shuffle(shuffled)
    assert game.parse(" ".join(words)) == game.parse(naive.write(position)) == game.parse(text)
    assert str(game.parse(text)) == text


def test_a_start_life_above_the_levels_most_is_the_most() -> None:
    easy = GAME.variant(level=4, start_life=31)
    assert "life 31/31" in easy.new(1).board()
    assert "life 18/20" in GAME.variant(level=4).new(1).board()
    with pytest.raises(ValueError, match="expected start_life of 0 to 31, got 32"):
        GAME.variant(start_life=32)
