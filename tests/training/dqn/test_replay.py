"""The replay of Q-learning: what follows a decision some steps on, and places drawn by priority."""

from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.training.dqn.games import Decisions
from leafwise.training.dqn.learning import Decided, Order, Priorities

GAME = leafwise.game("trilobite")


def decisions(games: int, step: int, sign: float = 1.0, reward: float = 0.0, explored: bool = False) -> Decisions:
    """Returns a decision of every game; its row tells its step, and that of what follows the next."""
    before = np.full((games, GAME.width), step, dtype=GAME.dtype)
    gains = np.tile(np.array([[reward, sign]], dtype=np.float32), (games, 1))
    return Decisions(before, before + 1, before + 1, np.zeros(games, np.int64), gains, np.full(games, explored), 0.0)


def replay(size: int = 100, **given: Any) -> Decided:
    return Decided(GAME, size, given.pop("order", Order(2)), **{"cut": True, "alpha": 0.0, **given})


def test_rewards_of_the_steps_count_for_who_decided() -> None:
    memory = replay()
    for step, (reward, sign) in enumerate([(0.25, -1.0), (0.5, -1.0), (1.0, 0.0), (2.0, -1.0)]):
        memory.keep(decisions(2, step, sign, reward))
    first = np.array([0, 1])
    one = memory.follow(first, 1, 0.5, own=True)
    assert one.gained.tolist() == [0.25, 0.25]
    assert one.factor.tolist() == [-0.5, -0.5]
    two = memory.follow(first, 2, 0.5, own=True)
    assert two.gained.tolist() == [0.25 - 0.5 * 0.5] * 2
    assert two.factor.tolist() == [0.25, 0.25]
    assert two.rows[:, 0].tolist() == [2, 2]
    whole = memory.follow(first, 9, 1.0, own=True)
    assert whole.gained.tolist() == [0.25 - 0.5 + 1.0] * 2  # what comes after the end is another game's
    assert whole.factor.tolist() == [0, 0]


def test_steps_end_before_a_random_action_and_what_is_not_known() -> None:
    memory, uncut = replay(), replay(cut=False)
    for one in (memory, uncut):
        for step in range(4):
            one.keep(decisions(2, step, 1.0, 1.0, explored=step in (0, 2)))
    first = np.array([0])
    assert memory.follow(first, 9, 1.0, own=True).rows[0, 0] == 2
    assert memory.follow(first, 9, 1.0, own=False).rows[0, 0] == 0
    assert uncut.follow(first, 9, 1.0, own=False).rows[0, 0] == 4
    assert uncut.follow(first, 9, 1.0, own=False).gained.tolist() == [4.0]


def test_what_is_old_gives_way_to_what_is_new() -> None:
    memory = replay(size=6)
    for step in range(5):
        memory.keep(decisions(2, step))
    assert memory.filled == 6
    assert sorted(memory["before"][:, 0].tolist()) == [2, 2, 3, 3, 4, 4]
    oldest = int(np.flatnonzero(memory["before"][:, 0] == 2)[0])
    assert memory.follow(np.array([oldest]), 9, 1.0, own=True).rows[0, 0] == 5


def test_the_next_decision_of_a_game_comes_after_those_of_other_sets() -> None:
    order, number = Order(games=3, steps=2, sets=2), 0
    of: dict[int, tuple[int, int]] = {}
    for generation in range(6):
        for step in range(2):
            for game in range(3):
                of[number] = generation % 2 * 3 + game, generation // 2 * 2 + step
                number += 1
    found = {place: key for key, place in of.items()}
    for key, (game, step) in of.items():
        if (game, step + 1) in found:
            assert order.following(np.array([key]))[0] == found[game, step + 1]


def test_places_are_drawn_in_proportion_to_their_priorities() -> None:
    rng, wanted = np.random.default_rng(1), np.array([0.0, 1.0, 3.0, 0.0, 4.0])
    tree, other = Priorities(5), Priorities(5)
    tree.put(np.arange(5), wanted)
    for place in (4, 2, 1, 0, 3, 2):  # sums do not depend on how the priorities came about
        other.put(np.array([place]), wanted[[place]])
    assert np.array_equal(tree.sums, other.sums)
    drawn = tree.draw(rng.random(8000))
    assert np.bincount(drawn, minlength=5)[[0, 3]].tolist() == [0, 0]
    assert np.bincount(drawn, minlength=5) / 8000 == pytest.approx(wanted / 8, abs=0.02)
    assert tree.draw(np.array([1 - 1e-17, 1.0]))[-1] == 4


def test_errors_make_priorities_and_weights_make_up_for_them() -> None:
    memory = replay(size=4, alpha=1.0)
    memory.keep(decisions(2, 0))
    memory.keep(decisions(2, 1))
    rng = np.random.default_rng(2)
    memory.learned(np.arange(4), np.array([0.99, 0.99, 0.99, 2.99]))
    places, weights = memory.draw(rng, 4000, 1.0)
    assert (places == 3).mean() == pytest.approx(0.5, abs=0.02)
    assert weights is not None
    assert np.unique(np.round(weights, 6)).tolist() == pytest.approx([1 / 3, 1.0], abs=1e-5)
    again = replay(size=4, alpha=1.0)
    again.restore(memory.tensors(), memory.recorded, memory.highest)
    assert again.priorities is not None
    assert memory.priorities is not None
    assert np.array_equal(again.priorities.sums, memory.priorities.sums)
    again.keep(decisions(1, 2))
    assert again.priorities[np.array([0])][0] == again.highest == 3.0


def test_what_a_leaf_is_asked_is_known_where_a_stage_of_chance_was_passed() -> None:
    memory = replay(chance=True)
    found = decisions(2, 0)
    memory.keep(found._replace(asked=found.after + np.array([[0], [5]], GAME.dtype)))
    assert memory.asks(np.array([0, 1, 0])).tolist() == [False, True, False]
    again = replay(chance=True)
    again.restore(memory.tensors(), memory.recorded, memory.highest)
    assert again.asks(np.array([1, 0])).tolist() == [True, False]
    plain = replay()
    plain.keep(found)
    assert plain.asks(np.array([0, 1])).tolist() == [False, False]
    assert "asked" not in plain.tensors()
