"""Copies of environments keep every keyword and continue alike; `set_state` takes what `get_state` returned, and nothing else."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import leafwise
from games import coins, dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.keywords import Kind, names_of
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.training.sb3 import Sb3VecEnv

# Copies of environments keep every keyword: single ones, batches, PettingZoo's view, SB3's adapter, with wrappers or without.


DICE = dice.GAME
THREES = leafwise.game("threes")

ANOTHER: dict[str, tuple[leafwise.Game, Any]] = {
    "render_mode": (DICE, "ansi"),
    "reward": (THREES, "merges"),
    "illegal": (DICE, "noop"),
    "opponent": (DICE, "random"),
    "seat": (DICE, "random"),
    "autoreset_mode": (DICE, "SameStep"),
    "max_episode_steps": (DICE, 3),
    "plies": (DICE, 6),
    "observation": (THREES, "planes"),
}
"""A value of each keyword that is not its default, and a game in which it matters."""

COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda env: pickle.loads(pickle.dumps(env))}


def cases(kind: Kind) -> list[Any]:
    return [pytest.param(name, copied, id=f"{name}-{how}") for name in names_of(kind) for how, copied in COPIES.items()]


def plain(result: Any) -> Any:
    """Returns what an environment returned as texts and lists, which can be compared."""
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    if isinstance(result, (tuple, list)):
        return [plain(value) for value in result]
    return plain(result.tolist()) if isinstance(result, np.ndarray) else result


def story(env: Any, n: int = 1) -> list[Any]:
    """Returns all that an environment returns from eight seeds, also for illegal actions; n environments of a batch."""
    random, results = np.random.default_rng(0), []
    for seed in range(8):
        results.append(env.reset(seed=seed))
        for _ in range(6):
            actions = random.integers(env.action_space.nvec if n > 1 else env.action_space.n)
            results.append(env.step(actions))
            results.append(env.render())
            if n == 1 and (results[-2][2] or results[-2][3]):
                break
    return list(plain(results))


def turns(env: Any) -> list[Any]:
    """Returns all that PettingZoo's view returns from eight seeds."""
    random, results = np.random.default_rng(0), []
    for seed in range(8):
        env.reset(seed=seed)
        for _ in range(6):
            if env.terminations[env.agent_selection]:
                break
            env.step(int(random.integers(env.action_space(env.agent_selection).n)))
            results.append([env.agent_selection, env.rewards, env.terminations, env.infos, env.render(), env.last()])
    return list(plain(results))


def check_copies(make: Callable[..., Any], tell: Callable[[Any], Any], name: str, copied: Callable[[Any], Any]) -> None:
    """Checks that a copy returns what the original does, and that the keyword makes a difference."""
    game, value = ANOTHER[name]  # a new keyword needs an entry
    env = make(game, **{name: value})
    fresh = copied(env)
    results = tell(env)
    assert tell(fresh) == results
    assert tell(copied(env)) == results  # of one that has been in use
    assert tell(copied(copied(env))) == results
    assert tell(make(game)) != results


@pytest.mark.parametrize(("name", "copied"), cases("single"))
def test_copies_of_an_environment_keep_every_keyword(name: str, copied: Any) -> None:
    check_copies(GameEnv, story, name, copied)


@pytest.mark.parametrize(("name", "copied"), cases("batch"))
def test_copies_of_a_batch_keep_every_keyword(name: str, copied: Any) -> None:
    check_copies(lambda game, **keywords: GameVectorEnv(2, game, **keywords), lambda env: story(env, 2), name, copied)


@pytest.mark.parametrize(("name", "copied"), cases("turns"))
def test_copies_of_pettingzoos_view_keep_every_keyword(name: str, copied: Any) -> None:
    check_copies(leafwise.aec, turns, name, copied)


def first_legal(state: leafwise.State) -> int:
    return state.legal_actions[0]


MAKERS: dict[str, Callable[[], Any]] = {
    "against a player that draws": lambda: GameEnv("cassis", opponent="solver:level=easy"),
    "against a function": lambda: GameEnv("trilobite", opponent=first_legal),
    "against a player": lambda: GameEnv("trilobite", opponent=leafwise.player("search:lines,depth=1", "trilobite")),
    "threes": lambda: GameEnv("threes", hint="exact"),
    "dice": lambda: GameEnv(DICE, seat="random"),
    "batch of threes": lambda: GameVectorEnv(4, "threes"),
    "batch of dice": lambda: GameVectorEnv(4, DICE, seat="random"),
}


