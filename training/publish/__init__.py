"""Publishes the best model of a run: measures it on final seeds, writes the file and its card.

python -m leafwise.training.publish --run runs/threes-td-1

There are several kinds of models, which are measured differently. N-tuples play games (`ntuples`). Sparse `networks` of two-player
games are compared with the exact solver, or play games if there is none. Networks that predict win probabilities play every
variant. A game may have its own kind (`modules.publish` in its recipes). A kind is a module, or a class of `networks`. It has
`OPTIONS` (beyond the common ones), `load`, `prepare` and `measure`. For the card it has `WHAT`, `UNIT` (of steps), `about`, `made`
and `figures`, which read the file's metadata.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from leafwise.envs.core.commandline import flag_of, parse
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import as_command
from leafwise.envs.registry import listed, take_modules
from leafwise.envs.registry import source_of as source_of_game
from leafwise.models.files import game_of, load_tensors, model_path, save_network, shipped_name, write_atomically
from leafwise.models.units import UNITS
from leafwise.training.evaluation.agreement import has_solver
from leafwise.training.evaluation.statistics import interval_text
from leafwise.training.runs import FINAL_SEED
from leafwise.training.runs.folder import command_of, commit, hardware
from leafwise.training.runs.recipes import PUBLISH, RENAMED, methods, recipes
from leafwise.training.runs.run_options import option_text, take_option
from leafwise.training.types import Json

MODULE = "leafwise.training.publish"
NTUPLES = ("ntuple", "ntuple-packed")
"""Kinds of networks that are packed and measured with games."""
COUNTING_DECISIONS = ("dqn", "ppo")
"""Methods whose steps are decisions."""
COMMON = ("run", "out", "name", "largest_mb", "unit_games", "processes", "cluster")
"""Options of every kind."""
RUN_ENTRIES = ("kind", "steps", "seconds", "command", "commit", "score")
"""Entries of the metadata that a run's model file must have besides its game."""


@dataclass(frozen=True)
class Config:
    """Options of a publication; those after `cluster` are for some kinds of models."""

    run: str
    """Run folder (or model file) to publish."""
    out: str = "models/weights"
    """Folder for the model and its card."""
    name: str = ""
    """Name of the files, by which `leafwise.load` finds the model (default: that of the game's Gymnasium id)."""
    largest_mb: float = 32.0
    """Maximum size of the file, in MB."""
    unit_games: int = -1
    """Number of games of each variant that fit the units of values for people (-1: the default of
    `leafwise.training.publish.units`, 0: none)."""
    processes: int = 1
    """Number of processes that play and solve positions."""
    cluster: str = ""
    """Ray cluster that does the work instead: auto, local or HOST:PORT."""
    games: tuple[int, ...] = ()
    """Number of final games at depth 1, 2, ... (default: 1000 500 300 with n-tuples, 300 50 in each variant with chances,
    else 400 100)."""
    step: float = 0.25
    """N-tuples: entries are rounded to multiples of this, in the unit of the values."""
    loss_games: int = 1000
    """N-tuples: number of games that both the original and the packed network play."""
    first_seed: int = FINAL_SEED
    """N-tuples: first seed of the final games, from 1,000,000 on. Choose one that no earlier network was measured with."""
    solver_positions: int = 500
    """Two-player games: number of critical positions, in which some legal action loses value, for the comparison with the
    exact solver."""
    solver_opening_plies: tuple[int, int] = (8, 20)
    """Two-player games: minimum and maximum number of actions before such a position."""
    solver_opening_depth: int = 0
    """Two-player games: search depth of the players who choose these actions. They only look for wins and losses within
    that depth, and otherwise play at random; 0: random actions."""
    depths: tuple[int, ...] = (1, 2, 3)
    """Two-player games: search depths that are compared with the exact solver."""
    variants: tuple[str, ...] = ()
    """Chances: variants that the network plays (default: those of the game's recipe)."""
    nodes: int = 100
    """Chances: maximum number of decisions that a search visits, as in players `search:LEAF,nodes=`."""
    half: bool = False
    """Two-player games: round the embeddings of a sparse network to 16 bits, which halves the file."""
    rematch: int = 0
    """Number of games (chances: in each variant) between a run's best and newest networks, of which the better is published
    (0: the best)."""
    calibrate: int = 0
    """Chances: number of games in each variant that fit slope and offset of the predicted log odds (0: no calibration)."""


def kind_of(game: Game, metadata: Json) -> Any:
    """Returns the kind of a model: the game's own, or that of the file's metadata."""
    own_module = recipes(game.name).get("modules", {}).get(PUBLISH)
    studied = game.name in listed() and not listed()[game.name].plugin  # shipped games without a solver have a study
    if own_module or metadata["kind"] in NTUPLES:
        return importlib.import_module(own_module or f"{MODULE}.ntuples")
    kind = (
        "WinChanceKind"
        if metadata.get("head") == "chance"
        else "SolverKind"
        if studied or has_solver(game)
        else "GamesKind"
    )
    return getattr(importlib.import_module(f"{MODULE}.networks"), kind)()


