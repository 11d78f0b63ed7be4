"""What is measured when two versions are compared, by the part of the house it belongs to; `probe` does it.

| part | name | unit |
|---|---|---|
| envs | `step` | a step of one environment |
| | `batch_64` | a step of an environment in a batch of 64 |
| search | `search LEAF` | a search of a start, the default score and the shipped network |
| | `program NAME` | a decision of another people's program (Threes) |
| | `solver one`, `solver all`, `solver batch` | a position near the end: its value, all its actions' too, values of 300 at once |
| models | `leaf LEAF depth=D` | a leaf that a search values; `sparse`: a network of 32 and 32 units with random weights |
| training | `td` | a move of temporal differences with nine tuples |
| | `selfplay depth=D` | a position recorded |
| warmup | `warmup`, `warmup without hooks` | all that `leafwise warmup GAME` compiles, into an empty cache |

What is compared with something of this version itself is in `beside`.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any

from leafwise.benchmarks.probe import random_network
from leafwise.envs.core.contract.game import Game
from leafwise.models.files import load_evaluator, model_path, shipped_name
from leafwise.search import Search
from leafwise.search.bench import room_bench

ENVS, SEARCH, MODELS, TRAINING, WARMUP = PARTS = ("envs", "search", "models", "training", "warmup")
SEARCH_SECONDS = 0.005
"""Searches are measured at the first depth at which one takes as long here."""
DEEPEST = 12
PROGRAMS = ("nneonneo", "threesus")
CONNECT_FOUR = {"board": "7x6", "k": 4}
NTUPLE_DEPTHS = (3, 4)


def search_depths(game: Game) -> dict[str, int]:
    """Returns the leaves that are measured, and how deep: the default score, and the shipped network where there is one."""
    depths = {game.default_score: depth_for(Search, game, game.score())}
    name = shipped_name(game)
    if model_path(name).exists():
        depths[f"load:{name}"] = depth_for(Search, game, load_evaluator(game, name))
    return depths


def depth_for(search: Callable[..., Any], game: Game, leaf: Any) -> int:
    """Returns the first depth at which a search of the start takes SEARCH_SECONDS of processor time."""
    state = game.new(0)
    for depth in range(1, DEEPEST):
        found = search(game, leaf, depth=depth)
        found(state)  # compiles
        start = process_time()
        found(state)
        if process_time() - start >= SEARCH_SECONDS:
            return depth
    return DEEPEST


def texts_of(game: Game) -> list[str]:
    """Returns the positions at which leaves and programs are measured; none: starts."""
    return [] if game.given_options else list(getattr(room_bench(game), "POSITIONS", {}).values())


def learns_by_selfplay(game: Game) -> bool:
    """Returns whether self-play is a way to learn the game."""
    return "sparse" in game.features and (game.players == 2 or game.return_range == (0.0, 1.0))


def names_of(game: Game, part: str, depths: dict[str, int]) -> list[str]:
    """Returns what probes measure for a part ("": all); `depths` as of `search_depths`."""
    cells = "ntuple" in game.features and game.players == 1
    found = {
        ENVS: ["step", "batch_64"],
        SEARCH: [f"search {leaf}" for leaf in depths],
        MODELS: [],
        TRAINING: ["td"] if cells else [],
    }
    if game.name == "threes" and not game.given_options:
        found[SEARCH] += [f"program {name}" for name in PROGRAMS]
    if game.name == "trilobite" and game.given_options == CONNECT_FOUR:
        found[SEARCH] += [f"solver {kind}" for kind in ("one", "all", "batch")]
    if cells and model_path(shipped_name(game)).exists():
        found[MODELS] += [f"leaf load:{shipped_name(game)} depth={depth}" for depth in NTUPLE_DEPTHS]
    if learns_by_selfplay(game):
        found[TRAINING] += ["selfplay depth=1", "selfplay depth=2"]
        if part in ("", MODELS):
            leaf = random_network(game).evaluator("sparse")
            found[MODELS] += [f"leaf sparse depth={depth_for(Search, game, leaf)}"]
    return [name for own, names in found.items() if part in ("", own) for name in names]
