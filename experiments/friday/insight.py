"""What the trained network of Friday tells players: cards to remove first, what a life is worth, the hardest pirates.

`python -m leafwise.experiments.friday.insight` lets the network play games with seeds from 2,300,000 on, asks it about positions of
those games that it did not see so (a card less, a life more, other pirates), and writes `insight.json`, `insight.md` and
`insight_game.md`, one game with the chance to win at every step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.gamefile import pictured, play_game
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import CARDS, KINDS, PHASES, PIRATES
from leafwise.envs.friday.text import cards_in, number, value
from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import PlacedStudy, command, results_of, section, signed, table, write_page
from leafwise.models.leaves import named_leaf
from leafwise.search.engine import Search
from leafwise.search.players import SearchPlayer
from leafwise.training.evaluation.arena import BATCH
from leafwise.training.evaluation.statistics import error_half, share_interval
from leafwise.training.execution import in_pieces

FIRST_SEED = 2_300_000
LEAST = 30
"""Positions that a figure needs at least."""


@dataclass(frozen=True)
class Config(PlacedStudy):
    """Asks the trained network of Friday what players would like to know."""

    model: str = "friday"
    """Shipped model, run folder or file."""
    games: int = 200
    """Games that it plays."""
    level: int = 4
    """Level."""
    depth: int = 1
    """Depth of its search."""
    nodes: int = 500
    """Most decisions that it looks at."""


def play(game: Game, model: str, options: Mapping[str, Any], seeds: range) -> list[tuple[list[State], list[str]]]:
    """Plays a game for each seed; returns the decisions and the end of each, and the names of the actions."""
    who = SearchPlayer(Search(game, named_leaf(game, model), **options), "learned")
    records = [play_game(game, [who], seed).record() for seed in seeds]
    return [(pictured(record), [step.name for step in record.moves]) for record in records]


Asked = Callable[[Sequence[Array]], Floats]
"""The network, asked for the chance to win of rows."""


def removals(ask: Asked, rows: Sequence[Array]) -> list[dict[str, Any]]:
    """Returns what one card less of a kind in the discard adds to the chance, by phase and kind, in points of percent."""
    before, found = ask(rows), []
    for now in range(3):
        for kind in range(KINDS):
            here = [
                k for k, row in enumerate(rows) if number(row, "phase") == now and kind in cards_in(row[at.DISCARD])
            ]
            if len(here) < LEAST:
                continue
            less = [rows[k].copy() for k in here]
            for row in less:
                row[at.DISCARD] -= np.uint64(1) << np.uint64(at.SHIFTS[kind])
            gain = 100 * (ask(less) - before[here])
            found.append({
                "phase": PHASES[now], "card": CARDS[kind].name, "title": CARDS[kind].title, "value": CARDS[kind].value,
                "words": CARDS[kind].words, "positions": len(here), "gain": float(gain.mean()),
                "error": float(gain.std(ddof=1) / np.sqrt(len(here))),
            })  # fmt: skip
    return found


def lives(ask: Asked, rows: Sequence[Array], most: int) -> list[dict[str, Any]]:
    """Returns what one more life adds to the chance, by phase and life, in points of percent."""
    before, found = ask(rows), []
    for now in range(3):
        for life in range(most):
            here = [k for k, row in enumerate(rows) if number(row, "phase") == now and number(row, "life") == life]
            if len(here) < LEAST:
                continue
            more = [rows[k].copy() for k in here]
            for row in more:
                row[at.STATUS] += np.uint64(1) << at.LIFE_AT.shift
            gain = 100 * (ask(more) - before[here])
            found.append({"phase": PHASES[now], "life": life, "positions": len(here), "gain": float(gain.mean())})
    return found


def with_pirates(row: Array, first: int, second: int) -> Array:
    """Returns a row with other pirates, in ascending order."""
    changed = row.copy()
    for where, pirate in ((at.PIRATE_AT, first), (at.SECOND_PIRATE_AT, second)):
        at.put(changed[None], 0, where, np.uint64(pirate))
    return changed


def pirate_chances(ask: Asked, rows: Sequence[Array]) -> Floats:
    """Returns the mean chance of rows with each pair of pirates, [10, 10]; the diagonal is nan."""
    found = np.full((10, 10), np.nan)
    for a, b in combinations(range(10), 2):
        found[a, b] = found[b, a] = ask([with_pirates(row, a + 1, b + 1) for row in rows]).mean()
    return found


def curve(values: Sequence[Floats]) -> list[float]:
    """Returns the mean over games of the chance at 0, 1/50, ... of the game's length."""
    at_share = np.linspace(0, 1, 51)
    return [float(x) for x in np.mean([np.interp(at_share, np.linspace(0, 1, len(v)), v) for v in values], axis=0)]


