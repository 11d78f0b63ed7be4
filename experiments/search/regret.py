"""How far from perfect: the regret of each search, leaf, depth and time on games whose exact values are known.

`python -m leafwise.experiments.search.regret` draws critical decisions (some legal action loses value) after random actions and
has each solved; Connect Four's are those of `leafwise.experiments.trilobite.critical`, from games. It asks every player for its
choice: its regret is the best action's exact value less that of the choice, in the units of `State.returns` (1 win, -1 loss).
Times are processor time. `positions/GAME.jsonl` holds the decisions with the exact value of every action, for players of your own;
`regret.json` what came out, `regret.md` the tables. What stands there is not worked out again, but for rows
of networks that ship no more, and of tree searches with other defaults. Seeds from 2,900,000 on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import exact_solver
from leafwise.envs.core.textfile import read_text
from leafwise.envs.registry import add_module
from leafwise.envs.registry import game as find_game
from leafwise.experiments.search.contests import MCTS, mcts_defaults
from leafwise.experiments.study import (
    Results,
    Study,
    bootstrapped,
    command,
    digest_of,
    known_results,
    signed,
    table,
    write_page,
)
from leafwise.experiments.study.config import CHECKOUT
from leafwise.experiments.trilobite.critical import positions as critical
from leafwise.models.files import write_atomically
from leafwise.models.players import player
from leafwise.models.shipped import need_shipped
from leafwise.search.engine import Search
from leafwise.training.evaluation.agreement import random_positions
from leafwise.training.evaluation.intervals import bounds, interval_text, mean_interval

FIRST_SEED = 2_900_000
EQUAL = 1e-9
"""Values no further apart are one."""
TABLE_MB = 64.0
PATIENCE = 2000
"""Draws without a new decision after which there are taken to be no more."""


class Truth(NamedTuple):
    """A variant whose exact values are known, and the random actions that lead to its decisions."""

    name: str
    options: Mapping[str, Any]
    plies: tuple[int, int]
    depth: int = 0
    """Decisions to the end of every game, where no solver but the depth-limited search itself is exact; 0: the room's solver."""


CONNECT_FOUR = "Connect Four"
TRUTHS = {
    "Trap 3x3": Truth("trap", {"size": 3}, (0, 4)),
    "Sim": Truth("cassis", {}, (2, 11)),
    "3x3, three in a row": Truth("trilobite", {}, (0, 8)),
    "5x5, four in a row": Truth("trilobite", {"board": "5x5", "k": 4}, (4, 16)),
    CONNECT_FOUR: Truth("trilobite", {"board": "7x6", "k": 4}, (10, 28)),
    "dice race": Truth("dice", {"length": 3, "turns": 3}, (0, 9), depth=30),
}
"""The games; the dice race is the example in the checkout."""
LEAVES = ("learned", "")
"""Leaves by their name in a player's text; "" is the hand-made score."""


@dataclass(frozen=True)
class Config(Study):
    """Measures regret and writes positions/*.jsonl, regret.json and regret.md."""

    games: tuple[str, ...] = tuple(TRUTHS)
    """Games to measure on; none: only the page is made again."""
    positions: int = 300
    """Critical decisions of each game."""
    depths: tuple[int, ...] = (1, 2, 4, 6)
    """Depths of the depth-limited search."""
    milliseconds: tuple[int, ...] = (1, 10, 100)
    """Processor time a decision."""


@cache
def game_of(label: str) -> Game:
    """Returns a game; raises ValueError where it is an example and there is no checkout."""
    truth = TRUTHS[label]
    if truth.name == "dice":
        if CHECKOUT is None:
            raise UserError(
                f"expected --games without {label!r}, which is an example in the checkout, got an installed leafwise"
            )
        return add_module(str(CHECKOUT.parent / "examples" / "race" / "leafwise_race")).variant(**truth.options)
    return find_game(truth.name, **truth.options)


def from_games() -> Iterator[tuple[State, dict[int, float]]]:
    """Yields Connect Four's critical positions from games of players who see a few moves ahead, in an order drawn once."""
    rows = [row for row in critical.read() if row.kind == "played"]
    worth = {letter: value for value, letter in critical.LETTERS.items()}
    for k in np.random.default_rng(FIRST_SEED).permutation(len(rows)):
        yield rows[k].state, {a: worth[letter] for a, letter in enumerate(rows[k].columns) if letter in worth}


def solved(label: str, seed: int) -> Iterator[tuple[State, dict[int, float]]]:
    """Yields critical decisions, each once, with the exact value of every legal action, for the player to move; in
    small games until hardly a new one comes."""
    game, truth = game_of(label), TRUTHS[label]
    solver = None if truth.depth else exact_solver(game, TABLE_MB)
    search = Search(game, game.score(), depth=truth.depth, table_mb=TABLE_MB) if truth.depth else None
    seen: set[State] = set()
    idle = 0
    for state in random_positions(game, seed, truth.plies):
        idle += 1
        if idle > PATIENCE:
            return
        if len(state.legal_actions) < 2 or state in seen:
            continue
        idle = 0
        seen.add(state)
        if solver is None:
            assert search is not None
            values = {int(a): float(v) for a, v in search(state).values.items()}
        else:
            found = solver.solve(state).action_values
            values = {a: float(found[game.actions[a]]) for a in state.legal_actions}
        if max(values.values()) - min(values.values()) > EQUAL:
            yield state, values


