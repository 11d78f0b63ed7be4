"""Makes evaluators of models that were trained on the environments' observations."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from leafwise.envs import registry
from leafwise.envs.core.arrays import Array, Floats
from leafwise.envs.core.contract.evaluator import Evaluator, real_numbers
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, DEFAULT_VIEW
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.gym.observation import Observation, ObservedRows
from leafwise.envs.core.ranges import Range, need_among, need_in, need_switch
from leafwise.models import onnx_leaf, sb3
from leafwise.models.files import LEARNED, best_leaf, exists, need_shipped
from leafwise.models.multi_hot import observer_of
from leafwise.models.sb3 import KINDS, Kind, Model
from leafwise.models.units import load_with_units
from leafwise.search.players import BEST
from leafwise.search.rollout import is_rollout, parse_rollout

Speaks = Literal["to_act", "player_0"]
SPEAKS: tuple[Speaks, ...] = ("to_act", "player_0")
OBSERVED_BYTES = 1 << 26
"""Maximum number of bytes of observations in one call of a model."""
PART = 256
"""Maximum number of observations in one call of a torch module on the CPU: larger batches of convolutions are slower per row."""
TRIAL_ROWS, TOLERANCE = 8, 1e-4
"""Number of positions on which a torch module is tried, alone and in one batch, and the relative and absolute difference
allowed."""
ACCEPTED = (
    "a function of observations, a torch module, a PPO, A2C, DQN, MaskablePPO or QRDQN of Stable-Baselines3 or its .zip, "
    "an .onnx file, or the text of a leaf"
)


def leaf(
    game: str | Game,
    model: Any,
    *,
    kind: Kind | None = None,
    speaks_for: Speaks = "to_act",
    to_go: bool | None = None,
    discount: float | None = None,
    scale: float | None = None,
    normalize: Any = None,
    observation: str | None = None,
) -> Evaluator:
    """Makes a leaf evaluator of a model that was trained on the environment's observations.

    `leafwise.Search(game, leafwise.leaf(game, model), depth=2)` searches with it. The search makes observations of its positions,
    exactly those that `step` returns, and values them in batches.

    Args:
        model: one of: a function from observations [n, ...] (a dict of arrays if the environment returns one) to numbers; a torch
            module, which gets float32 tensors on its own device; a PPO, A2C, DQN, MaskablePPO or QRDQN of Stable-Baselines3 or
            sb3-contrib, its policy, or the path of its `.zip`; the path of an `.onnx` file (extra `onnx`); the text of a leaf
            (`learned`, `sb3:FILE.zip`, a score, a run folder). Loading a `.zip` runs code in it (pickle): give only files that you
            trust.
        kind: "value": one number for each observation, [n] or [n, 1]. "q": one for each action, [n, A]; the largest of a legal
            action counts. Default: the kind of a model of Stable-Baselines3, else "value".
        speaks_for: the player whose gain the numbers are: "to_act", the player who acts, as for an agent; or "player_0".
        to_go: True (the default): the numbers are the return still to come, as an agent's values are. False: they are the return of
            the whole game. An `.onnx` file written by Leafwise has the right default.
        discount: a factor for all numbers, besides `scale`. With the discount of one decision, a search of depth 1 chooses the
            same actions as the model. Rewards inside the tree are not discounted. Default: `gamma` of a model of
            Stable-Baselines3, else 1.
        scale: the return that a number of 1 means. Default: that of the `VecNormalize` that the model was trained with, else 1.
        normalize: the `VecNormalize` that a model of Stable-Baselines3 was trained with, or the path of its file (also a pickle).
            Not needed for a model that still has its environment.
        observation: what the model sees, as for environments: "default", "planes", "onehot". Default: the view that a model of
            Stable-Baselines3 was made for, else "default".

    Finished games are worth their return, whatever the model says. Raises ValueError in one line for other objects, and for a model
    that does not fit the game.
    """
    game = registry.as_game(game)
    options = {
        "kind": kind,
        "discount": discount,
        "scale": scale,
        "normalize": normalize,
        "to_go": to_go,
        "observation": observation,
    }
    options = {name: value for name, value in options.items() if value is not None}
    for what, choice, choices in (("kind", options.get("kind", "value"), KINDS), ("speaks_for", speaks_for, SPEAKS)):
        need_among(choice, choices, what, "leaf")
    need_switch(options.get("to_go", True), "to_go", "leaf")
    for what, limit in (("discount", Range(0, 1, above=True)), ("scale", Range(0, math.inf, above=True, below=True))):
        need_in(options.get(what, 1.0), limit, f"a finite {what}", "leaf")
    if isinstance(model, (str, os.PathLike)) and not _is_file(model):
        model = named_leaf(game, os.fspath(model))
    if isinstance(model, Evaluator):
        if options or speaks_for != "to_act":
            raise UserError(
                f"leaf: expected no options with a leaf's name or an Evaluator, got {', '.join(options) or 'speaks_for'}"
            )
        return model
    described = replace(
        _model(game, model, options),
        **{name: options[name] for name in ("kind", "discount", "scale") if name in options},
    )
    values = Values(game, described, speaks_for, described.to_go if to_go is None else to_go)
    values(game.new(0).row[None], game.tables())  # raises an error here, not inside a search
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module) and not _is_sb3(model):
        _check_module(game, model, values)
    return Evaluator(described.name, None, batch=values, to_go=values.to_go, terminal="returns", game=game)


def named_leaf(game: Game, name: str) -> Evaluator:
    """Returns the leaf evaluator that a text names; raises ValueError for other texts.

    `best` (the shipped model if there is one, else the default score), a hand-made score, `learned` (the shipped model),
    `rollout:n=20`, `sb3:FILE.zip`, `onnx:FILE.onnx`, a path, or `hf://OWNER/NAME`.
    """
    if name == BEST:
        name = best_leaf(game)
    if is_rollout(name):
        return parse_rollout(game, name)
    if name in game.scores:
        return game.score(name)
    if name.startswith("sb3:"):
        model, normalize = sb3.files_of(name)
        return leaf(game, model, normalize=normalize)
    if name.startswith("onnx:"):
        return leaf(game, onnx_leaf.model_of(game, *onnx_leaf.files_of(name)))
    if name == LEARNED:
        shipped = need_shipped(game)
        evaluator = load_with_units(game, shipped)
        return (
            replace(evaluator, name=LEARNED) if os.path.isabs(shipped) else evaluator
        )  # a plug-in's file: its path is long
    if not exists(name):
        scores = ", ".join(game.scores)
        raise UserError(
            f"{game.name}: expected a leaf among best, {scores}, learned, rollout:n=20, sb3:FILE.zip, onnx:FILE, hf://OWNER/NAME, "
            f"or a model's path, got {name!r}"
        )
    return load_with_units(game, name)


def _is_file(model: str | os.PathLike[str]) -> bool:
    """Whether a text is the path of a `.zip` or `.onnx` file, rather than the text of a leaf."""
    return os.fspath(model).lower().endswith((".zip", ".onnx")) and not os.fspath(model).startswith(("sb3:", "onnx:"))


def _is_sb3(model: Any) -> bool:
    """Whether a model is of Stable-Baselines3: an algorithm, a policy or a path."""
    if isinstance(model, (str, os.PathLike)):
        return True
    if "stable_baselines3" not in sys.modules:
        return False
    return sb3.is_model(model)


def _model(game: Game, model: Any, options: dict[str, Any]) -> Model:
    """Returns a model with the meaning of its numbers; raises ValueError that lists what is accepted for anything else."""
    view = options.get("observation", DEFAULT_VIEW)
    if isinstance(model, (str, os.PathLike)) and os.fspath(model).lower().endswith(".onnx"):
        model = onnx_leaf.model_of(game, model, view=options.get("observation", ""))
    if isinstance(model, Model):
        need_no_normalize(options)
        return model
    if _is_sb3(model):
        return sb3.described(game, sb3.load(model) if isinstance(model, (str, os.PathLike)) else model, options)
    need_no_normalize(options)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return Model(type(model).__name__, module_numbers(model), observation=view)
    if callable(model) and not isinstance(model, type):
        return Model(getattr(model, "__name__", type(model).__name__), model, observation=view)
    raise UserError(f"leaf: expected {ACCEPTED}, got {type(model).__name__} {short(repr(model), 60)}")


def need_no_normalize(options: dict[str, Any]) -> None:
    """Raises ValueError if `normalize` is given for a model that is not of Stable-Baselines3."""
    if "normalize" in options:
        raise UserError("leaf: expected normalize with a model of Stable-Baselines3 only")


def module_numbers(module: Any) -> Callable[[Observation], Any]:
    """Returns a torch module as a function of observations, which raises ValueError if the module does not take them."""
    import torch

    def tensor(array: Array, device: Any) -> Any:
        return torch.as_tensor(array, dtype=torch.float32, device=device)

    def forward(obs: Observation) -> Any:
        """Calls the module; on the CPU in parts whose activations stay in the cache."""
        parameter = next(module.parameters(), None)
        device = torch.device("cpu") if parameter is None else parameter.device
        if isinstance(obs, dict):
            return module({name: tensor(array, device) for name, array in obs.items()})
        if device.type != "cpu" or len(obs) <= PART:
            return module(tensor(obs, device))
        parts = [module(tensor(obs[k : k + PART], device)) for k in range(0, len(obs), PART)]
        return torch.cat(parts) if isinstance(parts[0], torch.Tensor) else parts[0]

    def numbers(obs: Observation) -> Any:
        training, learns = module.training, any(part.training for part in module.modules())
        if learns:
            module.eval()
        try:
            with torch.inference_mode():
                output = forward(obs)
        except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError) as problem:
            seen = shapes(obs)
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise UserError(
                f"leaf: expected a module that takes observations {seen} as float32, got: {reason}"
            ) from None
        finally:
            if learns:
                module.train(training)
        if not isinstance(output, torch.Tensor):
            raise UserError(f"leaf: expected a module that returns one tensor, got {type(output).__name__}")
        if not output.is_floating_point():
            raise UserError(f"leaf: expected a module that returns numbers of torch.float32, got {output.dtype}")
        return output.detach().cpu().numpy()

    return numbers


def trial_rows(game: Game) -> Array:
    """Returns positions of random games [TRIAL_ROWS, width] on which modules are tried, always the same ones."""
    state, stream = game.new(0), new_stream(0)
    rows = [state.row]
    while len(rows) < TRIAL_ROWS:
        legal = state.legal_actions
        state = state.play(legal[int(below(stream, len(legal)))]).settle(stream)
        state = game.new(len(rows)) if state.is_terminal else state
        rows.append(state.row)
    return np.array(rows)


def _check_module(game: Game, module: Any, values: Values) -> None:
    """Raises ValueError for a torch module whose weights change in a call, or whose numbers depend on the batch."""
    import torch

    rows = trial_rows(game)
    before, T = {name: part.clone() for name, part in module.state_dict().items()}, game.tables()
    alone, together = np.concatenate([values(row[None], T) for row in rows]), values(rows, T)
    changed = [name for name, part in module.state_dict().items() if not torch.equal(before[name], part)]
    name = values.model.name
    if changed:
        raise UserError(
            f"leaf {name!r}: expected forward to leave all parameters and buffers, got a change of {changed[0]!r}"
        )
    if len(unlike := np.flatnonzero(~np.isclose(alone, together, rtol=TOLERANCE, atol=TOLERANCE))):
        one, other = alone[unlike[0]], together[unlike[0]]
        raise UserError(
            f"leaf {name!r}: expected one number for a position in every batch, got {one:g} alone, {other:g} among {TRIAL_ROWS}"
        )


def shapes(obs: Observation) -> str:
    """Formats the shapes of observations: `[n, 24]`, or one for each name."""
    if isinstance(obs, dict):
        return "{" + ", ".join(f"{name}: {shapes(array)}" for name, array in obs.items()) + "}"
    return f"[{', '.join(['n', *map(str, obs.shape[1:])])}]"


class Values:
    """The `batch` of an evaluator: values rows by a model."""

    def __init__(self, game: Game, model: Model, speaks_for: Speaks, to_go: bool) -> None:
        self.game, self.model, self.speaks_for, self.to_go = game, model, speaks_for, to_go
        self._observer: Any = observer_of(game, model.observation, masked=model.kind == "q")
        self._is_plain, self._factor = (model.kind, speaks_for) == ("value", "to_act"), model.discount * model.scale
        seen = self._observer(game.rows(1)[:0])
        arrays = seen.obs.values() if isinstance(seen.obs, dict) else [seen.obs]
        self._most = max(1, OBSERVED_BYTES // sum(int(np.prod(a.shape[1:])) * a.itemsize for a in arrays))

    def __call__(self, rows: Array, T: Any) -> Floats:
        """Values rows [n, width] for the players who act; raises ValueError at a chance stage."""
        model, n = self.model.numbers, len(rows)
        if 0 < n <= self._most and isinstance(model, onnx_leaf.Numbers) and model.is_free.acquire(blocking=False):
            try:
                seen = self._observer.again(rows)
                # Numbers of bound observations were checked when they were bound
                if self._is_plain and n == 1 and seen.lowest >= 0 and model.is_bound_to(seen.obs):
                    number = model.of_same(seen.obs).item() * self._factor
                    if math.isfinite(number):
                        return np.array([number])
                return self._values_of(seen, model.of_same)
            finally:
                model.is_free.release()
        some = (rows[k : k + self._most] for k in range(0, n, self._most))
        parts = [self._values_of(self._observer(one, T), model) for one in some]
        return np.concatenate(parts) if parts else np.zeros(0)

    def __reduce__(self) -> tuple[Any, ...]:
        return Values, (self.game, self.model, self.speaks_for, self.to_go)

    def _values_of(self, seen: ObservedRows, numbers: Callable[[Observation], Any]) -> Floats:
        """Returns a value for each position observed."""
        if seen.lowest >= 0:
            return self._values_of_decisions(numbers(seen.obs), seen.mask, seen.player)
        if (seen.player == CHANCE).any():
            raise UserError(f"leaf {self.model.name!r}: expected decisions and finished games, got a chance stage")
        values, decided = np.zeros(len(seen.player)) if self.to_go else seen.returns.copy(), seen.player >= 0
        if decided.any():
            obs = seen.obs
            obs = {name: a[decided] for name, a in obs.items()} if isinstance(obs, dict) else obs[decided]
            values[decided] = self._values_of_decisions(
                self.model.numbers(obs), seen.mask[decided], seen.player[decided]
            )
        return values

    def _values_of_decisions(self, numbers: Any, mask: NDArray[np.int8], player: NDArray[np.int8]) -> Floats:
        """Returns the values of decisions for the players who act, from the model's numbers."""
        n, model = len(mask), self.model
        values = real_numbers(numbers, f"leaf {model.name!r}: expected numbers")
        width = 1 if model.kind == "value" else mask.shape[1]
        if values.shape != (n, width) and (model.kind == "q" or values.shape != (n,)):
            raise UserError(f"leaf {model.name!r}: expected numbers [{n}, {width}], got {list(values.shape)}")
        if self.speaks_for == "player_0":
            values = (np.where(player == 1, -1.0, 1.0) * values.T).T
        best: Floats = np.where(mask, values, -np.inf).max(axis=1) if model.kind == "q" else values.reshape(n)
        if not (math.isfinite(best[0]) if n == 1 else np.isfinite(best).all()):
            raise UserError(f"leaf {model.name!r}: expected finite numbers, got nan or infinity")
        return best * self._factor
