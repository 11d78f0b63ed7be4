"""What the trained network of Friday tells players: cards to remove first, what a life is worth, the hardest pirates.

`python -m leafwise.experiments.friday.insight` lets the network play games with seeds from 2,300,000 on, asks it about positions of
those games that it did not see so (a card less, a life more, other pirates), and writes `insight.json`, `insight.md`,
`insight.png` and `insight_game.md`, one game with the chance to win at every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.gamefile import pictured, play_game
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import CARDS, KINDS, PHASES, PIRATES
from leafwise.envs.friday.text import cards_in, number, value
from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import PlacedStudy, command, picture, results_of, signed, table, write_page
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


class Asked:
    """The network, asked about rows."""

    def __init__(self, game: Game, evaluator: Evaluator) -> None:
        self.game, self.T = game, game.tables(evaluator)
        assert evaluator.batch is not None
        self.batch = evaluator.batch

    def __call__(self, rows: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """Returns the chance to win of each row."""
        return self.batch(np.array(rows), self.T)


def removals(ask: Asked, rows: Sequence[NDArray[Any]]) -> list[dict[str, Any]]:
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


def lives(ask: Asked, rows: Sequence[NDArray[Any]], most: int) -> list[dict[str, Any]]:
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


def with_pirates(row: NDArray[Any], first: int, second: int) -> NDArray[Any]:
    """Returns a row with other pirates, in ascending order."""
    changed = row.copy()
    for where, pirate in ((at.PIRATE_AT, first), (at.SECOND_PIRATE_AT, second)):
        at.put(changed[None], 0, where, np.uint64(pirate))
    return changed


def pirate_chances(ask: Asked, rows: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """Returns the mean chance of rows with each pair of pirates, [10, 10]; the diagonal is nan."""
    found = np.full((10, 10), np.nan)
    for a in range(1, 11):
        for b in range(a + 1, 11):
            found[a - 1, b - 1] = found[b - 1, a - 1] = ask([with_pirates(row, a, b) for row in rows]).mean()
    return found


def curve(values: Sequence[NDArray[np.float64]], places: int = 50) -> list[float]:
    """Returns the mean over games of the chance at 0, 1/places, ... of the game's length."""
    at_share = np.linspace(0, 1, places + 1)
    return [float(x) for x in np.mean([np.interp(at_share, np.linspace(0, 1, len(v)), v) for v in values], axis=0)]


class Told(NamedTuple):
    """A game, and what the network told before every decision and at the end, [decisions + 1]."""

    states: list[State]
    names: list[str]
    chances: NDArray[np.float64]

    @property
    def won(self) -> bool:
        """Whether the game was won."""
        return bool(self.states[-1].returns > 0)

    @property
    def choosing(self) -> list[NDArray[Any]]:
        """The rows in which a hazard is chosen."""
        rows = [state.row for state in self.states[:-1]]
        return [row for row in rows if value(row, "turn") == "choose" and number(row, "phase") < 3]

    @property
    def pirates(self) -> list[int]:
        """The numbers of the two pirates."""
        return value(self.states[0].row, "pirates")


def pirate_games(games: Sequence[Told], chances: NDArray[np.float64]) -> list[dict[str, Any]]:
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
    ask, options = Asked(game, evaluator), {"depth": config.depth, "nodes": config.nodes}
    games: list[Told] = []
    recorded = False
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
        "pairs": [[None if np.isnan(x) else float(x) for x in row] for row in chances],
        "course": {name: curve(v) for name, v in (("won", winners), ("lost", losers)) if v},
        "examples": [[round(float(x), 4) for x in v] for v in (*winners[:3], *losers[:3])],
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
        "![Tables of this page as pictures](insight.png)",
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
    text = [
        "## Cards to remove first",
        "",
        "Points of percent that the chance to win grows by if one card of the kind in the discard were out of the game: mean over",
        "the positions where there is one, and half its 95 % interval, as if positions shared no games. The eight best of each",
        "phase, and the three that it would miss most.",
        "",
    ]
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
    return [
        "## What a life is worth",
        "",
        "Points of percent that one more life adds, and how many lives then pay for the removal of the card that is best removed",
        "in the same phase.",
        "",
        *table("phase | life: | chance grows by: | lives for the best removal: | positions:", rows),
        "",
    ]


