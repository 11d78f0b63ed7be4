"""Models of Stable-Baselines3 and sb3-contrib: their values as evaluators, their policies as players.

Their `.zip` files hold pickled objects, and loading one runs code in it. A file is therefore loaded only if a user names it, and
with a warning.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from leafwise.envs.core.arrays import Array, Floats32
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import DEFAULT_VIEW
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.gym.observation import Observation, Observer
from leafwise.envs.core.play.players import ByName

PREFIX = "sb3"
"""Prefix of a `.zip` in texts of players and leaves: `sb3:FILE.zip`, `sb3:FILE.zip,normalize=FILE.pkl`."""
KNOWN = "a PPO, A2C, DQN, MaskablePPO or QRDQN"
HARMLESS = ("VecMonitor", "VecCheckNan", "VecNormalize", "ScaledRewards")
"""Wrappers of vector environments that change no observation, or whose change is applied here."""


Kind = Literal["value", "q"]
KINDS: tuple[Kind, ...] = ("value", "q")


@dataclass(frozen=True)
class Model:
    """A model of another program, and the meaning of its numbers."""

    name: str
    numbers: Callable[[Observation], Any]
    """Observations [n, ...] -> values [n] or [n, 1], or action values [n, A]."""
    kind: Kind = "value"
    discount: float = 1.0
    scale: float = 1.0
    to_go: bool = True
    """Whether the numbers are the return still to come."""
    observation: str = DEFAULT_VIEW
    """The view of the game that it sees."""


def is_model(model: Any) -> bool:
    """Whether an object is an algorithm or a policy of Stable-Baselines3."""
    from stable_baselines3.common.base_class import BaseAlgorithm
    from stable_baselines3.common.policies import BasePolicy

    return isinstance(model, (BaseAlgorithm, BasePolicy))


def load(path: str | os.PathLike[str]) -> Any:
    """Loads the model of a `.zip` onto the CPU; warns once that this runs code in the file.

    Raises ValueError in one line for a file that is not such a model.
    """
    file = Path(os.path.expanduser(path))
    if importlib.util.find_spec("stable_baselines3") is None:
        raise UserError("expected stable_baselines3, found none: pip install 'leafwise[train]'")
    if not file.is_file():
        raise UserError(f"expected a model of Stable-Baselines3, found nothing at {str(path)!r}")
    if not zipfile.is_zipfile(file):
        raise UserError(f"expected a .zip of Stable-Baselines3, got {str(path)!r}")
    return _loaded(file.resolve(), file.stat().st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _loaded(file: Path, written: int) -> Any:
    """Loads a model and caches it: every batch of games asks for it."""
    from stable_baselines3.common.save_util import load_from_zip_file

    warnings.warn(
        f"{str(file)!r}: loading a .zip of Stable-Baselines3 runs code kept in it (pickle); use only files you trust",
        stacklevel=4,
    )
    try:
        data = load_from_zip_file(file, device="cpu")[0]
        algorithm = _algorithm(data or {})
        return algorithm.load(file, device="cpu") if algorithm else None
    except Exception as error:  # a broken pickle may raise anything
        what = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        reason = f"{what}{error}".splitlines()[0]
        raise UserError(f"expected {KNOWN} of Stable-Baselines3 in {str(file)!r}, got {reason}") from None


def _algorithm(data: dict[str, Any]) -> Any:
    """Returns the class of the algorithm that saved a model; raises ValueError for one without usable values."""
    from sb3_contrib import QRDQN, MaskablePPO
    from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
    from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
    from sb3_contrib.qrdqn.policies import QRDQNPolicy
    from stable_baselines3 import A2C, DQN, PPO
    from stable_baselines3.common.policies import ActorCriticPolicy
    from stable_baselines3.dqn.policies import DQNPolicy

    policy = data.get("policy_class", object)
    if not issubclass(policy, RecurrentActorCriticPolicy):
        by_policy = [(MaskableActorCriticPolicy, MaskablePPO), (DQNPolicy, DQN), (QRDQNPolicy, QRDQN)]
        for policy_class, algorithm in (*by_policy, (ActorCriticPolicy, PPO if "clip_range" in data else A2C)):
            if issubclass(policy, policy_class):
                return algorithm
    raise UserError(f"a policy {getattr(policy, '__name__', policy)}")


def described(game: Game, model: Any, options: dict[str, Any]) -> Model:
    """Returns a model of Stable-Baselines3 with its numbers, discount and scale.

    `options` are those of the user. Raises ValueError for a model that does not fit the game, or was trained behind wrappers that
    cannot be repeated here.
    """
    policy = getattr(model, "policy", model)
    name = type(model).__name__
    view = _view_of(game, name, policy, options.get("observation"))
    normalizer = _normalizer(name, model, options.get("normalize"))
    _check_wrappers(game, name, model, rewarded=True, options=options)
    scale = 1.0  # the return that a reward of 1 stands for
    if normalizer is not None and normalizer.norm_reward:
        scale = float(np.sqrt(normalizer.ret_rms.var + normalizer.epsilon))
    kind: Kind = "value" if hasattr(policy, "predict_values") else "q"
    if options.get("kind", kind) != kind:
        raise UserError(f"leaf {name!r}: expected kind {kind!r} as in the model, got {options['kind']!r}")
    return Model(
        name=name,
        numbers=functools.partial(_numbers, policy, normalizer),
        kind=kind,
        discount=float(getattr(model, "gamma", 1.0)),
        scale=scale * next((w.scale for w in _wrappers(model) if type(w).__name__ == "ScaledRewards"), 1.0),
        observation=view,
    )


def _numbers(policy: Any, normalizer: Any, obs: Observation) -> Floats32:
    """Returns a policy's values [n, 1], or its action values [n, A]."""
    import torch

    inputs = _tensor(policy, normalizer, obs)
    with torch.no_grad():
        if hasattr(policy, "predict_values"):
            output = policy.predict_values(inputs)
        elif hasattr(policy, "q_net"):
            output = policy.q_net(inputs)
        else:
            output = policy.quantile_net(inputs).mean(dim=1)
    numbers: Floats32 = output.cpu().numpy()
    return numbers


