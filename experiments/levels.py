"""Measures each level of play against the next one, in every two-player variant with a Gymnasium id.

`python -m leafwise.experiments.levels` writes `levels.md` and, for the command line's help, `search/levels.toml`. Known results are
not played again. Seeds from 2,100,000 on, each from both seats.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.files import read_text
from leafwise.envs.core.play.players import room_level
from leafwise.envs.core.play.solver import LEVELS
from leafwise.envs.registry import game as find_game
from leafwise.envs.registry import games
from leafwise.experiments.study import Study, command, share, signed, table, write_page
from leafwise.models.files import write_atomically
from leafwise.search.players import LEVELS_FILE
from leafwise.training.evaluation.arena import evaluate
from leafwise.training.evaluation.statistics import bounds, points_interval

FIRST_SEED = 2_100_000


@dataclass(frozen=True)
class Config(Study):
    """Plays every level against the next and writes levels.md and levels.toml."""

    games: int = 400
    """Games of two levels, half of them from each seat."""
    few: int = 60
    """Games of two levels in games with chance, where a search plays and takes longer."""


def variants() -> Iterator[tuple[str, Game]]:
    """Yields the ids of the two-player games, and the games."""
    for name in games():
        game = find_game(name)
        if game.players == 2:
            yield from ((short, game.variant(**{**game.defaults, **options})) for short, options in game.ids.items())


def played(game: Game, level: str, stronger: str, count: int) -> dict[str, Any]:
    """Returns a level's share of the points against the next level, with its 95 % interval."""
    evaluation = evaluate(game, f"level:{level}", count, FIRST_SEED, opponent=f"level:{stronger}", plies=0)
    shares = (1 + evaluation.scores.reshape(-1, 2).mean(axis=1)) / 2  # of the two games of a seed
    return {"share": float(shares.mean()), **bounds(points_interval(shares)), "games": len(evaluation.scores)}


def written(by_id: dict[str, dict[str, dict[str, float]]]) -> bytes:
    """Returns the figures as TOML."""
    lines = ["# What each level takes from the next; written by python -m leafwise.experiments.levels"]
    for short, by_level in by_id.items():
        lines.append(f"\n[{short}]")
        for level, figures_of_level in by_level.items():
            figures = ", ".join(f"{name} = {value:.4g}" for name, value in figures_of_level.items())
            lines.append(f"{level} = {{ {figures} }}")
    return ("\n".join(lines) + "\n").encode()


def study(config: Config) -> None:
    """Plays the missing games, and writes the figures and the page."""
    target: Path = config.out / LEVELS_FILE.name if config.out else LEVELS_FILE
    by_id: dict[str, Any] = tomllib.loads(read_text(target)) if target.exists() else {}
    for short, game in variants():
        by_level = by_id.setdefault(short, {})
        count = config.few if game.max_stages else config.games
        for level, stronger in pairwise(LEVELS):
            if level not in by_level:
                started = time.process_time()
                by_level[level] = played(game, level, stronger, count)
                spent = time.process_time() - started
                print(
                    f"{short}: {level} takes {share(by_level[level], 'share')} from {stronger}, {spent:.0f} s",
                    flush=True,
                )
                write_atomically(target, written(by_id))
    write_page(config, "levels.md", page(config, by_id))


def page(config: Config, by_id: dict[str, Any]) -> list[str]:
    """Returns the page."""
    head = " | ".join(
        ["variant", *(f"{level} against {stronger}:" for level, stronger in pairwise(LEVELS)), "games per match:"]
    )
    rows = []
    for short, by_level in by_id.items():
        shares = [share(result, "share") for result in by_level.values()]
        games = dict.fromkeys(str(result["games"]) for result in by_level.values())
        rows.append([f"`{short}`", *shares, ", ".join(games)])
    what = ", ".join(f"`{level}` {blunders:.0%}" for level, blunders in LEVELS.items())
    own_players = []  # of games with their own players for some levels
    for short, game in variants():
        if named := [f"`{level}` is `{text}`" for level in LEVELS if (text := room_level(game, level))]:
            own_players += [f"`{short}` has players of its own for some levels: {', '.join(named)}."]
    return [
        "# Levels of play",
        "",
        "With `leafwise play GAME --level easy` you play against an opponent of the level `easy`. Other commands call this "
        "opponent",
        '`level:easy`, and an environment takes `opponent="level:easy"`. In a two-player game the opponent plays the moves of the',
        "exact solver. If there is none, it plays those of the game's strongest player. It replaces a share of "
        "its moves by random moves. The",
        f"shares of the levels are: {what}.",
        *own_players,
        "Players whose names begin with `course:` belong to [the university course](../docs/terms.md#course) that uses Trap.",
        "",
        "The table shows the share of the [points](../docs/terms.md#points) that each level wins against the next stronger level,",
        "with 95 % intervals. The last column has the number of games for each of these matches:",
        "",
        *table(head, rows),
        "",
        *signed(config, []),
    ]


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
