"""Games in the JSON interface: variants, leaves and players to choose from, positions, games as files.

Requests choose leaves and players from lists that are made here. No request can read other files or run other programs. `run:NAME`
is a run, where NAME is its folder in the folder of runs. `named:NAME` is a player of the command line.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from leafwise.analysis import ending, has_solver
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError, printable, short
from leafwise.envs.core.fields import types_of
from leafwise.envs.core.play.by_name import outcome_names
from leafwise.envs.core.play.gamefile import GameRecord, GameRecorder, Step, read_games
from leafwise.envs.core.play.players import named_ai, room_players
from leafwise.envs.core.play.solver import LEVELS
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
"""Time limits of players in seconds, and in words."""
FEW = 16
"""Maximum number of outcomes that are sent with the drawn one."""
MAX_GAMES = 100
"""Maximum number of games of a file."""
TOUCHED = 8
"""Number of first positions of a game that load the code of its rules."""
VARIANTS = 16
"""Number of variants that a process caches, with their tables and answers."""
_games: RecentCache[Game] = RecentCache(VARIANTS)
_choices: RecentCache[GameChoices] = RecentCache(VARIANTS)


def need_game(request: GameRequest, context: JobContext) -> Game:
    """Returns the requested game with its rules loaded; raises ValueError as `Game.variant`, which reads no option as a path."""

    def made() -> Game:
        game = find_game(request.game).variant(**request.options)
        touch(game)
        return game

    return _games.of((request.game, repr(sorted(request.options.items()))), made, context)


def touch(game: Game) -> None:
    """Computes all that is sent of some positions, so that no click waits for code."""
    state, stream = game.start(), new_stream(0)
    for _ in range(TOUCHED):
        position_json(state)
        if state.is_terminal:
            break
        state = state.sample(stream) if state.is_chance else state.play(state.legal_actions[0])


def tell_game(request: GameRequest, context: JobContext) -> dict[str, Any]:
    """Returns the description of a game's variant."""
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
    """The current leaves and players of a variant: runs come and go."""

    def __init__(self, game: Game) -> None:
        self.game, self.has_solver = game, has_solver(game)
        self.leaves: list[dict[str, Any]] = []
        """`name`, `title`, and the `unit` of their values, best first. Unit None is a plain score; if units are known only for
        other rule options, `no_unit` says so."""
        self.unusable: list[dict[str, Any]] = []
        """Model files that cannot be used: `name`, `title`, and what is `wrong`."""
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
        """`name` and `title` of the players."""
        self.names = {"leaf": ["best", *(leaf["name"] for leaf in self.leaves)], "player": [*named]}

    def add_leaf(self, name: str, title: str, file: Path | None = None) -> None:
        """Adds a leaf, perhaps of a model file, or what is wrong with it."""
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
                msgspec.json.encode(leaf)  # raises if the answer cannot hold it
                self.leaves.append(leaf)
        except (ValueError, OSError) as problem:
            if file is None or meant_for(file) in ("", game.name):
                self.unusable.append(
                    {"name": printable(name), "title": printable(title), "wrong": reason(problem, file)}
                )


def need_offered(game: Game, name: str, kind: str) -> str:
    """Returns the name of an offered `leaf` (the first for `best`) or `player`; raises ValueError for another name.

    For a name that is not in the last lists, the lists are made again.
    """
    offer = _choices.get(game)
    if offer is None or name not in offer.names[kind]:
        offer = _choices[game] = GameChoices(game)
    need_among(name, offer.names[kind], f"a {kind}")
    return str(offer.leaves[0]["name"]) if name == "best" else name


def player_text(game: Game, player: str) -> str:
    """Returns the text of an offered player for `leafwise.player`; raises ValueError for another one."""
    kind, _, rest = need_offered(game, player, "player").partition(":")
    if f"{kind}:" == NAMED:
        return named_players()[rest]
    if kind == "search" and rest.startswith(RUN):
        leaf, _, pace = rest.rpartition(",")
        return f'search:"{leaf_source(leaf)}",{pace}'
    return player


