"""Model files: one `.safetensors` with JSON metadata that says what the model is and how it was made."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.registry import game as find_game
from leafwise.models.grid import GridNetwork
from leafwise.models.grid import features_of as grid_features
from leafwise.models.ntuple import NTupleNetwork, Shape, features
from leafwise.models.packing import merged, pack, unpack
from leafwise.models.shipped import LEARNED, best_leaf, need_shipped
from leafwise.models.shipped import shipped_name as shipped_name
from leafwise.models.sparse import SparseNetwork, features_of
from leafwise.models.tensors import WEIGHTS, load_tensors, save_tensors
from leafwise.models.tensors import write_atomically as write_atomically
from leafwise.search.players import BEST
from leafwise.search.rollout import is_rollout, parse_rollout

FORMAT = 1
PLAIN, PACKED, SPARSE, GRID = "ntuple", "ntuple-packed", "sparse", "grid"
"""Kinds of models: n-tuples as one tensor of float32 or as tables of int16 that `packing` writes, sparse networks, and
convolutional ones."""
Network = NTupleNetwork | SparseNetwork | GridNetwork
REQUIRED: dict[str, type | tuple[type, ...]] = {
    "format": int,
    "kind": str,
    "game": str,
    "options": dict,
    "feature_version": int,
    "steps": int,
    "command": str,
    "commit": str,
}
OF_KIND: dict[str, dict[str, type | tuple[type, ...]]] = {
    PLAIN: {"tuples": list, "power": (int, float)},
    PACKED: {"tuples": list, "power": (int, float)},
    SPARSE: {"hidden": list, "head": str, "sees": str, "scale": (int, float)},
    GRID: {"hidden": list},
}
"""What the metadata of each kind of model holds besides."""


def save_network(path: Path, network: Network, metadata: Mapping[str, Any]) -> None:
    """Writes a network, an n-tuple one packed if its tables are of int16.

    `metadata` holds at least steps, command and commit.
    """
    tensors: Mapping[str, NDArray[Any]]
    if isinstance(network, SparseNetwork | GridNetwork):
        tensors = network.tensors
    else:
        tensors = pack(network) if network.packed else {"table": network.weights.table}
    save_tensors(path, tensors, {**described(network), **metadata})


def described(network: Network) -> dict[str, Any]:
    """Returns what a file says of a network's shape."""
    game = network.game
    own: dict[str, Any]
    if isinstance(network, NTupleNetwork):
        shape = network.shape
        own = {"kind": PACKED if network.packed else PLAIN, "feature_version": features(game).version}
        own |= {"tuples": [list(t) for t in shape.tuples], "power": shape.power, "stage": shape.stage}
        own |= {"small": list(shape.small or ()), "splits": list(shape.splits), "base": shape.base}
    elif isinstance(network, GridNetwork):
        own = {"kind": GRID, "feature_version": grid_features(game).version, "hidden": list(network.hidden)}
    else:
        version = features_of(game, network.sees).version
        own = {"kind": SPARSE, "feature_version": version, "hidden": list(network.hidden), "sees": network.sees}
        own |= {"head": network.head, "scale": network.weights.scale}
    return {"format": FORMAT, "game": game.name, "options": game.given_options, **own}


def load_network(path: Path, game: Game) -> NTupleNetwork:
    """Reads an n-tuple network for a game; raises ValueError that names what does not fit."""
    return _load(path, game, (PLAIN, PACKED))


def load_sparse(path: Path, game: Game) -> SparseNetwork:
    """Reads a sparse network for a game; raises ValueError that names what does not fit."""
    return _load(path, game, (SPARSE,))


def load_grid(path: Path, game: Game) -> GridNetwork:
    """Reads a convolutional network for a game; raises ValueError that names what does not fit."""
    return _load(path, game, (GRID,))


