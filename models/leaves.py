"""Any model as a leaf: what was trained on the environments' observations values the rows of a search."""

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
from leafwise.models.files import LEARNED, best_leaf, is_there, need_shipped
from leafwise.models.multi_hot import observer_of
from leafwise.models.sb3 import KINDS, Kind, Model
from leafwise.models.units import load_with_units
from leafwise.search.players import BEST
from leafwise.search.rollout import is_rollout, parse_rollout

Speaks = Literal["to_act", "player_0"]
SPEAKS: tuple[Speaks, ...] = ("to_act", "player_0")
OBSERVED_BYTES = 1 << 26
"""Most memory of the observations that a model is handed at once."""
PART = 256
"""Most observations that a torch module on a processor is handed at once: convolutions of more are slower for each."""
TRIED, WITHIN = 8, 1e-4
"""Positions that a torch module is asked about alone and together, and by how much its numbers may differ, as a share or at all."""
GIVEN = (
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
    """Returns a leaf evaluator made of a model that was trained on the environment's observations.

    `leafwise.Search(game, leafwise.leaf(game, model), depth=2)` searches with it: observations are made of the search's positions,
    exactly those that `step` gives, and valued in batches.

    Args:
        model: a function from observations [n, ...] (a dict of arrays where the environment gives one) to numbers; a torch module,
            which is handed float32 tensors on its own device; a PPO, A2C, DQN, MaskablePPO or QRDQN of Stable-Baselines3 and
            sb3-contrib, their policies, or the path of such a model's `.zip`; the path of an `.onnx` file (extra `onnx`); or the
            text of a leaf (`learned`, `sb3:FILE.zip`, a score, a run folder). Loading a `.zip` runs code that is kept in it
            (pickle): give only files that you trust.
        kind: "value": one number for each observation, [n] or [n, 1]; "q": one for each action, [n, A], of which the greatest
            of a legal action counts. Default: what a model of Stable-Baselines3 is, else "value".
        speaks_for: whose gain the numbers are: "to_act", the player who acts, as an agent's own are; or "player_0".
        to_go: True (the default): the numbers are the return still to come, as an agent's values are. False: they stand for the
            return as a whole. An `.onnx` file that Leafwise wrote says it itself.
        discount: what numbers are multiplied by, besides `scale`: the discount of one decision, so that a search of depth 1 is
            the model's own look at its actions. Rewards inside the tree count in full. Default: `gamma` of a model of
            Stable-Baselines3, else 1.
        scale: the return that a number of 1 stands for. Default: that of the `VecNormalize` that a model was trained
            behind, else 1.
        normalize: the `VecNormalize` that a model of Stable-Baselines3 was trained behind, or the path of its file (which is
            pickle as well); a model that still has its environment brings it along.
        observation: what it sees, as the environments' `observation` says: "default", "planes", "onehot". Default: what a model of
            Stable-Baselines3 was made for, else "default".

    Finished games are worth their return, whatever the model would say. Raises ValueError in one line for what is no model, or for
    one that does not fit the game.
    """
    game = registry.as_game(game)
    told = {
        "kind": kind,
        "discount": discount,
        "scale": scale,
        "normalize": normalize,
        "to_go": to_go,
        "observation": observation,
    }
    told = {name: value for name, value in told.items() if value is not None}
    for what, given, choices in (("kind", told.get("kind", "value"), KINDS), ("speaks_for", speaks_for, SPEAKS)):
        need_among(given, choices, what, "leaf")
    need_switch(told.get("to_go", True), "to_go", "leaf")
    for what, limit in (("discount", Range(0, 1, above=True)), ("scale", Range(0, math.inf, above=True, below=True))):
        need_in(told.get(what, 1.0), limit, f"a finite {what}", "leaf")
    if isinstance(model, (str, os.PathLike)) and not _is_file(model):
        model = named_leaf(game, os.fspath(model))
    if isinstance(model, Evaluator):
        if told or speaks_for != "to_act":
            raise UserError(
                f"leaf: expected no options with a leaf's name or an Evaluator, got {', '.join(told) or 'speaks_for'}"
            )
        return model
    known = replace(
        _model(game, model, told), **{name: told[name] for name in ("kind", "discount", "scale") if name in told}
    )
    values = Values(game, known, speaks_for, known.to_go if to_go is None else to_go)
    values(game.new(0).row[None], game.tables())  # what does not fit is said here, not inside a search
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module) and not _is_sb3(model):
        _check_module(game, model, values)
    return Evaluator(known.name, None, batch=values, to_go=values.to_go, terminal="returns")


