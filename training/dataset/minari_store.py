"""Datasets in Minari's store: an episode for each player of each game, as its environment shows it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator, Mapping
from copy import deepcopy
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from leafwise.envs import registry
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.gym.keywords import SEAT_NAMES
from leafwise.training.dataset.games import FINAL, OBSERVATIONS, Dataset

PREFIX = "minari:"
"""What begins the name of a dataset that goes to Minari's store: `minari:NAME-v0`, `minari:NAMESPACE/NAME-v0`."""
FORMAT = "hdf5"
"""Minari's own default: one file for all episodes (its Arrow storage writes two files an episode, in quadratic time)."""
INFOS = {
    "action_mask": "int8 [n + 1, A]: 1 for each legal action; all ones at the end",
    "value": "float64 [n + 1]: the search's value for the player, in the leaf's unit; nan at the end and where none is told",
    "choice": "int64 [n + 1]: the action that the player chose; -1 at the end",
}
"""The infos of an episode of n steps."""


def need(package: str, name: str) -> None:
    """Raises ValueError if a package is missing that the dataset of this name needs."""
    if importlib.util.find_spec(package) is None:
        how = "pip install 'leafwise[data]'; without it, a name that ends with .npz"
        raise UserError(f"expected {package} for {name!r}, {how}")


def check_dataset(name: str) -> Path:
    """Returns the folder of a new dataset in Minari's store; raises ValueError, saying what was expected, if it cannot be one."""
    for package in ("minari", "h5py"):
        need(package, name)
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.storage.datasets_root_dir import get_dataset_path

    dataset_id = name.removeprefix(PREFIX)
    try:
        parse_dataset_id(dataset_id)
    except (ValueError, TypeError):  # TypeError: no version
        form = f"{PREFIX}NAME-v0 or {PREFIX}NAMESPACE/NAME-v0 (letters, digits, - and _; two or more in a namespace)"
        raise UserError(f"expected {form}, got {name!r}") from None
    root, folder = get_dataset_path(), get_dataset_path(dataset_id)
    if folder.exists():
        raise UserError(f"expected a new dataset, got {name!r}, which is there: {str(folder)!r}")
    if not os.access(root, os.W_OK):
        raise UserError(f"expected a folder of Minari that can be written to, got {str(root)!r} (MINARI_DATASETS_PATH)")
    return folder


def write_episodes(name: str, dataset: Dataset) -> Path:
    """Writes a dataset to Minari's store, whole or not at all; returns its folder.

    Raises ValueError for a name that does not do, and for a dataset of a game that is not registered.
    """
    folder = check_dataset(name)
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.dataset.minari_storage import MinariStorage
    from minari.namespace import create_namespace, list_local_namespaces
    from minari.storage.datasets_root_dir import get_dataset_path

    game = registry.game(dataset.about["game"]).variant(**dataset.about["options"])
    dataset_id = name.removeprefix(PREFIX)
    temporary = (
        get_dataset_path() / f".{dataset_id.replace('/', '.')}.{os.getpid()}"
    )  # Minari passes over hidden folders
    temporary.parent.mkdir(parents=True, exist_ok=True)
    temporary.mkdir()  # itself: a link in its place is refused
    try:
        (temporary / "data").mkdir()
        storage = MinariStorage.new(
            temporary / "data",
            game.observation_space(),
            gym.spaces.Discrete(len(game.actions)),
            env_spec(game, dataset.about),
            FORMAT,
            jpeg_encoding=False,
        )
        storage.update_metadata({"dataset_id": dataset_id, **metadata(game, dataset)})
        groups = episode_rows(dataset)
        storage.update_episodes(buffers(dataset, groups))
        storage.update_episode_metadata([told(dataset, rows) for rows in groups], range(len(groups)))
        namespace = parse_dataset_id(dataset_id)[0]
        if namespace is not None and namespace not in list_local_namespaces():
            create_namespace(namespace)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def env_spec(game: Game, about: Mapping[str, Any]) -> EnvSpec | None:
    """Returns the environment that `recover_environment` makes, against the dataset's opponent; None if the game has no id.

    Where the player played both sides, it is its own opponent.
    """
    short = registry.variant_id(game) or next(iter(game.ids), None)
    if short is None:
        return None
    spec = deepcopy(gym.spec(f"{registry.NAMESPACE}/{short}-v0"))
    other = {"opponent": about["opponent"] or about["player"]} if game.players == 2 else {}
    spec.kwargs = {"game": game.name, **game.given_options, **other}
    return spec


def metadata(game: Game, dataset: Dataset) -> dict[str, Any]:
    """Returns what Minari is told of a whole dataset, all but its id."""
    about, games = dataset.about, len(np.unique(dataset.arrays["games"]))
    seats = (
        " One episode for each player of a game; recover_environment(seat='second') is that of the second one."
        if game.players == 2
        else ""
    )
    rival = f" against {about['opponent']}" if about["opponent"] else ""
    return {
        "algorithm_name": about["player"],
        "description": f"{games:,} games of {game.title}, played by {about['player']}{rival}, "
        f"{about['exploration']:.0%} of its moves at random.{seats}",
        "requirements": [f"leafwise>={about['version']}"],
        "minari_version": version("minari"),
        "leafwise": {**about, "fields": INFOS},
    }


def episode_rows(dataset: Dataset) -> list[NDArray[np.int64]]:
    """Returns the rows of each episode, which are those of one player in one game, by game and player."""
    whose = 2 * dataset.arrays["games"] + dataset.arrays["players"]
    order = np.argsort(whose, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(whose[order])) + 1)


def told(dataset: Dataset, rows: NDArray[np.int64]) -> dict[str, Any]:
    """Returns what Minari is told of an episode besides its seed."""
    arrays, first = dataset.arrays, rows[0]
    return {
        "game": int(arrays["games"][first]),
        "seat": SEAT_NAMES[arrays["players"][first]],
        "result": float(arrays["results"][first]),
    }


def buffers(dataset: Dataset, groups: list[NDArray[np.int64]]) -> Iterator[Any]:
    """Yields the episodes as Minari takes them: n steps, n + 1 observations and infos."""
    from minari.data_collector import EpisodeBuffer

    arrays = dataset.arrays
    which_end = np.cumsum(arrays["terminations"]) - 1
    for number, rows in enumerate(groups):
        masks = arrays["masks"][rows]
        infos = {
            "action_mask": np.concatenate([masks, np.ones_like(masks[:1])]),
            "value": np.append(arrays["values"][rows], np.nan),
            "choice": np.append(arrays["choices"][rows], -1),
        }
        yield EpisodeBuffer(
            id=number,
            seed=int(arrays["seeds"][arrays["games"][rows[0]]]),
            observations=seen(arrays, rows, which_end[rows[-1]]),
            actions=arrays["actions"][rows],
            rewards=arrays["rewards"][rows],
            terminations=arrays["terminations"][rows],
            truncations=np.zeros(len(rows), dtype=np.bool_),
            infos=infos,
        )


def seen(arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.int64], end: int) -> Any:
    """Returns the observations of an episode, its last one included, as one array or a dict of them."""
    names = [name.removeprefix(OBSERVATIONS) for name in arrays if name.startswith(OBSERVATIONS)]
    whole = {
        name: np.concatenate([arrays[OBSERVATIONS + name][rows], arrays[FINAL + name][end : end + 1]]) for name in names
    }
    return whole[""] if "" in whole else {name.removeprefix("."): array for name, array in whole.items()}
