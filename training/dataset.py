"""Records games as data sets for other learners: observations, legal actions, actions, rewards and search values.

`collect_dataset` plays games and keeps every decision; files are NumPy's `.npz`, `.parquet` and, by `minari:NAME-v0`, datasets in
Minari's store (extra `data`).
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from leafwise.envs import registry
from leafwise.envs.core.arrays import Array, Bools, Ints, Words
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import GOLDEN, below, mix, new_stream, uniform
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.files import write_named
from leafwise.envs.core.gym.keywords import SEAT_NAMES
from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.core.play.players import play_out
from leafwise.envs.core.ranges import Range, is_number_in
from leafwise.models.players import player
from leafwise.search.players import GreedyPlayer, Player, SearchPlayer
from leafwise.training.evaluation.arena import BATCH
from leafwise.training.evaluation.openings import PLAYER, derived
from leafwise.training.execution import check_backend, in_pieces, map_pieces
from leafwise.training.runs import SELECTION_SEED
from leafwise.training.types import Json, Tensors

OBSERVATIONS, FINAL = "observations", "final_observations"
"""Arrays of observations at decisions and at ends; if an observation has several arrays by name, `observations.NAME`."""
MOST_GAMES = 1_000_000
EXPLORATION = 0.1
"""Default share of random moves in games without chance, which would otherwise all be the same."""
FIELDS = {
    "masks": "int8 [n, A]: 1 for each legal action",
    "actions": "int64 [n]: the action played",
    "choices": "int64 [n]: the action that the player chose; another than the one played where a random move was due",
    "rewards": "float64 [n]: the acting player's gain up to its next decision or the end, as the environment pays it",
    "values": "float64 [n]: the search's value for the player who acts, in the leaf's unit; nan for a player that tells none",
    "results": "float64 [n]: the return of the whole game for the player who acts",
    "terminations": "bool [n]: whether this is the player's last decision of the game",
    FINAL: "[terminations]: what the player sees at the end, one entry for each True of terminations, in their order",
    "players": "int8 [n]: who acts, 0 or 1",
    "games": "int64 [n]: the game, an index into seeds",
    "seeds": "int64 [games]: the seed of each game; `env.reset(seed=...)` starts the same",
}
"""The other arrays, for n decisions in order of play, and their contents."""


@dataclass(frozen=True)
class Dataset:
    """Decisions of whole games, and their provenance."""

    arrays: Tensors
    """Observations and the arrays of `FIELDS`."""
    about: Json = field(default_factory=dict)
    """JSON-able: game, options, player, opponent, exploration, the names of actions, what the arrays hold, the version."""

    def __len__(self) -> int:
        return len(self.arrays["actions"])


class Decision(NamedTuple):
    """One decision of a game."""

    state: State
    action: int
    choice: int
    value: float


def check(
    game: Game,
    text: str,
    games: int,
    first_seed: int,
    opponent: str,
    exploration: float,
    processes: int,
    cluster: str = "",
) -> None:
    """Raises ValueError for arguments that `collect_dataset` cannot use."""
    if not is_number_in(games, Range(1, MOST_GAMES), int):
        raise UserError(f"dataset: expected 1 to {MOST_GAMES:,} games, got {games!r}")
    check_backend(processes, cluster)
    if not (is_number_in(first_seed, Range(0, SELECTION_SEED), int) and first_seed <= SELECTION_SEED - games):
        last = f" to {first_seed + games - 1!r}" if isinstance(first_seed, Real) else ""
        raise UserError(
            f"dataset: expected seeds for training, 0 to {SELECTION_SEED - 1:,}, got {short(repr(first_seed))}{last}"
        )
    if not is_number_in(exploration, Range(0, 1)):
        raise UserError(f"dataset: expected exploration, a share of random moves, of 0 to 1, got {exploration!r}")
    if opponent and game.players == 1:
        raise UserError(f"dataset: expected no opponent in {game.name!r}, a single-player game, got {opponent!r}")
    for name in (text, opponent):
        if name:
            player(name, game)


def default_exploration(game: Game) -> float:
    """Returns the default share of random moves: 0 in games of chance."""
    return 0.0 if len(game.stages) > 1 else EXPLORATION


def collect_dataset(
    game: str | Game,
    text: str = "best",
    games: int = 100,
    first_seed: int = 0,
    *,
    opponent: str = "",
    exploration: float | None = None,
    processes: int = 1,
    cluster: str = "",
    progress: Callable[[int], None] = lambda done: None,
    partial_on_interrupt: bool = False,
) -> Dataset:
    """Plays games with a player and returns its decisions. In two-player games it plays both sides by default.

    Args:
        text: the player, as `leafwise.player` takes it.
        first_seed: seed of the first game; the others follow. The result depends on it, not on the number of processes.
        opponent: another player for the other side. Its decisions are left out, and `text` has the first seat in every second
            game.
        exploration: share of the player's moves that are random. Default: 0, but 0.1 in games without chance, where otherwise all
            games would be the same.
        processes: number of processes that play, as for `leafwise.executor_for`.
        cluster: the Ray cluster that plays instead, as for `leafwise.executor_for`.
        progress: called with the number of finished games.
        partial_on_interrupt: Ctrl-C returns the games that have ended by then, if there are any.

    Raises ValueError for arguments that do not fit, before a game is played.
    """
    game = registry.as_game(game)
    share = default_exploration(game) if exploration is None else exploration
    check(game, text, games, first_seed, opponent, share, processes, cluster)
    pieces = in_pieces(range(games), BATCH)
    work = partial(play_piece, game, text, opponent, share, first_seed)
    parts: list[Tensors] = []
    try:
        for part in map_pieces(work, pieces, processes, cluster):
            parts.append(part)
            progress(min(len(parts) * BATCH, games))
    except KeyboardInterrupt:
        if not (partial_on_interrupt and parts):
            raise
    games = min(len(parts) * BATCH, games)
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    arrays["seeds"] = np.arange(first_seed, first_seed + games, dtype=np.int64)
    about = {
        "game": game.name,
        "options": game.given_options,
        "player": text,
        "opponent": opponent,
        "exploration": share,
        "actions": list(game.actions),
        "fields": {OBSERVATIONS: "what the environment shows", **FIELDS},
        "version": version("leafwise"),
    }
    return Dataset(arrays, about)


def play_piece(
    game: Game, text: str, opponent: str, exploration: float, first_seed: int, numbers: Sequence[int]
) -> Tensors:
    """Plays the games of these numbers with new players; returns their arrays, without the seeds."""
    recorded_player = player(text, game, seed=first_seed + numbers[0])
    opponent_player = player(opponent, game, seed=first_seed + numbers[0] + 1) if opponent else None
    observer, parts = Observer(game), []
    for number in numbers:
        seats: list[Player | None] = [recorded_player, recorded_player]
        if opponent_player is not None:
            seats[1 - number % 2] = None
        decisions, end = play(game, seats, opponent_player, first_seed + number, exploration)
        if decisions:  # the opponent may win before the player's first turn
            parts.append(arrays_of(observer, decisions, end, number))
    if not parts:
        raise UserError(f"dataset: expected a game in which {text!r} has a turn, got none of seeds from {first_seed}")
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def play(
    game: Game, seats: Sequence[Player | None], other: Player | None, seed: int, exploration: float
) -> tuple[list[Decision], State]:
    """Plays one game; returns the decisions of the players in `seats`, and the end of the game.

    Chance is that of `env.reset(seed=seed)`. `other` plays the empty seats, with the random numbers of the environment's opponent.
    """
    stream, moves = new_stream(seed), new_stream(int(mix(np.uint64(seed) ^ GOLDEN)))
    both = streams_of_both(game, seed, stream) if game.players == 2 and other is None else None
    for who in filter(None, (*seats, other)):
        if begin := getattr(who, "begin", None):
            begin()
        draw_from(who, new_stream(derived(seed, PLAYER)))
    decisions: list[Decision] = []

    def choose(state: State) -> int:
        who = seats[state.current_player]
        if who is None:
            assert other is not None
            draw_from(other, stream)
            return other.choose(state)
        if both is not None:
            draw_from(who, both[state.current_player])
        choice, value = decide(who, state)
        action = choice
        if exploration and uniform(moves) < exploration:
            action = state.legal_actions[int(below(moves, len(state.legal_actions)))]
        decisions.append(Decision(state, action, choice, value))
        return action

    return decisions, play_out(game.start(), choose, lambda state: state.settle(stream))


def streams_of_both(game: Game, seed: int, stream: Words) -> list[Words]:
    """Returns the random streams of a player that plays both sides, by seat; `stream` is that of chance.

    Each side draws the same numbers as an environment's opponent. In a game of chance this holds for the second side only, whose
    draws come between those of chance.
    """
    if game.max_stages:
        return [new_stream(derived(seed, PLAYER)), stream]
    return [new_stream(seed), new_stream(seed)]


def draw_from(who: Player, stream: Words) -> None:
    """Sets the random stream of a player that draws; environments do so before every decision."""
    if hasattr(who, "stream"):
        who.stream = stream


def decide(who: Player, state: State) -> tuple[int, float]:
    """Returns a player's action, and its search value for the player who acts (nan without one)."""
    if not isinstance(who, SearchPlayer):
        return who.choose(state), np.nan
    if isinstance(who, GreedyPlayer):
        return who.choose(state), who.search(state).value
    result = who.search(state)
    assert result.action is not None
    return result.action, result.value