def named_leaf(game: Game, name: str) -> Evaluator:
    """Returns the leaf that a text names.

    `best` (the shipped model where there is one, else the default score), a hand-made score, `learned` (the shipped model),
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
        found = load_with_units(game, shipped)
        return replace(found, name=LEARNED) if os.path.isabs(shipped) else found  # a plug-in's file: its path is long
    if not is_there(name):
        scores = ", ".join(game.scores)
        raise UserError(
            f"{game.name}: expected a leaf among best, {scores}, learned, rollout:n=20, sb3:FILE.zip, onnx:FILE, hf://OWNER/NAME, "
            f"or a model's path, got {name!r}"
        )
    return load_with_units(game, name)


def _is_file(model: str | os.PathLike[str]) -> bool:
    """Whether a text is the path of a file of somebody's model, rather than that of a leaf."""
    return os.fspath(model).lower().endswith((".zip", ".onnx")) and not os.fspath(model).startswith(("sb3:", "onnx:"))


def _is_sb3(model: Any) -> bool:
    """Whether a model is Stable-Baselines3's: an algorithm, a policy or a path."""
    if isinstance(model, (str, os.PathLike)):
        return True
    if "stable_baselines3" not in sys.modules:
        return False
    return sb3.is_model(model)


def _model(game: Game, model: Any, told: dict[str, Any]) -> Model:
    """Returns what is known of a model; raises ValueError, listing what can be given, for anything else."""
    view = told.get("observation", DEFAULT_VIEW)
    if isinstance(model, (str, os.PathLike)) and os.fspath(model).lower().endswith(".onnx"):
        model = onnx_leaf.model_of(game, model, view=told.get("observation", ""))
    if isinstance(model, Model):
        need_no_normalize(told)
        return model
    if _is_sb3(model):
        return sb3.described(game, sb3.load(model) if isinstance(model, (str, os.PathLike)) else model, told)
    need_no_normalize(told)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return Model(type(model).__name__, module_numbers(model), observation=view)
    if callable(model) and not isinstance(model, type):
        return Model(getattr(model, "__name__", type(model).__name__), model, observation=view)
    raise UserError(f"leaf: expected {GIVEN}, got {type(model).__name__} {short(repr(model), 60)}")


def need_no_normalize(told: dict[str, Any]) -> None:
    """Raises ValueError where an option is given that other models do not have."""
    if "normalize" in told:
        raise UserError("leaf: expected normalize with a model of Stable-Baselines3 only")


def module_numbers(module: Any) -> Callable[[Observation], Any]:
    """Returns a torch module as a function of observations; raises ValueError where it cannot take them."""
    import torch

    def tensor(array: Array, device: Any) -> Any:
        return torch.as_tensor(array, dtype=torch.float32, device=device)

    def forward(obs: Observation) -> Any:
        """Returns what the module says of observations, on a processor in parts whose activations stay in its cache."""
        one = next(module.parameters(), None)
        device = torch.device("cpu") if one is None else one.device
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
                found = forward(obs)
        except (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError) as problem:
            seen = shapes(obs)
            reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise UserError(
                f"leaf: expected a module that takes observations {seen} as float32, got: {reason}"
            ) from None
        finally:
            if learns:
                module.train(training)
        if not isinstance(found, torch.Tensor):
            raise UserError(f"leaf: expected a module that returns one tensor, got {type(found).__name__}")
        if not found.is_floating_point():
            raise UserError(f"leaf: expected a module that returns numbers of torch.float32, got {found.dtype}")
        return found.detach().cpu().numpy()

    return numbers


def tried_rows(game: Game) -> Array:
    """Returns positions of random games [TRIED, width] that a module is tried on, the same ones every time."""
    state, stream = game.new(0), new_stream(0)
    rows = [state.row]
    while len(rows) < TRIED:
        legal = state.legal_actions
        state = state.play(legal[int(below(stream, len(legal)))]).settle(stream)
        state = game.new(len(rows)) if state.is_terminal else state
        rows.append(state.row)
    return np.array(rows)


