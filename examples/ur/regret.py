"""Measures the exact loss of players' moves in the chance to win, by the solver.

    python regret.py --pieces 3 --positions 1000
    python regret.py --pieces 3 --positions 1000 --train 5 15 60 120 240 --runs runs/ur --out regret

All players get the same decisions with at least two moves, from games between perfect players who make a fifth of their moves at
random. `--train` trains networks by the game's recipe, with these numbers of iterations, and measures them too. `--out` writes the
results as JSON and as a page.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import NormalDist, mean, stdev
from typing import Any

from leafwise_ur import GAME
from leafwise_ur.solver import Solver

import leafwise
from leafwise.authoring import State

SEARCHES = ("depth=1", "depth=2", "depth=3", "simulations=100", "simulations=1000")
TRAINED_SEARCHES = ("depth=1", "depth=2", "depth=3")
DRAWN = 0.2
"""Share of random moves in the games that give the positions."""


def decisions(solver: Solver, n: int, seed: int) -> list[tuple[State, dict[str, float]]]:
    """Returns positions with the loss of each move in the chance to win."""
    rng, state, positions = random.Random(seed), solver.game.start(), []
    while len(positions) < n:
        if state.is_terminal:
            state = solver.game.start()
        outcomes = state.outcomes()
        state = rng.choices([after for _, after in outcomes], [p for p, _ in outcomes])[0]
        values = solver.solve(state).action_values
        best = max(values.values())
        if len(values) > 1:
            positions.append((state, {name: (best - value) / 2 for name, value in values.items()}))
        name = rng.choice(sorted(values)) if rng.random() < DRAWN else max(values, key=values.__getitem__)
        state = state.play(name)
    return positions


def losses(player: Any, positions: list[tuple[State, dict[str, float]]]) -> list[float]:
    """Returns the loss of a search's move in each position, in percentage points."""
    return [100 * loss[state.game.actions[player(state).action]] for state, loss in positions]


def measured(
    leaf: str, searches: Sequence[str], positions: list[tuple[State, dict[str, float]]]
) -> Iterator[dict[str, Any]]:
    """Yields the results of searches with a leaf.

    Each has the mean loss with half its 95 % interval, in percentage points, the share of best moves, and ms of processor time a
    move.
    """
    game = positions[0][0].game
    evaluator = leafwise.leaf(game, leaf)
    for search in searches:
        kind, number = search.split("=")
        make = leafwise.Search if kind == "depth" else leafwise.Mcts
        player = make(game, evaluator, **{kind: int(number)})
        player(positions[0][0])  # compiled before the clock runs
        started = time.process_time()
        losses_of_moves = losses(player, positions)
        spent = 1000 * (time.process_time() - started) / len(positions)
        half = NormalDist().inv_cdf(0.975) * stdev(losses_of_moves) / math.sqrt(len(losses_of_moves))
        best = mean(loss < 1e-5 for loss in losses_of_moves)
        yield {"leaf": leaf, "search": search, "loss": mean(losses_of_moves), "half": half, "best": best, "ms": spent}


def trained(steps: int, runs: Path) -> dict[str, Any]:
    """Trains a network for `steps` iterations unless it exists; returns its run folder and processor seconds."""
    run, module = runs / f"ur-{steps}", Path(sys.modules[GAME.module].__file__ or "").parent
    if not (run / "results.json").exists():
        words = ["train", "ur", "--module", str(module), "--run", str(run), "--total-steps", str(steps)]
        subprocess.run([sys.executable, "-m", "leafwise", *words], check=True, stdout=subprocess.DEVNULL)
    return {"run": str(run), "steps": steps, "seconds": json.loads((run / "results.json").read_text())["seconds"]}


def row_of(one: dict[str, Any]) -> str:
    """Returns a row of the table of leaves and searches."""
    figures = f"{one['loss']:.3f} | +-{one['half']:.3f} | {100 * one['best']:.0f} % | {one['ms']:.2f}"
    return f"| {one['leaf']} | {one['search']} | {figures} |"


HEAD = (
    "| leaf | search | mean loss, percentage points | 95 % interval | moves without loss | ms per move |\n"
    "|---|---|---|---|---|---|"
)


def page_of(results: dict[str, Any]) -> str:
    """Returns the page of the results."""
    lines = [
        "# How much moves lose in the Royal Game of Ur",
        "",
        f"    {results['command']}",
        "",
        "This command wrote the page.",
        f"All players choose moves in the same {results['positions']:,} positions, each with two legal moves or more.",
        f"The positions come from games with {results['pieces']} pieces per player.",
        "The loss of a move is the chance to win after the best move minus the chance to win after this move. "
        "The exact solver gives these chances.",
        "",
        "The [leaf](../../docs/terms.md#leaf) `race` is hand-made. "
        "The leaf `learned` is [the network](leafwise_ur/ur.md) that comes with the game.",
        "`depth=N` is a depth-limited search, and `simulations=N` is Monte Carlo tree search.",
        "In the tables `+-` stands before half the width of the 95 % interval. Times are processor time.",
        "",
        HEAD,
        *map(row_of, results["leaves"]),
    ]
    if results["trained"]:
        columns = [result["search"] for result in results["trained"][0]["found"]]
        lines += [
            "",
            "The next table has networks that the game's recipe trained with different numbers of iterations. "
            "The last columns have their mean loss in percentage points, for each search:",
            "",
        ]
        lines += ["| iterations | processor time | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
        for run in results["trained"]:
            cells = " | ".join(f"{result['loss']:.3f} +- {result['half']:.3f}" for result in run["found"])
            lines.append(f"| {run['steps']} | {run['seconds']:.0f} s | {cells} |")
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pieces", type=int, default=3)
    parser.add_argument("--positions", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--leaves", nargs="+", default=["race", "learned"], help="scores, run folders or model files")
    parser.add_argument("--searches", nargs="+", default=SEARCHES, help="depth=N or simulations=N")
    parser.add_argument("--train", nargs="+", type=int, default=[], help="iterations of further networks to train")
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of their runs")
    parser.add_argument("--out", type=Path, help="file name without ending, for NAME.json and NAME.md")
    parser.add_argument("--table-mb", type=float, default=2000, help="maximum memory of the solver")
    words = parser.parse_args()
    if words.positions < 2:
        parser.error(f"expected --positions of 2 or more, got {words.positions}")
    game = GAME.variant(pieces=words.pieces)
    positions = decisions(Solver(game, words.table_mb), words.positions, words.seed)
    results: dict[str, Any] = {"command": " ".join(["python examples/ur/regret.py", *sys.argv[1:]])}
    results |= {"pieces": words.pieces, "positions": words.positions, "seed": words.seed, "leaves": [], "trained": []}
    print(HEAD)
    for leaf in words.leaves:
        for one in measured(leaf, words.searches, positions):
            results["leaves"].append(one)
            print(row_of(one), flush=True)
    for steps in words.train:
        run = trained(steps, words.runs)
        results["trained"].append(run | {"found": list(measured(run["run"], TRAINED_SEARCHES, positions))})
        print(*map(row_of, results["trained"][-1]["found"]), sep="\n", flush=True)
    if words.out:
        write(words.out.with_suffix(".json"), json.dumps(results, indent=1) + "\n")
        write(words.out.with_suffix(".md"), page_of(results))


if __name__ == "__main__":
    main()