class Told(NamedTuple):
    """A game, and what the network told before every decision and at the end, [decisions + 1]."""

    states: list[State]
    names: list[str]
    chances: Floats

    @property
    def won(self) -> bool:
        """Whether the game was won."""
        return bool(self.states[-1].returns > 0)

    @property
    def choosing(self) -> list[Array]:
        """The rows in which a hazard is chosen."""
        rows = [state.row for state in self.states[:-1]]
        return [row for row in rows if value(row, "turn") == "choose" and number(row, "phase") < 3]

    @property
    def pirates(self) -> list[int]:
        """The numbers of the two pirates."""
        return value(self.states[0].row, "pirates")


def pirate_games(games: Sequence[Told], chances: Floats) -> list[dict[str, Any]]:
    """Returns of each pirate the chance told, [10, 10] by pairs, and how its games went."""
    found = []
    for pirate in range(1, 11):
        here = [g for g in games if pirate in g.pirates]
        reached = [g for g in here if number(g.states[-1].row, "phase") == 3]
        wins = sum(g.won for g in here)
        low, high = share_interval(wins, max(len(here), 1))
        found.append({
            "pirate": pirate, "told": float(np.nanmean(chances[pirate - 1])), "games": len(here),
            "won": wins / max(len(here), 1), "ci_low": low, "ci_high": high, "reached": len(reached),
            "won_there": sum(g.won for g in reached) / max(len(reached), 1),
        })  # fmt: skip
    return found


def insight(config: Config) -> dict[str, Any]:
    """Plays the games and asks; returns all figures, and writes the recorded game."""
    game = find_game("friday", level=config.level)
    evaluator = named_leaf(game, config.model)
    T, batch, options = game.tables(evaluator), evaluator.batch, {"depth": config.depth, "nodes": config.nodes}
    assert batch is not None
    games: list[Told] = []
    recorded = False

    def ask(rows: Sequence[Array]) -> Floats:
        return batch(np.array(rows), T)

    pieces = in_pieces(range(FIRST_SEED, FIRST_SEED + config.games), BATCH)
    played = (one for part in config.each(partial(play, game, config.model, options), pieces) for one in part)
    for seed, (states, names) in enumerate(played, FIRST_SEED):
        told = ask([state.row for state in states[:-1]])
        games.append(Told(states, names, np.append(told, float(states[-1].returns > 0))))
        if not recorded and games[-1].won and 0.1 < min(told) < 0.3:
            recorded = True
            write_page(config, "insight_game.md", game_page(games[-1], seed))
    between = [row for g in games for row in g.choosing]
    chances = pirate_chances(ask, [g.choosing[0] for g in games])
    winners, losers = ([g.chances for g in games if g.won == won] for won in (True, False))
    return {
        "games": len(games),
        "wins": len(winners),
        "positions": len(between),
        "removals": removals(ask, between),
        "lives": lives(ask, between, int(game.tables().max_life)),
        "pirates": pirate_games(games, chances),
        "course": {name: curve(v) for name, v in (("won", winners), ("lost", losers)) if v},
    }


def game_page(told: Told, seed: int) -> list[str]:
    """Returns a page about a game: the chance to win at every decision."""
    rows = []
    for k, (state, name) in enumerate(zip(told.states, told.names, strict=False)):
        fight = next((line for line in state.board().splitlines() if line.startswith("fight: total")), "")
        cells = [f"{k + 1}", value(state.row, "phase"), f"{number(state.row, 'life')}", f"{told.chances[k]:.1%}"]
        rows.append([*cells, fight.removeprefix("fight: "), state.action_words(name)])
    first, second = told.pirates
    return [
        f"# A game of the trained network of Friday (seed {seed:,}, pirates P{first} and P{second})", "",
        "The chance to win that the network tells before every decision, and the decision.", "",
        *table("decision: | phase | life: | chance: | fight | decision taken", rows), "",
        "Won." if told.won else "Lost.",
    ]  # fmt: skip


