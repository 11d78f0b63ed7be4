"""What the JSON interface tells of games: variants, the leaves and players that a page may name, positions, games as files.

Leaves and players are chosen from lists that are made here, so that no request makes a process read any other file, or run another
program. A run is named `run:NAME`; NAME is a folder of runs with a model in it. `named:NAME` is a player of the command line.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from leafwise.analysis import ending
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError, printable, short
from leafwise.envs.core.fields import types_of
from leafwise.envs.core.play.by_name import outcome_names
from leafwise.envs.core.play.gamefile import GameRecord, Recorder, Step, read_games
from leafwise.envs.core.play.players import named_ai, own_programs
from leafwise.envs.core.play.solver import LEVELS, need_solver
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game as find_game
from leafwise.models.files import LEARNED, is_for, shipped_model
from leafwise.models.network import need_named
from leafwise.models.tensors import MODEL, WEIGHTS, load_metadata
from leafwise.models.units import units_of, why_no_units
from leafwise.training.runs.files import config_file, read_table
from leafwise.web.requests import FileRequest, GameRequest, RecordRequest, StateRequest
from leafwise.web.workers import PLAYERS_VARIABLE, RUNS_VARIABLE, JobContext, RecentCache

RUN, NAMED = "run:", "named:"
PACES = {"0.01": "10 ms", "0.1": "100 ms", "1": "1 s", "5": "5 s"}
"""Seconds that a player may think, and how people say it."""
FEW = 16
"""Outcomes of a stage that are told with what was drawn."""
MAX_GAMES = 100
"""Games of a file that are told of."""
TOUCHED = 8
"""Positions, of a game's first ones, that load the code of its rules."""
VARIANTS = 16
"""Variants of games that a process keeps and remembers answers about, with their tables."""
_games: RecentCache[Game] = RecentCache(VARIANTS)
_choices: RecentCache[GameChoices] = RecentCache(VARIANTS)


def need_game(request: GameRequest, context: JobContext) -> Game:
    """Returns the game asked for, its rules loaded; raises ValueError as `Game.variant` does: no option is read as a path."""

    def made() -> Game:
        game = find_game(request.game).variant(**request.options)
        touch(game)
        return game

    return _games.of((request.game, repr(sorted(request.options.items()))), made, context)


def touch(game: Game) -> None:
    """Asks for everything that is told of positions, once, so that no click waits for code to be loaded."""
    state, stream = game.start(), new_stream(0)
    for _ in range(TOUCHED):
        position_json(state)
        if state.is_terminal:
            break
        state = state.sample(stream) if state.is_chance else state.play(state.legal_actions[0])


def tell_game(request: GameRequest, context: JobContext) -> dict[str, Any]:
    """Tells what a game offers in a variant."""
    game = need_game(request, context)
    offer = _choices[game] = GameChoices(game)
    return {
        "game": game.name,
        "title": game.title,
        "players": game.players,
        "options": dict(request.options),
        "given_options": dict(game.given_options),
        "ids": {short: dict(options) for short, options in game.ids.items()},
        "option_defaults": dict(game.defaults),
        "option_values": {name: getattr(game.options, name) for name in game.defaults},
        "option_types": types_of(game.options),
        "about": {"options": dict(game.text.about.options)},
        "actions": list(game.actions),
        "has_chance": game.max_outcomes > 0,
        "has_solver": offer.has_solver,
        "has_companion": game.companion is not None,
        "leaves": offer.leaves,
        "unusable": offer.unusable,
        "opponents": offer.players,
    }