def publish(config: Config) -> Path:
    """Measures and writes a model; returns its path. Raises ValueError if there is no such model to publish."""
    source = model_path(config.run)
    game, metadata = game_of(source), load_tensors(source)[1]
    if missing := [name for name in RUN_ENTRIES if name not in metadata]:
        raise UserError(f"model {str(source)!r}: expected the metadata of a run, got no {', '.join(missing)}")
    kind = kind_of(game, metadata)
    for option in dataclasses.fields(config):
        if option.name not in (*COMMON, *kind.OPTIONS) and getattr(config, option.name) != option.default:
            known = ", ".join(map(flag_of, kind.OPTIONS))
            raise UserError(f"expected options among {known} for a model of {game.name}, got {flag_of(option.name)}")
    network, more = kind.prepare(kind.load(source, game), source, metadata, config)
    published = {name: metadata[name] for name in ("steps", "seconds", "command", "commit")} | {
        "start": metadata.get("start", {})
    }
    published |= {"hardware": hardware(), "selected": metadata["score"], "score": []}
    published |= {"publication": command_of(["python", "-m", MODULE], config), "published_at": commit(), **more}
    target = Path(config.out) / f"{config.name or shipped_name(game)}.safetensors"
    draft = target.with_name(f".{target.name}.draft")
    try:
        save_network(draft, network, published)
        size = draft.stat().st_size / 1e6
        if size > config.largest_mb:
            raise UserError(f"expected a file of at most {config.largest_mb:g} MB, got {size:.1f}")
        network = kind.load(draft, game)  # measures the written file
    finally:
        draft.unlink(missing_ok=True)
    if config.unit_games:
        from leafwise.training.publish import units

        unit_options = units.Config(
            "", games=max(config.unit_games, 0), processes=config.processes, cluster=config.cluster
        )
        published[UNITS] = units.fitted(network.game, partial(network.evaluator, "learned"), unit_options).as_json()
    for score in kind.measure(network, config):
        published["score"].append(score)
        save_network(target, network, published)
        write_atomically(target.with_suffix(".md"), card(target, kind).encode())
    return target


def card(path: Path, kind: Any) -> str:
    """Returns the card of a published model, as text; `kind` as in `leafwise.training.publish`."""
    metadata = load_tensors(path)[1]
    options = "".join(f", {name} = {value}" for name, value in metadata["options"].items())
    lines = [
        f"# {metadata['game']}{options}: a {kind.WHAT}",
        "",
        *kind.about(path, metadata),
        f"`leafwise.load({source_of(path)!r})` loads the network.",
        "",
        "## Results",
        "",
        *kind.figures(metadata),
        "",
        "## Training",
        "",
        "The first command trains such a network with the present code. The other lines say how this file was made. A command "
        "that needs earlier code says at which commit.",
        "",
        f"- present code: `{train_command(metadata)}`; the other options come from the game's "
        "[recipe](../../docs/terms.md#recipe)",
        f"- best network of the run: found after {metadata['steps']:,} {unit_of(metadata, kind)} and "
        f"{metadata['seconds']:,.0f} s of processor time on "
        f"{metadata['hardware']}",
        *kind.made(metadata),
        command_line("command of the run", metadata["command"], metadata["commit"]),
    ]
    later = "the run"
    for k, start in enumerate(starts(metadata), 1):
        spent = f"{start['steps']:,} {unit_of(start, kind)}, {start['seconds']:,.0f} s"
        what = f"earlier network {k} ({spent}), from which {later} started. Its command"
        later = f"earlier network {k}"
        lines.append(command_line(what, start["command"], start["commit"]))
    publication = f"{metadata['publication']} --run RUN"
    lines.append(command_line("command that published the file", publication, metadata["published_at"]))
    return "\n".join([*lines, ""])


def source_of(path: Path) -> str:
    """Returns the argument of `leafwise.load` for a model: the name of a shipped one, else the path."""
    return path.stem if path.parent.name == "weights" and path.parent.parent.name == "models" else path.as_posix()


def command_line(what: str, command: str, at: str) -> str:
    """Returns a card's line about a command, as it was at its commit."""
    at = re.sub("^([0-9a-f]{8})[0-9a-f]{32}$", r"\1", at)
    return f"- {what}, as of commit {at}: `{command}`"


def method_of(command: str) -> str:
    """Returns the method that a command of a file names."""
    words = shlex.split(command)
    return take_option(words, "--method")[0] or words[min(2, len(words) - 1)].rpartition(".")[2]


def unit_of(metadata: Json, kind: Any) -> str:
    """Returns what the steps of a model's run are."""
    return "decisions" if method_of(metadata["command"]) in COUNTING_DECISIONS else kind.UNIT


def train_command(metadata: Json) -> str:
    """Returns today's command to train such a model, with the method of its file's command, else the default one."""
    game, named, fitting = metadata["game"], method_of(metadata["command"]), methods(metadata["game"])
    method = next((name for name in (named, *RENAMED.get(named, ())) if name in fitting), next(iter(fitting)))
    options = (word for name, value in metadata["options"].items() for word in (flag_of(name), option_text(value)))
    added = ("--module", source) if (source := source_of_game(game)) else ()
    return shlex.join(["leafwise", "train", game, "--method", method, *options, *added])


def starts(metadata: Json) -> Iterator[Json]:
    """Yields the provenance of a model's initial model, then of that model's initial model, and so on."""
    while metadata := metadata.get("start") or {}:
        yield dict(metadata)


def interval(values: Mapping[str, float | None], form: str = ".1%") -> str:
    """Formats a mean with its 95 % interval."""
    return f"{values['mean']:{form}} ({interval_text(values['ci_low'], values['ci_high'], form)})"


def seeds_line(first: int) -> str:
    """Returns a line about the seeds of figures."""
    return f"seeds from {first:,} on, which neither training nor selection used"


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; wrong input is one line and status 2."""
    return as_command(_run, arguments)


def _run(words: list[str]) -> int:
    words = take_modules(words)
    config = parse(Config, words, prog=f"python -m {MODULE}")
    print(publish(config))
    return 0
