"""How learned leaves are measured against hand-made ones: shares of decisions with intervals, games from common openings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.models.files import model_path, write_atomically
from leafwise.search.engine import Search
from leafwise.training.evaluation.agreement import Judged, random_positions
from leafwise.training.evaluation.arena import FINAL_SEED, bootstrap_interval, elo_difference


class Page:
    """Results of a study by part, written as soon as they are known.

    What stands there is not worked out again as long as the command and the model files are the same.
    """

    def __init__(self, path: Path, command: str, models: Sequence[str] = ()) -> None:
        self.path = path
        digests = {model: hashlib.sha256(model_path(model).read_bytes()).hexdigest()[:16] for model in models}
        self.about: dict[str, Any] = {"command": command, "models": digests}
        self.results: dict[str, Any] = {}
        if path.exists():
            old = json.loads(path.read_text(encoding="utf-8"))
            if self.about.items() <= old.items():
                self.results = old["results"]

    def part(self, name: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Returns a part's results, worked out now if they are not known."""
        if name not in self.results:
            self.results[name] = work()
            write_atomically(self.path, (json.dumps({**self.about, "results": self.results}, indent=1) + "\n").encode())
            print(name, self.results[name], flush=True)
        found: dict[str, Any] = self.results[name]
        return found

    def write(self, lines: Sequence[str]) -> None:
        """Writes the page itself, which ends with the command."""
        text = "\n".join([*lines, "Written by", "", f"    {self.about['command']}", ""])
        write_atomically(self.path.with_suffix(".md"), text.encode())


def compare_choices(judged: Judged, learned: Evaluator, hand_made: Evaluator, depth: int) -> dict[str, Any]:
    """Returns the shares of decisions in which each leaf keeps the value at a depth, and the interval of their difference."""
    kept = [judged.kept(judged.choices(leaf, depth)).astype(float) for leaf in (learned, hand_made)]
    low, high = bootstrap_interval(kept[0] - kept[1])
    return {
        "depth": depth,
        "positions": len(judged.rows),
        "learned": float(kept[0].mean()),
        "hand_made": float(kept[1].mean()),
        "difference_points": 100 * float((kept[0] - kept[1]).mean()),
        "ci_low": 100 * low,
        "ci_high": 100 * high,
    }


def subset(judged: Judged, chosen: NDArray[np.bool_]) -> Judged:
    """Returns some of the decisions."""
    return Judged(judged.game, judged.rows[chosen], judged.keeps[chosen])


def is_quiet(state: State) -> bool:
    """Whether nobody can win at once: no action wins, and after at least two actions no reply does."""
    safe = 0
    for a in state.legal_actions:
        after = state.play(a)
        if after.is_terminal and after.returns != 0:
            return False
        replies = [after.play(b) for b in after.legal_actions]
        safe += not any(reply.is_terminal and reply.returns != 0 for reply in replies)
    return safe >= 2


def openings(game: Game, n: int, plies: tuple[int, int], fair: Any = lambda state: True) -> list[State]:
    """Returns n different positions after a random number of random actions, those that `fair` accepts."""
    found: dict[State, None] = {}
    for state in random_positions(game, FINAL_SEED, plies):
        if state not in found and fair(state):
            found[state] = None
        if len(found) == n:
            break
    return list(islice(found, n))


def play_match(one: Search, other: Search, starts: Sequence[State]) -> dict[str, Any]:
    """Plays every opening from both seats; the figures are those of `one`, with the bootstrap interval over openings."""
    points = np.zeros((len(starts), 2))
    seconds = [0.0, 0.0]
    moves = [0, 0]
    for k, start in enumerate(starts):
        for seat in range(2):
            state = start
            while not state.is_terminal:
                who = 0 if state.current_player == seat else 1
                result = (one, other)[who](state)
                seconds[who] += result.seconds
                moves[who] += 1
                state = state.play(int(result.action or 0))
            points[k, seat] = (1 + state.returns * (1 if seat == 0 else -1)) / 2
    low, high = bootstrap_interval(points.mean(axis=1))
    mean = float(points.mean())
    return {
        "games": points.size,
        "wins": int((points == 1).sum()),
        "draws": int((points == 0.5).sum()),
        "losses": int((points == 0).sum()),
        "share": mean,
        "ci_low": low,
        "ci_high": high,
        "elo": elo_difference(mean),
        "ms_per_move": [1000 * s / max(m, 1) for s, m in zip(seconds, moves, strict=True)],
    }


def share_row(kind: str, found: dict[str, Any]) -> str:
    """Returns a line of a Markdown table for `compare_choices`."""
    return (
        f"| {kind} | {found['depth']} | {found['positions']} | {found['learned']:.1%} | {found['hand_made']:.1%} "
        f"| {found['difference_points']:+.1f} ({found['ci_low']:+.1f} to {found['ci_high']:+.1f}) |"
    )


SHARE_HEAD = [
    "| positions | depth | number | learned | hand-made | difference in points (95 %) |",
    "|---|---|---|---|---|---|",
]


def match_row(kind: str, found: dict[str, Any]) -> str:
    """Returns a line of a Markdown table for `play_match`."""
    own, other = found["ms_per_move"]
    return (
        f"| {kind} | {found['games']} | {found['wins']} / {found['draws']} / {found['losses']} | {found['share']:.1%} "
        f"({found['ci_low']:.1%} to {found['ci_high']:.1%}) | {found['elo']:+.0f} | {own:.2f} / {other:.2f} |"
    )


MATCH_HEAD = [
    "| search | games | won / drawn / lost | share of the points (95 %) | Elo | ms per move, learned / hand-made |",
    "|---|---|---|---|---|---|",
]