class GameChoices:
    """What a page may name in a variant of a game now: runs come and go."""

    def __init__(self, game: Game) -> None:
        self.game, self.has_solver = game, has_solver(game)
        self.leaves: list[dict[str, Any]] = []
        """`name`, `title`, and the `unit` of their values, the best first; None is a plain score: where only other rule options
        were measured, `no_unit` says so."""
        self.unusable: list[dict[str, Any]] = []
        """The model files that cannot be used: `name`, `title`, and what is `wrong`."""
        if shipped_model(game) is not None:
            self.add_leaf(LEARNED, "shipped network")
            for file in sorted(WEIGHTS.glob(f"{game.name}*-*.safetensors")):
                self.add_leaf(file.stem, f"shipped network {file.stem}", file)
        for name in game.scores:
            self.add_leaf(name, f"hand-made: {name}")
        for name, folder in run_models().items():
            self.add_leaf(name, f"run {folder.name}", folder / MODEL)
        named = {f"{NAMED}{name}": name for name in named_players()}
        named |= {f"level:{level}": f"level {level}" for level in LEVELS} if game.players == 2 else {}
        if "solver" in game.ais and self.has_solver:
            named["solver"] = "exact solver"
        named |= {name: f"program {name}" for name in programs(game)}
        for leaf in self.leaves:
            named |= {
                f"search:{leaf['name']},seconds={pace}": f"{leaf['title']}, {words}" for pace, words in PACES.items()
            }
        named["random"] = "random moves"
        self.players = [{"name": name, "title": title} for name, title in named.items()]
        """`name` and `title`, the strongest pace first."""
        self.names = {"leaf": ["best", *(leaf["name"] for leaf in self.leaves)], "player": [*named]}

    def add_leaf(self, name: str, title: str, file: Path | None = None) -> None:
        """Lists a leaf, that of a model's file where there is one, or what is wrong with it."""
        game = self.game
        try:
            about = {} if file is None else load_metadata(file)
            if file is None or is_for(game, about):
                need_named(about.get("network", ""))
                source = leaf_source(name)
                units = units_of(game, source)
                leaf = {
                    "name": name,
                    "title": title,
                    "unit": units and units.name,
                    "no_unit": why_no_units(game, source),
                }
                msgspec.json.encode(leaf)  # refuses what no answer can hold
                self.leaves.append(leaf)
        except (ValueError, OSError) as problem:
            if file is None or meant_for(file) in ("", game.name):
                self.unusable.append(
                    {"name": printable(name), "title": printable(title), "wrong": reason(problem, file)}
                )


def need_offered(game: Game, name: str, kind: str) -> str:
    """Returns the name of an offered `leaf`, the first for `best`, or `player`; raises ValueError for one that is not offered.

    For a name that is not in what was listed last the game's leaves and players are listed anew.
    """
    offer = _choices.get(game)
    if offer is None or name not in offer.names[kind]:
        offer = _choices[game] = GameChoices(game)
    need_among(name, offer.names[kind], f"a {kind}")
    return str(offer.leaves[0]["name"]) if name == "best" else name


def player_text(game: Game, player: str) -> str:
    """Returns what `leafwise.player` calls an offered player; raises ValueError for one that is not offered."""
    kind, _, rest = need_offered(game, player, "player").partition(":")
    if f"{kind}:" == NAMED:
        return named_players()[rest]
    if kind == "search" and rest.startswith(RUN):
        leaf, _, pace = rest.rpartition(",")
        return f'search:"{leaf_source(leaf)}",{pace}'
    return player


def leaf_source(leaf: str) -> str:
    """Returns what `leafwise.load` calls a leaf that a page names."""
    return str(run_models().get(leaf, leaf)) if leaf.startswith(RUN) else leaf


@lru_cache(VARIANTS)
def has_solver(game: Game) -> bool:
    """Whether the game has an exact solver that takes this variant."""
    with contextlib.suppress(UserError):
        need_solver(game)
        return True
    return False


@lru_cache(VARIANTS)
def programs(game: Game) -> tuple[str, ...]:
    """Returns the texts of the game's own programs that need nothing said besides.

    In games without chance some walk through the whole game, which would never end on a larger board, so there they are for
    the default variant alone.
    """
    if game.given_options and not game.max_outcomes:
        return ()
    usable: list[str] = []
    for name, texts in own_programs(game).items():
        with suppress(UserError):  # one that does not play without options
            if name != "solver" and (texts != (name,) or named_ai(game, name) is not None):
                usable += texts
    return tuple(usable)


def runs_folder() -> Path | None:
    """Returns the folder of runs, None where the server was given none."""
    named = os.environ.get(RUNS_VARIABLE, "")
    return Path(named).resolve() if named and Path(named).is_dir() else None


def run_models() -> dict[str, Path]:
    """Returns the runs that hold a model: `run:NAME` -> its folder. Links that lead out of the folder of runs are left out."""
    folder = runs_folder()
    if folder is None:
        return {}
    files = {f"{RUN}{one.name}": Path(os.path.realpath(one / MODEL)) for one in sorted(folder.iterdir())}
    return {name: file.parent for name, file in files.items() if os.path.isfile(file) and file.is_relative_to(folder)}


def named_players() -> dict[str, str]:
    """Returns the players that the server's command line brought: their names, and what `leafwise.player` calls them."""
    given = msgspec.json.decode(os.environ.get(PLAYERS_VARIABLE, "[]"), type=list[str])
    return {name.strip(): text for name, _, text in (one.partition("=") for one in given)}


def reason(problem: Exception, file: Path | None) -> str:
    """Returns what is wrong with a file in one line, without the folders above its own, which are nobody's business."""
    text = str(problem) if file is None else str(problem).replace(str(file.parent), file.parent.name)
    return printable(short(text, 240))


