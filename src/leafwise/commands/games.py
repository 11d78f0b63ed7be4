"""Lists the games with ids, options, actions and hand-made scores; for one game also its environments."""

from __future__ import annotations

import io
import json
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from leafwise.cli import Report, command, flag_of, say, shown
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.option_help import definitions, width_of_terminal
from leafwise.envs.plugins import PluginWarning
from leafwise.envs.reference import Reference, reference
from leafwise.envs.registry import NAMESPACE, games, ids_of, listing, option_words
from leafwise.envs.registry import game as find_game

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


@dataclass(frozen=True)
class Config:
    """Lists the games.

    Examples:
      leafwise games
      leafwise games threes
    """

    game: tyro.conf.Positional[str] = ""
    """One game or one id (Threes-v0), with the pages of its environments (default: a short list of all games)."""
    json: bool = False
    """Print one JSON object per game."""
    listing: bool = False
    """Print the game's entry for the data file of a plug-in."""
    pages: str = ""
    """Folder for the page of every environment."""


def known(env_id: str) -> tuple[Reference, ...]:
    """Returns the reference returns of an id, () if it was not measured."""
    try:
        return reference(env_id)
    except UserError:
        return ()


def described(game: Game) -> dict[str, Any]:
    """Returns the description of a game by field."""
    from leafwise.envs.core.play.players import room_players  # which imports numba
    from leafwise.models.players import best_player

    return {
        "name": game.name,
        "title": game.title,
        "players": game.players,
        "ids": {f"{NAMESPACE}/{short}-v0": dict(options) for short, options in game.ids.items()},
        "options": dict(game.defaults),
        "actions": list(game.actions),
        "scores": list(game.scores),
        "default_score": game.default_score,
        "best": best_player(game),
        "own_players": [text for texts in room_players(game).values() for text in texts],
        "rewards": list(game.reward_names),
        "reference": {f"{short}-v0": [asdict(one) for one in known(f"{short}-v0")] for short in game.ids},
    }


@command(Config)
def main(config: Config) -> Iterator[Report]:
    """Runs the command."""
    short = config.game.removeprefix(f"{NAMESPACE}/").removesuffix("-v0")
    names = [name for name in games() if config.game in ("", name) or short in ids_of(name)]
    if not names:
        raise UserError(f"expected a game among {', '.join(games())}, or an id of one, got {config.game!r}")
    names = importable(names)
    if config.listing:
        say(json.dumps({name: listing(find_game(name)) for name in names}, indent=2))
        return
    if config.pages:
        write_pages(names, Path(config.pages))
        return
    for name in names:
        game = find_game(name)
        if short in ids_of(name) and not config.json:
            yield filled(environment_page(game, short))
            continue
        about = described(game)
        yield about, lines(about)
        for one in ids_of(name) if config.game and not config.json else ():
            yield "\n" + filled(environment_page(game, one))


def lines(about: dict[str, Any]) -> Iterator[str]:
    """Yields the description of a game as lines of text."""
    actions = about["actions"]
    some = ", ".join(actions[:12]) + (f", ... ({len(actions)})" if len(actions) > 12 else "")
    scores = ", ".join(f"{s} (default)" if s == about["default_score"] else s for s in about["scores"])
    width = width_of_terminal()
    yield textwrap.fill(f"{about['name']}: {about['title']}", width, subsequent_indent="  ")
    for what, text in (
        ("ids", ", ".join(about["ids"])),
        ("actions", some),
        ("scores", scores),
        ("best", about["best"]),
        ("players", ", ".join(about["own_players"]) or "those of every game"),
        ("rewards", ", ".join(about["rewards"])),
    ):
        yield textwrap.fill(f"  {what:<8} {text}", width, subsequent_indent=" " * 11, break_on_hyphens=False)
    words = option_words(about["name"])
    rows = {f"{flag_of(option)} {shown(value)}": words[option] for option, value in about["options"].items()}
    yield from definitions("  options, with their defaults:", rows)


def importable(names: list[str]) -> list[str]:
    """Returns the games that can be imported, and warns of the others; raises ValueError if the only one cannot."""
    usable = []
    for name in names:
        try:
            find_game(name)
            usable.append(name)
        except UserError as problem:
            if len(names) == 1:
                raise
            warnings.warn(str(problem), PluginWarning, stacklevel=2)
    return usable


def filled(page: str) -> str:
    """Formats a Markdown page for a terminal: no links, text and tables in its width, the rest unchanged."""
    parts = []
    for part in re.sub(r"\[(\w+)\]\(\S+\)", r"\1", page).split("\n\n"):
        if part.startswith("|"):
            parts.append(table([re.split(r" *(?<!\\)\| *", line)[1:-1] for line in part.split("\n")]))
        elif part.startswith(("#", "```", " ", "-")):
            parts.append(part)
        else:
            parts.append(textwrap.fill(part, width_of_terminal(), break_long_words=False, break_on_hyphens=False))
    return "\n\n".join(parts)


def table(rows: list[list[str]]) -> str:
    """Formats a table in the width of the terminal, without rules and empty columns."""
    from rich.console import Console
    from rich.table import Table

    kept = [column for column in zip(*rows, strict=True) if any(column[2:])]
    drawn = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for k, column in enumerate(kept):
        longest = max(map(len, column)) if k == 0 else 0
        drawn.add_column(column[0], overflow="fold", min_width=min(longest, 24))
    for row in list(zip(*kept, strict=True))[2:]:
        drawn.add_row(*(cell.replace("`", "").replace("[", "\\[") for cell in row))
    text = io.StringIO()
    Console(file=text, width=width_of_terminal(), color_system=None).print(drawn)
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip().split("\n"))


def environment_page(game: Game, short: str) -> str:
    """Returns the page of an environment."""
    from leafwise.envs.core.gym.env_page import page  # imports Gymnasium, which a list does not need

    return page(game, short)


def write_pages(names: list[str], folder: Path) -> None:
    """Writes the page of every id of some games; raises OSError if a file cannot be written."""
    from leafwise.models.files import write_atomically

    for name in names:
        for short in ids_of(name):
            text = environment_page(find_game(name), short) + "\n"
            write_atomically(folder / f"{short}-v0.md", text.encode())