def arrays_of(observer: Observer, decisions: Sequence[Decision], end: State, number: int) -> Tensors:
    """Returns the arrays of one game."""
    n, result = len(decisions), end.returns
    players = np.array([decision.state.current_player for decision in decisions], dtype=np.int8)
    last = np.zeros(n, np.bool_)
    last[[np.flatnonzero(players == seat)[-1] for seat in set(players.tolist())]] = True
    rows = [*(decision.state.row for decision in decisions), *[end.row] * last.sum()]
    seen = observer(np.array(rows), viewers=np.concatenate([players, players[last]]))
    sign, rewards = np.where(players == 1, -1.0, 1.0), np.zeros(n)
    for seat in (0, 1):
        decided = np.flatnonzero(players == seat)
        rewards[decided] = sign[decided] * np.diff(np.append(seen.returns[decided], result))
    named = {f".{name}": array for name, array in seen.obs.items()} if isinstance(seen.obs, dict) else {"": seen.obs}
    return {
        **{f"{OBSERVATIONS}{name}": array[:n] for name, array in named.items()},
        **{f"{FINAL}{name}": array[n:] for name, array in named.items()},
        "masks": seen.mask[:n],
        "actions": np.array([decision.action for decision in decisions], dtype=np.int64),
        "choices": np.array([decision.choice for decision in decisions], dtype=np.int64),
        "rewards": rewards,
        "values": np.array([decision.value for decision in decisions]),
        "results": sign * result,
        "terminations": last,
        "players": players,
        "games": np.full(n, number, dtype=np.int64),
    }