def pirate_lines(found: dict[str, Any]) -> list[str]:
    """Returns what the page says of pirates."""
    rows = []
    for p in sorted(found["pirates"], key=lambda p: p["told"]):
        card = PIRATES[p["pirate"] - 1]
        what = card.words or f"value {card.value}, {card.free} free"
        won = f"{p['won']:.1%} ({p['ci_low']:.0%} to {p['ci_high']:.0%})"
        there = f"{p['reached']}", f"{p['won_there']:.1%}"
        rows.append([f"P{p['pirate']}", what, f"{p['told']:.1%}", f"{p['games']}", won, *there])
    return [
        "## The hardest pirates",
        "",
        "Chance to win that the network tells at the first decision, mean over the second pirate;",
        "then its own games with that pirate: share won, and share won of those that got to the pirates. Hardest first.",
        "",
        *table("pirate | | told: | games: | won: | got there: | won of those:", rows),
        "",
    ]


def course_lines(found: dict[str, Any]) -> list[str]:
    """Returns what the page says of the chance through a game."""
    rows = []
    for k in range(0, 51, 10):
        cells = [f"{found['course'][name][k]:.1%}" if name in found["course"] else "-" for name in ("won", "lost")]
        rows.append([f"{2 * k} %", *cells])
    head = "share of the game: | games won: | games lost:"
    return ["## Through a game", "", "Mean chance told, by share of the game's decisions.", "", *table(head, rows), ""]


def study(config: Config) -> None:
    """Asks what is not known, and writes the page."""
    found = results_of(config, "insight.json", [config.model]).find("insight", lambda: insight(config))
    draw(found, config.target("insight.png"))
    write_page(config, "insight.md", signed(config, lines(found, config)))


COLOURS = {"green": "#3a8f3a", "yellow": "#c9a000", "red": "#c03030"}


def draw(found: dict[str, Any], path: Path) -> None:
    """Writes the picture: four figures, one below the other."""
    with picture(path, rows=4, size=(8, 21)) as (cards, life, pirates, course):
        draw_removals(found, cards)
        draw_lives(found, life)
        draw_pirates(found, pirates)
        draw_course(found, course)


def draw_removals(found: dict[str, Any], axis: Any) -> None:
    """Draws what one card less in the discard is worth, for the cards that are worth most."""
    gains = {(r["card"], r["phase"]): r["gain"] for r in found["removals"]}
    names = sorted({name for name, _ in gains}, key=lambda n: -max(gains.get((n, p), -99) for p in PHASES[:3]))[:14]
    for k, now in enumerate(PHASES[:3]):
        bars = [gains.get((name, now), 0.0) for name in names]
        axis.barh(np.arange(len(names)) + 0.27 * (k - 1), bars, height=0.25, color=COLOURS[now], label=now)
    titles = {r["card"]: f"{r['card']} {r['title']} ({r['value']})" for r in found["removals"]}
    axis.set_yticks(range(len(names)), [titles[name] for name in names])
    axis.invert_yaxis()
    axis.set(title="One card less in the discard", xlabel="chance to win grows by (points of percent)")
    axis.legend()


def draw_lives(found: dict[str, Any], axis: Any) -> None:
    """Draws what one life more is worth."""
    for now in PHASES[:3]:
        here = [r for r in found["lives"] if r["phase"] == now]
        axis.plot([r["life"] for r in here], [r["gain"] for r in here], marker="o", color=COLOURS[now], label=now)
    axis.set(title="One life more", xlabel="life", ylabel="chance to win grows by (points of percent)")
    axis.legend()


def draw_pirates(found: dict[str, Any], axis: Any) -> None:
    """Draws the chance at the first decision by pirates."""
    pairs = 100 * np.array([[np.nan if x is None else x for x in row] for row in found["pairs"]], dtype=float)
    shown = axis.imshow(pairs, cmap="viridis")
    numbers = [f"P{k}" for k in range(1, 11)]
    axis.set_xticks(range(10), numbers)
    axis.set_yticks(range(10), numbers)
    for a in range(10):
        for b in range(10):
            if a != b:
                axis.text(b, a, f"{pairs[a, b]:.0f}", ha="center", va="center", color="white")
    axis.set(title="Chance told at the first decision, by pirates (%)")
    axis.figure.colorbar(shown, ax=axis)


def draw_course(found: dict[str, Any], axis: Any) -> None:
    """Draws the chance through some games, and its mean through those that were won or lost."""
    for values in found["examples"]:
        colour = "#7fbf7f" if values[-1] else "#df9f9f"
        axis.plot(np.linspace(0, 100, len(values)), 100 * np.array(values), color=colour, linewidth=0.8, zorder=1)
    for name, colour in (("won", "#207020"), ("lost", "#a02020")):
        if name in found["course"]:
            points = 100 * np.array(found["course"][name])
            axis.plot(
                np.linspace(0, 100, len(points)), points, color=colour, linewidth=2.5, label=f"games {name}, mean"
            )
    axis.set(title="Chance told through games", xlabel="% of the game's decisions", ylabel="chance to win (%)")
    axis.legend()


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
