"""Runs studies of matches: plays games, saves them as they end, writes figures and a page.

A study defines its matches and its page; `MatchStudy` plays the missing games. Games in the JSON file are not played again, so a
stopped study continues. Figures are computed from the scores each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.experiments.study import DistributedStudy, Results, digest_of, known_results, share, table, write_page
from leafwise.models.files import LEARNED, need_shipped
from leafwise.training.evaluation.arena import FINAL_SEED, evaluate
from leafwise.training.evaluation.results import Evaluation, missing_seeds
from leafwise.training.evaluation.statistics import GamePair, bounds, mean_interval, points_interval, rate

ELSEWHERE = "give another --data and --out"
KeptMatch = Mapping[str, Any]
"""A saved match: players, scores in the order of seeds, figures."""


@dataclass(frozen=True)
class Match:
    """Games of a player on consecutive seeds, alone or against another from both seats."""

    title: str
    game: Game
    player: str
    games: int
    opponent: str | None = None
    first_seed: int = FINAL_SEED
    block: int = 10
    """Number of seeds between two saves."""
    network: str | None = None
    """Hash of a learned leaf's file; games of another file are played again."""
    play: Callable[[Match, range, DistributedStudy], Evaluation] | None = None
    """Function that plays the seeds instead of `evaluate`."""

    def __post_init__(self) -> None:
        """Raises ValueError for a two-player game without chance, where blocks of seeds would repeat openings."""
        if self.game.players == 2 and not self.game.max_stages:
            raise ValueError(
                f"{self.title}: expected a game with chance, or a single-player game, got {self.game.name!r}"
            )

    @property
    def about(self) -> dict[str, Any]:
        """Players, seeds and network, as they are saved."""
        texts = {
            "player": self.player,
            "opponent": self.opponent,
            "first_seed": self.first_seed,
            "network": self.network,
        }
        return {name: text for name, text in texts.items() if text is not None}


def network_of(leaf: str, game: Game) -> str | None:
    """Returns the hash of a leaf's network; None for a hand-made leaf."""
    return None if leaf in game.scores else digest_of(need_shipped(game) if leaf == LEARNED else leaf)


def points_figures(kept: KeptMatch) -> dict[str, Any]:
    """Returns share of the points, its 95 % interval and Elo from returns, two games a seed."""
    points = (1 + np.array(kept["scores"]).reshape(-1, 2).mean(axis=1)) / 2
    elo, error = rate(2, [GamePair(0, 1, 2 * float(p), 2) for p in points]).difference(0, 1)
    return {"share": float(points.mean()), **bounds(points_interval(points)), "elo": elo, "elo_error": error}


def score_figures(kept: KeptMatch) -> dict[str, Any]:
    """Returns number, mean with its 95 % interval, and median of a single player's scores."""
    scores = np.array(kept["scores"], dtype=np.float64)
    return {
        "games": len(scores),
        "mean": float(scores.mean()),
        **bounds(mean_interval(scores)),
        "median": float(np.median(scores)),
    }


def with_figures(title: str, kept: Any, figures: Callable[[KeptMatch], dict[str, Any]]) -> dict[str, Any]:
    """Returns a saved match with its figures; raises ValueError if it has no scores."""
    try:
        if not kept["scores"]:
            raise ValueError("no scores")
        return {**kept, **figures(kept)}
    except UserError:
        raise
    except (KeyError, TypeError, ValueError, IndexError) as problem:
        raise UserError(f"{title}: expected a match with its scores, got {kept!r:.80}; {ELSEWHERE}") from problem