def _load(path: Path, game: Game, kinds: tuple[str, ...] = (PLAIN, PACKED, SPARSE, GRID)) -> Any:
    """Reads a network of one of these kinds for a game; raises ValueError that names what does not fit."""
    tensors, metadata = load_tensors(path)

    def refuse(what: str, expected: object, got: object) -> ValueError:
        return ValueError(f"model {str(path)!r}: expected {what} {expected!r}, got {got!r}")

    def check_types(required: Mapping[str, type | tuple[type, ...]]) -> None:
        for name, expected in required.items():
            if not isinstance(metadata.get(name), expected) or isinstance(metadata.get(name), bool):
                raise refuse(f"metadata {name!r} of type", getattr(expected, "__name__", "number"), metadata.get(name))

    check_types(REQUIRED)
    if metadata["format"] != FORMAT:
        raise refuse("format", FORMAT, metadata["format"])
    kind = metadata["kind"]
    if kind not in kinds:
        raise refuse("kind", " or ".join(kinds), kind)
    check_types(OF_KIND[kind])
    for name in ("scale", "power"):  # a power of 0: moves survived
        if not math.isfinite(number := metadata.get(name, 1.0)) or number < 0 or (name == "scale" and number == 0):
            raise refuse(f"metadata {name!r}", "a finite number above 0", number)
    if metadata["steps"] < 0:
        raise refuse("metadata 'steps'", "0 or more", metadata["steps"])
    if metadata["game"] != game.name:
        raise refuse("a model of game", game.name, metadata["game"])
    seen, expected = (
        {name: value for name, value in options.items() if name not in game.rule_options}
        for options in (metadata["options"], game.given_options)
    )
    if seen != expected:
        raise refuse("a model of variant", game.given_options, metadata["options"])
    if kind == SPARSE:
        version = features_of(game, metadata["sees"]).version
    else:
        version = grid_features(game).version if kind == GRID else features(game).version
    if metadata["feature_version"] != version:
        raise refuse("feature version", version, metadata["feature_version"])
    if kind == PLAIN and set(tensors) != {"table"}:
        raise refuse("tensors", ["table"], sorted(tensors))
    if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
        raise refuse("weights", "finite", "nan or infinity")
    try:
        if kind == SPARSE:
            return SparseNetwork.create(game, **{name: metadata[name] for name in OF_KIND[kind]}, tensors=tensors)
        if kind == GRID:
            return GridNetwork.create(game, metadata["hidden"], tensors=tensors)
        optional = {name: metadata[name] for name in ("stage", "small", "splits", "base") if name in metadata}
        shape = Shape(metadata["tuples"], metadata["power"], **optional)
        if kind == PLAIN:
            return NTupleNetwork.create(game, shape, tensors["table"])
        return unpack(game, shape, tensors)
    except (ValueError, TypeError) as problem:
        raise ValueError(f"model {str(path)!r}: {problem}") from None


def model_path(source: str | os.PathLike[str]) -> Path:
    """Returns the file that a shipped model's name (`threes`, `cassis8`), a run folder or a path stands for."""
    path = Path(source)
    if path.is_dir():
        return path / "model.safetensors"
    shipped = WEIGHTS / f"{source}.safetensors"
    if not path.exists() and path.name == str(source) and shipped.exists():
        return shipped
    return path


def load_evaluator(game: Game, source: str | os.PathLike[str]) -> Evaluator:
    """Returns a trained model as a leaf evaluator.

    `source` is a shipped model's name, a run folder or a model file. Raises ValueError if there is no such
    file or it does not fit the game.
    """
    path = model_path(source)
    written = path.stat().st_mtime_ns if path.exists() else 0
    evaluator: Evaluator = _load_to_play(path, written, game).evaluator(str(source))
    return evaluator


@functools.lru_cache(maxsize=2)
def _load_to_play(path: Path, written: int, game: Game) -> Any:
    """Reads a network, or remembers it: a large one takes a second or two, and every batch of games asks for it."""
    network = _load(path, game)
    return merged(network) if isinstance(network, NTupleNetwork) else network


def game_of(source: str | os.PathLike[str]) -> Game:
    """Returns the game and variant that a model is for; raises ValueError if there is no such model."""
    path = model_path(source)
    _, metadata = load_tensors(path)
    if not isinstance(metadata.get("game"), str) or not isinstance(metadata.get("options"), dict):
        told = ", ".join(sorted(metadata)) or "none"
        raise ValueError(f"model {str(path)!r}: expected metadata that names a game and its options, got {told:.200}")
    return find_game(metadata["game"], **metadata["options"])


def leaf(game: Game, name: str) -> Evaluator:
    """Returns the leaf that a text names.

    `best` (the shipped model where there is one, else the default score), a hand-made score, `learned` (the shipped model),
    `rollout:n=20`, `sb3:FILE.zip`, or a path.
    """
    if name == BEST:
        name = best_leaf(game)
    if is_rollout(name):
        return parse_rollout(game, name)
    if name in game.scores:
        return game.score(name)
    if name.startswith("sb3:"):
        from leafwise.models.leaves import leaf as made  # which knows this module
        from leafwise.models.sb3 import files_of

        model, normalize = files_of(name)
        return made(game, model, normalize=normalize)
    if name == LEARNED:
        return load_evaluator(game, need_shipped(game))
    if not model_path(name).exists():
        scores = ", ".join(game.scores)
        raise ValueError(
            f"{game.name}: expected a leaf among best, {scores}, learned, rollout:n=20, sb3:FILE.zip, or a model's path, "
            f"got {name!r}"
        )
    return load_evaluator(game, name)