@pytest.mark.parametrize("how", [*COPIES, "state"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_copies_go_on_alike_from_the_middle_of_a_game(make: Callable[[], Any], how: str) -> None:
    env, random = make(), np.random.default_rng(0)
    is_single = isinstance(env, GameEnv)

    def legal() -> Any:
        masks = np.atleast_2d(env.action_masks())
        actions = (random.random(masks.shape) * masks).argmax(axis=1)
        return int(actions[0]) if is_single else actions

    env.reset(seed=5)
    for _ in range(2):
        env.step(legal())
    twin = COPIES[how](env) if how in COPIES else make()
    if how == "state":
        twin.set_state(env.get_state())
    position, story = twin.get_state(), []
    assert plain(env.get_state()) == plain(position)
    for _ in range(40):
        actions = legal()
        result = env.step(actions)
        ended = is_single and result[2]
        story.append((actions, plain(result), plain(env.reset()) if ended else None))
    assert plain(twin.get_state()) == plain(position)  # the copy has not moved along
    for actions, result, begun in story:
        assert plain(twin.step(actions)) == result
        assert begun is None or plain(twin.reset()) == begun
    assert plain(twin.reset()) == plain(env.reset())  # the stream went along
    assert plain(twin.reset(seed=9)) == plain(env.reset(seed=9))


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_keep_the_games_options(copied: Any) -> None:
    for env in (GameEnv("trap", size=3), GameVectorEnv(2, "trap", size=3), leafwise.aec("trap", size=3)):
        assert copied(env).game == leafwise.game("trap", size=3)


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_of_sb3s_adapter_keep_every_keyword(copied: Any) -> None:
    batch = GameVectorEnv(3, DICE, opponent="random", seat="random", illegal="noop", plies=6, autoreset_mode="SameStep")
    env = Sb3VecEnv(batch)

    def tell(env: Sb3VecEnv) -> Any:
        random = np.random.default_rng(0)
        told: list[Any] = []
        for seed in range(8):
            env.seed(seed)
            told.append(env.reset())
            told += [env.step(random.integers(4, size=3)) for _ in range(6)]
        return plain(told)

    twin = copied(env)
    assert tell(twin) == tell(env)
    assert twin.batch is not batch


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_copies_of_registered_environments_keep_every_keyword(copied: Any) -> None:
    def opened(env: Any) -> list[int]:
        return [int((env.reset(seed=seed)[0] != 0).sum()) for seed in range(8)]

    keywords: dict[str, Any] = {"opponent": "random", "plies": 6}
    env: Any = gym.make("leafwise/Cassis-v0", **keywords)
    assert opened(copied(env)) == opened(env) == [6, 4, 4, 0, 4, 2, 6, 2]
    assert opened(gym.make(env.spec)) == opened(env)
    batch: Any = gym.make_vec("leafwise/Cassis-v0", num_envs=8, **keywords)
    for one in (batch, copied(batch)):
        assert (one.reset(seed=0)[0] != 0).sum(axis=1).tolist() == [6, 4, 4, 0, 4, 2, 6, 2]


# `set_state` takes what `get_state` returned, and refuses everything else in one line, having changed nothing.


Env = GameEnv | GameVectorEnv


def begun(env: Any) -> Any:
    env.reset(seed=1)
    return env


def refusal(env: Env, state: Any) -> str:
    before = env.get_state()
    with pytest.raises(ValueError, match=f"^{env._stepper.game.name}: expected ") as problem:
        env.set_state(state)
    after = env.get_state()
    assert all((before[name] == after[name]).all() for name in before)
    assert "\n" not in str(problem.value)
    return str(problem.value).split(": expected ", 1)[1]


@pytest.fixture(params=["single", "vector"])
def env(request: pytest.FixtureRequest) -> Any:
    return begun(GameEnv(dice.GAME) if request.param == "single" else GameVectorEnv(3, dice.GAME))


CHANCE_ROW = 1  # a die is about to be thrown
OVER = 12 << 4
SECOND_DECIDES = 1 << 4  # one turn was played


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("seats", 1, "seats of a state in 0, got 1"),
        ("seats", 9, "seats of a state in 0, got 9"),
        ("over", 4, "over of a state in 0..3, got 4"),
        ("steps", -1, "steps of a state in 0..4611686018427387904, got -1"),
        ("illegal_in_a_row", -7, "illegal_in_a_row of a state in 0..4611686018427387904, got -7"),
        ("rows", CHANCE_ROW, "a decision of player 0 in the row of a state, got "),
        ("rows", SECOND_DECIDES, "a decision of player 0 in the row of a state, got "),
        ("rows", OVER, "a decision of player 0 in the row of a state, got "),
        ("rows", 3, "a valid row, got [3]: "),
        ("variant", 1, "a state of leafwise.game('dice'), got one of another game or variant"),
    ],
)
def test_a_value_that_no_episode_has(env: Env, name: str, value: int, said: str) -> None:
    state = env.get_state()
    state[name][-1] = value
    assert refusal(env, state).startswith(said)


