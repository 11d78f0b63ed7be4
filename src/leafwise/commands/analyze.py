"""Searches positions: the value of each action, the principal line, nodes and time."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import tyro

from leafwise.cli import (
    fail,
    make_search,
    numbered_lines,
    one_line_errors,
    parse_with_game,
    patiently,
    positions_of,
    print_json,
    say,
    value_lines,
)

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.search import Result, Search


@dataclass(frozen=True)
class Config:
    """Searches a position and prints the value of each action, for the player to move.

    Many positions, one a line, come from --file or standard input, and give one JSON object a line each.
    """

    game: tyro.conf.Positional[str]
    """Name of the game."""
    position: tyro.conf.Positional[str] = ""
    """Position in the game's own text; for Threes "1 2 0 3/3 3 6 6/0 0 3 0/6 3 1 2", with more words as options."""
    leaf: str = ""
    """Leaf: a hand-made score, `learned`, rollout:n=20, a run folder or a model file (default: the game's score)."""
    depth: int = 0
    """Decisions looked ahead (0: the game's own, or with --seconds as many as there is time for)."""
    seconds: float = 0.0
    """Seconds per position, after warm-up (0: no limit)."""
    options: str = ""
    """More of the search's options, as in players: threads=2, batched=1, pruning=0, table_mb=64, width=5, nodes=2000."""
    file: str = ""
    """File of positions, one a line; - is standard input."""
    json: bool = False
    """Print one JSON object."""


def read_position(game: Game, text: str) -> State:
    """Returns a position to search; raises ValueError for text that is none and for a finished game."""
    state = game.parse(text)
    if state.is_terminal:
        raise ValueError(f"{game.name}: expected a position to play, got a finished game: {text!r}")
    return state


def described(text: str, result: Result) -> dict[str, Any]:
    """Returns what `--json` prints."""
    best = [name for name, value in result.action_values.items() if value == result.value]
    return {
        "position": text,
        "value": result.value,
        "score": None,
        "best_actions": best,
        "action_values": result.action_values,
        "line": result.line,
        "nodes": result.nodes,
        "leaves": result.leaves,
        "depth": result.depth,
        "seconds": result.seconds,
    }


def show(state: State, result: Result, search: Search) -> None:
    """Prints a result for people."""
    say(state.board())
    say()
    if state.is_chance:
        say(f"  chance acts next ({state.stage}); value {result.value:,.4f} for player 0")
    for line in value_lines(result):
        say(line)
    say()
    if result.line:
        say(f"  line   {' '.join(result.line)}")
    say(f"  leaf   {search.evaluator.name}, depth {result.depth}")
    say(f"  work   {result.nodes:,} decisions, {result.leaves:,} leaves, {result.seconds:.4f} s")


def main(arguments: list[str]) -> int:
    """Runs the command."""
    config, game = parse_with_game(Config, arguments, "leafwise analyze")
    if config.position and config.file:
        fail("expected a position or --file, got both")
    if not config.position and not config.file and sys.stdin.isatty():
        fail("expected a position, --file, or lines on standard input, got none")
    if config.position:
        with one_line_errors():
            state = read_position(game, config.position)
        search = make_search(game, config.leaf, config.depth, config.seconds, config.options)
        result = patiently(lambda: search(state), search.stop)
        if config.json:
            print_json(described(config.position, result))
        else:
            patiently(lambda: show(state, result, search), search.stop)
        return 0
    lines = numbered_lines(config.file)
    search = make_search(game, config.leaf, config.depth, config.seconds, config.options)
    for text, state in positions_of(lines, partial(read_position, game)):
        print_json(patiently(lambda state=state, text=text: described(text, search(state)), search.stop))  # type: ignore[misc]
    return 0
