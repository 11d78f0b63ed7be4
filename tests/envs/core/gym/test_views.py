"""Every player of a game for two sees the game from its own side: at every time, and at the end of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from games import dice, nim
from leafwise.envs.core.check.door import PLAIN
from leafwise.envs.core.check.inspection import inspect_game
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.training.dataset import collect_dataset
from leafwise.training.sb3 import Sb3VecEnv

GAMES = [leafwise.game("trilobite"), leafwise.game("cassis", n=5), leafwise.game("trap", size=3), dice.GAME, nim.GAME]


def view(state: State, player: int) -> Any:
    """Returns what a player sees, read from the text of a position or, of the dice race, from its row."""
    name, text = state.game.name, str(state)
    if name == "trilobite":
        return [{".": 0, "xo"[player]: 1, "xo"[1 - player]: -1}[cell] for cell in text.replace("/", "")]
    if name == "cassis":
        return [int(state.row[player]) >> e & 1 or -(int(state.row[1 - player]) >> e & 1) for e in range(10)]
    if name == "trap":
        board = text.split()[0].replace("/", "")
        planes = [[int(cell == mark) for cell in board] for mark in (*("12", "21")[player], "#")]
        throwing = bool(int(state.row[1]) >> 31 & 3)
        return np.array([*planes, [int(throwing)] * 9]).reshape(4, 3, 3).tolist()
    seen = np.asarray(Observer(state.game)(state.row[None]).obs)[0]
    if name == "dice" and player != max(state.current_player, 0):
        seen = seen[[2, 3, 0, 1, 4, 5, 6, 7]]
    return seen.tolist()


def draw(random: np.random.Generator, mask: NDArray[Any]) -> int:
    return int(random.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_agents_of_pettingzoo_see_their_own_side(game: leafwise.Game) -> None:
    env: Any = leafwise.aec(game)
    random, ends = np.random.default_rng(1), 0
    for seed in range(12):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            for player, name in enumerate(env.possible_agents):
                assert env.observe(name)["observation"].tolist() == view(env.position, player)
            obs, _, terminated, _, _ = env.last()
            assert obs["observation"].tolist() == view(env.position, env.possible_agents.index(agent))
            ends += terminated
            env.step(None if terminated else draw(random, obs["action_mask"]))
    assert ends == 24


def test_the_winner_sees_its_own_chips() -> None:
    env = leafwise.aec("trilobite")
    env.reset(seed=0)
    for column in (0, 1, 0, 1, 0):
        env.step(column)
    assert str(env.position) == "x../xo./xo."
    assert env.observe("player_0")["observation"].tolist() == [1, 0, 0, 1, -1, 0, 1, -1, 0]
    assert env.observe("player_1")["observation"].tolist() == [-1, 0, 0, -1, 1, 0, -1, 1, 0]
    with pytest.raises(ValueError, match=r"^trilobite: expected agent among player_0, player_1, got 'player_2'$"):
        env.observe("player_2")


KEYWORDS: list[dict[str, Any]] = [
    {"opponent": "random", "seat": "random"},
    {"opponent": "random", "seat": "second", "max_episode_steps": 2},
    {"opponent": "greedy", "seat": "random", "illegal": "lose", "max_episode_steps": 3},
]


def ended(game: leafwise.Game, seed: int, keywords: dict[str, Any]) -> tuple[NDArray[Any], State, list[int]]:
    """Plays an episode; returns its last observation, which is checked, its end, and its actions."""
    env, random = GameEnv(game, **keywords), np.random.default_rng(seed)
    actions: list[int] = []
    obs, info = env.reset(seed=seed)
    seat, over = int(env.get_state()["seats"][0]), False
    while not over:
        assert obs.tolist() == view(env.state, seat)  # type: ignore[union-attr]
        illegal = keywords.get("illegal") == "lose" and len(actions) == 1 and seed % 2 == 0
        actions.append(0 if illegal else draw(random, info["action_mask"]))
        obs, _, terminated, truncated, info = env.step(actions[-1])
        over = terminated or truncated
    assert obs.tolist() == view(env.state, seat)  # type: ignore[union-attr]
    return np.asarray(obs), env.state, actions


@pytest.mark.parametrize("keywords", KEYWORDS, ids=["random", "truncated", "illegal"])
@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_the_last_observation_is_the_agents(game: leafwise.Game, keywords: dict[str, Any]) -> None:
    """In single environments and in batches of every mode, and through SB3's adapter."""
    known = [ended(game, 5 + e, keywords) for e in range(6)]
    for mode in ("NextStep", "SameStep", "Disabled"):
        batch = GameVectorEnv(6, game, autoreset_mode=mode, **keywords)
        batch.reset(seed=5)
        for e, obs in enumerate(last_observations(batch, [actions for _, _, actions in known])):
            assert obs.tolist() == known[e][0].tolist(), (mode, e)
    assert any(state.is_terminal for _, state, _ in known) or "max_episode_steps" in keywords