def test_what_is_no_state(env: Env) -> None:
    state = env.get_state()
    assert refusal(env, {**state, "more": 1}).startswith("a state from get_state with rows, ")
    assert refusal(env, {1: 2}).startswith("a state from get_state with rows, ")
    assert refusal(env, {"rows": state["rows"]}).startswith("a state from get_state with rows, ")
    assert refusal(env, {**state, "rows": state["rows"][:, :0]}).startswith("rows of a state as uint64 (")
    assert refusal(env, None) == "a state from get_state, got NoneType"
    assert refusal(env, {**state, "steps": state["steps"].astype(float)}).startswith("steps of a state as int64 (")
    state["rows"][:], state["over"][:] = 2**64 - 1, 3  # where no episode has begun either
    assert refusal(env, state).startswith("a valid row, got [")


@pytest.mark.parametrize("options", [{"size": 9}, {"max_turns": 11}, {"self_trap": "deferred"}])
def test_a_state_of_another_variant(options: dict[str, Any]) -> None:
    small, other = begun(GameEnv("trap", size=3)), begun(GameEnv("trap", **{"size": 3, **options}))
    assert refusal(small, other.get_state()) == (
        "a state of leafwise.game('trap', size=3), got one of another game or variant"
    )
    state = begun(GameEnv("cassis")).get_state()
    assert refusal(begun(GameEnv("trilobite")), state).startswith("a state of leafwise.game('trilobite'), got one of")


def test_seats_that_may_be_drawn() -> None:
    env = GameEnv("cassis", seat="random")
    env.reset(seed=3)
    state = env.get_state()
    state["rows"][0], state["seats"][0] = (1, 0), 1
    env.set_state(state)
    assert env.state.current_player == 1
    state["seats"][0] = 0
    assert refusal(env, state).startswith("a decision of player 0 in the row of a state, got ")
    assert refusal(begun(GameEnv("cassis", seat="second")), state) == "seats of a state in 1, got 0"


def test_a_state_before_the_first_episode_and_after_its_end() -> None:
    env = GameEnv(coins.GAME)
    fresh = env.get_state()
    env.reset(seed=1)
    env.step(coins.STOP)
    ended = env.get_state()
    assert ended["over"].tolist() == [1]
    for state in (fresh, ended):
        other = GameEnv(coins.GAME)
        other.set_state(state)
        assert (other.get_state()["over"] == state["over"]).all()
        with pytest.raises(ValueError, match="expected reset"):
            other.step(0)
    ended["rows"][0] = 0, 0, 0, coins.TOSS_LEFT
    assert refusal(env, ended).startswith("no chance stage in the row of a state, got '0 0 0 1'"[:40])


def test_a_pickled_environment_is_checked() -> None:
    env = begun(GameEnv(leafwise.game("cassis")))
    assert pickle.loads(pickle.dumps(env)).state == env.state
    data = pickle.dumps(env)
    row = env.get_state()["rows"].tobytes()
    assert data.count(row)
    with pytest.raises(ValueError, match=r"^cassis: expected a valid row, got "):
        pickle.loads(data.replace(row, b"\xff" * len(row)))
