"""The environments of Trap: two steps a turn, the opponent's whole turn in one step, the cap, the turns left."""

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import leafwise
from leafwise.envs.core.check.inspection import inspect_game
from leafwise.envs.core.check.rule_caller import PLAIN
from leafwise.envs.core.contract.stream import new_stream, u64
from leafwise.envs.core.gym.env_page import page
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.core.play.players import compiled_greedy, rows_needed
from leafwise.envs.trap import GAME


def test_a_turn_is_two_steps_and_the_opponent_s_turn_runs_inside_the_throw() -> None:
    env = gym.make("leafwise/Trap-v0", opponent="random")
    obs, info = env.reset(seed=3)
    assert obs.shape == (4, 7, 7)
    assert obs[0, 0, 3] == obs[1, 6, 3] == 1
    assert (obs.sum(axis=(1, 2)) == [1, 1, 0, 0]).all()
    assert [GAME.actions[a] for a in np.flatnonzero(info["action_mask"])] == ["E", "SE", "S", "SW", "W"]
    obs, reward, terminated, truncated, info = env.step(GAME.action("S"))
    assert (reward, terminated, truncated) == (0, False, False)
    assert obs[3].all()  # a throw is due
    assert info["action_mask"].sum() == 47
    obs, reward, terminated, _, info = env.step(GAME.action("1,2"))
    assert (reward, terminated) == (0, False)
    assert obs[2, 1, 2] == 1  # a certain throw
    assert obs[2].sum() == 2  # and the opponent's, somewhere
    assert not obs[3].any()
    assert env.unwrapped.state.current_player == 0  # type: ignore[attr-defined]


def test_the_observation_tells_the_turns_left_if_asked_to() -> None:
    """Two positions that differ only in the turn are the same in the default observation."""
    rows = [GAME.variant(size=3, max_turns=9).parse(f"1../.#./..2 turn={turn}").row for turn in (0, 6)]
    seen: dict[bool, Any] = {}
    for flag in (False, True):
        batch = GameVectorEnv(2, GAME, size=3, max_turns=9, observe_turn=flag)
        batch.reset(seed=1)
        batch.set_state({**batch.get_state(), "rows": np.array(rows)})
        seen[flag] = batch.observations()
        assert batch.observation_space.contains(seen[flag])
    assert (seen[False][0] == seen[False][1]).all()
    assert (seen[True][:, :4] == seen[False]).all()
    assert (seen[True][0, 4] == 9).all()
    assert (seen[True][1, 4] == 3).all()
    env = gym.make("leafwise/Trap-v0", size=3, max_turns=9, observe_turn=True)
    (obs, info), over, left = env.reset(seed=3), False, [9]
    while not over:
        assert obs[4].min() == obs[4].max() <= left[-1]
        left.append(int(obs[4, 0, 0]))
        obs, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    assert left[1] == 9


def test_who_observes_the_turn_is_checked_and_advised_alike() -> None:
    game = GAME.variant(size=3, observe_turn=True)
    assert inspect_game(game, {PLAIN: 0.3})["positions"] > 4
    large = GAME.variant(observe_turn=True)
    assert large.start().value(leafwise.leaf(large, "learned")) == GAME.start().value(leafwise.leaf(GAME, "learned"))
    with pytest.raises(ValueError, match=r"^trap: expected observe_turn as True or False, got 1$"):
        GAME.variant(observe_turn=1)
    assert "does not show how many turns are left until the draw" in page(GAME, "Trap")


@pytest.mark.parametrize("size", [5, 9])
def test_landings_are_valued_once_and_a_greedy_player_chooses_as_by_all_outcomes(size: int) -> None:
    game = leafwise.game("trap", size=size)
    by_outcomes = replace(game, rules=replace(game.rules, chance=replace(game.rules.chance, make_expected=None)))
    leaf, chosen = game.score(), []
    for each in (game, by_outcomes):
        greedy, tables = compiled_greedy(each, leaf), each.tables(leaf)
        rows, A = each.rows(1 + rows_needed(each)), np.zeros(each.max_actions, dtype=np.int64)
        P, ties, actions = np.zeros(len(rows)), new_stream(2), []
        for seed in range(3):
            state, stream = game.new(seed), new_stream(seed)
            while not state.is_terminal:
                rows[0] = state.row
                actions.append(int(greedy(rows, u64(0), u64(1), A, P, ties, tables)))
                state = state.play(actions[-1]).settle(stream)
        chosen.append(actions)
    assert chosen[0] == chosen[1]
