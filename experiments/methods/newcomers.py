"""Trains DQN and PPO of Stable-Baselines3 and MaskablePPO of sb3-contrib, with their defaults or with settings.

`python -m leafwise.experiments.methods.newcomers --game threes --algorithm PPO --minutes 30 --run runs/ppo` trains for 30 minutes
of processor time and saves regularly. --resume continues from the weights and the optimizer's state. DQN and PPO do not know the
legal actions: an illegal action loses a two-player game, and does nothing in a single-player game. `--settings FILE` takes the
hyper-parameters of the game's id from a file in RL Baselines3 Zoo's format, and uses the native batch. DQN's replay
buffer has a million steps, or as many as fit into 4 GB, which matters in Starship.
"""

from __future__ import annotations

import io
import json
import pickle
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np
from gymnasium.spaces import flatten_space

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.interrupts import Deferred, as_command
from leafwise.models.files import write_atomically
from leafwise.training.runs.files import FolderLock
from leafwise.training.runs.folder import command_of, commit, hardware, need_train_extra
from leafwise.training.runs.loop import find_variant

ENVS = 8
"""Parallel environments, as in Stable-Baselines3's examples."""
BUFFER_SIZE, BUFFER_BYTES = 1_000_000, 4e9
"""Default steps of DQN's replay buffer, and the maximum bytes of its observations."""
SAVE_SECONDS = 60.0
PROGRAM = "leafwise.experiments.methods.newcomers"


@dataclass(frozen=True)
class Config:
    """Trains DQN or PPO of Stable-Baselines3, or MaskablePPO of sb3-contrib."""

    game: str
    """Game to learn."""
    variant: str = ""
    """Options of the game, like board=7x6,k=4."""
    algorithm: Literal["DQN", "PPO", "MaskablePPO"] = "PPO"
    """Algorithm to train."""
    env: str = "{}"
    """Keywords of the environment, as JSON."""
    minutes: float = 30.0
    """Processor time."""
    seed: int = 1
    """Seed of the algorithm and its environments."""
    run: str = "runs/newcomer"
    """Folder of the run."""
    resume: bool = False
    """Continue the run in the folder."""
    settings: str = ""
    """File of hyper-parameters in RL Baselines3 Zoo's format, by id (default: the algorithm's own)."""


def id_of(game: Game) -> str:
    """Returns the id of a game's environment; raises ValueError for a variant that has none."""
    for short, options in game.ids.items():
        if game == game.variant(**{**game.defaults, **options}):
            return f"leafwise/{short}-v0"
    raise UserError(f"expected a variant of {game.name} with an id, got {game!r}")


def settings_of(file: str, name: str) -> dict[str, Any]:
    """Returns the hyper-parameters of an id in a file of RL Baselines3 Zoo's format; raises ValueError where it has none.

    Texts that Zoo would evaluate as Python, for `policy_kwargs` or `normalize`, are refused: both must be YAML.
    """
    import yaml

    try:
        settings = yaml.safe_load(read_text(Path(file)))[name]
        code = [key for key in ("policy_kwargs", "normalize", "env_kwargs") if isinstance(settings.get(key), str)]
    except OSError as problem:
        raise UserError(f"expected a file of hyper-parameters, got {file!r}: {problem.strerror}") from None
    except (yaml.YAMLError, LookupError, TypeError, AttributeError) as problem:
        what = " ".join(str(problem).split())
        raise UserError(f"expected hyper-parameters of {name} as YAML in {file!r}, got {what:.200}") from None
    if code:
        raise UserError(f"expected {code[0]} of {name} as YAML without Python in {file!r}, got {settings[code[0]]!r}")
    return dict(settings)