def last_observations(batch: GameVectorEnv, actions: list[list[int]]) -> list[NDArray[Any]]:
    """Returns the last observation of the first episode of each environment of a batch in which these actions are taken."""
    adapter = Sb3VecEnv(batch) if batch.autoreset_mode.name == "SAME_STEP" else None
    found: dict[int, NDArray[Any]] = {}
    for k in range(max(map(len, actions))):
        taken = np.array(
            [
                own[k] if k < len(own) else int(mask.argmax())
                for own, mask in zip(actions, batch.action_masks(), strict=True)
            ]
        )
        if adapter is not None:
            obs, _, done, infos = adapter.step(taken)
            last: Any = {e: infos[e]["terminal_observation"] for e in np.flatnonzero(done)}
        else:
            obs, _, terminated, truncated, _ = batch.step(taken)
            last = {e: obs[e] for e in np.flatnonzero(terminated | truncated)}  # type: ignore[index]
            if batch.autoreset_mode.name == "DISABLED" and last:
                batch.reset(options={"reset_mask": terminated | truncated})
        for e, seen in last.items():
            found.setdefault(int(e), np.array(seen))
    return [found[e] for e in range(batch.num_envs)]


@pytest.mark.parametrize("game", GAMES[:4], ids=repr)
def test_recorded_players_see_their_own_side(game: leafwise.Game) -> None:
    dataset = collect_dataset(
        game, "greedy:ties=first", games=6, exploration=0.0
    )  # draws nothing: all that is drawn is chance
    arrays, end = dataset.arrays, 0
    assert len(arrays["final_observations"]) == arrays["terminations"].sum() > 6
    for number in range(6):
        own = np.flatnonzero(arrays["games"] == number)
        stream = new_stream(number)
        state = game.start().settle(stream)
        for n in own:
            assert arrays["observations"][n].tolist() == view(state, int(arrays["players"][n]))
            state = state.play(int(arrays["actions"][n])).settle(stream)
        assert state.is_terminal
        for n in own[arrays["terminations"][own]]:
            assert arrays["final_observations"][end].tolist() == view(state, int(arrays["players"][n]))
            end += 1


@jit
def turned(S, i, player, O, e, T):
    O[e, 0] = S[i, nim.STONES] if player == 0 else 7 - S[i, nim.STONES]


@jit
def out_of_space(S, i, player, O, e, T):
    O[e, 0] = S[i, nim.STONES] + 8 * (S[i, nim.PLAYER] != player)


@pytest.mark.parametrize(
    ("observe_as", "said"),
    [
        (turned, r"observe_as', 'expected what observe writes where player 1 acts, got another"),
        (out_of_space, r"observe_as', 'expected O\[e, 0\] in 0..7 \(observation space\), got 15"),
    ],
)
def test_a_view_that_is_wrong_is_found(observe_as: Any, said: str) -> None:
    game = replace(nim.GAME, rules=replace(nim.GAME.rules, observe_as=observe_as))
    with pytest.raises(Exception, match=said):
        inspect_game(game, {PLAIN: 0.3})