def _tensor(policy: Any, normalizer: Any, obs: Observation) -> Any:
    """Returns observations as the tensor that a policy takes, and sets the policy to evaluation mode."""
    policy.set_training_mode(False)
    return policy.obs_to_tensor(obs if normalizer is None else normalizer.normalize_obs(obs))[0]


def _view_of(game: Game, name: str, policy: Any, view: str | None = None) -> str:
    """Returns the view of a game that a model sees; raises ValueError for other spaces, or a model without values."""
    recurrent = hasattr(policy, "lstm_actor")
    if recurrent or not any(hasattr(policy, part) for part in ("predict_values", "q_net", "quantile_net")):
        raise UserError(f"leaf: expected {KNOWN}, got {name} with a {type(policy).__name__}")
    import gymnasium as gym

    spaces = {name: game.observation_space(name) for name in ([view] if view else game.view_names)}
    fits = [name for name, space in spaces.items() if space == policy.observation_space]
    space, actions = spaces[(fits or [*spaces])[0]], gym.spaces.Discrete(len(game.actions))
    for what, expected, got in (
        ("observations", space, policy.observation_space),
        ("actions", actions, policy.action_space),
    ):
        if expected != got:
            raise UserError(
                f"leaf {name!r}: expected {what} {short(expected)} as {game!r} gives them, got {short(got)}; "
                "if wrappers change them, pass a function of observations instead"
            )
    return fits[0]


def _wrappers(model: Any) -> Iterator[Any]:
    """Yields the wrappers around a model's environment, if it still has one, the innermost last."""
    import gymnasium as gym

    env = model.get_env() if hasattr(model, "get_env") else None
    while env is not None:
        yield env
        if hasattr(env, "venv"):
            env = env.venv
        elif hasattr(env, "envs"):
            env = env.envs[0]
        else:
            env = env.env if isinstance(env, gym.Wrapper) else getattr(env, "batch", None)


def _check_wrappers(
    game: Game, name: str, model: Any, *, rewarded: bool, options: Mapping[str, Any] = MappingProxyType({})
) -> None:
    """Raises ValueError for wrappers that cannot be repeated here; if `rewarded`, also for rewards that are not the return."""
    import gymnasium as gym
    from stable_baselines3.common.vec_env import VecEnvWrapper

    changing: tuple[type, ...] = (gym.ObservationWrapper, gym.ActionWrapper)
    if rewarded and "scale" not in options:
        changing += (gym.RewardWrapper,)
    for env in _wrappers(model):
        if isinstance(env, changing) or (isinstance(env, VecEnvWrapper) and type(env).__name__ not in HARMLESS):
            raise UserError(
                f"leaf {name!r}: expected no wrapper but VecNormalize, got {type(env).__name__}; pass a function of the "
                "environment's own observations instead, and scale if rewards were changed"
            )
        reward = getattr(env, "reward_name", None)
        if rewarded and isinstance(reward, str) and game.rewards.get(reward) is not None and "to_go" not in options:
            raise UserError(
                f"leaf {name!r}: expected to_go for a model trained on the reward {reward!r}, which is not the return"
            )