def environments(game: Game, config: Config, settings: dict[str, Any]) -> Any:
    """Returns the environments, and removes their options from `settings`.

    With settings they are the native batch behind a `VecNormalize`; without, single environments that are stepped in turn, as
    Stable-Baselines3 does by default.
    """
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecMonitor, VecNormalize

    from leafwise.envs.core.gym.env import GameEnv
    from leafwise.envs.core.gym.vector import GameVectorEnv
    from leafwise.training.sb3 import Sb3VecEnv

    keywords = {**json.loads(config.env), **settings.pop("env_kwargs", {})}
    if config.settings:
        batch = Sb3VecEnv(GameVectorEnv(settings.pop("n_envs", 1), game, autoreset_mode="SameStep", **keywords))
        batch.seed(config.seed)
        normalize = settings.pop("normalize", {"norm_obs": False, "norm_reward": False})
        return VecNormalize(VecMonitor(batch), **normalize, gamma=settings.get("gamma", 0.99))

    def make(**given: Any) -> gym.Env[Any, Any]:
        return GameEnv(game, **given)

    return make_vec_env(make, n_envs=ENVS, seed=config.seed, env_kwargs=keywords)


def fitting(algorithm: str, space: gym.Space[Any]) -> dict[str, int]:
    """Returns options that make an algorithm fit into memory; {} if its defaults fit."""
    each = 2 * np.asarray(flatten_space(space).sample()).nbytes
    steps = int(BUFFER_BYTES / each)
    return {"buffer_size": steps} if algorithm == "DQN" and steps < BUFFER_SIZE else {}


def train(config: Config) -> Path:
    """Trains or continues a run and returns its folder; `results.json` exists when the run is finished."""
    import sb3_contrib
    import stable_baselines3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    torch.set_num_threads(1)
    path, options = Path(config.run), asdict(config)
    lock = FolderLock(path)
    model_file, progress_file = path / "model.zip", path / "config.json"
    if config.resume != progress_file.exists():
        wanted, got = ("a run to resume", "none") if config.resume else ("no run yet", "one")
        raise UserError(f"expected {wanted} in {str(path)!r}, got {got}")
    progress: dict[str, Any] = json.loads(read_text(progress_file)) if config.resume else {"seconds": 0.0, "steps": 0}
    game = find_variant(config.game, config.variant)
    settings = settings_of(config.settings, id_of(game)) if config.settings else {}
    settings.pop("n_timesteps", None)  # the clock stops it
    envs = environments(game, config, settings)
    kind = getattr(sb3_contrib if config.algorithm == "MaskablePPO" else stable_baselines3, config.algorithm)
    policy = "MultiInputPolicy" if isinstance(envs.observation_space, gym.spaces.Dict) else "MlpPolicy"
    settings = {"policy": policy, **fitting(config.algorithm, envs.observation_space), **settings}
    model = kind(env=envs, seed=config.seed, device="cpu", **settings)  # equal processor time for all ways
    if config.resume:  # loading the whole model would run code from the file
        model.set_parameters(model_file)
        model.num_timesteps = progress["steps"]
        if config.settings:
            envs.ret_rms.mean, envs.ret_rms.var, envs.ret_rms.count = progress["returns"]
    begun, before = time.process_time(), progress["seconds"]

    def save() -> None:
        model.save(buffer := io.BytesIO())
        write_atomically(model_file, buffer.getvalue())
        progress["seconds"], progress["steps"] = before + time.process_time() - begun, int(model.num_timesteps)
        if config.settings:
            write_atomically(path / "normalize.pkl", pickle.dumps(envs))
            progress["returns"] = [float(getattr(envs.ret_rms, name)) for name in ("mean", "var", "count")]
        write_atomically(progress_file, json.dumps({**options, **progress}).encode())

    class TimeLimit(BaseCallback):
        saved = time.process_time()

        def _on_step(self) -> bool:
            now = time.process_time()
            if now - self.saved > SAVE_SECONDS:
                self.saved = now
                save()
            return before + now - begun < 60 * config.minutes and not stop.requested

    with Deferred() as stop:
        save()
        model.learn(10**12, callback=TimeLimit(), reset_num_timesteps=False)
        save()
    if progress["seconds"] >= 60 * config.minutes:
        about = {"command": command_of(["python", "-m", PROGRAM], config), "commit": commit(), "hardware": hardware()}
        write_atomically(path / "results.json", json.dumps({**progress, **about}).encode())
    lock.release()
    return path


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line."""
    return as_command(_run, arguments)


def _run(arguments: list[str]) -> int:
    config = parse(Config, arguments, f"python -m {PROGRAM}")
    need_train_extra()
    train(config)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
