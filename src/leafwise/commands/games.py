"""Lists the games: their ids, options, actions and hand-made scores."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import tyro

from leafwise.cli import fail, one_line_errors, parse, print_json, say
from leafwise.envs.registry import NAMESPACE, games, listing
from leafwise.envs.registry import game as find_game

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


@dataclass(frozen=True)
class Config:
    """Lists the games."""

    game: tyro.conf.Positional[str] = ""
    """One game only (default: all)."""
    json: bool = False
    """Print one JSON object per game."""
    listing: bool = False
    """Print what the data file of a plug-in says of the game."""


def described(game: Game) -> dict[str, Any]:
    """Returns what a game offers, by name."""
    return {
        "name": game.name,
        "title": game.title,
        "players": game.players,
        "ids": {f"{NAMESPACE}/{short}-v0": dict(options) for short, options in game.ids.items()},
        "options": dict(game.defaults),
        "actions": list(game.actions),
        "scores": list(game.scores),
        "default_score": game.default_score,
        "rewards": list(game.reward_names),
    }


def main(arguments: list[str]) -> int:
    """Runs the command."""
    config = parse(Config, arguments, "leafwise games")
    if config.game and config.game not in games():
        fail(f"expected a game among {', '.join(games())}, got {config.game!r}")
    names = [config.game] if config.game else games()
    if config.listing:
        with one_line_errors():
            say(json.dumps({name: listing(find_game(name)) for name in names}, indent=2))
        return 0
    for name in names:
        about = described(find_game(name))
        if config.json:
            print_json(about)
            continue
        actions = about["actions"]
        some = ", ".join(actions[:12]) + (f", ... ({len(actions)})" if len(actions) > 12 else "")
        options = ", ".join(f"--{k.replace('_', '-')} {v}" for k, v in about["options"].items())
        scores = ", ".join(f"{s} (default)" if s == about["default_score"] else s for s in about["scores"])
        say(f"{name}: {about['title']}")
        for what, text in (
            ("ids", ", ".join(about["ids"])),
            ("options", options or "none"),
            ("actions", some),
            ("scores", scores),
            ("rewards", ", ".join(about["rewards"])),
        ):
            say(f"  {what:<8} {text}")
    return 0
