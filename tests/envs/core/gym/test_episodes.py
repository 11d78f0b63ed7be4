"""Start and end of episodes: options of `reset`, random actions, agents that never decide, illegal actions, truncation."""

from __future__ import annotations

import copy
import pickle
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from stable_baselines3.common.vec_env import VecMonitor

import leafwise
from contract.same import assert_same
from games import dice, nim, undecided
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.stepper import PATIENCE
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.training.sb3 import Sb3VecEnv

# Options of `reset` that an environment does not know are refused, and change nothing.


MASK = np.array([True, False])
UNKNOWN: list[tuple[Any, str]] = [
    ({"position": "x"}, "'position'"),
    ({"mask": MASK}, "'mask'"),
    ({"seed": 1}, "'seed'"),
    ({1: 2}, "1"),
]
NO_DICT = [[], "x", 3, MASK, True]


def batch(**keywords: Any) -> GameVectorEnv:
    return GameVectorEnv(2, dice.GAME, autoreset_mode="Disabled", **keywords)


def sb3(**keywords: Any) -> Any:
    return VecMonitor(Sb3VecEnv(GameVectorEnv(2, dice.GAME, autoreset_mode="SameStep", **keywords)))


def reset_sb3(env: Any, options: Any) -> None:
    env.set_options(options)
    env.reset()


ENVIRONMENTS: dict[str, tuple[Callable[[], Any], str]] = {
    "single": (lambda: GameEnv(dice.GAME), "no options of reset()"),
    "made": (lambda: gym.make("leafwise/Trilobite-v0"), "no options of reset()"),
    "batch": (batch, "options of reset() among reset_mask"),
    "made batch": (lambda: gym.make_vec("leafwise/Trilobite-v0", num_envs=2), "options of reset() among reset_mask"),
    "recorded batch": (lambda: RecordEpisodeStatistics(batch()), "options of reset() among reset_mask"),
    "one by one": (
        lambda: gym.make_vec("leafwise/Trilobite-v0", num_envs=2, vectorization_mode="sync"),
        "no options of reset()",
    ),
    "PettingZoo": (lambda: leafwise.aec(dice.GAME), "options of reset() among options"),
    "SB3": (sb3, "no options of reset()"),
}


@pytest.mark.parametrize("which", ENVIRONMENTS)
def test_unknown_options_are_refused(which: str) -> None:
    make, expected = ENVIRONMENTS[which]
    env: Any = make()
    env.reset()
    reset = (lambda options: reset_sb3(env, options)) if which == "SB3" else lambda options: env.reset(options=options)
    for options, got in UNKNOWN:
        game = "trilobite" if which in ("made", "made batch", "one by one") else "dice"
        with pytest.raises(ValueError, match=re.escape(f"{game}: expected {expected}, got {got}")):
            reset(options)
    reset({})
    reset(None)


@pytest.mark.parametrize("options", NO_DICT, ids=repr)
def test_options_that_are_no_dict_are_refused(options: Any) -> None:
    for env in (GameEnv(dice.GAME), batch(), leafwise.aec(dice.GAME)):
        with pytest.raises(ValueError, match=r"^dice: expected options of reset\(\) as a dict or None, got "):
            env.reset(options=options)


def test_a_refused_reset_changes_nothing() -> None:
    env = batch()
    env.reset(seed=1)
    env.step(env.action_masks().argmax(axis=1))
    before = env.get_state()
    with pytest.raises(ValueError, match="got 'mask'"):
        env.reset(seed=2, options={"mask": MASK})
    with pytest.raises(ValueError, match="got 'position'"):
        env.reset(seed=2, options={"reset_mask": MASK, "position": "x"})
    assert all((env.get_state()[name] == array).all() for name, array in before.items())
    env.reset(options={"reset_mask": MASK})
    rows = env.get_state()["rows"]
    assert (rows[1] == before["rows"][1]).all()
    assert not (rows[0] == before["rows"][0]).all()
    one = GameEnv(dice.GAME)
    one.reset(seed=1)
    state = one.np_random.bit_generator.state
    with pytest.raises(ValueError, match="got 'reset_mask'"):
        one.reset(seed=2, options={"reset_mask": MASK})
    assert one.np_random.bit_generator.state == state


