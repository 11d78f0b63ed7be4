"""Learned leaves against hand-made ones: choices checked by a solver, games from given openings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Bools, Floats, Ints
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.experiments.study import DistributedStudy, Results, share, table
from leafwise.models.files import load_evaluator
from leafwise.search.engine import Search
from leafwise.search.players import SearchPlayer, load_code
from leafwise.training.evaluation.agreement import SolvedPositions, random_positions
from leafwise.training.evaluation.arena import BATCH, FINAL_SEED, elo_difference, play_game
from leafwise.training.evaluation.results import TurnTimes
from leafwise.training.evaluation.statistics import bounds, interval_text, mean_interval, points_interval
from leafwise.training.execution import in_pieces


def model_or_score(game: Game, model: str) -> Evaluator:
    """Returns a model's evaluator, or for "" the game's hand-made score."""
    return load_evaluator(game, model) if model else game.score()


def judge(judged: SolvedPositions, model: str) -> dict[str, Any]:
    """Counts the positions, and critical ones, where one-ply play keeps the value; model "": the hand-made leaf."""
    leaf = model_or_score(judged.game, model)
    kept = judged.kept(judged.choices(leaf, 1))
    critical = judged.keeps.sum(axis=1) < np.array([len(State(judged.game, row).legal_actions) for row in judged.rows])
    return {
        "leaf": model or leaf.name,
        "positions": len(kept),
        "kept": int(kept.sum()),
        "critical": int(critical.sum()),
        "kept_critical": int(kept[critical].sum()),
    }


def compare_choices(judged: SolvedPositions, learned: Evaluator, hand_made: Evaluator, depth: int) -> dict[str, Any]:
    """Returns the shares of decisions in which each leaf keeps the value at a depth, and the interval of their difference."""
    kept = [judged.kept(judged.choices(leaf, depth)).astype(float) for leaf in (learned, hand_made)]
    return {
        "depth": depth,
        "positions": len(judged.rows),
        "learned": float(kept[0].mean()),
        "hand_made": float(kept[1].mean()),
        "difference_points": 100 * float((kept[0] - kept[1]).mean()),
        **bounds(mean_interval(kept[0] - kept[1]), 100),
    }


def subset(judged: SolvedPositions, chosen: Bools) -> SolvedPositions:
    """Returns some of the decisions."""
    return SolvedPositions(judged.game, judged.rows[chosen], judged.keeps[chosen])


def is_quiet(state: State) -> bool:
    """Whether nobody can win at once: no action wins, and after at least two actions no reply wins."""
    safe = 0
    for a in state.legal_actions:
        after = state.play(a)
        if after.is_terminal and after.returns != 0:
            return False
        replies = [after.play(b) for b in after.legal_actions]
        safe += not any(reply.is_terminal and reply.returns != 0 for reply in replies)
    return safe >= 2


def openings(game: Game, n: int, plies: tuple[int, int], seed: int = FINAL_SEED) -> list[State]:
    """Returns n different positions after a random number of random actions."""
    chosen: dict[State, None] = {}
    states = random_positions(game, seed, plies)
    while len(chosen) < n:
        chosen[next(states)] = None
    return list(chosen)


class CountingPlayer(SearchPlayer):
    """A search that counts its decisions: a turn may have several."""

    decisions = 0

    def choose(self, state: State) -> int:
        """Returns the action that the search chooses."""
        self.decisions += 1
        return super().choose(state)


@dataclass(frozen=True)
class LeafMatch:
    """Two searches with different leaves that play openings from both seats."""

    game: Game
    sides: tuple[tuple[str, Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
    """Leaf (a model, or "" for the hand-made score) and options of either search."""

    def __call__(self, starts: Sequence[State]) -> tuple[Floats, Floats, Ints]:
        """Returns the first side's points, [openings, 2], and the seconds and moves of both sides, each [2]."""
        first, other = (
            CountingPlayer(
                Search(self.game, model_or_score(self.game, model), **options), model or self.game.default_score
            )
            for model, options in self.sides
        )
        for who in (first, other):
            load_code(who, starts[0])
            who.decisions = 0
        seats = ((0, (first, other)), (1, (other, first)))
        played = [play_game(self.game, pair, 0, seat, opening=start) for start in starts for seat, pair in seats]
        paces = [
            TurnTimes.of_all(side) for side in zip(*((one.pace, one.opponent_pace) for one in played), strict=True)
        ]
        points = (1 + np.array([one.score for one in played]).reshape(-1, 2)) / 2
        return points, np.array([pace.seconds for pace in paces]), np.array([first.decisions, other.decisions])


def play_match(
    match: LeafMatch,
    starts: Sequence[State],
    each: Callable[[LeafMatch, Sequence[Sequence[State]]], Iterable[Any]] = map,
) -> dict[str, Any]:
    """Plays every opening from both seats; the figures are the first side's, with the 95 % interval over openings.

    `each` plays pieces of the openings, like `DistributedStudy.each`.
    """
    parts = list(each(match, in_pieces(starts, BATCH)))
    points = np.concatenate([part[0] for part in parts])
    seconds, moves = (np.sum([part[k] for part in parts], axis=0) for k in (1, 2))
    mean = float(points.mean())
    return {
        "games": points.size,
        "wins": int((points == 1).sum()),
        "draws": int((points == 0.5).sum()),
        "losses": int((points == 0).sum()),
        "share": mean,
        **bounds(points_interval(points.mean(axis=1))),
        "elo": elo_difference(mean),
        "ms_per_move": (1000 * seconds / np.maximum(moves, 1)).tolist(),
    }


SHARE_HEAD = "kind | depth | positions | learned | hand-made | difference, percentage points (95 % interval)"


def share_row(kind: str, figures: dict[str, Any]) -> list[str]:
    """Returns a row of a table for `compare_choices`."""
    difference = f"{figures['difference_points']:+.1f} ({interval_text(figures['ci_low'], figures['ci_high'], '+.1f')})"
    shares = f"{figures['learned']:.1%}", f"{figures['hand_made']:.1%}"
    return [kind, f"{figures['depth']}", f"{figures['positions']}", *shares, difference]


def games_table(
    config: DistributedStudy, results: Results, name: str, model: str, starts: Sequence[State],
    searches: Mapping[str, Mapping[str, Any]],
) -> list[str]:  # fmt: skip
    """Returns the table of a model's games against the hand-made leaf by search, every opening from both seats.

    The result of a search is saved under `name` and its words.
    """
    rows = []
    for words, options in searches.items():
        match = LeafMatch(starts[0].game, ((model, options), ("", options)))
        result = results.find(name + words, partial(play_match, match, starts, config.each))
        counts = f"{result['wins']} / {result['draws']} / {result['losses']}"
        first, other = result["ms_per_move"]
        times = f"{first:.2f} / {other:.2f}"
        rows.append([words, f"{result['games']}", counts, share(result, "share"), f"{result['elo']:+.0f}", times])
    head = "search | games | learned leaf won / drew / lost | share of the points (95 % interval) | Elo difference"
    return table(f"{head} | ms per move, learned / hand-made", rows)
