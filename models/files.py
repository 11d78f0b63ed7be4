"""Model files: where they are, and what is in one: a `.safetensors` with JSON metadata of what the model is and how it was made.

A model is named by its path, by the run folder that holds it, as the one that ships for a game, or on the Hugging Face Hub by
`hf://OWNER/NAME[@REVISION][/FILE.safetensors]`. Those come by `huggingface_hub` (extra `hub`), which keeps them in its own cache:
what was fetched once is there without a network. Only `.safetensors` are taken, since to load files of other forms may run code
kept in them.
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
from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import game as find_game
from leafwise.models.network import Network, NetworkKind, network_kind
from leafwise.models.tensors import MODEL, WEIGHTS, load_metadata, load_tensors, save_tensors
from leafwise.models.tensors import write_atomically as write_atomically

HUB = "hf://"
WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
ON_HUB = re.compile(rf"{HUB}(?P<repo>{WORD}/{WORD})(?:@(?P<revision>{WORD}))?(?:/(?P<file>{WORD}(?:/{WORD})*))?")
LEARNED = "learned"
"""The leaf that the shipped model is."""
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
    """Writes a network of any kind to a `.safetensors` file, in whole or not at all.

    `metadata` has JSON values, at least `steps`, `command` and `commit`. Raises OSError if the file cannot be written.
    """
    save_tensors(path, network.tensors, {**described(network), **metadata})


def described(network: Network) -> dict[str, Any]:
    """Returns what a file says of a network: game and variant, kind, shape, and the tables of features that it knows."""
    game, kind, own = network.game, network.kind, network.metadata
    tables = kind.used(network) if kind.used else kind.tables(game, own)
    told = {"format": FORMAT, "game": game.name, "options": game.given_options, "kind": kind.name}
    told |= {"feature_version": kind.version(game, own), **own}
    return told | {"tables": {name: table.metadata() for name, table in tables.items()}}


def load_network(
    path: Path,
    game: Game,
    kinds: tuple[str, ...] = (),
    make: Callable[[NetworkKind], Callable[..., Any]] = lambda kind: kind.create,
) -> Any:
    """Reads a network for a game, of one of these kinds (default: any); raises ValueError that names what does not fit.

    `make` returns what makes a network of a kind, as `NetworkKind.create` does.
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
        finite = not isinstance(metadata[name], float) or math.isfinite(metadata[name])
        check(finite, f"metadata {name!r}", "a finite number", metadata[name])
    check(metadata["steps"] >= 0, "metadata 'steps'", "0 or more", metadata["steps"])
    check(metadata["game"] == game.name, "a model of game", game.name, metadata["game"])
    check(is_for(game, metadata), "a model of variant", game.given_options, metadata["options"])
    finite = all(np.isfinite(tensor).all() for tensor in tensors.values())
    check(finite, "weights", "finite", "nan or infinity")
    try:
        version = kind.version(game, metadata)
        if metadata["feature_version"] != version:
            raise UserError(f"expected feature version {version!r}, got {metadata['feature_version']!r}")
        tables = check_tables(kind.tables(game, metadata), metadata.get("tables"))
        return make(kind)(game, metadata, tensors, tables)
    except (ValueError, TypeError) as problem:
        raise UserError(f"model {str(path)!r}: {problem}") from None


def model_path(source: str | os.PathLike[str]) -> Path:
    """Returns the file that a shipped model's name (`threes`, `cassis8`), a run folder, a path or `hf://OWNER/NAME` stands for.

    Raises ValueError for a file of the Hub that cannot be had (`leafwise.models.files`).
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
    """Reads a network, or remembers it: a large one takes a moment, and every batch of games asks for it."""
    return load_network(path, game, make=lambda kind: kind.create_to_play or kind.create)


def game_of(source: str | os.PathLike[str]) -> Game:
    """Returns the game and variant that a model is for; raises ValueError if there is no such model."""
    path = model_path(source)
    metadata = load_metadata(path)
    if not isinstance(metadata.get("game"), str) or not isinstance(metadata.get("options"), dict):
        told = ", ".join(sorted(metadata)) or "none"
        raise UserError(f"model {str(path)!r}: expected metadata that names a game and its options, got {told:.200}")
    return find_game(metadata["game"]).variant(**metadata["options"])


def on_hub(source: object) -> bool:
    """Whether a leaf's source is a file of the Hub."""
    return isinstance(source, str) and source.startswith(HUB)