# Episodes that begin with random actions: `plies`.


GAMES = [dice.GAME, leafwise.game("threes"), leafwise.game("trap", size=3), leafwise.game("cassis", n=5)]


def opened(game: leafwise.Game, seed: int, plies: int) -> leafwise.State:
    """Returns what `plies` says in words: so many random actions, none of them by chance; anew where the game is over then."""
    stream = new_stream(seed)
    while True:
        state, left = game.start(), below(stream, plies + 1)
        while left > 0 and not state.is_terminal:
            state = state.settle(stream)
            if not state.is_terminal:
                state = state.play(state.legal_actions[below(stream, len(state.legal_actions))])
                left -= 1
        state = state.settle(stream)
        if not state.is_terminal:
            return state


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_episodes_begin_with_random_actions(game: leafwise.Game) -> None:
    keywords: dict[str, Any] = {"opponent": "random", "seat": "first"} if game.players == 2 else {}
    env = GameEnv(game, plies=7, **keywords)
    met = 0
    for seed in range(60):
        env.reset(seed=seed)
        expected = opened(game, seed, 7)
        if expected.current_player == 0:  # else the opponent has moved since
            assert env.state.row.tolist() == expected.row.tolist(), seed
            met += 1
    assert met > 15


def test_their_number_is_drawn() -> None:
    batch = GameVectorEnv(5000, "cassis", opponent="random", seat="first", plies=4)
    batch.reset(seed=3)
    drawn = Counter(
        (15 - batch.action_masks().sum(axis=1)).tolist()
    )  # 0 to 4 edges, and one more if the other is to move
    assert set(drawn) == {0, 2, 4}
    assert [drawn[n] / 5000 for n in (0, 2, 4)] == pytest.approx([0.2, 0.4, 0.4], abs=0.03)


# An agent that never gets to decide is told so in one line, by reset and by step, alone, in a batch and in turns.


NEVER = "^expected a seat or options with which the second player gets to decide, got .*, where that never happens$"


def stones_env(stones: int, **keywords: Any) -> GameEnv:
    made = GameEnv(undecided.GAME, **{"opponent": "random", "seat": "second", **keywords})
    made._stepper.tables.stones[0] = stones
    return made


def stones_batch(stones: int, **keywords: Any) -> GameVectorEnv:
    made = GameVectorEnv(3, undecided.GAME, **{"opponent": "random", "seat": "second", **keywords})
    made._stepper.tables.stones[0] = stones
    return made