PREFIX = "minari:"
"""Prefix of datasets in Minari's store: `minari:NAME-v0`, `minari:NAMESPACE/NAME-v0`."""
FORMAT = "hdf5"
"""Minari's default: one file for all episodes (its Arrow storage writes two files per episode, in quadratic time)."""
INFOS = {
    "action_mask": "int8 [n + 1, A]: 1 for each legal action; all ones at the end",
    "value": "float64 [n + 1]: the search's value for the player, in the leaf's unit; nan at the end and where none is told",
    "choice": "int64 [n + 1]: the action that the player chose; -1 at the end",
}
"""The infos of an episode of n steps."""


def need(package: str, name: str) -> None:
    """Raises ValueError if a package is missing that the dataset of this name needs."""
    if importlib.util.find_spec(package) is None:
        hint = "pip install 'leafwise[data]'; without it, a name that ends with .npz"
        raise UserError(f"expected {package} for {name!r}, {hint}")


def check_dataset(name: str) -> Path:
    """Returns the folder of a new dataset in Minari's store; raises ValueError if it cannot be created."""
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
        raise UserError(f"expected a new dataset, got {name!r}, which exists: {str(folder)!r}")
    if not os.access(root, os.W_OK):
        raise UserError(f"expected a writable folder of Minari, got {str(root)!r} (MINARI_DATASETS_PATH)")
    return folder


