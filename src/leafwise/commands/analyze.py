"""Searches positions, or every move of a game: action values, principal variation, nodes and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from leafwise.cli import OutputFile, Report, command, folder_of, input_lines, positions_of, print_json, records_of
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import texts_of
from leafwise.envs.core.ranges import Range

if TYPE_CHECKING:
    from leafwise.analysis import Analyst
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.play.gamefile import GameRecord


@dataclass(frozen=True)
class Config:
    """Searches a position and prints the value of each action, for the player to move.

    A position is the game's own text, --moves from the start, or both; by default it is the start. --file or standard input may
    hold many positions, one a line; each gives one JSON object. `leafwise analyze --game FILE` reads saved games and shows the loss
    of each move. The exact solver computes it if it answers in time and no option asks for a search. With --review it shows the
    course of the game.

    Examples:
      leafwise analyze threes "1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2" --next 1
      leafwise analyze trilobite --board 7x6 --k 4 --moves 4453
    """

    most_used: ClassVar[tuple[str, ...]] = ("leaf", "depth", "moves")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    position: tyro.conf.Positional[str] = ""
    """Position in the game's own text, or a board in lines, as lists or as NumPy prints it; for
    Threes "1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2", with more words as options."""
    moves: str = ""
    """Moves from there, `4453`, "d, d, e" or "0-1 2-3", with outcomes of chance by name in between: "SE 1,1 1,2"."""
    leaf: str = ""
    """Leaf: a hand-made score, `learned`, rollout:n=20, a run folder or a model file (default: the shipped network, else the
    game's score)."""
    depth: int = 0
    """Decisions looked ahead (0: the game's own, or with --seconds as many as there is time for)."""
    seconds: float = 0.0
    """Seconds per position, after warm-up (0: no limit)."""
    simulations: Annotated[int, Range(0)] = 0
    """Simulations of a Monte Carlo tree search (0: depth-limited search). Only for positions, not for games."""
    options: str = ""
    """More of the search's options, as in players: threads=2,pruning=0. With the name of a game, --help lists them."""
    single: bool = False
    """Show single actions in games with whole turns, as backgammon."""
    file: str = ""
    """File of positions, one a line; - is standard input."""
    review: bool = False
    """With --game: review each game, with its value at every decision and the three worst decisions."""
    svg: OutputFile = ""
    """With --review: file for a picture of the review."""
    overwrite: bool = False
    """Overwrite the file of --svg if it exists."""
    json: bool = False
    """Print one JSON object."""
    game_file: tyro.conf.Suppress[str] = ""
    """File of games, --game FILE."""

    @staticmethod
    def more_help(name: str) -> tuple[str, dict[str, str]]:
        """Returns the names that --options takes, for `--help`, without importing the search."""
        texts = texts_of(folder_of("search") / "search_options.py", "SearchOptions", without="in_text")
        own = ("depth", "seconds")
        return "Names in --options:", {key: text.splitlines()[0] for key, text in texts.items() if key not in own}


@command(Config)
def main(config: Config, game: Game) -> Iterator[Report]:
    """Runs the command."""
    given, file = bool(config.position or config.moves), config.game_file
    if given + bool(config.file) + bool(file) > 1:
        raise UserError("expected one of a position (or --moves), --file and --game, got several")
    if (config.review and not file) or (config.svg and not config.review):
        raise UserError("expected --review with --game FILE, and --svg with --review, got one without the other")
    if config.simulations and (config.depth or file):
        raise UserError("expected --simulations without --depth and --game, got both")
    if file:
        yield from analyze_games(records_of(file, game), config)
        return
    from leafwise.analysis import position_json, read_position

    lines = input_lines(config.file, given)
    if lines is None:
        yield from analyze_position(game, config)
        return
    analyst: Analyst | None = None
    for text, state in positions_of(lines, partial(read_position, game)):
        refuse_chance(state, config)
        analyst = analyst or made_analyst(game, config)
        print_json({**position_json(analyst(state), analyst), "position": text})
    if analyst is None:
        raise UserError(f"expected positions in {config.file!r}, got none")


def refuse_chance(state: State, config: Config) -> None:
    """Raises ValueError if --simulations are asked for at a chance node."""
    if config.simulations and state.is_chance:
        raise UserError(f"expected a decision for --simulations, got a chance stage ({state.stage}): {state}")


def made_analyst(game: Game, config: Config) -> Analyst:
    """Returns the search of the options."""
    from leafwise.analysis import analyst_of

    return analyst_of(game, config.leaf, config.depth, config.seconds, config.options, config.simulations)


def analyze_position(game: Game, config: Config) -> Iterator[Report]:
    """Searches one position and reports the result."""
    from leafwise.analysis import position_json, position_lines, read_position, turn_values
    from leafwise.envs.core.play.by_name import is_board

    state = read_position(game, config.position, config.moves)
    refuse_chance(state, config)
    analyst = made_analyst(game, config)
    if not config.position and game.start().is_chance:
        yield "no position given: the start of a game with seed 0\n"
    result = analyst(state)
    text = config.position if is_board(config.position) and not config.moves else str(state)
    turns = {} if config.single else turn_values(result, analyst)
    yield {**position_json(result, analyst, None, turns), "position": text}, position_lines(result, analyst, turns)


def analyze_games(records: list[GameRecord], config: Config) -> Iterator[Report]:
    """Reports the loss of every move of games, or reviews each game, and draws a single one if asked."""
    from leafwise.envs.core.files import write_named
    from leafwise.review import as_json, game_lines, lines, picture, review, reviewed_moves

    if config.svg and len(records) != 1:
        raise UserError(f"expected a file of one game with --svg, got {len(records)}")
    analysts: dict[Game, Analyst] = {}
    exact = not (config.leaf or config.depth or config.seconds or config.options)
    for number, record in enumerate(records, start=1):
        if record.game not in analysts:
            analysts[record.game] = made_analyst(record.game, config)
        analyst = analysts[record.game]
        if config.review:
            course = review(record, analyst, exact)
            yield {"game": number, **as_json(course)}, lines(course)
            if config.svg:
                write_named(Path(config.svg), picture(course).svg().encode())
        elif config.json:
            yield from (({"game": number, **one.as_json()}, ()) for one in reviewed_moves(record, analyst, exact=exact))
        else:
            yield from game_lines(record, analyst, exact)
