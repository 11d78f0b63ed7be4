"""The single environment: gymnasium's rules, illegal actions, rewards, opponents, and states that go on."""

from __future__ import annotations

import copy
import itertools
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import leafwise
from games import dice
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream, u64
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.observation import Observation
from leafwise.envs.core.play.players import compiled_greedy, rows_needed

DEAD = "1 1 2 2/2 2 1 1/1 1 2 2/2 2 1 1 deck=4,4,4"


def boxed(obs: Observation) -> np.ndarray[Any, Any]:
    """Returns the observation of a game that has one array only."""
    assert isinstance(obs, np.ndarray)
    return obs


def play_episode(env: GameEnv, random: np.random.Generator, **reset: Any) -> list[tuple[Any, ...]]:
    """Plays random legal actions to the end; returns what every call answered, arrays as bytes."""
    obs, info = env.reset(**reset)
    told: list[tuple[Any, ...]] = [(boxed(obs).tobytes(), info["action_mask"].tobytes())]
    terminated = False
    while not terminated:
        action = random.choice(np.flatnonzero(info["action_mask"]))
        obs, reward, terminated, truncated, info = env.step(action)
        told.append((boxed(obs).tobytes(), reward, terminated, truncated, info["action_mask"].tobytes()))
    return told


@pytest.mark.parametrize("env_id", [name for name in gym.registry if name.startswith("leafwise/")])
def test_every_id_passes_gymnasiums_check(env_id: str) -> None:
    check_env(gym.make(env_id).unwrapped, skip_render_check=True)  # test_window.py has the window
    made = gym.make(env_id, render_mode="ansi")
    made.reset(seed=1)
    made.step(made.action_space.sample())
    assert isinstance(made.render(), str)


def test_a_game_for_two_passes_gymnasiums_check() -> None:
    spec = EnvSpec("leafwise/TestDice-v0", entry_point="leafwise.envs.core.gym.env:GameEnv", kwargs={"game": dice.GAME})
    check_env(gym.make(spec, render_mode="rgb_array").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("game", [leafwise.game("threes"), dice.GAME], ids=lambda game: game.name)
def test_a_seed_tells_the_whole_future(game: leafwise.Game) -> None:
    first, second = GameEnv(game), GameEnv(game)
    stories = [
        [
            play_episode(env, np.random.default_rng(0), **reset)
            for reset in ({"seed": 5}, {}, {}, {"seed": 6}, {"seed": 5})
        ]
        for env in (first, second)
    ]
    assert stories[0] == stories[1]
    one, *others, again = stories[0]
    assert again == one
    assert one not in others


def test_environments_without_a_seed_differ() -> None:
    boards = {boxed(GameEnv("threes").reset()[0]).tobytes() for _ in range(4)}
    assert len(boards) == 4


def test_returned_arrays_never_share_memory() -> None:
    env = GameEnv("threes")
    obs, info = env.reset(seed=0)
    arrays = [obs, info["action_mask"], env.action_masks()]
    for _ in range(3):
        obs, _, _, _, info = env.step(int(np.argmax(info["action_mask"])))
        arrays += [obs, info["action_mask"], env.action_masks(), *env.get_state().values()]
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2))


@pytest.mark.parametrize("game", [leafwise.game("threes"), dice.GAME], ids=lambda game: game.name)
def test_masks_show_the_legal_actions_and_are_all_ones_at_the_end(game: leafwise.Game) -> None:
    env = GameEnv(game)
    random = np.random.default_rng(1)
    _, info = env.reset(seed=3)
    terminated = False
    while not terminated:
        assert info["action_mask"].dtype == np.int8
        assert tuple(np.flatnonzero(info["action_mask"])) == env.state.legal_actions
        assert env.action_masks().dtype == np.bool_
        assert (env.action_masks() == info["action_mask"]).all()
        _, _, terminated, _, info = env.step(random.choice(np.flatnonzero(info["action_mask"])))
    assert env.state.is_terminal
    assert info["action_mask"].all()
    assert env.action_masks().all()