def write_episodes(name: str, dataset: Dataset) -> Path:
    """Writes a dataset to Minari's store atomically; returns its folder.

    Raises ValueError for a name that does not do, and for a dataset of a game that is not registered.
    """
    folder = check_dataset(name)
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.dataset.minari_storage import MinariStorage
    from minari.namespace import create_namespace, list_local_namespaces
    from minari.storage.datasets_root_dir import get_dataset_path

    game = registry.game(dataset.about["game"]).variant(**dataset.about["options"])
    dataset_id = name.removeprefix(PREFIX)
    temporary = get_dataset_path() / f".{dataset_id.replace('/', '.')}.{os.getpid()}"  # Minari ignores hidden folders
    temporary.parent.mkdir(parents=True, exist_ok=True)
    temporary.mkdir()  # raises if a link exists there
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
        storage.update_episode_metadata([episode_metadata(dataset, rows) for rows in groups], range(len(groups)))
        namespace = parse_dataset_id(dataset_id)[0]
        if namespace is not None and namespace not in list_local_namespaces():
            create_namespace(namespace)
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def env_spec(game: Game, about: Json) -> EnvSpec | None:
    """Returns the environment for `recover_environment`, with the dataset's opponent; None if the game has no id.

    A player that played both sides is its own opponent.
    """
    short = registry.variant_id(game) or next(iter(game.ids), None)
    if short is None:
        return None
    spec = deepcopy(gym.spec(f"{registry.NAMESPACE}/{short}-v0"))
    other = {"opponent": about["opponent"] or about["player"]} if game.players == 2 else {}
    spec.kwargs = {"game": game.name, **game.given_options, **other}
    return spec


def metadata(game: Game, dataset: Dataset) -> Json:
    """Returns Minari's metadata of a dataset, without its id."""
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


def episode_rows(dataset: Dataset) -> list[Ints]:
    """Returns the rows of each episode, by game and player. An episode is the decisions of one player in one game."""
    whose = 2 * dataset.arrays["games"] + dataset.arrays["players"]
    order = np.argsort(whose, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(whose[order])) + 1)


def episode_metadata(dataset: Dataset, rows: Ints) -> Json:
    """Returns Minari's metadata of an episode, without its seed."""
    arrays, first = dataset.arrays, rows[0]
    return {
        "game": int(arrays["games"][first]),
        "seat": SEAT_NAMES[arrays["players"][first]],
        "result": float(arrays["results"][first]),
    }


def buffers(dataset: Dataset, groups: list[Ints]) -> Iterator[Any]:
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
            truncations=np.zeros(len(rows), np.bool_),
            infos=infos,
        )


def seen(arrays: Tensors, rows: Ints, end: int) -> Any:
    """Returns the observations of an episode, including the last, as one array or a dict of arrays."""
    names = [name.removeprefix(OBSERVATIONS) for name in arrays if name.startswith(OBSERVATIONS)]
    whole = {
        name: np.concatenate([arrays[OBSERVATIONS + name][rows], arrays[FINAL + name][end : end + 1]]) for name in names
    }
    return whole[""] if "" in whole else {name.removeprefix("."): array for name, array in whole.items()}


ABOUT = "about"
"""Array (in Parquet: metadata) with a dataset's provenance as JSON."""
SEEDS = "seeds"
SHAPES = "shapes"
"""Metadata of Parquet files: the shape of each column's entries, which are stored as flat lists."""
FORMATS = (".npz", ".parquet")


def check_file(name: str) -> None:
    """Raises ValueError if a dataset cannot be written there."""
    if name.startswith(PREFIX):
        check_dataset(name)
        return
    path = Path(name)
    if path.suffix not in FORMATS:
        known = f"a file name that ends with {' or '.join(FORMATS)}, or {PREFIX}NAME-v0"
        raise UserError(f"expected {known}, got {name!r}")
    if path.suffix == ".parquet":
        need("pyarrow", name)
    if path.exists():
        raise UserError(f"expected a new file, got {name!r}, which exists")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UserError(f"expected a file in a writable folder, got {name!r}")