def _check_module(game: Game, module: Any, values: Values) -> None:
    """Raises ValueError for a torch module that changes when it is asked, or says something else of a position in another batch."""
    import torch

    rows = tried_rows(game)
    before, T = {name: part.clone() for name, part in module.state_dict().items()}, game.tables()
    alone, together = np.concatenate([values(row[None], T) for row in rows]), values(rows, T)
    changed = [name for name, part in module.state_dict().items() if not torch.equal(before[name], part)]
    name = values.model.name
    if changed:
        raise UserError(
            f"leaf {name!r}: expected forward to leave all parameters and buffers, got a change of {changed[0]!r}"
        )
    if len(unlike := np.flatnonzero(~np.isclose(alone, together, rtol=WITHIN, atol=WITHIN))):
        one, other = alone[unlike[0]], together[unlike[0]]
        raise UserError(
            f"leaf {name!r}: expected one number for a position in every batch, got {one:g} alone, {other:g} among {TRIED}"
        )


def shapes(obs: Observation) -> str:
    """Returns the shapes of observations in words: `[n, 24]`, or one for each name."""
    if isinstance(obs, dict):
        return "{" + ", ".join(f"{name}: {shapes(array)}" for name, array in obs.items()) + "}"
    return f"[{', '.join(['n', *map(str, obs.shape[1:])])}]"


class Values:
    """Values rows by a model: the `batch` of an evaluator."""

    def __init__(self, game: Game, model: Model, speaks_for: Speaks, to_go: bool) -> None:
        self.game, self.model, self.speaks_for, self.to_go = game, model, speaks_for, to_go
        self._observer: Any = observer_of(game, model.observation, masked=model.kind == "q")
        self._is_plain, self._factor = (model.kind, speaks_for) == ("value", "to_act"), model.discount * model.scale
        seen = self._observer(game.rows(1)[:0])
        arrays = seen.obs.values() if isinstance(seen.obs, dict) else [seen.obs]
        self._most = max(1, OBSERVED_BYTES // sum(int(np.prod(a.shape[1:])) * a.itemsize for a in arrays))

    def __call__(self, rows: Array, T: Any) -> Floats:
        """Returns a number for each of the rows [n, width], for the player who acts; raises ValueError at a chance stage."""
        model, n = self.model.numbers, len(rows)
        if 0 < n <= self._most and isinstance(model, onnx_leaf.Numbers) and model.is_free.acquire(blocking=False):
            try:
                seen = self._observer.again(rows)
                if self._is_plain and n == 1 and seen.lowest >= 0 and model.is_bound_to(seen.obs):  # the check was then
                    number = model.of_same(seen.obs).item() * self._factor
                    if math.isfinite(number):
                        return np.array([number])
                return self._of(seen, model.of_same)
            finally:
                model.is_free.release()
        some = (rows[k : k + self._most] for k in range(0, n, self._most))
        parts = [self._of(self._observer(one, T), model) for one in some]
        return np.concatenate(parts) if parts else np.zeros(0)

    def __reduce__(self) -> tuple[Any, ...]:
        return Values, (self.game, self.model, self.speaks_for, self.to_go)

    def _of(self, seen: ObservedRows, numbers: Callable[[Observation], Any]) -> Floats:
        """Returns a number for each position seen."""
        if seen.lowest >= 0:
            return self._decided(numbers(seen.obs), seen.mask, seen.player)
        if (seen.player == CHANCE).any():
            raise UserError(f"leaf {self.model.name!r}: expected decisions and finished games, got a chance stage")
        found, decided = np.zeros(len(seen.player)) if self.to_go else seen.returns.copy(), seen.player >= 0
        if decided.any():
            obs = seen.obs
            obs = {name: a[decided] for name, a in obs.items()} if isinstance(obs, dict) else obs[decided]
            found[decided] = self._decided(self.model.numbers(obs), seen.mask[decided], seen.player[decided])
        return found

    def _decided(self, numbers: Any, mask: NDArray[np.int8], player: NDArray[np.int8]) -> Floats:
        """Returns the model's numbers for decisions, for the player who acts."""
        n, model = len(mask), self.model
        found = real_numbers(numbers, f"leaf {model.name!r}: expected numbers")
        width = 1 if model.kind == "value" else mask.shape[1]
        if found.shape != (n, width) and (model.kind == "q" or found.shape != (n,)):
            raise UserError(f"leaf {model.name!r}: expected numbers [{n}, {width}], got {list(found.shape)}")
        if self.speaks_for == "player_0":
            found = (np.where(player == 1, -1.0, 1.0) * found.T).T
        best: Floats = np.where(mask, found, -np.inf).max(axis=1) if model.kind == "q" else found.reshape(n)
        if not (math.isfinite(best[0]) if n == 1 else np.isfinite(best).all()):
            raise UserError(f"leaf {model.name!r}: expected finite numbers, got nan or infinity")
        return best * self._factor