def test_score_sums_to_the_return() -> None:
    env = GameEnv("threes")
    for seed in range(3):
        story = play_episode(env, np.random.default_rng(seed), seed=seed)
        assert sum(told[1] for told in story[1:]) == env.state.returns > 0


def test_other_rewards() -> None:
    survival, merges, score = (GameEnv("threes", reward=name) for name in ("survival", "merges", "score"))
    story = play_episode(survival, np.random.default_rng(0), seed=0)
    assert [told[1] for told in story[1:]] == [1.0] * (len(story) - 1)
    merged = play_episode(merges, np.random.default_rng(0), seed=0)
    scored = play_episode(score, np.random.default_rng(0), seed=0)
    assert [told[0] for told in merged] == [told[0] for told in scored] == [told[0] for told in story]
    # a step's score is its merges and the points of the tile that enters: 3 for a 3 or (6, 12, ...) a bonus
    entered = {a[1] - b[1] for a, b in zip(scored[1:], merged[1:], strict=True)}
    assert {0.0, 3.0} <= entered <= {0.0, 3.0, 9.0, 27.0}


def threes_with_an_illegal_action(illegal: str | None = None) -> GameEnv:
    """Returns Threes where only "up" is illegal: every tile is at the top."""
    env = GameEnv("threes", illegal=illegal)
    env.reset(seed=0)
    state = env.get_state()
    state["rows"][0] = env.game.parse("3 1 1 1/0 0 0 0/0 0 0 0/0 0 0 0 next=1 deck=3,4,4").row
    env.set_state(state)
    return env


def test_noop_changes_nothing() -> None:
    env = threes_with_an_illegal_action()
    before, position = env.get_state(), env.state
    obs, reward, terminated, truncated, info = env.step(0)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["illegal"] == "threes: 'up' is not legal here, nothing happens"
    assert info["action_mask"].tolist() == [0, 1, 0, 0]
    assert boxed(obs)[:4].tolist() == [3, 1, 1, 1]
    assert env.state == position
    after = env.get_state()
    counted = {name for name in before if (after[name] != before[name]).any()}
    assert counted == {"steps", "illegal_in_a_row"}
    assert "illegal" not in env.step(1)[4]


def test_lose_ends_with_the_least_return() -> None:
    env = threes_with_an_illegal_action("lose")
    _, reward, terminated, _, info = env.step(0)
    assert terminated
    assert reward == -3.0  # the least return is 0, and there were 3 points
    assert info["illegal"] == "threes: 'up' is not legal here, the game is lost"
    assert info["action_mask"].all()
    with pytest.raises(ValueError, match=r"threes: expected reset\(\) before step\(\), the episode is over"):
        env.step(1)


@pytest.mark.parametrize("seat", ["first", "second"])
def test_two_players_lose_by_an_illegal_action(seat: str) -> None:
    env = GameEnv(dice.GAME, seat=seat)
    env.reset(seed=0)
    _, reward, terminated, _, info = env.step(dice.HOLD)  # there is nothing to hold at the start of a turn
    assert (reward, terminated) == (-1.0, True)
    assert info["illegal"] == "dice: 'hold' is not legal here, the game is lost"


def test_raise_says_what_is_legal_and_changes_nothing() -> None:
    env = threes_with_an_illegal_action("raise")
    position = env.state
    with pytest.raises(ValueError, match=r"^threes: expected a legal action \(down\), got 'up'$"):
        env.step(0)
    assert env.state == position
    env.step(1)


@pytest.mark.parametrize("action", [4, -1, 2**70, 1.0, "up", None, np.array([1, 2])], ids=repr)
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = GameEnv("threes")
    env.reset(seed=0)
    position = env.state
    with pytest.raises(ValueError, match=r"^threes: expected an action"):
        env.step(action)
    assert env.state == position