def leaf_source(leaf: str) -> str:
    """Returns the source of a leaf for `leafwise.load`."""
    return str(run_models().get(leaf, leaf)) if leaf.startswith(RUN) else leaf


@lru_cache(VARIANTS)
def programs(game: Game) -> tuple[str, ...]:
    """Returns the texts of the game's own programs that need no options.

    In games without chance some search the whole game, which would never end on a larger board. So there they are offered only in
    the default variant.
    """
    if game.given_options and not game.max_outcomes:
        return ()
    usable: list[str] = []
    for name, texts in room_players(game).items():
        with suppress(UserError):  # a program that needs options
            if name != "solver" and (texts != (name,) or named_ai(game, name) is not None):
                usable += texts
    return tuple(usable)


def runs_folder() -> Path | None:
    """Returns the folder of runs, None if the server has none."""
    named = os.environ.get(RUNS_VARIABLE, "")
    return Path(named).resolve() if named and Path(named).is_dir() else None


def run_models() -> dict[str, Path]:
    """Returns the runs with a model: `run:NAME` -> folder. Links that lead out of the folder of runs are omitted."""
    folder = runs_folder()
    if folder is None:
        return {}
    files = {f"{RUN}{one.name}": Path(os.path.realpath(one / MODEL)) for one in sorted(folder.iterdir())}
    return {name: file.parent for name, file in files.items() if os.path.isfile(file) and file.is_relative_to(folder)}


def named_players() -> dict[str, str]:
    """Returns the players of the server's command line: name -> text for `leafwise.player`."""
    given = msgspec.json.decode(os.environ.get(PLAYERS_VARIABLE, "[]"), type=list[str])
    return {name.strip(): text for name, _, text in (one.partition("=") for one in given)}


def reason(problem: Exception, file: Path | None) -> str:
    """Returns what is wrong with a file in one line, without the private folders above its own."""
    text = str(problem) if file is None else str(problem).replace(str(file.parent), file.parent.name)
    return printable(short(text, 240))


def meant_for(model: Path) -> str:
    """Returns the game in the options of a model's run; "" if unknown, and then every game lists the model."""
    try:
        options = config_file(model.parent)
        return str(read_table(options).get("game", "")) if options else ""
    except (UserError, OSError):
        return ""


def tell_state(request: StateRequest, context: JobContext) -> dict[str, Any]:
    """Returns a position, and the steps that led to it from that of the request."""
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
) -> GameRecorder:
    """Plays steps by name from a position ("": the start); raises ValueError for an impossible step."""
    recorder = GameRecorder(game.parse(text) if text else game.start(), players, seed)
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
    """Returns a step in words."""
    return step.before.outcome_words(step.after) if step.action is None else step.before.action_words(step.action)


def drawn_json(step: Step) -> dict[str, Any]:
    """Returns a drawn outcome of chance with its probability; if there are few outcomes, with the probabilities of all."""
    odds = {name: p for name, (p, _) in outcomes_of(step.before).items()}
    result = {**step_json(step), "stage": step.before.stage, "probability": odds.get(step.name)}
    return {**result, "odds": odds} if len(odds) <= FEW else result


def acting(state: State) -> int | str:
    """Returns the player who acts, 1 or 2, or "chance"."""
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
    """Returns the outcomes of a chance node by name: probability and next position."""
    outcomes = state.outcomes()
    return dict(zip(outcome_names(state, [after for _, after in outcomes]), outcomes, strict=True))


def write_record(request: RecordRequest, context: JobContext) -> dict[str, Any]:
    """Returns a game as the text of a file."""
    game = need_game(request, context)
    if request.players and len(request.players) != game.players:
        raise UserError(f"expected the names of {game.players} players, got {len(request.players)}")
    recorder = replayed(game, request.text, request.moves, request.players, request.seed)
    return {"file": str(recorder.record())}


def read_file(request: FileRequest, context: JobContext) -> dict[str, Any]:
    """Returns the games of a file as JSON."""
    return {"games": [record_json(record) for record in records_of(request.file)]}


def records_of(file: str) -> list[GameRecord]:
    """Reads the games of a file's text; raises ValueError that names the wrong line."""
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