@functools.cache
def fetched(source: str) -> Path:
    """Returns the file in the cache that a source of the Hub stands for, fetched where it is not there or has changed.

    The Hub is asked once in a process: a branch that moves meanwhile changes no search. Raises ValueError in one line where there
    is no such file, no way to it, or no `huggingface_hub`.
    """
    words = ON_HUB.fullmatch(source)
    if words is None:
        raise UserError(f"expected hf://OWNER/NAME, optionally with @REVISION and /FILE.safetensors, got {source!r}")
    repo, revision, file = words["repo"], words["revision"], words["file"] or MODEL
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
        hint = "" if words["file"] else f"; another is named hf://{repo}/FILE.safetensors"
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
    """Returns the first line of what a problem says, or its kind."""
    return str(problem).strip().partition("\n")[0] or type(problem).__name__


def shipped_name(game: Game) -> str:
    """Returns the name of the model that ships for a game: its Gymnasium id in lower case, else the game's name and options.

    Options that no model is tied to (`Game.rule_options`) count as their defaults; only others than those are named, as in
    `trap-size5`.
    """
    free = {name: game.defaults[name] for name in game.rule_options}
    own_options = replace(game.options, **free)
    for short, options in game.ids.items():
        if replace(own_options, **{**game.defaults, **options, **free}) == own_options:
            return short.lower()
    own = {name: value for name, value in game.given_options.items() if name not in game.rule_options}
    return game.name + re.sub(r"[^A-Za-z0-9.-]", "_", "".join(f"-{name}{value}" for name, value in own.items()))


def shipped_model(game: Game) -> Path | None:
    """Returns the file of the model that ships for a game in this variant, with leafwise or beside the game's own module; None if
    there is none.
    """
    for folder in (WEIGHTS, game.room):
        path = folder / f"{shipped_name(game)}.safetensors"
        if path.exists() and is_for(game, load_metadata(path)):
            return path
    return None


def is_for(game: Game, told: Mapping[str, Any]) -> bool:
    """Whether a model file that says so of itself is for a game in this variant."""
    options = told.get("options")
    if told.get("game") != game.name or not isinstance(options, dict):
        return False
    seen, expected = (
        {name: value for name, value in given.items() if name not in game.rule_options}
        for given in (options, game.given_options)
    )
    return seen == expected


def need_shipped(game: Game) -> str:
    """Returns the name of the model that ships for a game in this variant, or the path of one that ships with a plug-in; raises
    ValueError that names the variants it ships for.
    """
    if (path := shipped_model(game)) is not None:
        return path.stem if path.parent == WEIGHTS else str(path)
    told = [load_metadata(path) for path in sorted(WEIGHTS.glob(f"{game.name}-*.safetensors"))]
    by_file = [one["options"] for one in told if one.get("game") == game.name and isinstance(one.get("options"), dict)]
    variants = [game.variant(**{**game.defaults, **options}) for options in [*game.ids.values(), *by_file]]
    shipped = dict.fromkeys(repr(variant) for variant in variants if shipped_model(variant) is not None)
    known = ", ".join(shipped) or "none of this game"
    raise UserError(
        f"{game.name}: expected a variant that a model ships for ({known}), got {game!r}; hand-made leaves are "
        f"{', '.join(game.scores)}"
    )


def best_leaf(game: Game) -> str:
    """Returns the name of the best leaf there is: `learned` where a model ships for the variant, else the default score."""
    return game.default_score if shipped_model(game) is None else LEARNED