def more_games(known: KeptMatch, more: Evaluation) -> dict[str, Any]:
    """Returns a saved match with more games: scores, and highest cells, moves and time a move if known."""
    kept: dict[str, Any] = {"scores": [*known.get("scores", []), *more.scores.tolist()]}
    if more.best_cells.any() and ("best_cells" in known or not known.get("scores")):
        kept["best_cells"] = [*known.get("best_cells", []), *more.best_cells.tolist()]
    if "moves" in known or not known.get("scores"):
        moves, seconds = known.get("moves", 0), known.get("seconds_per_move", 0.0)
        kept["moves"] = moves + more.moves
        kept["seconds_per_move"] = (seconds * moves + more.seconds_per_move * more.moves) / max(kept["moves"], 1)
    return {**known, **kept}


def played(match: Match, seeds: range, config: DistributedStudy) -> Evaluation:
    """Plays the games of some seeds; raises ValueError if a player fails in one, since that is not a result."""
    if match.play is not None:
        return match.play(match, seeds, config)
    evaluation = evaluate(
        match.game, match.player, match.game.players * len(seeds), seeds[0], opponent=match.opponent,
        processes=config.processes, cluster=config.cluster,
    )  # fmt: skip
    for fault in evaluation.faults:
        raise UserError(f"expected players without faults, got {fault.kind} of {fault.player}: {fault.what}")
    return evaluation


def play(
    match: Match, results: Results, config: DistributedStudy, figures: Callable[[KeptMatch], dict[str, Any]]
) -> None:
    """Plays the missing games of a match; raises ValueError if the saved ones have other players."""
    known: KeptMatch = results.get(match.title, {})
    for name in ("player", "opponent", "first_seed"):
        needed = name in known or (name == "first_seed" and known)
        if needed and known.get(name) != match.about.get(name):
            raise UserError(
                f"{match.title}: expected games of {name} {match.about.get(name)!r}, got {known.get(name)!r}; {ELSEWHERE}"
            )
    if known.get("network") != match.network:
        known = {}
    players = match.game.players
    done = len(known.get("scores", [])) // players
    for seeds in missing_seeds(done, match.games // players, match.block, match.first_seed):
        known = match.about | more_games(known, played(match, seeds, config))
        known |= figures(known)
        result = f"{known['share']:.1%}" if "share" in known else f"{known['mean']:,.0f}"
        results.keep(
            match.title, known, f"{match.title}, {players * seeds.stop - players * match.first_seed} games: {result}"
        )


POINTS_LEGEND = (
    "The number after ± is half of a 95 % interval. The share's [interval](../../docs/explanation/strength.md#intervals) is the "
    "wider of two kinds. So it can be more cautious than the interval of the Elo difference."
)
"""What a page of one folder says about the intervals of `points_table`."""


def points_table(results: Mapping[str, KeptMatch]) -> list[str]:
    """Returns the table of matches between two players."""
    rows = []
    for title, kept in results.items():
        scores = np.array(kept["scores"])
        counts = " / ".join(str(int((scores == result).sum())) for result in (1, 0, -1))
        rated = f"{kept['elo']:+.0f} ± {kept['elo_error']:.0f}"
        rows.append([title, f"{len(scores)}", counts, share(kept, "share"), rated])
    return table("match | games | won / drawn / lost | share of the points (95 % interval) | Elo difference", rows)


C = TypeVar("C", bound=DistributedStudy)


@dataclass(frozen=True)
class MatchStudy(Generic[C]):
    """A study of matches: name of its files, matches, page. A call plays the missing games and writes the page."""

    name: str
    matches: Callable[[C], Iterable[Match]]
    page: Callable[[C, Results], list[str]]
    figures: Callable[[KeptMatch], dict[str, Any]] = points_figures

    def __call__(self, config: C) -> Results:
        """Plays the matches and returns all results; the page shows all known results."""
        wanted = list(self.matches(config))
        results = known_results(config, f"{self.name}.json")
        results.update({title: with_figures(title, kept, self.figures) for title, kept in results.items()})
        for match in wanted:
            play(match, results, config, self.figures)
            write_page(config, f"{self.name}.md", self.page(config, results))
        results.save()
        write_page(config, f"{self.name}.md", self.page(config, results))
        return results
