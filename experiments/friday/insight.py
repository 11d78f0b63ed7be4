"""What the trained network of Friday tells players: cards to remove first, what a life is worth, the hardest pirates.

`python -m leafwise.experiments.friday.insight` lets the network play games with seeds from 2,000,000 on, asks it about positions of
those games that it did not see so (a card less, a life more, other pirates), and writes `insight.json`, `insight.md`,
`insight.png` and `insight_game.md`, one game with the chance to win at every step.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import CARDS, HAZARDS, KINDS, PHASES, PIRATES
from leafwise.envs.friday.piles import kind_in, reference
from leafwise.envs.friday.text import field
from leafwise.envs.registry import game as find_game
from leafwise.experiments.friday.plots import draw
from leafwise.experiments.learned import Page
from leafwise.models.files import leaf, write_atomically
from leafwise.search.engine import Search
from leafwise.training.evaluation.elo import share_interval

FIRST_SEED = 2_000_000
FOLDER = Path(__file__).resolve().parent
LEAST = 30
"""Positions that a figure needs at least."""


@dataclass(frozen=True)
class Config:
    """Asks the trained network of Friday what players would like to know."""

    model: str = "friday"
    """Shipped model, run folder or file."""
    games: int = 200
    """Games that it plays."""
    level: int = 1
    """Level."""
    depth: int = 1
    """Depth of its search."""
    nodes: int = 500
    """Most decisions that it looks at."""
    folder: Path = FOLDER
    """Where the results are, and go."""


def play(game: Game, search: Search, seed: int) -> tuple[list[State], list[str]]:
    """Plays a game; returns the decisions and the end, and the names of the actions."""
    stream = new_stream(seed)
    states, names = [game.start().settle(stream)], []
    while not states[-1].is_terminal:
        action = search(states[-1]).action
        assert action is not None
        names.append(game.actions[action])
        states.append(states[-1].play(action).settle(stream))
    return states, names


def phase_of(row: NDArray[Any]) -> int:
    """Returns the phase of a row, 0 to 3."""
    return int(field(row[at.STATUS], at.PHASE_AT, at.M2))


def life_of(row: NDArray[Any]) -> int:
    """Returns the life of a row."""
    return int(field(row[at.STATUS], at.LIFE_AT, at.M5))


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
            shift = np.uint64(at.SHIFTS[kind])
            mask = np.uint64((1 << at.WIDTHS[kind]) - 1)
            here = [k for k, row in enumerate(rows) if phase_of(row) == now and (row[at.DISCARD] >> shift) & mask]
            if len(here) < LEAST:
                continue
            less = [rows[k].copy() for k in here]
            for row in less:
                row[at.DISCARD] -= np.uint64(1) << shift
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
            here = [k for k, row in enumerate(rows) if phase_of(row) == now and life_of(row) == life]
            if len(here) < LEAST:
                continue
            more = [rows[k].copy() for k in here]
            for row in more:
                row[at.STATUS] += np.uint64(1) << at.LIFE_AT
            gain = 100 * (ask(more) - before[here])
            found.append({"phase": PHASES[now], "life": life, "positions": len(here), "gain": float(gain.mean())})
    return found


def with_pirates(row: NDArray[Any], first: int, second: int) -> NDArray[Any]:
    """Returns a row with other pirates, in ascending order."""
    status = int(row[at.STATUS])
    for where, number in ((at.PIRATE_AT, first), (at.SECOND_PIRATE_AT, second)):
        status = status & ~(15 << int(where)) | number << int(where)
    changed = row.copy()
    changed[at.STATUS] = np.uint64(status)
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


def insight(config: Config) -> dict[str, Any]:
    """Plays the games and asks; returns all figures, and writes the recorded game."""
    game = find_game("friday", level=config.level)
    evaluator = leaf(game, config.model)
    search, ask = Search(game, evaluator, config.depth, nodes=config.nodes), Asked(game, evaluator)
    between: list[NDArray[Any]] = []
    starts: list[NDArray[Any]] = []
    games: list[dict[str, Any]] = []
    told: list[NDArray[np.float64]] = []
    recorded: tuple[list[State], list[str]] | None = None
    for seed in range(FIRST_SEED, FIRST_SEED + config.games):
        states, names = play(game, search, seed)
        won = states[-1].returns > 0
        rows = [state.row for state in states[:-1]]
        choosing = [r for r in rows if field(r[at.STATUS], at.MODE_AT, at.M4) == int(at.CHOOSE) and phase_of(r) < 3]
        between += choosing
        starts.append(choosing[0])
        told.append(np.append(ask(rows), float(won)))
        status = int(rows[0][at.STATUS])
        games.append({
            "won": bool(won), "phase": phase_of(states[-1].row), "decisions": len(names),
            "pirates": [status >> int(at.PIRATE_AT) & 15, status >> int(at.SECOND_PIRATE_AT) & 15],
        })  # fmt: skip
        if recorded is None and won and 0.1 < min(told[-1][:-1]) < 0.3:
            recorded = states, names
            write_game(config.folder / "insight_game.md", states, names, told[-1], seed)
    chances = pirate_chances(ask, starts)
    pirates = []
    for number in range(1, 11):
        here = [g for g in games if number in g["pirates"]]
        reached = [g for g in here if g["phase"] == 3]
        wins = sum(g["won"] for g in here)
        low, high = share_interval(wins, max(len(here), 1))
        pirates.append({
            "pirate": number, "told": float(np.nanmean(chances[number - 1])), "games": len(here),
            "won": wins / max(len(here), 1), "ci_low": low, "ci_high": high, "reached": len(reached),
            "won_there": sum(g["won"] for g in reached) / max(len(reached), 1),
        })  # fmt: skip
    winners = [v for v, g in zip(told, games, strict=True) if g["won"]]
    losers = [v for v, g in zip(told, games, strict=True) if not g["won"]]
    return {
        "games": len(games),
        "wins": len(winners),
        "positions": len(between),
        "removals": removals(ask, between),
        "lives": lives(ask, between, int(game.tables().max_life)),
        "pirates": pirates,
        "pairs": [[None if np.isnan(x) else float(x) for x in row] for row in chances],
        "course": {name: curve(v) for name, v in (("won", winners), ("lost", losers)) if v},
        "examples": [[round(float(x), 4) for x in v] for v in (*winners[:3], *losers[:3])],
    }


def card_words(kind: int) -> str:
    """Returns a card for people: its name, title and value."""
    return f"{CARDS[kind].name} {CARDS[kind].title} ({CARDS[kind].value})"


def in_words(state: State, name: str) -> str:
    """Returns an action for people."""
    row, game = state.row, state.game
    here = int(field(row[at.STATUS], at.MODE_AT, at.M4))
    if name in ("first", "second"):
        if phase_of(row) == 3:
            number = field(row[at.STATUS], at.PIRATE_AT if name == "first" else at.SECOND_PIRATE_AT, at.M4)
            return f"fight pirate P{number}"
        kind = int(field(row[at.STATUS], at.HAZARD_AT if name == "first" else at.SECOND_HAZARD_AT, at.M6)) - 1
        return f"fight hazard {CARDS[kind].name[0]}: {HAZARDS[CARDS[kind].name[0]].title}, for {card_words(kind)}"
    slot = name.removeprefix("use").removeprefix("card")
    doing = {int(at.IN_FIGHT): "use", int(at.TARGET): "on", int(at.REMOVE): "remove"}
    if slot.isdigit() and here in doing:
        kind = int(kind_in(reference(state._rows(), np.uint64(0), np.uint64(int(slot)), game.tables())))
        return f"{doing[here]} {card_words(kind)}"
    if name == "end":
        return "end the fight" if here == int(at.IN_FIGHT) else "no more"
    return {"free": "draw free", "pay": "draw for life"}.get(name, name)


def write_game(path: Path, states: Sequence[State], names: Sequence[str], told: NDArray[np.float64], seed: int) -> None:
    """Writes a game with the chance to win at every decision."""
    pirates = [int(field(states[0].row[at.STATUS], k, at.M4)) for k in (at.PIRATE_AT, at.SECOND_PIRATE_AT)]
    text = [f"# A game of the trained network of Friday (seed {seed:,}, pirates P{pirates[0]} and P{pirates[1]})", ""]
    text += ["The chance to win that the network tells before every decision, and the decision.", ""]
    text += ["| decision | phase | life | chance | fight | decision taken |", "|---:|---|---:|---:|---|---|"]
    for k, (state, name) in enumerate(zip(states, names, strict=False)):
        fight = next((line for line in state.board().splitlines() if line.startswith("fight: total")), "")
        cells = [f"{k + 1}", PHASES[phase_of(state.row)], f"{life_of(state.row)}", f"{told[k]:.1%}"]
        cells += [fight.removeprefix("fight: "), in_words(state, name)]
        text.append("| " + " | ".join(cells) + " |")
    text += ["", "Won." if states[-1].returns > 0 else "Lost.", ""]
    write_atomically(path, "\n".join(text).encode())


def lines(found: dict[str, Any], config: Config) -> list[str]:
    """Returns the page."""
    low, high = share_interval(found["wins"], found["games"])
    text = [
        "# Friday: what the trained network tells players",
        "",
        f"{found['games']} games at level {config.level} with seeds from {FIRST_SEED:,} on, a search of depth {config.depth} with",
        f"the network at its leaves: {found['wins'] / found['games']:.1%} won ({low:.1%} to {high:.1%}).",
        f"It is asked about the {found['positions']:,} positions between their fights. It tells what wins with its own",
        "play; other play may want other cards. One game, step by step: [insight_game.md](insight_game.md).",
        "",
        "![Tables of this page as pictures](insight.png)",
        "",
        "## Cards to remove first",
        "",
        "Points of percent that the chance to win grows by if one card of the kind in the discard were out of the game: mean over",
        "the positions where there is one, and 1.96 standard errors (of positions, which share games). The eight best of each",
        "phase, and the three that it would miss most.",
        "",
    ]
    best_of: dict[str, Any] = {}
    for now in PHASES[:3]:
        here = sorted((r for r in found["removals"] if r["phase"] == now), key=lambda r: -r["gain"])
        text += [
            f"### {now}",
            "",
            "| card | value | what it does | chance grows by | positions |",
            "|---|---:|---|---:|---:|",
        ]
        for r in [*here[:8], *here[-3:]] if len(here) > 11 else here:
            text.append(
                f"| {r['card']} {r['title']} | {r['value']} | {r['words']} | {r['gain']:+.2f} ± {1.96 * r['error']:.2f} "
                f"| {r['positions']:,} |"
            )
        text.append("")
        best_of[now] = here[0]
    text += [
        "## What a life is worth",
        "",
        "Points of percent that one more life adds, and how many lives then pay for the removal of the card that is best removed",
        "in the same phase.",
        "",
        "| phase | life | chance grows by | lives for the best removal | positions |",
        "|---|---:|---:|---:|---:|",
    ]
    for r in found["lives"]:
        best = best_of[r["phase"]]
        cards = f"{best['gain'] / r['gain']:.1f} ({best['card']})" if r["gain"] > 0.2 else "-"
        text.append(f"| {r['phase']} | {r['life']} | {r['gain']:+.2f} | {cards} | {r['positions']:,} |")
    text += [
        "",
        "## The hardest pirates",
        "",
        "Chance to win that the network tells at the first decision, mean over the second pirate;",
    ]
    text += [
        "then its own games with that pirate: share won, and share won of those that got to the pirates. Hardest first.",
        "",
    ]
    text += ["| pirate | | told | games | won | got there | won of those |", "|---|---|---:|---:|---:|---:|---:|"]
    for p in sorted(found["pirates"], key=lambda p: p["told"]):
        card = PIRATES[p["pirate"] - 1]
        what = card.words or f"value {card.value}, {card.free} free"
        won = f"{p['won']:.1%} ({p['ci_low']:.0%} to {p['ci_high']:.0%})"
        text.append(
            f"| P{p['pirate']} | {what} | {p['told']:.1%} | {p['games']} | {won} | {p['reached']} | {p['won_there']:.1%} |"
        )
    text += ["", "## Through a game", "", "Mean chance told, by share of the game's decisions.", ""]
    text += ["| share of the game | games won | games lost |", "|---:|---:|---:|"]
    for k in range(0, 51, 10):
        cells = [f"{found['course'][name][k]:.1%}" if name in found["course"] else "-" for name in ("won", "lost")]
        text.append(f"| {2 * k} % | {cells[0]} | {cells[1]} |")
    return [*text, ""]


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    given = sys.argv[1:] if arguments is None else arguments
    config = parse(Config, given, "python -m leafwise.experiments.friday.insight")
    page = Page(config.folder / "insight.json", "python -m leafwise.experiments.friday.insight", [config.model])
    found = page.part("insight", lambda: insight(config))
    draw(found, config.folder / "insight.png")
    page.write(lines(found, config))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
