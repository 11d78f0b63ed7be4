"""Measures reference returns for every registered id, to compare learners with.

`python -m leafwise.experiments.reference` plays episodes of each id with random play, the hand-made leaf, learners of
Stable-Baselines3 and sb3-contrib, the shipped network and the best known player. It writes `envs/reference.json`, which
`leafwise.reference` reads. Known figures with the same numbers of games and steps are not measured again, except for the roles of
`--again`; after a stop the same command continues. Learners have their default hyper-parameters and seed 0, and play their most
probable action.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import leafwise
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.reference import Reference
from leafwise.envs.registry import NAMESPACE, ids_of
from leafwise.envs.registry import games as names_of_games
from leafwise.experiments.study import Results, Study, command, known_results
from leafwise.training.evaluation.statistics import bounds, interval_text, returns_interval
from leafwise.training.runs.folder import commit

FILE = "reference.json"
FIRST_SEED = 2_800_000
LEARNERS = ("PPO", "DQN", "MaskablePPO")
SHIPPED = {"starship": "build:learned,depth=1"}
BEST = {
    "Trilobite-v0": "solver",
    "Trilobite5x5-v0": "solver",
    "Trilobite7x6-v0": "solver",
    "Cassis-v0": "solver",
    "Cassis7-v0": "solver",
    "Cassis8-v0": "search:learned,depth=6",
    "Trap-v0": "search:learned,depth=2",
    "StarshipPlace-v0": "build:learned",
}
"""The best player of an id, to measure here; a solver is perfect."""
QUOTED = {
    "Threes-v0": ("mcts:learned,seconds=0.01,clock=cpu", 642_384.0, 568_980.0, 715_788.0, 100, "threes/learned.md"),
    "Friday-v0": ("search:learned,seconds=0.01", 0.992, 0.978, 0.997, 400, "friday/strength.md"),
    "FridayLevel2-v0": ("search:learned,seconds=0.01", 0.960, 0.936, 0.975, 400, "friday/strength.md"),
    "FridayLevel3-v0": ("search:learned,seconds=0.01", 0.982, 0.964, 0.991, 400, "friday/strength.md"),
    "FridayLevel4-v0": ("search:learned,seconds=0.01", 0.962, 0.939, 0.977, 400, "friday/strength.md"),
}
"""The best players of other studies: player, mean, interval, games, page."""
SHARES = {"friday": {"shipped": 0.25}}
"""Slow roles, and the share of the games that they play."""


@dataclass(frozen=True)
class Config(Study):
    """Measures reference returns."""

    ids: tuple[str, ...] = ()
    """Ids without namespace, Threes-v0 (default: all of the package)."""
    games: int = 200
    """Episodes of a player; slow roles play a part of them."""
    learner_games: int = 50
    """Episodes of a learner."""
    steps: int = 8192
    """Training steps of learners; 0: no learners."""
    again: tuple[str, ...] = ()
    """Roles to measure again, for instance after a change of networks: shipped, "best known"."""

    @property
    def home(self) -> Path | None:
        """Folder of the file, which ships: that of the games."""
        study = super().home
        return study and study.parent / "envs"


Choice = Callable[[Any, gym.Env[Any, Any]], int]
"""(observation, environment) -> action."""


def play(env: gym.Env[Any, Any], choose: Choice, games: int) -> list[float]:
    """Returns the undiscounted returns of episodes from FIRST_SEED on."""
    returns = []
    for seed in range(FIRST_SEED, FIRST_SEED + games):
        obs, _ = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            obs, reward, terminated, truncated, _ = env.step(choose(obs, env))
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return returns


def by_player(text: str, game: Game) -> Choice:
    """Returns the choices of a player by its text."""
    player = leafwise.player(text, game, seed=0)
    return lambda obs, env: int(player.choose(env.unwrapped.state))  # type: ignore[attr-defined]


def by_learner(name: str, env_id: str, steps: int) -> Choice:
    """Trains a learner on an id; returns its choices."""
    import sb3_contrib
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    env = gym.make(f"{NAMESPACE}/{env_id}")
    policy = "MultiInputPolicy" if isinstance(env.observation_space, gym.spaces.Dict) else "MlpPolicy"
    masked = name == "MaskablePPO"
    make = getattr(sb3_contrib if masked else stable_baselines3, name)
    memory = {"buffer_size": 10_000} if name == "DQN" else {}  # the default, a million, would not fit Starship's maps
    model = make(policy, env, seed=0, **memory).learn(steps)

    def choose(obs: Any, env: gym.Env[Any, Any]) -> int:
        masks = {"action_masks": env.unwrapped.action_masks()} if masked else {}  # type: ignore[attr-defined]
        return int(model.predict(obs, deterministic=True, **masks)[0])

    return choose


def players(
    env_id: str, game: Game, config: Config
) -> Iterator[tuple[str, str, Callable[[], Choice], int, int | None]]:
    """Yields role, player, maker of its choices, episodes and training steps of all players of an id."""
    shares = SHARES.get(game.name, {})
    texts = [("random", "random"), ("hand-made", "greedy")]
    try:
        game_leaf = leafwise.player(SHIPPED.get(game.name, "search:learned,depth=1"), game)
        texts.append(("shipped", game_leaf.name))
    except UserError:
        print(f"{env_id}: no network ships", flush=True)
    if best := BEST.get(env_id):
        texts.append(("perfect" if best == "solver" else "best known", best))
    for role, text in texts:
        games = max(10, int(config.games * shares.get(role, 1.0)))
        yield role, text, partial(by_player, text, game), games, None
    for name in LEARNERS if config.steps else ():
        yield "learner", name, partial(by_learner, name, env_id, config.steps), config.learner_games, config.steps


ROLES = ("random", "hand-made", "learner", "shipped", "best known", "perfect")


def measure(config: Config) -> None:
    """Measures the missing figures, and writes the file after each."""
    known = {f"{short}-v0": (name, options) for name in names_of_games() for short, options in ids_of(name).items()}
    results = known_results(config, FILE, indent=1, encode=lambda known: dict(sorted(known.items())))
    for env_id in config.ids or sorted(known):
        need_among(env_id, sorted(known), "ids")
        name, options = known[env_id]
        game = leafwise.game(name, **options)
        if quoted := QUOTED.get(env_id):
            player, mean, low, high, games, page = quoted
            reference = Reference(player, "best known", mean, low, high, games, None, None, f"experiments/{page}")
            keep(config, results, env_id, reference, f"{env_id} {player}: {page}")
        for role, player, make, games, steps in players(env_id, game, config):
            old = results.get(env_id, {}).get(player)
            if old and role not in config.again and (old["games"], old["training_steps"]) == (games, steps):
                continue
            start = time.process_time()
            returns = np.array(play(gym.make(f"{NAMESPACE}/{env_id}"), make(), games))
            interval, mean = returns_interval(returns, game.return_range), float(returns.mean())
            ends = bounds(interval)
            reference = Reference(
                player, role, mean, ends["ci_low"], ends["ci_high"], games, FIRST_SEED, steps, commit()
            )
            line = f"{mean:.4g} ({interval_text(*interval, '.4g')}), {games} games, {time.process_time() - start:.0f} s"
            keep(config, results, env_id, reference, f"{env_id} {player}: {line}")


def keep(config: Config, results: Results, env_id: str, reference: Reference, line: str) -> None:
    """Saves a figure, players ordered by role, together with figures of other running commands."""
    if (file := config.target(FILE)).exists():
        results.read(file)
    fields = {name: round(value, 6) if isinstance(value, float) else value for name, value in asdict(reference).items()}
    of_id = {**results.get(env_id, {}), reference.player: fields}
    results.keep(env_id, dict(sorted(of_id.items(), key=lambda item: ROLES.index(item[1]["role"]))), line)


main = command(Config, measure)

if __name__ == "__main__":
    raise SystemExit(main())
