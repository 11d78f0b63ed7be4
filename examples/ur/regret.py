"""What players lose by their moves, exactly: the loss of a move in the chance to win, by the solver.

    python regret.py --pieces 4 --positions 1000
    python regret.py --pieces 4 --positions 1000 --leaves learned runs/ur10 runs/ur60

All players get the same decisions with two moves or more, of games between perfect players who draw a fifth of their moves at
random. Each line tells the mean loss in percentage points with its 95 % interval, and how many moves were among the best.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from statistics import NormalDist, mean, stdev
from typing import Any

from leafwise_ur import GAME
from leafwise_ur.solver import Solver

import leafwise
from leafwise.authoring import State

SEARCHES = ("depth=1", "depth=2", "depth=3", "simulations=100", "simulations=1000")
DRAWN = 0.2
"""Share of the moves drawn at random in the games that positions come from."""


def decisions(solver: Solver, n: int, seed: int) -> list[tuple[State, dict[str, float]]]:
    """Returns positions with what each move loses in the chance to win."""
    rng, state, found = random.Random(seed), solver.game.start(), []
    while len(found) < n:
        if state.is_terminal:
            state = solver.game.start()
        outcomes = state.outcomes()
        state = rng.choices([after for _, after in outcomes], [p for p, _ in outcomes])[0]
        values = solver.solve(state).action_values
        best = max(values.values())
        if len(values) > 1:
            found.append((state, {name: (best - value) / 2 for name, value in values.items()}))
        name = rng.choice(sorted(values)) if rng.random() < DRAWN else max(values, key=values.__getitem__)
        state = state.play(name)
    return found


def losses(player: Any, found: list[tuple[State, dict[str, float]]]) -> list[float]:
    """Returns what a search loses by its move in each position, in points of 100."""
    return [100 * loss[state.game.actions[player(state).action]] for state, loss in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=4)
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--leaves", nargs="+", default=["race", "learned"], help="scores, run folders or files of models"
    )
    parser.add_argument("--searches", nargs="+", default=SEARCHES, help="depth=N or simulations=N")
    parser.add_argument("--table-mb", type=float, default=2000, help="memory that the solver may take")
    words = parser.parse_args()
    game = GAME.variant(pieces=words.pieces)
    found = decisions(Solver(game, words.table_mb), words.positions, words.seed)
    print("| leaf | search | mean loss, points of 100 | 95 % | best moves | ms a move |\n|---|---|---|---|---|---|")
    for leaf in words.leaves:
        evaluator = leafwise.leaf(game, leaf)
        for search in words.searches:
            kind, number = search.split("=")
            make = leafwise.Search if kind == "depth" else leafwise.Mcts
            player = make(game, evaluator, **{kind: int(number)})
            player(found[0][0])  # compiled before the clock runs
            started = time.process_time()
            lost = losses(player, found)
            spent = 1000 * (time.process_time() - started) / len(found)
            half = NormalDist().inv_cdf(0.975) * stdev(lost) / math.sqrt(len(lost))
            best = 100 * mean(loss < 1e-5 for loss in lost)
            print(f"| {leaf} | {search} | {mean(lost):.3f} | +-{half:.3f} | {best:.0f} % | {spent:.2f} |", flush=True)


if __name__ == "__main__":
    main()