def lines(found: dict[str, Any], config: Config) -> list[str]:
    """Returns the page."""
    low, high = share_interval(found["wins"], found["games"])
    return [
        "# Friday: what the trained network tells players",
        "",
        f"{found['games']} games at level {config.level} with seeds from {FIRST_SEED:,} on, a search of depth {config.depth} with",
        f"the network at its leaves: {found['wins'] / found['games']:.1%} won ({low:.1%} to {high:.1%}).",
        f"It is asked about the {found['positions']:,} positions between their fights. It tells what wins with its own",
        "play; other play may want other cards. One game, step by step: [insight_game.md](insight_game.md).",
        "",
        *removal_lines(found),
        *life_lines(found),
        *pirate_lines(found),
        *course_lines(found),
    ]


def by_phase(found: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Returns the removals of each phase, the best first."""
    rows = {now: [r for r in found["removals"] if r["phase"] == now] for now in PHASES[:3]}
    return {now: sorted(here, key=lambda r: -r["gain"]) for now, here in rows.items()}


def removal_lines(found: dict[str, Any]) -> list[str]:
    """Returns what the page says of cards to remove."""
    text = section(
        "Cards to remove first",
        ["Points of percent that the chance to win grows by if one card of the kind in the discard were out of the game: mean over",
         "the positions where there is one, and half its 95 % interval, as if positions shared no games. The eight best of each",
         "phase, and the three that it would miss most."],
    )  # fmt: skip
    for now, here in by_phase(found).items():
        rows = []
        for r in [*here[:8], *here[-3:]] if len(here) > 11 else here:
            gain = f"{r['gain']:+.2f} ± {error_half(r['error'], r['positions']):.2f}"
            rows.append([f"{r['card']} {r['title']}", f"{r['value']}", r["words"], gain, f"{r['positions']:,}"])
        text += [f"### {now}", "", *table("card | value: | what it does | chance grows by: | positions:", rows), ""]
    return text


def life_lines(found: dict[str, Any]) -> list[str]:
    """Returns what the page says of lives."""
    best_of = {now: here[0] for now, here in by_phase(found).items() if here}
    rows = []
    for r in found["lives"]:
        best = best_of[r["phase"]]
        cards = f"{best['gain'] / r['gain']:.1f} ({best['card']})" if r["gain"] > 0.2 else "-"
        rows.append([r["phase"], f"{r['life']}", f"{r['gain']:+.2f}", cards, f"{r['positions']:,}"])
    return section(
        "What a life is worth",
        ["Points of percent that one more life adds, and how many lives then pay for the removal of the card that is best removed",
         "in the same phase."],
        table("phase | life: | chance grows by: | lives for the best removal: | positions:", rows),
    )  # fmt: skip


def pirate_lines(found: dict[str, Any]) -> list[str]:
    """Returns what the page says of pirates."""
    rows = []
    for p in sorted(found["pirates"], key=lambda p: p["told"]):
        card = PIRATES[p["pirate"] - 1]
        what = card.words or f"value {card.value}, {card.free} free"
        won = f"{p['won']:.1%} ({p['ci_low']:.0%} to {p['ci_high']:.0%})"
        there = f"{p['reached']}", f"{p['won_there']:.1%}"
        rows.append([f"P{p['pirate']}", what, f"{p['told']:.1%}", f"{p['games']}", won, *there])
    return section(
        "The hardest pirates",
        [
            "Chance to win that the network tells at the first decision, mean over the second pirate;",
            "then its own games with that pirate: share won, and share won of those that got to the pirates. Hardest first.",
        ],
        table("pirate | | told: | games: | won: | got there: | won of those:", rows),
    )


def course_lines(found: dict[str, Any]) -> list[str]:
    """Returns what the page says of the chance through a game."""
    rows = []
    for k in range(0, 51, 10):
        cells = [f"{found['course'][name][k]:.1%}" if name in found["course"] else "-" for name in ("won", "lost")]
        rows.append([f"{2 * k} %", *cells])
    head = "share of the game: | games won: | games lost:"
    return section("Through a game", "Mean chance told, by share of the game's decisions.", table(head, rows))


def study(config: Config) -> None:
    """Asks what is not known, and writes the page."""
    found = results_of(config, "insight.json", [config.model]).find("insight", lambda: insight(config))
    write_page(config, "insight.md", signed(config, lines(found, config)))


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
