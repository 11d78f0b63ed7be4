"""Model files: finds them, and reads and writes them. Each is a `.safetensors` with JSON metadata of the model and its training.

A model is named by its path, its run folder, the name of a shipped model, or on the Hugging Face Hub by
`hf://OWNER/NAME[@REVISION][/FILE.safetensors]`. `huggingface_hub` (extra `hub`) downloads the latter and caches them, so that a
second load needs no network. Only `.safetensors` are loaded: files of other formats may run code.
"""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.features import check_tables
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.registry import game as find_game
from leafwise.models.network import Network, NetworkKind, network_kind
from leafwise.models.tensors import MODEL, WEIGHTS, load_metadata, load_tensors, save_tensors
from leafwise.models.tensors import write_atomically as write_atomically

HUB = "hf://"
WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
ON_HUB = re.compile(rf"{HUB}(?P<repo>{WORD}/{WORD})(?:@(?P<revision>{WORD}))?(?:/(?P<file>{WORD}(?:/{WORD})*))?")
LEARNED = "learned"
"""The name of the shipped model as a leaf."""
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
    """Writes a network of any kind to a `.safetensors` file, atomically.

    `metadata` has JSON values, at least `steps`, `command` and `commit`. Raises OSError if the file cannot be written, and
    ValueError for anything but a network and a mapping.
    """
    if not (hasattr(network, "tensors") and hasattr(network, "kind")):
        raise UserError(f"save_network: expected a Network, got {short(repr(network))}")
    if not isinstance(metadata, Mapping):
        raise UserError(f"save_network: expected metadata as a mapping, got {short(repr(metadata))}")
    save_tensors(Path(path), network.tensors, {**described(network), **metadata})


def described(network: Network) -> dict[str, Any]:
    """Returns the metadata that a file stores of a network: game and variant, kind, shape, and its tables of features."""
    game, kind, shape = network.game, network.kind, network.metadata
    tables = kind.used(network) if kind.used else kind.tables(game, shape)
    entries = {"format": FORMAT, "game": game.name, "options": game.given_options, "kind": kind.name}
    entries |= {"feature_version": kind.version(game, shape), **shape}
    return entries | {"tables": {name: table.metadata() for name, table in tables.items()}}


def load_network(
    path: Path,
    game: Game,
    kinds: tuple[str, ...] = (),
    make: Callable[[NetworkKind], Callable[..., Any]] = lambda kind: kind.create,
) -> Any:
    """Reads a network for a game, of one of these kinds (default: any); raises ValueError that names what does not fit.

    `make` returns the function that makes a network of a kind, with the arguments of `NetworkKind.create`.
    """
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
        is_finite = not isinstance(metadata[name], float) or math.isfinite(metadata[name])
        check(is_finite, f"metadata {name!r}", "a finite number", metadata[name])
    check(metadata["steps"] >= 0, "metadata 'steps'", "0 or more", metadata["steps"])
    check(metadata["game"] == game.name, "a model of game", game.name, metadata["game"])
    check(is_for(game, metadata), "a model of variant", game.given_options, metadata["options"])
    is_finite = all(np.isfinite(tensor).all() for tensor in tensors.values())
    check(is_finite, "weights", "finite", "nan or infinity")
    try:
        version = kind.version(game, metadata)
        if metadata["feature_version"] != version:
            raise UserError(f"expected feature version {version!r}, got {metadata['feature_version']!r}")
        tables = check_tables(kind.tables(game, metadata), metadata.get("tables"))
        return make(kind)(game, metadata, tensors, tables)
    except (ValueError, TypeError) as problem:
        raise UserError(f"model {str(path)!r}: {problem}") from None


def model_path(source: str | os.PathLike[str]) -> Path:
    """Returns the file of a shipped model's name (`threes`, `cassis8`), a run folder, a path or `hf://OWNER/NAME`.

    Raises ValueError for a file of the Hub that cannot be downloaded.
    """
    if on_hub(source):
        return hub_file(str(source))
    path = Path(os.path.expanduser(source))  # shells do not expand the ~ of `search:~/run`
    if path.is_dir():
        return path / MODEL
    shipped = WEIGHTS / f"{source}.safetensors"
    if not path.exists() and path.name == str(source) and shipped.exists():
        return shipped
    return path


def exists(source: str) -> bool:
    """Whether a model's name or path is that of a file, or of a folder, which may have no model yet."""
    path = model_path(source)
    return path.exists() or (path.name == MODEL and path.parent.is_dir())


def load_evaluator(game: Game, source: str | os.PathLike[str]) -> Evaluator:
    """Loads a trained model as a leaf evaluator.

    `source` is a shipped model's name, a run folder, a model file, or `hf://OWNER/NAME` on the Hub. Raises ValueError if there is
    no such file or it does not fit the game.
    """
    path = model_path(source)
    written = path.stat().st_mtime_ns if path.exists() else 0
    evaluator: Evaluator = _load_to_play(path, written, game).evaluator(str(source))
    return evaluator


@functools.lru_cache(maxsize=2)
def _load_to_play(path: Path, written: int, game: Game) -> Any:
    """Reads a network to play with, and caches it: large ones load slowly, and every batch of games asks for it."""
    return load_network(path, game, make=lambda kind: kind.create_to_play or kind.create)