def meant_for(model: Path) -> str:
    """Returns the game that the options of a model's run name, "" where nothing does: then it is told in every game."""
    try:
        options = config_file(model.parent)
        return str(read_table(options).get("game", "")) if options else ""
    except (UserError, OSError):
        return ""


def tell_state(request: StateRequest, context: JobContext) -> dict[str, Any]:
    """Tells a position, and the steps that led to it from the one asked for."""
    recorder = replayed(need_game(request, context), request.text, request.moves)
    if request.seed is not None:
        recorder.settle(new_stream(request.seed))
    steps, given = recorder.steps, len(request.moves)
    position = position_json(recorder.state) | ({"svg": recorder.state.svg()} if request.svg else {})
    return {
        **position,
        "first": str(recorder.start),
        "steps": [
            *({**step_json(step), "name": name} for step, name in zip(steps, request.moves, strict=False)),
            *map(drawn_json, steps[given:]),
        ],
    }


def replayed(
    game: Game, text: str, names: Sequence[str], players: Sequence[str] = (), seed: int | None = None
) -> Recorder:
    """Returns the steps of these names from a position ("": the start); raises ValueError for what cannot be."""
    recorder = Recorder(game.parse(text) if text else game.start(), players, seed)
    for number, name in enumerate(names, start=1):
        try:
            (recorder.happen if recorder.state.is_chance else recorder.play)(name)
        except UserError as problem:
            raise UserError(f"{problem} as step {number}") from None
    return recorder


def step_json(step: Step) -> dict[str, Any]:
    """Returns a step as JSON."""
    result = {"name": step.name, "player": acting(step.before), "text": str(step.after)}
    if step.before.game.text.action_words is not None:
        result["words"] = step_words(step)
    return {**result, "comment": step.comment} if step.comment else result


def step_words(step: Step) -> str:
    """Returns a step in words for people."""
    return step.before.outcome_words(step.after) if step.action is None else step.before.action_words(step.action)


def drawn_json(step: Step) -> dict[str, Any]:
    """Returns a step of chance that was drawn, with its probability, and where the stage has few outcomes with those of all."""
    odds = {name: p for name, (p, _) in outcomes_of(step.before).items()}
    result = {**step_json(step), "stage": step.before.stage, "probability": odds.get(step.name)}
    return {**result, "odds": odds} if len(odds) <= FEW else result


def acting(state: State) -> int | str:
    """Returns who acts: 1 or 2, or "chance"."""
    return "chance" if state.is_chance else state.current_player + 1


def position_json(state: State) -> dict[str, Any]:
    """Returns a position as JSON."""
    game = state.game
    result: dict[str, Any] = {
        "text": str(state),
        "board": state.board(),
        "player": None if state.is_terminal else acting(state),
        "stage": state.stage,
        "actions": list(state.legal_names),
        "outcomes": [],
        "over": state.is_terminal,
        "returns": state.returns,
        "points": state.points,
        "result": ending(state) if state.is_terminal else "",
    }
    if game.text.action_words is not None:
        result["words"] = {name: state.action_words(name) for name in state.legal_names}
    if state.is_chance:
        result["outcomes"] = [
            {"name": name, "words": state.outcome_words(after), "probability": p, "text": str(after)}
            for name, (p, after) in outcomes_of(state).items()
        ]
    return result


def outcomes_of(state: State) -> dict[str, tuple[float, State]]:
    """Returns the outcomes of a chance stage by name: probability, position after it."""
    outcomes = state.outcomes()
    return dict(zip(outcome_names(state, [after for _, after in outcomes]), outcomes, strict=True))


def write_record(request: RecordRequest, context: JobContext) -> dict[str, Any]:
    """Tells a game as the text of a file."""
    game = need_game(request, context)
    if request.players and len(request.players) != game.players:
        raise UserError(f"expected the names of {game.players} players, got {len(request.players)}")
    recorder = replayed(game, request.text, request.moves, request.players, request.seed)
    return {"file": str(recorder.record())}


def read_file(request: FileRequest, context: JobContext) -> dict[str, Any]:
    """Tells the games of a file."""
    return {"games": [record_json(record) for record in records_of(request.file)]}


def records_of(file: str) -> list[GameRecord]:
    """Returns the games of a file's text; raises ValueError that names the line of whatever cannot be."""
    records = list(islice(read_games(file), MAX_GAMES + 1))
    if len(records) > MAX_GAMES:
        raise UserError(f"expected at most {MAX_GAMES} games in a file, got more")
    return records


def record_json(record: GameRecord) -> dict[str, Any]:
    """Returns a game as JSON."""
    return {
        "game": record.game.name,
        "options": dict(record.game.given_options),
        "first": str(record.start),
        "players": list(record.players),
        "seed": record.seed,
        "result": record.result,
        "steps": [step_json(step) for step in record.steps],
    }
