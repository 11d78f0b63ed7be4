"""Games as files: written from their steps, and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.by_name import outcome
from leafwise.envs.core.play.gamefile import GameRecord, Recorder, Step, read_games
from leafwise.web.asks import FileAsk, RecordAsk
from leafwise.web.control import Control
from leafwise.web.positions import acting, finite, need_game

MOST_GAMES = 100
"""Games of a file that are told of."""


def write_record(ask: RecordAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells a game as the text of a file."""
    game = need_game(ask, control)
    if ask.players and len(ask.players) != game.players:
        raise UserError(f"expected the names of {game.players} players, got {len(ask.players)}")
    recorder = Recorder(game.parse(ask.text) if ask.text else game.start(), ask.players, ask.seed)
    for number, name in enumerate(ask.moves, start=1):
        before = recorder.state
        try:
            if before.is_chance:
                recorder.steps.append(Step(before, outcome(before, name), None))
            else:
                recorder.play(name)
        except UserError as problem:
            raise UserError(f"{problem} as step {number}") from None
    yield {"file": str(recorder.record())}


def read_file(ask: FileAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells the games of a file."""
    yield {"games": [told(record) for record in records(ask.file)]}


def records(file: str) -> list[GameRecord]:
    """Returns the games of a file's text; raises ValueError that names the line of whatever cannot be."""
    found: list[GameRecord] = []
    for record in read_games(file):
        found.append(record)
        if len(found) > MOST_GAMES:
            raise UserError(f"expected at most {MOST_GAMES} games in a file, got more")
    return found


def told(record: GameRecord) -> dict[str, Any]:
    """Returns a game as JSON."""
    return {
        "game": record.game.name,
        "options": dict(record.game.given_options),
        "first": str(record.start),
        "players": list(record.players),
        "seed": record.seed,
        "result": None if record.result is None else finite(record.result),
        "steps": [
            {"name": step.name, "player": acting(step.before), "text": str(step.after)}
            | ({"comment": step.comment} if step.comment else {})
            for step in record.steps
        ],
    }
