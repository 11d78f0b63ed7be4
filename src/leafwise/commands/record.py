"""Records a game as a GIF: a new game, or one from a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from leafwise.cli import OutputFile, Report, command, records_of, say
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, need_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.play.gamefile import GameRecord


@dataclass(frozen=True)
class Config:
    """Plays a game and writes it as a GIF with one frame per decision; --chance adds one before each outcome of chance.

    `leafwise record --game FILE` draws a game that was written with --save.

    Examples:
      leafwise record threes --moves 100
      leafwise record trap --opponent greedy --out trap.gif
    """

    most_used: ClassVar[tuple[str, ...]] = ("player", "out", "moves")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    player: str = ""
    """Player; in two-player games, of the first seat (default: best, the search with the shipped network; in single-player games as
    best:depth=1)."""
    opponent: str = ""
    """In two-player games, the player of the second seat (default: best)."""
    seed: Annotated[int, Range(0, 2**63 - 1)] = 0
    """Seed of the game's chance."""
    out: OutputFile = "game.gif"
    """File to write."""
    save: OutputFile = ""
    """File for the game as text: every move and outcome of chance."""
    overwrite: bool = False
    """Overwrite existing files."""
    number: Annotated[int, Range(1, 10**9)] = 1
    """Number of the game in the file of --game."""
    width: Annotated[int, Range(32, 2000)] = 240
    """Width of the picture, in pixels."""
    milliseconds: Annotated[int, Range(20, 60_000)] = 150
    """Time per frame."""
    moves: Annotated[int, Range(0, 10**6)] = 0
    """Decisions to play (0: to the end)."""
    chance: bool = False
    """Show the possible outcomes before each outcome of chance."""
    values: bool = False
    """Write the value of each position below its picture: the best leaf, one decision deep."""
    game_file: tyro.conf.Suppress[str] = ""
    """File of games, --game FILE."""


def played(config: Config, game: Game) -> GameRecord:
    """Plays the game and prints its players; raises Forfeit, a ValueError, if one forfeits."""
    from leafwise.envs.core.play.gamefile import play_game
    from leafwise.models.players import player
    from leafwise.search.players import search_of

    usual = "best" if game.players == 2 else "best:depth=1"
    if config.opponent and game.players == 1:
        raise UserError(f"expected no --opponent in {game.name}, a single-player game")
    names = [name or usual for name in (config.player, config.opponent)][: game.players]
    players = [player(name, game, config.seed + seat) for seat, name in enumerate(names)]
    record = play_game(game, players, config.seed, config.moves).record()
    for who in dict.fromkeys(players):
        search = search_of(who)
        by = f", leaf {search.evaluator.name}" if search else ""
        say(f"{who.name}{by} played")
    return record


def captions(game: Game, states: Sequence[State]) -> list[str]:
    """Returns a line for each position: its value by the best leaf, in people's units if they are known."""
    from leafwise.analysis import analyst_of

    analyst = analyst_of(game, depth=1)
    if analyst.no_units:
        say(analyst.no_units)
    unit = analyst.unit.partition(",")[0]
    lines = []
    for state in states:
        who = f"player {max(state.current_player, 0) + 1}, " if game.players == 2 else ""
        lines.append("" if state.is_terminal else f"{who}{unit} {analyst.written(analyst(state).value)}")
    return lines


@command(Config)
def main(config: Config, game: Game) -> Iterator[Report]:
    """Runs the command."""
    from leafwise.envs.core.files import write_named
    from leafwise.envs.core.pictures import gif
    from leafwise.envs.core.play.gamefile import pictured

    if not config.out.endswith(".gif"):
        raise UserError(f"expected a file name that ends with .gif for --out, got {config.out!r}")
    if config.game_file:
        if config.player or config.opponent or config.seed or config.moves:
            raise UserError("expected a player, opponent, seed and moves, or --game, got both")
        records = records_of(config.game_file, game)
        need_in(config.number, Range(1, len(records)), "--number", kind=int)
        record = records[config.number - 1]
    elif config.number != 1:
        raise UserError(f"expected --game with --number, got --number {config.number} alone")
    else:
        record = played(config, game)
    states = pictured(record, config.chance)
    lines = captions(record.game, states) if config.values else []
    data = gif(states, config.width, config.milliseconds, lines)
    write_named(Path(config.out), data)
    if config.save:
        write_named(Path(config.save), str(record).encode())
    yield f"{config.out}: {len(states)} frames, {len(data) / 1000:,.0f} kB; ends at {states[-1]}"
