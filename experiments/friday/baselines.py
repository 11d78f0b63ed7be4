"""What hand-made play of Friday is worth: random, greedy, the public engine's search, and ours with each evaluator.

`python -m leafwise.experiments.friday.baselines` plays every entry of `PLAN` on seeds from 1,000,000 on and writes `baselines.json`
after every hundredth of its games; what stands there already is not played again, so a stopped study goes on where it was.
`baselines.md` is the table of the results.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.game import Game
from leafwise.envs.core.stream import new_stream
from leafwise.envs.friday.cards import PHASES
from leafwise.envs.friday.layout import M2, PHASE_AT, STATUS
from leafwise.envs.friday.scores import final_score
from leafwise.envs.friday.text import field
from leafwise.envs.registry import game as find_game
from leafwise.models.files import leaf
from leafwise.search.players import player
from leafwise.training.arena import BATCH, FINAL_SEED, bootstrap_interval, run_batches

LEVELS = (1, 2, 3, 4)


class Entry(NamedTuple):
    """A player in a variant, and how many games it plays."""

    player: str
    games: int
    level: int = 1
    start_life: int = 0

    @property
    def name(self) -> str:
        """The entry's name in the results."""
        life = f" life={self.start_life}" if self.start_life else ""
        return f"{self.player} level={self.level}{life}"


PLAN: tuple[Entry, ...] = (
    *(Entry("random", 10_000, level) for level in LEVELS),
    *(Entry("greedy:blend", 10_000, level) for level in LEVELS),
    *(Entry("fridai:states=2000", 2000, level) for level in LEVELS),
    Entry("fridai:states=2000,info=clairvoyant", 2000, 1, 22),
    Entry("fridai:states=20000", 300, 1),
    Entry("fridai:states=20000", 300, 4),
    Entry("fridai:states=200000", 30, 1),
    *(Entry(f"greedy:{score}", 500) for score in ("life", "deck", "trade", "pirates")),
    *(Entry(f"search:{score},depth=2", 100) for score in ("blend", "life", "deck", "trade", "pirates")),
)
FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Config:
    """Plays the hand-made players of Friday on paired seeds and writes baselines.json and baselines.md."""

    processes: int = 1
    """Processes that play at the same time."""
    folder: Path = FOLDER
    """Where the results are, and go."""
    seconds: float = 0.0
    """Time to play, checked after every hundredth of a player's games (0: no limit)."""


Outcome = tuple[float, float, int, int, float]
"""One game: (1 if won, final score, phase reached, moves, seconds to choose)."""


def play_seeds(game: Game, text: str, seeds: Sequence[int]) -> list[Outcome]:
    """Plays one game per seed."""
    own = player(text, game, seed=seeds[0], leaf=leaf)
    own.choose(game.new(seeds[0]))  # loads the compiled code, which is no part of a move
    own = player(text, game, seed=seeds[0], leaf=leaf)
    return [play_seed(game, own, seed) for seed in seeds]


def play_seed(game: Game, own: Any, seed: int) -> Outcome:
    """Plays one game."""
    stream = new_stream(seed)
    dealer = own.dealer(seed) if hasattr(own, "dealer") else None
    settle = dealer or (lambda state: state.settle(stream))
    state, moves, spent = settle(game.start()), 0, 0.0
    while not state.is_terminal:
        start = time.perf_counter()
        action = own.choose(state)
        spent += time.perf_counter() - start
        moves += 1
        state = settle(state.play(action))
    score = float(final_score(state._rows(), np.uint64(0), game.tables()))
    return state.returns, score, field(state.row[STATUS], PHASE_AT, M2), moves, spent


def share_interval(wins: int, games: int) -> tuple[float, float]:
    """Returns the 95 % interval of a share (Wilson 1927)."""
    z = 1.96
    centre = (wins + z * z / 2) / (games + z * z)
    half = z / (games + z * z) * sqrt(wins * (games - wins) / games + z * z / 4)
    return max(0.0, centre - half), min(1.0, centre + half)


def figures(outcomes: list[Outcome]) -> dict[str, Any]:
    """Returns what is kept of an entry's games."""
    won, scores, phases, moves, seconds = (np.array(column) for column in zip(*outcomes, strict=True))
    games = len(outcomes)
    low, high = share_interval(int(won.sum()), games)
    score_low, score_high = bootstrap_interval(scores)
    return {
        "games": games,
        "first_seed": FINAL_SEED,
        "mean": float(won.mean()),
        "ci_low": low,
        "ci_high": high,
        "score": float(scores.mean()),
        "score_ci_low": score_low,
        "score_ci_high": score_high,
        "reached": {PHASES[k]: float((phases >= k).mean()) for k in (1, 2, 3)},
        "moves": int(moves.sum()),
        "seconds_per_move": float(seconds.sum() / moves.sum()),
        "outcomes": [[w, s, int(p), int(m), round(t, 4)] for w, s, p, m, t in outcomes],
    }


def table(results: dict[str, Any]) -> str:
    """Returns the results as a markdown table."""
    head = ["player", "level", "games", "won", "95 % interval", "final score", "95 % interval", *PHASES[1:], "s/move"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for entry in PLAN:
        if entry.name in results:
            r = results[entry.name]
            level = f"{entry.level}" + (f", {entry.start_life} life" if entry.start_life else "")
            row = [f"`{entry.player}`", level, f"{r['games']}", f"{100 * r['mean']:.2f} %"]
            row += [f"{100 * r['ci_low']:.2f} to {100 * r['ci_high']:.2f} %", f"{r['score']:.1f}"]
            row += [f"{r['score_ci_low']:.1f} to {r['score_ci_high']:.1f}"]
            row += [f"{100 * share:.1f} %" for share in r["reached"].values()]
            lines.append("| " + " | ".join([*row, f"{r['seconds_per_move']:.2g}"]) + " |")
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Writes a file under a temporary name and renames it."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def study(folder: Path, processes: int, plan: Sequence[Entry], seconds: float = 0.0) -> dict[str, Any]:
    """Plays what is missing of `plan`, for about so long, and returns all results by entry."""
    folder.mkdir(parents=True, exist_ok=True)
    path, end = folder / "baselines.json", time.monotonic() + (seconds or float("inf"))
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for entry in plan:
        game = find_game("friday", level=entry.level, start_life=entry.start_life)
        outcomes = [tuple(outcome) for outcome in results.get(entry.name, {}).get("outcomes", [])]
        while len(outcomes) < entry.games and time.monotonic() < end:
            first = FINAL_SEED + len(outcomes)
            part = range(first, min(first + max(entry.games // 100, 1), FINAL_SEED + entry.games))
            batches = [part[k : k + BATCH] for k in range(0, len(part), BATCH)]
            for played in run_batches(partial(play_seeds, game, entry.player), batches, processes):  # type: ignore[arg-type]
                outcomes += played
            results[entry.name] = found = figures(outcomes)
            write(path, json.dumps(results) + "\n")
            write(folder / "baselines.md", table(results))
            print(
                f"{entry.name}: won {100 * found['mean']:.2f} %, score {found['score']:.1f}, {len(outcomes)} games, "
                f"{found['seconds_per_move']:.2g} s per move",
                flush=True,
            )
    return results


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    given = sys.argv[1:] if arguments is None else arguments
    config = parse(Config, given, "python -m leafwise.experiments.friday.baselines")
    print(table(study(config.folder, config.processes, PLAN, config.seconds)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
