"""Model files: one `.safetensors` with JSON metadata that says what the model is and how it was made."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from leafwise.envs.core.evaluator import Evaluator
from leafwise.envs.core.game import Game
from leafwise.models.ntuple import NTupleNetwork, Shape, features
from leafwise.models.packing import pack, unpack

FORMAT = 1
PLAIN, PACKED = "ntuple", "ntuple-packed"
"""Kinds of files: one tensor of float32, or tables of int16 as `packing` writes them."""
KEY = "leafwise"
REQUIRED: dict[str, type | tuple[type, ...]] = {
    "format": int,
    "kind": str,
    "game": str,
    "options": dict,
    "feature_version": int,
    "tuples": list,
    "power": (int, float),
    "steps": int,
    "command": str,
    "commit": str,
}


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file so that it is either the old or the new one, whenever the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def save_tensors(path: Path, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> None:
    """Writes tensors and JSON metadata to a `.safetensors` file, atomically."""
    write_atomically(path, save(dict(tensors), {KEY: json.dumps(dict(metadata))}))


def load_tensors(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Reads tensors and metadata; raises ValueError in one line for a file that is none of ours."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = json.loads((file.metadata() or {})[KEY])
            return {name: file.get_tensor(name) for name in file.keys()}, dict(metadata)  # noqa: SIM118
    except FileNotFoundError:
        raise ValueError(f"expected a model file, found nothing at {str(path)!r}") from None
    except (SafetensorError, KeyError, TypeError, ValueError, OSError, struct.error) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        raise ValueError(f"expected a leafwise .safetensors file, got {str(path)!r}: {reason}") from None


def save_network(path: Path, network: NTupleNetwork, metadata: Mapping[str, Any]) -> None:
    """Writes an n-tuple network, packed if its tables are of int16; `metadata` holds at least steps, command and commit."""
    shape = network.shape
    described = {
        "format": FORMAT,
        "kind": PACKED if network.packed else PLAIN,
        "game": network.game.name,
        "options": network.game.given_options,
        "feature_version": features(network.game).version,
        "tuples": [list(t) for t in shape.tuples],
        "power": shape.power,
        "stage": shape.stage,
        "small": list(shape.small or ()),
        "splits": list(shape.splits),
        "base": shape.base,
        **metadata,
    }
    save_tensors(path, pack(network) if network.packed else {"table": network.weights.table}, described)


def load_network(path: Path, game: Game) -> NTupleNetwork:
    """Reads an n-tuple network for a game; raises ValueError that names what does not fit."""
    tensors, metadata = load_tensors(path)

    def refuse(what: str, expected: object, got: object) -> ValueError:
        return ValueError(f"model {str(path)!r}: expected {what} {expected!r}, got {got!r}")

    for name, kind in REQUIRED.items():
        if not isinstance(metadata.get(name), kind) or isinstance(metadata.get(name), bool):
            raise refuse(f"metadata {name!r} of type", getattr(kind, "__name__", "number"), metadata.get(name))
    if metadata["format"] != FORMAT:
        raise refuse("format", FORMAT, metadata["format"])
    if metadata["kind"] not in (PLAIN, PACKED):
        raise refuse("kind", f"{PLAIN} or {PACKED}", metadata["kind"])
    if metadata["game"] != game.name:
        raise refuse("a model of game", game.name, metadata["game"])
    if metadata["options"] != game.given_options:
        raise refuse("a model of variant", game.given_options, metadata["options"])
    if metadata["feature_version"] != features(game).version:
        raise refuse("feature version", features(game).version, metadata["feature_version"])
    plain = metadata["kind"] == PLAIN
    if plain and set(tensors) != {"table"}:
        raise refuse("tensors", ["table"], sorted(tensors))
    if plain and not np.isfinite(tensors["table"]).all():
        raise refuse("weights", "finite", "nan or infinity")
    try:
        optional = {name: metadata[name] for name in ("stage", "small", "splits", "base") if name in metadata}
        shape = Shape(metadata["tuples"], metadata["power"], **optional)
        if plain:
            return NTupleNetwork.create(game, shape, tensors["table"])
        return unpack(game, shape, tensors)
    except (ValueError, TypeError) as problem:
        raise ValueError(f"model {str(path)!r}: {problem}") from None


def model_path(source: str | os.PathLike[str]) -> Path:
    """Returns the file that a game's name (the shipped model), a run folder or a path stands for."""
    path = Path(source)
    if path.is_dir():
        return path / "model.safetensors"
    shipped = Path(str(files("leafwise.models.weights"))) / f"{source}.safetensors"
    if not path.exists() and path.name == str(source) and shipped.exists():
        return shipped
    return path


def load_evaluator(game: Game, source: str | os.PathLike[str]) -> Evaluator:
    """Returns a trained model as a leaf evaluator.

    `source` is a game's name (the shipped model), a run folder or a model file. Raises ValueError if there is no such
    file or it does not fit the game.
    """
    return load_network(model_path(source), game).evaluator(str(source))


def leaf(game: Game, name: str) -> Evaluator:
    """Returns the leaf that a text names: a hand-made score, `learned` (the shipped model), or a path."""
    if name in game.scores:
        return game.score(name)
    if name == "learned":
        return load_evaluator(game, game.name)
    if not model_path(name).exists():
        scores = ", ".join(game.scores)
        raise ValueError(f"{game.name}: expected a leaf among {scores}, learned, or a model's path, got {name!r}")
    return load_evaluator(game, name)