def in_time(work: Callable[[], Any]) -> None:
    """Fails a test that would hang: compiled code lets other threads run."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(300)
    assert not thread.is_alive(), "it hangs"
    if problems:
        raise problems[0]


@pytest.mark.parametrize("make", [stones_env, stones_batch], ids=["env", "batch"])
@pytest.mark.parametrize(
    "keywords",
    [{}, {"plies": 30}, {"opponent": lambda state: state.legal_actions[0]}],
    ids=["plain", "plies", "function"],
)
@pytest.mark.parametrize("stones", [1, 0])
def test_reset_where_the_game_is_over_before(make: Any, keywords: dict[str, Any], stones: int) -> None:
    made = make(stones, **keywords)
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: made.reset(seed=1))
    made._stepper.tables.stones[0] = 7
    made.reset(seed=1)
    made.step(0 if make is stones_env else [0, 0, 0])


@pytest.mark.parametrize("make", [stones_env, stones_batch], ids=["env", "batch"])
def test_reset_where_the_opponent_goes_on_for_ever(make: Any) -> None:
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: make(-1).reset(seed=1))


def test_a_player_who_seldom_decides_is_waited_for() -> None:
    made = stones_env(4)
    for seed in range(100):
        made.reset(seed=seed)
        assert made.state.current_player == 1


def test_a_step_after_which_no_decision_comes() -> None:
    made = stones_env(7)
    made.reset(seed=1)
    made._stepper.buffers.S[0, 0] = -1
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: made.step(0))
    with pytest.raises(ValueError, match=r"expected reset\(\) before step"):
        made.step(0)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_an_automatic_reset_after_which_no_decision_comes(mode: AutoresetMode) -> None:
    made = stones_batch(7, autoreset_mode=mode)
    made.reset(seed=1)
    made._stepper.tables.stones[0] = 1
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: [made.step([0, 0, 0]) for _ in range(30)])


def test_agents_in_turn() -> None:
    made = leafwise.aec(undecided.GAME)
    made.game.shared_tables.stones[0] = 0
    with pytest.raises(ValueError, match=r"^expected options with which a player gets to decide, got"):
        made.reset(seed=1)


# What illegal actions do, and that every episode ends: truncation after illegal actions in a row and after steps.


ALL_UP = "3 1 1 1/0 0 0 0/0 0 0 0/0 0 0 0 next=1 deck=3,4,4"
UP, DOWN = 0, 1


def with_one_legal_move(**keywords: Any) -> GameEnv:
    """Returns Threes where "down" alone is legal."""
    env = GameEnv("threes", **keywords)
    env.reset(seed=0)
    state = env.get_state()
    state["rows"][0] = env.game.parse(ALL_UP).row
    env.set_state(state)
    return env


def test_noop_changes_nothing() -> None:
    env = with_one_legal_move()
    before, position = env.get_state(), env.state
    obs, reward, terminated, truncated, info = env.step(UP)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["illegal"] == "threes: 'up' is not legal here, nothing happens"
    assert info["action_mask"].tolist() == [0, 1, 0, 0]
    assert np.asarray(obs)[:4].tolist() == [3, 1, 1, 1]
    assert env.state == position
    after = env.get_state()
    counted = {name for name in before if (after[name] != before[name]).any()}
    assert counted == {"steps", "illegal_in_a_row"}
    assert "illegal" not in env.step(DOWN)[4]


def test_lose_ends_with_the_least_return() -> None:
    env = with_one_legal_move(illegal="lose")
    _, reward, terminated, _, info = env.step(UP)
    assert terminated
    assert reward == -3.0  # the least return is 0, and there were 3 points
    assert info["illegal"] == "threes: 'up' is not legal here, the game is lost"
    assert info["action_mask"].all()
    with pytest.raises(ValueError, match=r"threes: expected reset\(\) before step\(\), the episode is over"):
        env.step(DOWN)


def test_raise_says_what_is_legal_and_changes_nothing() -> None:
    env = with_one_legal_move(illegal="raise")
    position = env.state
    with pytest.raises(ValueError, match=r"^threes: expected a legal action \(down\), got 'up'$"):
        env.step(UP)
    assert env.state == position
    env.step(DOWN)


def test_illegal_actions_in_a_row_truncate() -> None:
    env = with_one_legal_move()
    for n in range(1, PATIENCE):
        obs, reward, terminated, truncated, info = env.step(UP)
        assert (reward, terminated, truncated) == (0.0, False, False), n
        assert info["illegal"] == "threes: 'up' is not legal here, nothing happens"
    last, reward, terminated, truncated, info = env.step(UP)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["illegal"] == "threes: 'up' is not legal here, nothing happens, and the episode is truncated"
    assert info["action_mask"].tolist() == [0, 1, 0, 0]  # the game is not over
    assert (last == obs).all()  # type: ignore[union-attr]  # the count is not in the observation
    with pytest.raises(ValueError, match=r"^threes: expected reset\(\) before step\(\)"):
        env.step(DOWN)
    env.reset()
    assert not env.step(int(env.action_masks().argmax()))[3]


def test_a_legal_action_forgets_the_illegal_ones() -> None:
    env = with_one_legal_move()
    for _ in range(PATIENCE - 1):
        env.step(UP)
    assert env.get_state()["illegal_in_a_row"].tolist() == [PATIENCE - 1]
    assert not env.step(DOWN)[3]
    assert env.get_state()["illegal_in_a_row"].tolist() == [0]


def test_a_game_of_many_actions_is_more_patient() -> None:
    names, sizes = tuple(map(str, range(PATIENCE + 20))), replace(nim.GAME.sizes, max_actions=PATIENCE + 20)
    env = GameEnv(replace(nim.GAME, action_names=names, sizes=sizes), illegal="noop", opponent="random")
    env.reset(seed=0)
    illegal, steps, truncated = int(np.argmin(env.action_masks())), 0, False
    while not truncated:
        _, _, _, truncated, _ = env.step(illegal)
        steps += 1
    assert steps == len(env.game.actions)


@pytest.mark.parametrize("name", ["threes", "trilobite"])
def test_with_masks_no_episode_is_truncated(name: str) -> None:
    env, random = GameEnv(name), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    ends = 0
    for _ in range(3000):
        _, _, terminated, truncated, info = env.step(random.choice(np.flatnonzero(info["action_mask"])))
        assert not truncated
        if terminated:
            ends += 1
            _, info = env.reset()
    assert ends > 3


def test_steps_are_counted_as_gymnasiums_own_wrapper_counts_them() -> None:
    batch = gym.make_vec("leafwise/Threes-v0", num_envs=3, max_episode_steps=20)
    assert isinstance(batch, GameVectorEnv)
    singles = gym.make_vec("leafwise/Threes-v0", num_envs=3, vectorization_mode="sync", max_episode_steps=20)
    random = np.random.default_rng(0)
    ours, theirs = batch.reset(seed=1), singles.reset(seed=1)
    assert_same(ours, theirs)
    cut, masks = 0, ours[1]["action_mask"]
    for _ in range(100):
        actions = (random.random(masks.shape) * masks).argmax(axis=1)
        step = batch.step(actions)
        assert_same(step, singles.step(actions))
        masks, cut = step[4]["action_mask"], cut + int(step[3].sum())
    assert cut >= 12
    assert gym.make("leafwise/Threes-v0", max_episode_steps=20).spec.max_episode_steps == 20  # type: ignore[union-attr]


def test_disabled_waits_for_a_reset() -> None:
    batch = GameVectorEnv(3, "threes", autoreset_mode="Disabled", max_episode_steps=5)
    singles = SyncVectorEnv(
        [partial(GameEnv, "threes", max_episode_steps=5)] * 3, autoreset_mode=AutoresetMode.DISABLED
    )
    assert_same(batch.reset(seed=1), singles.reset(seed=1))
    first = np.array([True, False, True])
    for _ in range(3):
        actions = batch.action_masks().argmax(axis=1)
        assert_same(batch.step(actions), singles.step(actions))
    again: list[Any] = [env.reset(seed=[4, 5, None], options={"reset_mask": first.copy()}) for env in (batch, singles)]
    assert_same(again[0], again[1])
    for _ in range(2):
        result = batch.step(batch.action_masks().argmax(axis=1))
    assert result[3].tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r"^threes: expected reset\(\) before step\(\) in environment 1"):
        batch.step(batch.action_masks().argmax(axis=1))
    batch.reset(options={"reset_mask": result[3]})
    batch.step(batch.action_masks().argmax(axis=1))


def with_its_state(env: GameEnv) -> GameEnv:
    other = GameEnv("threes", max_episode_steps=1000)
    other.set_state(env.get_state())
    return other


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), with_its_state],
    ids=["deepcopy", "pickle", "state"],
)
def test_copies_keep_the_counts(copied: Any) -> None:
    env = with_one_legal_move(max_episode_steps=1000)
    for _ in range(PATIENCE - 1):
        env.step(UP)
    twin = copied(env)
    assert twin.get_state()["illegal_in_a_row"].tolist() == [PATIENCE - 1]
    assert twin.get_state()["steps"].tolist() == [PATIENCE - 1]
    assert twin.step(UP)[3]
    assert env.step(UP)[3]
    assert copied(env).get_state()["over"].tolist() == [2]  # truncated: what the game shows goes on to be shown
    assert copied(env).action_masks().tolist() == [False, True, False, False]