def positions(config: Config, label: str) -> list[tuple[State, dict[int, float]]]:
    """Returns the decisions of a game from its file, which is made where it does not hold as many; all, where there are fewer."""
    game, name = game_of(label), f"positions/{label.replace(' ', '-').replace(',', '').lower()}.jsonl"
    path = config.source(name)
    lines = read_text(path).splitlines() if path else []
    if len(lines) < config.positions:
        decisions = from_games() if label == CONNECT_FOUR else solved(label, FIRST_SEED)
        drawn = dict(islice(decisions, config.positions))
        lines = [
            json.dumps({"position": str(state), "values": {game.actions[a]: round(v, 9) for a, v in values.items()}})
            for state, values in drawn.items()
        ]
        target = config.target(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, ("\n".join(lines) + "\n").encode())
    found = [json.loads(line) for line in lines[: config.positions]]
    return [
        (game.parse(told["position"]), {game.actions.index(a): v for a, v in told["values"].items()}) for told in found
    ]


def players(config: Config, game: Game) -> Iterator[str]:
    """Yields the players' texts: each leaf at each depth, and at each time by both searches; roll-outs by simulations."""
    for leaf in LEAVES:
        front = f"{leaf}," if leaf else ""
        try:
            player(f"search:{front}depth=1", game)
        except UserError:
            continue  # no network ships for the variant
        yield from (f"search:{front}depth={depth}" for depth in config.depths)
        for ms in config.milliseconds:
            yield from (f"{kind}:{front}seconds={ms / 1000:g},clock=cpu" for kind in ("search", "mcts"))
    yield from (f"mcts:rollout:n=1,seconds={ms / 1000:g},clock=cpu" for ms in config.milliseconds)


def about(text: str, game: Game) -> dict[str, str | None]:
    """Returns what tells a player from others of that name: the network's digest, None by hand; how tree searches search."""
    model = digest_of(need_shipped(game)) if "learned" in text else None
    return {"model": model, "mcts": mcts_defaults(game)} if text.startswith(MCTS) else {"model": model}


def measured(text: str, game: Game, asked: list[tuple[State, dict[int, float]]]) -> dict[str, Any]:
    """Returns what a player loses on decisions, each asked for on its own."""
    regrets = []
    who = player(text, game, seed=1)
    who.choose(asked[0][0])  # compiled and warm from here on
    for state, values in asked:
        regrets.append(max(values.values()) - values[who.choose(state)])
    lost = np.array(regrets)
    low, high = mean_interval(lost)
    return {
        "regret": float(lost.mean()),
        **bounds((max(low, 0.0), high)),  # no regret is negative
        "kept": float((lost <= EQUAL).mean()),
        "positions": len(asked),
    }


def report(config: Config, results: Results) -> None:
    """Writes the tables."""
    lines = [
        "# Regret against perfect play",
        "",
        "The exact value of the best action less that of the chosen one, mean over critical decisions with its 95 % interval,",
        "in units of returns (a win 1, a loss -1), and the share of decisions that keep the value. Times are processor time.",
    ]
    for label, found in results.items():
        rows = [
            [f"`{text}`", f"{r['regret']:.4f}", interval_text(r["ci_low"], r["ci_high"], ".4f"), f"{r['kept']:.1%}"]
            for text, r in found.items()
        ]
        count = next(iter(found.values()))["positions"]
        lines += [
            "",
            f"## {label}, {count} decisions",
            "",
            *table("player | regret: | 95 % interval: | value kept:", rows),
        ]
    lines += ["", *bootstrapped(r for found in results.values() for r in found.values())]
    write_page(config, "regret.md", signed(replace(config, games=Config.games), lines))


def study(config: Config) -> None:
    """Measures what is missing."""
    wrong = [label for label in config.games if label not in TRUTHS]
    if wrong:
        raise UserError(f"expected --games among {', '.join(TRUTHS)}, got {wrong[0]!r}")
    results = known_results(config, "regret.json", indent=1)
    for label in config.games:
        asked, game = positions(config, label), game_of(label)
        for text in players(config, game):
            known, told = results.get(label, {}), about(text, game)
            row = known.get(text, {"positions": 0})
            if row["positions"] < len(asked) or not told.items() <= row.items():
                found = {**measured(text, game, asked), **told}
                results.keep(label, {**known, text: found}, f"{label}, {text}: {found['regret']:.4f}")
                report(config, results)
    if results:
        report(config, results)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
