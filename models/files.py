"""Model files: one `.safetensors` with JSON metadata that says what the model is and how it was made."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.features import check_tables
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import game as find_game
from leafwise.models.hub import fetched, on_hub
from leafwise.models.network import Network, network_kind
from leafwise.models.shipped import shipped_name as shipped_name
from leafwise.models.tensors import MODEL, WEIGHTS, load_tensors, save_tensors
from leafwise.models.tensors import write_atomically as write_atomically

FORMAT = 1
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


def save_network(path: Path, network: Network, metadata: Mapping[str, Any]) -> None:
    """Writes a network of any kind; `metadata` holds at least steps, command and commit."""
    save_tensors(path, network.tensors, {**described(network), **metadata})


def described(network: Network) -> dict[str, Any]:
    """Returns what a file says of a network: game and variant, kind, shape, and the tables of features that it knows."""
    game, kind, own = network.game, network.kind, network.metadata
    tables = kind.used(network) if kind.used else kind.tables(game, own)
    told = {"format": FORMAT, "game": game.name, "options": game.given_options, "kind": kind.name}
    told |= {"feature_version": kind.version(game, own), **own}
    return told | {"tables": {name: table.told() for name, table in tables.items()}}


def load_network(path: Path, game: Game, kinds: tuple[str, ...] = ()) -> Any:
    """Reads a network for a game, of one of these kinds (default: any); raises ValueError that names what does not fit."""
    tensors, metadata = load_tensors(path)

    def check(fits: bool, what: str, expected: object, got: object) -> None:
        if not fits:
            raise UserError(f"model {str(path)!r}: expected {what} {expected!r}, got {got!r}")

    def check_types(required: Mapping[str, type | tuple[type, ...]]) -> None:
        for name, expected in required.items():
            value = metadata.get(name)
            fits = isinstance(value, expected) and not isinstance(value, bool)
            check(fits, f"metadata {name!r} of type", getattr(expected, "__name__", "number"), value)

    check_types(REQUIRED)
    check(metadata["format"] == FORMAT, "format", FORMAT, metadata["format"])
    check(not kinds or metadata["kind"] in kinds, "kind", " or ".join(kinds), metadata["kind"])
    try:
        kind = network_kind(metadata["kind"])
    except UserError as problem:
        raise UserError(f"model {str(path)!r}: {problem}") from None
    check_types(kind.needs)
    for name in kind.needs:
        finite = not isinstance(metadata[name], float) or math.isfinite(metadata[name])
        check(finite, f"metadata {name!r}", "a finite number", metadata[name])
    check(metadata["steps"] >= 0, "metadata 'steps'", "0 or more", metadata["steps"])
    check(metadata["game"] == game.name, "a model of game", game.name, metadata["game"])
    seen, expected = (
        {name: value for name, value in options.items() if name not in game.rule_options}
        for options in (metadata["options"], game.given_options)
    )
    check(seen == expected, "a model of variant", game.given_options, metadata["options"])
    finite = all(np.isfinite(tensor).all() for tensor in tensors.values())
    check(finite, "weights", "finite", "nan or infinity")
    try:
        version = kind.version(game, metadata)
        if metadata["feature_version"] != version:
            raise UserError(f"expected feature version {version!r}, got {metadata['feature_version']!r}")
        tables = check_tables(kind.tables(game, metadata), metadata.get("tables"))
        return kind.create(game, metadata, tensors, tables)
    except (ValueError, TypeError) as problem:
        raise UserError(f"model {str(path)!r}: {problem}") from None


def model_path(source: str | os.PathLike[str]) -> Path:
    """Returns the file that a shipped model's name (`threes`, `cassis8`), a run folder, a path or `hf://OWNER/NAME` stands for.

    Raises ValueError for a file of the Hub that cannot be had (`leafwise.models.hub`).
    """
    if on_hub(source):
        return fetched(str(source))
    path = Path(os.path.expanduser(source))  # shells leave the ~ of `search:~/run` as it is
    if path.is_dir():
        return path / MODEL
    shipped = WEIGHTS / f"{source}.safetensors"
    if not path.exists() and path.name == str(source) and shipped.exists():
        return shipped
    return path


def is_there(source: str) -> bool:
    """Whether a model's name or path is that of a file, or of a folder, which may hold no model yet."""
    path = model_path(source)
    return path.exists() or (path.name == MODEL and path.parent.is_dir())


def load_evaluator(game: Game, source: str | os.PathLike[str]) -> Evaluator:
    """Returns a trained model as a leaf evaluator.

    `source` is a shipped model's name, a run folder, a model file or one of the Hub, `hf://OWNER/NAME`. Raises ValueError if
    there is no such file or it does not fit the game.
    """
    path = model_path(source)
    written = path.stat().st_mtime_ns if path.exists() else 0
    evaluator: Evaluator = _load_to_play(path, written, game).evaluator(str(source))
    return evaluator


@functools.lru_cache(maxsize=2)
def _load_to_play(path: Path, written: int, game: Game) -> Any:
    """Reads a network, or remembers it: a large one takes a second or two, and every batch of games asks for it."""
    network = load_network(path, game)
    return network.kind.to_play(network)


def game_of(source: str | os.PathLike[str]) -> Game:
    """Returns the game and variant that a model is for; raises ValueError if there is no such model."""
    path = model_path(source)
    _, metadata = load_tensors(path)
    if not isinstance(metadata.get("game"), str) or not isinstance(metadata.get("options"), dict):
        told = ", ".join(sorted(metadata)) or "none"
        raise UserError(f"model {str(path)!r}: expected metadata that names a game and its options, got {told:.200}")
    return find_game(metadata["game"]).variant(**metadata["options"])