def game_of(source: str | os.PathLike[str]) -> Game:
    """Returns the game and variant that a model is for; raises ValueError if there is no such model."""
    path = model_path(source)
    metadata = load_metadata(path)
    if not isinstance(metadata.get("game"), str) or not isinstance(metadata.get("options"), dict):
        names = ", ".join(sorted(metadata)) or "none"
        raise UserError(f"model {str(path)!r}: expected metadata that names a game and its options, got {names:.200}")
    return find_game(metadata["game"]).variant(**metadata["options"])


def on_hub(source: object) -> bool:
    """Whether a source is a file of the Hub."""
    return isinstance(source, str) and source.startswith(HUB)


@functools.cache
def hub_file(source: str) -> Path:
    """Returns the cached file of a source of the Hub, downloaded if it is not there or has changed.

    A process asks the Hub once for a source: if a branch moves meanwhile, no search changes. Raises ValueError in one line if there
    is no such file, no connection, or no `huggingface_hub`.
    """
    match = ON_HUB.fullmatch(source)
    if match is None:
        raise UserError(f"expected hf://OWNER/NAME, optionally with @REVISION and /FILE.safetensors, got {source!r}")
    repo, revision, file = match["repo"], match["revision"], match["file"] or MODEL
    if not file.endswith(".safetensors"):
        raise UserError(f"{source}: expected a .safetensors file (loading others may run code), got {file!r}")
    try:
        from huggingface_hub import errors, hf_hub_download
    except ImportError:
        raise UserError(f"expected huggingface_hub for {source!r}, found none: pip install 'leafwise[hub]'") from None
    try:
        return Path(hf_hub_download(repo, file, revision=revision))
    except errors.LocalEntryNotFoundError as problem:
        reason = one_line(problem.__cause__ or problem)
        raise UserError(
            f"{source}: expected an answer of the Hub, or the file in the cache, got neither (offline?): {reason}"
        ) from None
    except errors.EntryNotFoundError:
        hint = "" if match["file"] else f"; another is named hf://{repo}/FILE.safetensors"
        raise UserError(f"{source}: expected a file {file!r} in that repository, found none{hint}") from None
    except errors.RevisionNotFoundError:
        raise UserError(f"{source}: expected a branch, tag or commit of {repo}, got {revision!r}") from None
    except errors.GatedRepoError:
        raise UserError(
            f"{source}: expected access to {repo}, got none: request it on the page of the repository"
        ) from None
    except errors.RepositoryNotFoundError:
        raise UserError(
            f"{source}: expected a repository of the Hub (`hf auth login` for a private one), got {repo!r}"
        ) from None
    except (errors.HfHubHTTPError, OSError, ValueError) as problem:
        raise UserError(f"{source}: expected a file of the Hub, got none: {one_line(problem)}") from None


def one_line(problem: BaseException) -> str:
    """Returns the first line of an error's message, or its class."""
    return str(problem).strip().partition("\n")[0] or type(problem).__name__


def shipped_name(game: Game) -> str:
    """Returns the name of a game's shipped model: its Gymnasium id in lower case, else the game's name and options.

    Options that a model does not depend on (`Game.rule_options`) are left out; the others are named, as in `trap-size5`.
    """
    free = {name: game.defaults[name] for name in game.rule_options}
    fixed_options = replace(game.options, **free)
    for env_id, options in game.ids.items():
        if replace(fixed_options, **{**game.defaults, **options, **free}) == fixed_options:
            return env_id.lower()
    fixed = "".join(f"-{name}{value}" for name, value in game.network_options.items())
    return game.name + re.sub(r"[^A-Za-z0-9.-]", "_", fixed)


def shipped_model(game: Game) -> Path | None:
    """Returns the file of the shipped model for a game in this variant, of leafwise or beside the game's module; None: no model."""
    for folder in (WEIGHTS, game.room):
        path = folder / f"{shipped_name(game)}.safetensors"
        if path.exists() and is_for(game, load_metadata(path)):
            return path
    return None


def is_for(game: Game, metadata: Mapping[str, Any]) -> bool:
    """Whether a model file with this metadata is for a game in this variant."""
    options = metadata.get("options")
    if metadata.get("game") != game.name or not isinstance(options, dict):
        return False
    return {name: value for name, value in options.items() if name not in game.rule_options} == game.network_options


def need_shipped(game: Game) -> str:
    """Returns the name of the shipped model for a game in this variant, or the path of a plug-in's model.

    Raises ValueError that names the variants with a model.
    """
    if (path := shipped_model(game)) is not None:
        return path.stem if path.parent == WEIGHTS else str(path)
    headers = [load_metadata(path) for path in sorted(WEIGHTS.glob(f"{game.name}-*.safetensors"))]
    by_file = [
        header["options"]
        for header in headers
        if header.get("game") == game.name and isinstance(header.get("options"), dict)
    ]
    variants = [game.variant(**{**game.defaults, **options}) for options in [*game.ids.values(), *by_file]]
    shipped = dict.fromkeys(repr(variant) for variant in variants if shipped_model(variant) is not None)
    known = ", ".join(shipped) or "none of this game"
    raise UserError(
        f"{game.name}: expected a variant that a model ships for ({known}), got {game!r}; hand-made leaves are "
        f"{', '.join(game.scores)}"
    )


def best_leaf(game: Game) -> str:
    """Returns the name of the best leaf: `learned` if a model ships for the variant, else the default score."""
    return game.default_score if shipped_model(game) is None else LEARNED
