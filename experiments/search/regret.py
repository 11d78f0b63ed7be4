"""Measures the regret of searches on games with known exact values, by leaf, depth and time.

`python -m leafwise.experiments.search.regret` draws critical decisions (some legal action loses value) after random actions, and
solves each. Connect Four's come from games, those of `leafwise.experiments.trilobite.critical`. The regret of a choice is the
best action's exact value minus that of the choice, in the units of `State.returns` (1 win, -1 loss). Times are processor time.
`positions/GAME.jsonl` has the decisions with the exact value of every action, for your own players; `regret.json` has the results
and `regret.md` the tables. Known results are not computed again, except for networks that no longer ship and for tree searches
with other defaults. Seeds from 2,900,000 on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.files import read_text
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game as find_game
from leafwise.experiments.search import LEAVES, MCTS, ROLLOUTS, SEARCH, about, text
from leafwise.experiments.study import (
    Results,
    Study,
    bootstrapped,
    command,
    known_results,
    section,
    signed,
    table,
    write_page,
)
from leafwise.experiments.trilobite.critical import positions as critical
from leafwise.models.files import shipped_model, write_atomically
from leafwise.models.players import player
from leafwise.training.evaluation.agreement import random_positions
from leafwise.training.evaluation.statistics import bounds, interval_text, mean_interval

FIRST_SEED = 2_900_000
EQUAL = 1e-9
"""Values with a smaller difference are equal."""
TABLE_MB = 64.0
PATIENCE = 2000
"""Draws without a new decision after which the search for decisions ends."""


class SolvedGame(NamedTuple):
    """A variant with an exact solver, and the number of random actions before its decisions."""

    name: str
    options: Mapping[str, Any]
    plies: tuple[int, int]


Decision = tuple[State, dict[str, float]]
"""A position, and the exact value of each legal action by its name."""
CONNECT_FOUR = "Connect Four"
SOLVED_GAMES = {
    "Trap 3x3": SolvedGame("trap", {"size": 3}, (0, 4)),
    "Sim": SolvedGame("cassis", {}, (2, 11)),
    "3x3, three in a row": SolvedGame("trilobite", {}, (0, 8)),
    "5x5, four in a row": SolvedGame("trilobite", {"board": "5x5", "k": 4}, (4, 16)),
    CONNECT_FOUR: SolvedGame("trilobite", {"board": "7x6", "k": 4}, (10, 28)),
}
"""The games, each with an exact solver."""


@dataclass(frozen=True)
class Config(Study):
    """Measures regret and writes positions/*.jsonl, regret.json and regret.md."""

    games: tuple[str, ...] = tuple(SOLVED_GAMES)
    """Games to measure; none: only write the page."""
    positions: int = 300
    """Critical decisions of each game."""
    depths: tuple[int, ...] = (1, 2, 4, 6)
    """Depths of the depth-limited search."""
    milliseconds: tuple[int, ...] = (1, 10, 100)
    """Processor time a decision."""


def game_of(label: str) -> Game:
    """Returns a game."""
    return find_game(SOLVED_GAMES[label].name, **SOLVED_GAMES[label].options)


def from_games() -> Iterator[Decision]:
    """Yields Connect Four's critical positions from games of players who see a few moves ahead, in a fixed random order."""
    rows = [row for row in critical.read() if row.kind == "played"]
    names, worth = game_of(CONNECT_FOUR).actions, {letter: value for value, letter in critical.LETTERS.items()}
    for k in np.random.default_rng(FIRST_SEED).permutation(len(rows)):
        letters = zip(names, rows[k].columns, strict=True)
        yield rows[k].state, {name: worth[letter] for name, letter in letters if letter in worth}


def solved(label: str, seed: int) -> Iterator[Decision]:
    """Yields critical decisions, each once, with the exact value of every legal action for the player to move.

    It ends when new decisions become rare, in small games.
    """
    game = game_of(label)
    solver = exact_solver(game, TABLE_MB)
    seen: set[State] = set()
    idle = 0
    for state in random_positions(game, seed, SOLVED_GAMES[label].plies):
        idle += 1
        if idle > PATIENCE:
            return
        if len(state.legal_actions) < 2 or state in seen:
            continue
        idle = 0
        seen.add(state)
        values = solver.solve(state).action_values
        if max(values.values()) - min(values.values()) > EQUAL:
            yield state, {name: float(values[name]) for name in state.legal_names}


def positions(config: Config, label: str) -> list[Decision]:
    """Returns the decisions of a game from its file, which is written if it has too few; all if there are fewer."""
    game, name = game_of(label), f"positions/{label.replace(' ', '-').replace(',', '').lower()}.jsonl"
    path = config.source(name)
    lines = read_text(path).splitlines() if path else []
    if len(lines) < config.positions:
        drawn = dict(islice(from_games() if label == CONNECT_FOUR else solved(label, FIRST_SEED), config.positions))
        entries = (
            {"position": str(s), "values": {n: round(v, 9) for n, v in values.items()}} for s, values in drawn.items()
        )
        lines = [json.dumps(line) for line in entries]
        target = config.target(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, ("\n".join(lines) + "\n").encode())
    return [(game.parse(entry["position"]), entry["values"]) for entry in map(json.loads, lines[: config.positions])]


def players(config: Config, game: Game) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the players' texts with `about`: each leaf at each depth, and at each time with both searches; then rollouts."""
    for leaf in LEAVES:
        if LEAVES[leaf] and shipped_model(game) is None:
            continue
        deep, tree = (about(game, leaf, trees=trees) for trees in (False, True))
        for depth in config.depths:
            yield text(SEARCH, leaf, depth=depth), deep
        for ms in config.milliseconds:
            yield text(SEARCH, leaf, ms), deep
            yield text(MCTS, leaf, ms), tree
    for ms in config.milliseconds:
        yield text(ROLLOUTS, "hand-made", ms), about(game, "hand-made", trees=True)


def measured(text: str, game: Game, decisions: list[Decision]) -> dict[str, Any]:
    """Returns the regret of a player on single decisions."""
    who = player(text, game, seed=1)
    who.choose(decisions[0][0])  # compiled and warm from here on
    regrets = np.array([max(values.values()) - values[game.actions[who.choose(state)]] for state, values in decisions])
    low, high = mean_interval(regrets)
    return {
        "regret": float(regrets.mean()),
        **bounds((max(low, 0.0), high)),  # no regret is negative
        "kept": float((regrets <= EQUAL).mean()),
        "positions": len(decisions),
    }


def report(config: Config, results: Results) -> None:
    """Writes the tables."""
    lines = [
        "# Regret against perfect play",
        "",
        "Regret is what a decision loses: the exact value of the best action minus that of the chosen action. A win",
        "counts 1 and a loss -1. A decision is critical if some action loses value. The tables have the mean regret over",
        "critical decisions, its 95 % interval, and the share of decisions that keep the value. An interval `-` means that all",
        "decisions kept the value. In Trap a decision can lose so little that the mean regret is shown as 0.",
        "",
        "The [leaf](../../docs/terms.md#leaf) `learned` is the network in the package, and the leaf `rollout` values a position by",
        "random games. A player without a leaf in its name has the hand-made leaf of the game. Times are processor time per",
        "decision. Sim is another name of the game Cassis, and the sections on 3x3 and 5x5 are about boards of Trilobite.",
        "",
    ]
    for label, rows_of_game in results.items():
        rows = [
            [f"`{text}`", f"{r['regret']:.4f}", interval_text(r["ci_low"], r["ci_high"], ".4f"), f"{r['kept']:.1%}"]
            for text, r in rows_of_game.items()
        ]
        count = next(iter(rows_of_game.values()))["positions"]
        lines += section(f"{label}, {count} decisions", table("player | regret: | 95 % interval: | value kept:", rows))
    lines += bootstrapped(r for rows_of_game in results.values() for r in rows_of_game.values())
    write_page(config, "regret.md", signed(replace(config, games=Config.games), lines))


def study(config: Config) -> None:
    """Measures the missing players."""
    for label in config.games:
        need_among(label, SOLVED_GAMES, "--games")
    results = known_results(config, "regret.json", indent=1)
    for label in config.games:
        decisions, game = positions(config, label), game_of(label)
        for name, what in players(config, game):
            known = results.get(label, {})
            row = known.get(name, {"positions": 0})
            if row["positions"] < len(decisions) or not what.items() <= row.items():
                result = {**measured(name, game, decisions), **what}
                results.keep(label, {**known, name: result}, f"{label}, {name}: {result['regret']:.4f}")
                report(config, results)
    if results:
        report(config, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