def write_dataset(path: str | os.PathLike[str], dataset: Dataset) -> Path:
    """Writes a dataset to a new file atomically; `minari:NAME-v0` writes one for `minari.load_dataset`.

    Returns the file, or the folder in Minari's store. Raises ValueError for a name that it cannot use.
    """
    name = os.fspath(path)
    if not isinstance(dataset, Dataset):
        raise UserError(f"expected a Dataset, as collect_dataset returns, got {short(repr(dataset))}")
    check_file(name)
    if name.startswith(PREFIX):
        return write_episodes(name, dataset)
    file = Path(name)
    if file.suffix == ".npz":
        buffer, about = io.BytesIO(), np.array(json.dumps(dataset.about))
        np.savez_compressed(buffer, **{**dataset.arrays, ABOUT: about})  # type: ignore[arg-type]
        write_named(file, buffer.getvalue())
    else:
        write_named(file, _parquet(dataset))
    return file


def read_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Reads a file of `write_dataset`; raises ValueError in one line for any other file."""
    if (name := os.fspath(path)).startswith(PREFIX):
        raise UserError(f"expected a file, got {name!r}: minari.load_dataset({name.removeprefix(PREFIX)!r}) reads it")
    file = Path(name)
    if not file.is_file():
        raise UserError(f"expected a dataset, found nothing at {str(path)!r}")
    try:
        if file.suffix == ".parquet":
            return _from_parquet(file)
        with np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        return Dataset(arrays, json.loads(str(arrays.pop(ABOUT))))
    except (ValueError, KeyError, TypeError, OSError, zipfile.BadZipFile) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        missing = "no " * isinstance(problem, KeyError)
        raise UserError(f"expected a dataset of leafwise, got {str(path)!r}: {missing}{reason}") from None


def _parquet(dataset: Dataset) -> bytes:
    """Returns one row per decision. Each row has its game's seed; only last decisions have final observations."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = dict(dataset.arrays)
    arrays[SEEDS] = arrays[SEEDS][arrays["games"]]
    shapes = {name: list(array.shape[1:]) for name, array in arrays.items()}
    ends = arrays["terminations"]
    columns = {
        name: _sparse_column(array, ends) if name.startswith(FINAL) else _column(array)
        for name, array in arrays.items()
    }
    about = {ABOUT: json.dumps({**dataset.about, "seeds": dataset.arrays[SEEDS].tolist()}), SHAPES: json.dumps(shapes)}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns).replace_schema_metadata(about), sink)
    return bytes(sink.getvalue())


def _column(array: Array) -> Any:
    """Returns an array [n, ...] as a column of n numbers, or of n lists of numbers."""
    import pyarrow as pa

    if array.ndim == 1:
        return pa.array(array)
    flat = array.reshape(len(array), -1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), flat.shape[1])


def _sparse_column(array: Array, where: Bools) -> Any:
    """Returns an array [m, ...] as a column of lists, which are empty except in the m rows of `where`."""
    import pyarrow as pa

    size = array[0].size if len(array) else 0
    offsets = np.append(0, np.cumsum(where * size)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(array.reshape(-1)))


def _from_parquet(file: Path) -> Dataset:
    import pyarrow.parquet as pq

    table = pq.read_table(file)
    metadata = {
        key.decode(): json.loads(text) for key, text in table.schema.metadata.items() if key.decode() in (ABOUT, SHAPES)
    }
    about, arrays = metadata[ABOUT], {}
    for name, shape in metadata[SHAPES].items():
        column = table.column(name).combine_chunks()
        flat = (column.flatten() if shape or name.startswith(FINAL) else column).to_numpy(zero_copy_only=False)
        arrays[name] = flat.reshape(-1, *shape)
    arrays[SEEDS] = np.array(about.pop(SEEDS), dtype=np.int64)
    return Dataset(arrays, about)