def _normalizer(name: str, model: Any, given: Any) -> Any:
    """Returns the `VecNormalize` that a model was trained behind, or None; raises ValueError if it is missing."""
    from stable_baselines3.common.vec_env import VecNormalize

    attached = model.get_vec_normalize_env() if hasattr(model, "get_vec_normalize_env") else None
    normalizer = (
        _unpickled(given) if isinstance(given, (str, os.PathLike)) else given if given is not None else attached
    )
    if normalizer is None and _was_normalized(model):
        raise UserError(f"leaf {name!r}: expected normalize=, the VecNormalize of the training or its file, got none")
    if normalizer is not None and not isinstance(normalizer, VecNormalize):
        raise UserError(
            f"leaf {name!r}: expected normalize as a VecNormalize or its file, got {type(normalizer).__name__}"
        )
    return normalizer


def _unpickled(path: str | os.PathLike[str]) -> Any:
    """Loads a file of `VecNormalize.save`; warns that this runs code in the file."""
    import pickle

    warnings.warn(f"{str(path)!r}: loading a VecNormalize runs code kept in it (pickle)", stacklevel=6)
    try:
        return pickle.loads(Path(os.path.expanduser(path)).read_bytes())
    except Exception as problem:  # a broken pickle may raise anything
        reason = f"{type(problem).__name__}: {problem}".splitlines()[0]
        raise UserError(f"expected a file of VecNormalize.save at {str(path)!r}, got {reason}") from None


def _was_normalized(model: Any) -> bool:
    """Whether the last observation of a model shows that it was trained behind a `VecNormalize`."""
    last = getattr(model, "_last_obs", None)
    if last is None:
        return False
    space = model.observation_space
    first = {key: array[0] for key, array in last.items()} if isinstance(last, dict) else last[0]
    on_policy = hasattr(model, "rollout_buffer") or hasattr(model, "gae_lambda")
    return not space.contains(first) or (on_policy and getattr(model, "_last_original_obs", None) is not None)


class PolicyPlayer(ByName):
    """Plays the legal action with the highest probability, or the highest value, by a policy."""

    def __init__(self, game: Game, model: Any, name: str, normalize: Any = None) -> None:
        self.name = name
        self._policy = getattr(model, "policy", model)
        view = _view_of(game, type(model).__name__, self._policy)
        _check_wrappers(game, type(model).__name__, model, rewarded=False)
        self._normalizer = _normalizer(type(model).__name__, model, normalize)
        self._observer = Observer(game, view)

    @property
    def values_actions(self) -> bool:
        """Whether `preferences` returns action values; else it returns logits."""
        return not hasattr(self._policy, "predict_values")

    def preferences(self, rows: Array) -> Floats32:
        """Returns action values or logits [n, A] at decisions [n, width]; -inf: illegal.

        Numbers of legal actions are finite: an action of probability 0 gets the smallest float. Raises ValueError for nan.
        """
        import torch

        seen = self._observer(rows)
        if self.values_actions:
            scores = _numbers(self._policy, self._normalizer, seen.obs)
        else:
            try:
                with torch.no_grad():
                    distribution = self._policy.get_distribution(_tensor(self._policy, self._normalizer, seen.obs))
                scores = distribution.distribution.logits.cpu().numpy()
            except ValueError:  # torch raises it, in many lines, for nan
                scores = np.full(seen.mask.shape, np.nan, dtype=np.float32)
        if np.isnan(scores[seen.mask != 0]).any():
            raise UserError(f"{self.name}: expected a number for each legal action, got nan")
        most = np.finfo(np.float32).max
        return np.where(seen.mask, np.clip(scores, -most, most), np.float32(-np.inf))

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        return int(self.preferences(state.row[None])[0].argmax())


def files_of(text: str) -> tuple[str, str | None]:
    """Returns the files that `sb3:FILE.zip` and `sb3:FILE.zip,normalize=FILE.pkl` name; raises ValueError for other texts."""
    match = re.fullmatch(rf"{PREFIX}:(.+?\.zip)(?:,normalize=(.+))?", re.sub(r"""["']""", "", text), re.IGNORECASE)
    if match is None:
        raise UserError(f"expected {PREFIX}:FILE.zip or {PREFIX}:FILE.zip,normalize=FILE.pkl, got {text!r}")
    return match[1], match[2]