def test_step_before_reset_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^threes: expected reset\(\) before step\(\)"):
        GameEnv("threes").step(0)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"game": "chess"}, r"expected a game among .*threes.*, got 'chess'"),
        ({"hint": "none"}, r"threes: expected hint among plus, .*, got 'none'"),
        ({"reward": "fun"}, r"threes: expected reward among score, merges, survival, got 'fun'"),
        ({"illegal": "ignore"}, r"threes: expected illegal among lose, noop, raise, got 'ignore'"),
        ({"render_mode": "film"}, r"threes: expected render_mode among human, ansi, rgb_array, got 'film'"),
        ({"seat": "second"}, r"threes: expected no seat in a game for one player, got 'second'"),
        ({"opponent": "random"}, r"threes: expected no opponent in a game for one player, got 'random'"),
        ({"game": dice.GAME, "seat": 1}, r"dice: expected seat among first, second, random, got 1"),
        (
            {"game": dice.GAME, "opponent": "lead"},
            r"dice: expected opponent among random, greedy, greedy:lead, .*'lead'",
        ),
        ({"game": dice.GAME, "opponent": "greedy:"}, r"dice: expected opponent among .*, got 'greedy:'"),
        ({"game": dice.GAME, "opponent": 3}, r"dice: expected opponent among .*, got 3"),
    ],
)
def test_wrong_keywords_get_one_line(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        GameEnv(**{"game": "threes", **keywords})


@pytest.mark.parametrize("game", [leafwise.game("threes", hint="exact"), dice.GAME], ids=lambda game: game.name)
@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["deepcopy", "pickle"]
)
def test_copies_go_on_alike(game: leafwise.Game, copied: Any) -> None:
    env = GameEnv(game, seat="random" if game.players == 2 else "first")
    _, info = env.reset(seed=2)
    for _ in range(2):
        _, _, _, _, info = env.step(int(np.argmax(info["action_mask"])))
    twin = copied(env)
    assert (twin.action_masks() == info["action_mask"]).all()
    position, actions = env.state, np.random.default_rng(0)
    story = []
    for _ in range(40):
        action = actions.choice(np.flatnonzero(env.action_masks()))
        told = env.step(action)
        story.append((action, told))
        if told[2]:
            env.reset()
    assert twin.state == position  # the copy has not moved along
    for action, (obs, reward, terminated, _, _) in story:
        twin_obs, *twin_told = twin.step(action)
        assert (twin_obs == obs).all()
        assert twin_told[:2] == [reward, terminated]
        if terminated:
            twin.reset()
    env.reset(seed=9)
    assert (boxed(twin.reset(seed=9)[0]) == boxed(env.reset(seed=9)[0])).all()


def test_get_state_and_set_state_go_on_alike() -> None:
    env, other = GameEnv(dice.GAME), GameEnv(dice.GAME)
    env.reset(seed=1)
    env.step(0)
    other.set_state(env.get_state())
    for _ in range(6):
        action = env.state.legal_actions[0]
        mine, theirs = env.step(action), other.step(action)
        assert (boxed(mine[0]) == boxed(theirs[0])).all()
        assert mine[1:3] == theirs[1:3]
        assert env.state == other.state
        if mine[2]:
            break
    again = GameEnv(dice.GAME)
    again.set_state(env.get_state())
    assert (boxed(again.reset()[0]) == boxed(env.reset()[0])).all()  # the stream went along, so reset needs no seed


def test_a_state_that_does_not_fit_is_refused() -> None:
    env = GameEnv("threes")
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"^threes: expected a state from get_state, got int$"):
        env.set_state(3)  # type: ignore[arg-type]
    wrong = env.get_state() | {"rows": np.zeros((1, 5), dtype=np.uint64)}
    with pytest.raises(ValueError, match=r"^threes: expected rows of a state as uint64 \(1, 2\), got uint64 \(1, 5\)$"):
        env.set_state(wrong)


def test_pictures() -> None:
    env = GameEnv("threes", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == env.state.board()
    env = GameEnv("threes", render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == np.uint8
    assert picture.shape[2] == 3
    assert GameEnv("threes").render() is None


def test_seats() -> None:
    seats: dict[str, set[int]] = {}
    for seat in ("first", "second", "random"):
        env = GameEnv(dice.GAME, opponent="random", seat=seat)
        env.reset(seed=0)
        seats[seat] = set()
        for _ in range(20):
            env.reset()
            terminated = False
            while not terminated:
                mover = env.state.current_player
                _, reward, terminated, _, _ = env.step(env.state.legal_actions[0])
                seats[seat].add(mover)
            assert reward == (-1.0 if mover else 1.0) * env.state.returns
    assert seats == {"first": {0}, "second": {1}, "random": {0, 1}}


def naive_values(state: State, evaluator: Evaluator) -> dict[int, float]:
    """Returns each action's expected value for the player who acts, by plain recursion."""

    def value(after: State) -> float:
        """Player 0's."""
        if after.is_terminal and evaluator.terminal == "returns":
            return after.returns
        if after.is_terminal and isinstance(evaluator.terminal, tuple):
            win, draw, loss = evaluator.terminal
            return win if after.returns > 0 else loss if after.returns < 0 else draw
        if after.is_chance and after.stage != evaluator.stage:
            return sum(p * value(outcome) for p, outcome in after.outcomes())
        number = after.value(evaluator) * (-1 if after.current_player == 1 else 1)
        return number + (after.returns if evaluator.to_go else 0)

    sign = -1 if state.current_player == 1 else 1
    return {action: sign * value(state.play(action)) for action in state.legal_actions}


@pytest.mark.parametrize(
    "evaluator",
    [
        dice.GAME.score("lead"),
        dice.GAME.score("lead_at_die"),
        leafwise.game("threes").score("openness"),
        leafwise.game("threes").score("rows"),
        Evaluator("lead_to_go", dice.lead, to_go=True, terminal="evaluate"),
    ],
    ids=lambda evaluator: evaluator.name,
)
def test_greedy_takes_the_best_expected_value(evaluator: Evaluator) -> None:
    game = leafwise.game("threes") if evaluator.name in ("openness", "rows") else dice.GAME
    greedy, tables = compiled_greedy(game, evaluator), game.tables(evaluator)
    rows, stream = game.rows(1 + rows_needed(game)), new_stream(7)
    legal, P = np.zeros(game.max_actions, dtype=np.int64), np.zeros(len(rows))
    taken: set[bool] = set()
    random = np.random.default_rng(0)
    for seed in range(3):
        state = game.new(seed)
        for _ in range(12):
            if state.is_terminal:
                break
            rows[0] = state.row
            values = naive_values(state, evaluator)
            best = {a for a, v in values.items() if v == pytest.approx(max(values.values()), abs=1e-9)}
            chosen = {int(greedy(rows, u64(0), u64(1), legal, P, stream, tables)) for _ in range(30)}
            assert chosen <= best
            taken.add(len(chosen) > 1)
            state = state.play(int(random.choice(state.legal_actions))).settle(stream)
    assert False in taken


def test_greedy_breaks_ties_at_random() -> None:
    game, evaluator = dice.GAME, dice.GAME.score("lead")
    greedy, tables = compiled_greedy(game, evaluator), game.tables(evaluator)
    rows, stream = game.rows(1 + rows_needed(game)), new_stream(0)
    rows[0] = game.new(0).row  # left and right are alike at the start
    legal, P = np.zeros(game.max_actions, dtype=np.int64), np.zeros(len(rows))
    chosen = [int(greedy(rows, u64(0), u64(1), legal, P, stream, tables)) for _ in range(2000)]
    values = naive_values(game.new(0), evaluator)
    best = [a for a, v in values.items() if v == pytest.approx(max(values.values()))]
    assert len(best) > 1
    for action in best:
        assert chosen.count(action) == pytest.approx(2000 / len(best), rel=0.15)


def test_a_greedy_opponent_beats_a_random_agent() -> None:
    total = {}
    for opponent in ("greedy", "random"):
        env = GameEnv(dice.GAME, opponent=opponent, seat="random")
        random = np.random.default_rng(0)
        stories = [play_episode(env, random, **({"seed": 0} if n == 0 else {})) for n in range(400)]
        total[opponent] = sum(story[-1][1] for story in stories)
    assert total["greedy"] < total["random"] - 50
